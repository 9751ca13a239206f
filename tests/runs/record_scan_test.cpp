// SPDX-License-Identifier: MIT
//
// The fast reader of records against the slow one, which a byte order mark before the text leaves alone to read it.
#include "runs/record_scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/answers.h"
#include "tests/support/random_records.h"

namespace mrrope::eval {
namespace {

Result<Record> slowly(const std::string& text) { return record_from_json("\xEF\xBB\xBF" + text); }

TEST(RecordScan, RecognisesWhatMrropeWrites) {
  test::RandomRecords random(1);
  Record scanned;
  for (int i = 0; i < 2000; ++i) {
    const Record record = random.next();
    const std::string line = to_json(record);
    ASSERT_TRUE(scan_record(line, scanned)) << line;
    ASSERT_EQ(scanned, record) << line;
    ASSERT_EQ(*slowly(line), record) << line;
  }
}

// json.dumps() of Python puts a space after commas and colons, and writes what is not ASCII as \u.
TEST(RecordScan, RecognisesWhatPythonWrites) {
  Record record = test::answer_record({});
  record.answer()->text = "é \t\"zwölf\" \\ ";
  const std::string text = to_json(record);
  std::string spaced = " ";
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && text[i - 1] != '\\') inside = !inside;
    spaced += text[i];
    if (!inside && (text[i] == ',' || text[i] == ':')) spaced += ' ';
  }
  spaced.replace(spaced.find("ö"), 2, "\\u00F6");
  Record scanned;
  ASSERT_TRUE(scan_record(spaced, scanned)) << spaced;
  EXPECT_EQ(scanned, record);
}

TEST(RecordScan, AcceptsNothingThatTheSlowReaderRefusesOrReadsDifferently) {
  test::RandomRecords random(2);
  std::mt19937_64 dice(3);  // NOLINT: the same texts every time
  const std::string bytes = "{}[]:,\"\\ \n\t0123456789-+.eEtrufalsn\x01\x7f\xc3\xa9\xff\xed\xa0\x80";
  Record scanned;
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = to_json(random.next());
    for (int changes = 1 + static_cast<int>(dice() % 2); changes > 0; --changes) {
      const std::size_t at = dice() % text.size();
      switch (dice() % 4) {
        case 0: text[at] = bytes[dice() % bytes.size()]; break;
        case 1: text.insert(at, 1, bytes[dice() % bytes.size()]); break;
        case 2: text.erase(at, 1 + dice() % 3); break;
        default: text.insert(at, text.substr(dice() % text.size(), 1 + dice() % 12));
      }
      if (text.empty()) text = "{";
    }
    if (!scan_record(text, scanned)) continue;
    ++accepted;
    const Result<Record> slow = slowly(text);
    ASSERT_TRUE(slow) << text << "\n" << to_string(slow.error());
    ASSERT_EQ(scanned, *slow) << text;
  }
  EXPECT_GT(accepted, 500);  // changes inside of strings and numbers
}

TEST(RecordScan, LeavesDoubtfulLinesToTheSlowReader) {
  const std::string good = to_json(test::answer_record({}));
  Record scanned;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return scan_record(text, scanned);
  };
  EXPECT_TRUE(scan_record(good, scanned));
  EXPECT_FALSE(changed("record/1", "record/2"));
  EXPECT_FALSE(changed("\"task\"", "\"tasks\""));
  EXPECT_FALSE(changed("\"seconds\":0.5", "\"seconds\":0.5,\"seconds\":0.5"));
  EXPECT_FALSE(changed("\"seconds\":0.5", "\"seconds\":1e999"));
  EXPECT_FALSE(changed("\"score\":1.0", "\"score\":1.5"));
  EXPECT_FALSE(changed("\"score\":1.0", "\"score\":01"));
  EXPECT_FALSE(changed("\"index\":0", "\"index\":-0"));
  EXPECT_FALSE(changed("\"index\":0", "\"index\":0.5"));
  EXPECT_FALSE(changed("magic", "mag\xff"));
  EXPECT_FALSE(changed("magic", "mag\\ud800"));
  EXPECT_FALSE(changed("\"answer\":", "\"points\":[],\"answer\":"));
  EXPECT_FALSE(scan_record(good + "}", scanned));
  EXPECT_FALSE(scan_record(good.substr(0, good.size() - 1), scanned));
  EXPECT_FALSE(scan_record("", scanned));
}

TEST(RecordScan, ForgetsWhatTheRecordBeforeHeld) {
  Record full = test::answer_record({});
  full.rung = "16k";
  full.answer()->asked_depth = 0.5;
  full.answer()->labels = {{"domain", "Code"}};
  full.answer()->others = {{"rouge", 0.5}};
  full.answer()->right = RightAnswer{1.5, 3};
  full.answer()->references = {"a", "b", "c"};
  Record bare = test::answer_record({});
  bare.answer()->rotation.clear();
  Record scanned;
  ASSERT_TRUE(scan_record(to_json(full), scanned));
  ASSERT_EQ(scanned, full);
  ASSERT_TRUE(scan_record(to_json(bare), scanned));
  EXPECT_EQ(scanned, bare);
}

}  // namespace
}  // namespace mrrope::eval
