// SPDX-License-Identifier: MIT
//
// Contexts of nothing but records of which one is asked for: RULER's niah_multikey_2 and 3, InfiniteBench's key-value
// retrieval. A record is 70 … 130 bytes, much for a short length of a tokenizer of bytes; what is left is filled with
// words of noise in front of the records.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tasks/haystack.h"
#include "tasks/magic.h"

namespace mrrope::eval::drafts {

namespace {

// The records in the order of the text: `others` drawn one after the other, so that a longer text has the same and
// more, with the one that is asked for at its depth.
struct Pile {
  std::string text;
  Range gold;
};
template <class Draw>
Pile pile(std::string_view gold, double depth, std::int64_t others, std::string_view separator, const Draw& draw) {
  Pile out;
  const auto place = static_cast<std::int64_t>(std::floor(depth * static_cast<double>(others) + 0.5));
  for (std::int64_t i = 0; i <= others; ++i) {
    if (i > 0) out.text += separator;
    if (i == place) {
      out.gold = {out.text.size(), out.text.size() + gold.size()};
      out.text += gold;
    } else {
      out.text += draw();
    }
  }
  return out;
}

std::string filler(std::int64_t words) { return words == 0 ? "" : noise(words) + "\n"; }

enum class KeyType { pairs, uuids };

Forms magic_lines(const Brief& brief, KeyType key_type, MagicType value_type) {
  const auto key_of = [key_type](Random& random) {
    return key_type == KeyType::pairs ? random_pair(random) : random_uuid(random);
  };
  Random random = brief.random.fork("needles");
  const std::string key = key_of(random);
  const std::string value = magic_value(random, value_type);
  const MagicWords words = magic_words(value_type, std::span(&key, 1), 1);

  const auto draft = [=, depth = brief.depth, others = brief.random.fork("distractors")](Size size) {
    Random drawn = others;
    const Pile lines = pile(magic_needle(value_type, key, value), depth, size.records, "\n", [&] {
      std::string other = key_of(drawn);
      while (other == key) other = key_of(drawn);
      return magic_needle(value_type, other, magic_value(drawn, value_type));
    });
    const std::string before = words.instruction + filler(size.words);
    return Draft{.prompt = before + lines.text + "\n" + words.question,
                 .answer_prefix = words.prefix,
                 .answer = " " + value + ".",
                 .references = {value},
                 .needles = {{before.size() + lines.gold.begin, before.size() + lines.gold.end}}};
  };
  return std::vector{Form{.draft = draft, .grows = Form::Grows::by_records}};
}

}  // namespace

Forms niah_multikey_2(const Brief& brief) { return magic_lines(brief, KeyType::pairs, MagicType::numbers); }
Forms niah_multikey_3(const Brief& brief) { return magic_lines(brief, KeyType::uuids, MagicType::uuids); }

Forms kv_retrieval(const Brief& brief) {
  const auto pair_of = [](std::string_view key, std::string_view value) {
    return fmt::format(R"("{}": "{}")", key, value);
  };
  Random random = brief.random.fork("needles");
  const std::string key = random_uuid(random);
  const std::string value = random_uuid(random);

  const auto draft = [=, depth = brief.depth, others = brief.random.fork("distractors")](Size size) {
    Random drawn = others;
    const Pile pairs = pile(pair_of(key, value), depth, size.records, ", ", [&] {
      const std::string other = random_uuid(drawn);
      return pair_of(other, random_uuid(drawn));
    });
    const std::string before =
        "Find the value of one key in the JSON object below.\n" + filler(size.words) + "JSON data:\n{";
    return Draft{.prompt = before + pairs.text + "}\n" + fmt::format("Key: \"{}\"\n", key),
                 .answer_prefix = "The value of this key is:",
                 .answer = fmt::format(" \"{}\"", value),
                 .references = {value},
                 .needles = {{before.size() + pairs.gold.begin, before.size() + pairs.gold.end}}};
  };
  return std::vector{Form{.draft = draft, .grows = Form::Grows::by_records}};
}

}  // namespace mrrope::eval::drafts
