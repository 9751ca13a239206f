// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "tasks/files/byte_stream.h"
#include "tasks/files/object_stream.h"
#include "tests/support/temporary_files.h"

namespace mrrope::eval::task_files {
namespace {

class Streams : public test::TemporaryFiles {
 protected:
  // All bytes, or the message of the error; in parts of `part` bytes.
  static std::string all(const std::string& path, std::uint64_t most, std::size_t part = 1000) {
    Result<ByteStream> stream = ByteStream::open(path, most);
    if (!stream) return to_string(stream.error());
    std::string text;
    for (std::string buffer(part, '\0');;) {
      const Result<std::size_t> count = stream->read(buffer);
      if (!count) return to_string(count.error());
      text.append(buffer, 0, *count);
      if (*count < part) return text;
    }
  }

  // The objects of a file as JSON, then the message of the error if there is one.
  std::vector<std::string> objects(std::string_view content) {
    Result<ObjectStream> stream = ObjectStream::open(write("f.json", content), 1 << 20);
    std::vector<std::string> found;
    for (;;) {
      const Result<std::optional<base::Json>> object = stream->next();
      if (!object) {
        found.push_back(object.error().message);
        EXPECT_EQ(object.error().where.substr(0, path("f.json").size() + 1), path("f.json") + ":");
        return found;
      }
      if (!*object) return found;
      found.push_back((*object)->dump());
    }
  }
};

using Texts = std::vector<std::string>;

TEST_F(Streams, GzipIsUnpackedWhateverItsNameAndInHoweverManyMembers) {
  const std::string text(5000, 'x');
  EXPECT_EQ(all(write("plain.gz", text), 5000), text);
  EXPECT_EQ(all(write_gzip("packed.txt", text), 5000), text);
  EXPECT_EQ(all(write_gzip("packed.txt", "yz", "a"), 5002, 7), text + "yz");
  EXPECT_EQ(all(write("empty", ""), 0), "");
  EXPECT_EQ(all(write_gzip("empty.gz", ""), 0), "");
  EXPECT_EQ(all(write("one", "\x1f"), 5), "\x1f");
}

TEST_F(Streams, ABombIsRefusedAtTheFirstByteTooMany) {
  const std::string bomb = write_gzip("bomb.gz", std::string(std::size_t{50} << 20, '\0'));
  EXPECT_LT(std::filesystem::file_size(bomb), 100'000U);
  EXPECT_NE(all(bomb, 1 << 20).find("too large"), std::string::npos);
  EXPECT_NE(all(write("plain", "12345"), 4).find("too large"), std::string::npos);
  EXPECT_EQ(all(write("plain", "12345"), 5), "12345");
}

TEST_F(Streams, DamagedGzipIsAnErrorWhereverItIsCut) {
  std::string packed;
  {
    std::ifstream file(write_gzip("whole.gz", "some text, not too short, some text again"), std::ios::binary);
    packed.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (std::size_t cut = 2; cut < packed.size(); ++cut) {
    EXPECT_NE(all(write("cut.gz", packed.substr(0, cut)), 1000).find("gzip data"), std::string::npos) << cut;
  }
  EXPECT_NE(all(write("more.gz", packed + "more"), 1000).find("gzip data"), std::string::npos);
  packed[packed.size() - 6] ^= 1;  // of its checksum
  EXPECT_NE(all(write("flipped.gz", packed), 1000).find("gzip data"), std::string::npos);
}

TEST_F(Streams, ObjectsComeFromListsAndFromLines) {
  EXPECT_EQ(objects(""), Texts{});
  EXPECT_EQ(objects("[]"), Texts{});
  EXPECT_EQ(objects(" [ {} , {\"a\":[1,{}]} ] \n"), (Texts{"{}", "{\"a\":[1,{}]}"}));
  EXPECT_EQ(objects("{\"a\":1}\r\n\n{\"b\":\"}{\"}\n"), (Texts{"{\"a\":1}", "{\"b\":\"}{\"}"}));
  EXPECT_EQ(objects("\xEF\xBB\xBF{\"a\":\"\\\"}\"}{}"), (Texts{"{\"a\":\"\\\"}\"}", "{}"}));
}

TEST_F(Streams, WhatIsNoSequenceOfObjectsIsRefused) {
  EXPECT_EQ(objects("[{}"), (Texts{"{}", "the list is not closed"}));
  EXPECT_EQ(objects("["), (Texts{"the list is not closed"}));
  EXPECT_EQ(objects("[{},"), (Texts{"{}", "the list is not closed"}));
  EXPECT_EQ(objects("[{},]"), (Texts{"{}", "expected an object after the comma"}));
  EXPECT_EQ(objects("[,{}]"), (Texts{"expected an object"}));
  EXPECT_EQ(objects("[{} {}]"), (Texts{"{}", "expected a comma before the object"}));
  EXPECT_EQ(objects("[{}] x"), (Texts{"{}", "something follows the list"}));
  EXPECT_EQ(objects("{},{}"), (Texts{"{}", "expected an object"}));
  EXPECT_EQ(objects("[1]"), (Texts{"expected an object"}));
  EXPECT_EQ(objects("[[{}]]"), (Texts{"expected an object"}));
  EXPECT_EQ(objects("{\"a\":"), (Texts{"the file ends inside the object"}));
  EXPECT_EQ(objects("{\"a\":\"}"), (Texts{"the file ends inside the object"}));
  EXPECT_EQ(objects("{]}"), (Texts{"not valid JSON"}));
  EXPECT_EQ(objects("{\"a\":1,\"a\":2}"), (Texts{"the field \"a\" occurs twice in one object"}));
  EXPECT_EQ(objects("{\"a\":\"\xff\"}"), (Texts{"not valid JSON"}));
  EXPECT_EQ(objects("{\"a\":" + std::string(100'000, '[')), (Texts{"nested too deeply"}));
}

TEST_F(Streams, AnEntryIsFoundAcrossTheEdgesOfTheBuffer) {
  for (const std::size_t size : {(1U << 16) - 10, (1U << 16) - 9, (1U << 16) - 8, (1U << 16) - 7, 1U << 16, 3U << 16}) {
    const std::string entry = "{\"a\":\"" + std::string(size, 'x') + "\\\"\"}";
    Result<ObjectStream> stream = ObjectStream::open(write("f.json", "[" + entry + "," + entry + "]"), 1 << 24);
    for (int i = 0; i < 2; ++i) EXPECT_EQ((**stream->next())["a"].get<std::string>().size(), size + 1);
    EXPECT_FALSE(*stream->next());
  }
}

TEST_F(Streams, AnEntryLargerThanTheParserTakesIsRefusedBeforeItIsInMemory) {
  const std::string bomb = write_gzip("bomb.gz", "{\"a\":\"" + std::string(std::size_t{80} << 20, 'x') + "\"}");
  Result<ObjectStream> stream = ObjectStream::open(bomb, std::uint64_t{1} << 30);
  const Result<std::optional<base::Json>> object = stream->next();
  ASSERT_FALSE(object);
  EXPECT_NE(object.error().message.find("larger than"), std::string::npos);
  EXPECT_EQ(object.error().where, bomb + ": entry 1");
}

}  // namespace
}  // namespace mrrope::eval::task_files
