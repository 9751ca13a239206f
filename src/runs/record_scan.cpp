// SPDX-License-Identifier: MIT
//
// Whatever is not plainly right is left to the slow reader, which knows what to say about it: every function here
// returns false for "not recognised" and nothing is decided twice.
#include "runs/record_scan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <system_error>

#include "base/unicode.h"

namespace mrrope::eval {

namespace {

// Fewer values than base::kMaxJsonValues, whatever is in it.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr double kMost = 9007199254740992.0;  // 2^53, whole in a double

// Bytes that stand for themselves in a string and are a character each.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain.at(c) = c != '"' && c != '\\';
  return plain;
}();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::uint32_t code, std::string& out) {  // below U+10000
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6U));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    out += static_cast<char>(0xE0U | (code >> 12U));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool end() {
    skip_space();
    return rest_.empty();
  }

  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool text(std::string& out) {
    out.clear();
    if (!take('"')) return false;
    for (;;) {
      std::size_t plain = 0;
      while (plain < rest_.size() && kPlain[static_cast<unsigned char>(rest_[plain])]) ++plain;
      out.append(rest_.substr(0, plain));
      rest_.remove_prefix(plain);
      if (rest_.empty()) return false;
      if (rest_.front() == '"') {
        rest_.remove_prefix(1);
        return true;
      }
      if (!(rest_.front() == '\\' ? escape(out) : character(out))) return false;
    }
  }

  bool number(double& out) {
    skip_space();
    std::size_t i = 0;
    const auto digits = [&] {
      const std::size_t first = i;
      while (i < rest_.size() && is_digit(rest_[i])) ++i;
      return i - first;
    };
    const auto is = [&](char c) { return i < rest_.size() && rest_[i] == c; };
    const bool negative = is('-');
    if (negative) ++i;
    const bool zero = is('0');
    const std::size_t whole = digits();
    if (whole == 0 || (zero && whole > 1)) return false;
    bool integer = true;
    if (is('.')) {
      ++i;
      integer = false;
      if (digits() == 0) return false;
    }
    if (is('e') || is('E')) {
      ++i;
      integer = false;
      if (is('+') || is('-')) ++i;
      if (digits() == 0) return false;
    }
    if (negative && zero && integer) return false;  // -0 is an integer there, and has no sign
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + i, out);
    if (error != std::errc() || stop != rest_.data() + i) return false;
    rest_.remove_prefix(i);
    return true;
  }

  bool whole(std::int64_t& out, std::int64_t least = 0) {
    double value = 0;
    if (!number(value) || !(value >= static_cast<double>(least) && value <= kMost) || value != std::floor(value)) {
      return false;
    }
    out = static_cast<std::int64_t>(value);
    return true;
  }

  // `member` gets each name, and reads the value.
  template <class Member>
  bool object(Member member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view name;
      if (!key(name) || !take(':') || !member(name)) return false;
    } while (take(','));
    return take('}');
  }

  template <class Element>
  bool list(Element element) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!element()) return false;
    } while (take(','));
    return take(']');
  }

  bool texts(std::vector<std::string>& out) {
    std::size_t count = 0;
    const bool read = list([&] {
      if (count == out.size()) out.emplace_back();
      return text(out[count++]);
    });
    out.resize(count);
    return read;
  }

  bool numbers(std::vector<double>& out) {
    out.clear();
    return list([&] { return number(out.emplace_back()); });
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  // Names of ours are ASCII, and so are nearly all of the labels.
  bool key(std::string_view& out) {
    if (!take('"')) return false;
    std::size_t plain = 0;
    while (plain < rest_.size() && kPlain[static_cast<unsigned char>(rest_[plain])]) ++plain;
    if (plain == rest_.size() || rest_[plain] != '"') return false;
    out = rest_.substr(0, plain);
    rest_.remove_prefix(plain + 1);
    return true;
  }

  bool character(std::string& out) {
    const base::CodePoint next = base::first_code_point(rest_);
    if (next.value == base::kNoCharacter || next.value < 0x20) return false;
    out.append(rest_.substr(0, next.bytes));
    rest_.remove_prefix(next.bytes);
    return true;
  }

  bool escape(std::string& out) {
    if (rest_.size() < 2) return false;
    const char c = rest_[1];
    rest_.remove_prefix(2);
    switch (c) {
      case '"':
      case '\\':
      case '/': out += c; return true;
      case 'b': out += '\b'; return true;
      case 'f': out += '\f'; return true;
      case 'n': out += '\n'; return true;
      case 'r': out += '\r'; return true;
      case 't': out += '\t'; return true;
      case 'u': break;
      default: return false;
    }
    std::uint32_t code = 0;
    if (rest_.size() < 4) return false;
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
    if (error != std::errc() || stop != rest_.data() + 4) return false;
    if (code >= 0xD800 && code < 0xE000) return false;  // half of a pair
    append_utf8(code, out);
    rest_.remove_prefix(4);
    return true;
  }

  std::string_view rest_;
};

// Which members were read.
class Members {
 public:
  bool once(unsigned member) {
    const bool fresh = (read_ & (1U << member)) == 0;
    read_ |= 1U << member;
    return fresh;
  }
  [[nodiscard]] bool all_of(unsigned mask) const { return (read_ & mask) == mask; }
  [[nodiscard]] bool any_of(unsigned mask) const { return (read_ & mask) != 0; }

 private:
  unsigned read_ = 0;
};

// Text → value, for labels; text → number, for other rules.
template <class Map, class Read>
bool scan_map(Scanner& in, Map& out, Read read) {
  return in.object([&](std::string_view name) {
    const auto [place, fresh] = out.try_emplace(std::string(name));
    return fresh && read(place->second);
  });
}

bool scan_right(Scanner& in, RightAnswer& right) {
  Members members;
  return in.object([&](std::string_view name) {
    if (name == "nll") return members.once(0) && in.number(right.nll);
    if (name == "tokens") return members.once(1) && in.whole(right.tokens, 1);
    return false;
  }) && members.all_of(0b11);
}

bool scan_answer(Scanner& in, Answer& a) {
  a.asked_depth = -1;
  a.labels.clear();
  a.others.clear();
  a.right.reset();
  a.rotation.clear();
  Members members;
  const bool read = in.object([&](std::string_view name) {
    if (name == "length") return members.once(0) && in.whole(a.length);
    if (name == "index") return members.once(1) && in.whole(a.index);
    if (name == "depth") return members.once(2) && in.number(a.depth);
    if (name == "prompt_tokens") return members.once(3) && in.whole(a.prompt_tokens);
    if (name == "new_tokens") return members.once(4) && in.whole(a.new_tokens);
    if (name == "text") return members.once(5) && in.text(a.text);
    if (name == "finish") return members.once(6) && in.text(a.finish);
    if (name == "references") return members.once(7) && in.texts(a.references);
    if (name == "score") return members.once(8) && in.number(a.score) && a.score >= 0 && a.score <= 1;
    if (name == "asked_depth") return members.once(9) && in.number(a.asked_depth);
    if (name == "labels") {
      return members.once(10) && scan_map(in, a.labels, [&](std::string& value) { return in.text(value); });
    }
    if (name == "others") {
      return members.once(11) && scan_map(in, a.others, [&](double& value) { return in.number(value); });
    }
    if (name == "right") return members.once(12) && scan_right(in, a.right.emplace());
    if (name == "rotation") return members.once(13) && in.text(a.rotation);
    return false;
  });
  return read && members.all_of(0b1'1111'1111);
}

bool scan_point(Scanner& in, Reading::Point& point) {
  Members members;
  return in.object([&](std::string_view name) {
    if (name == "length") return members.once(0) && in.whole(point.length);
    if (name == "predicted") return members.once(1) && in.whole(point.predicted);
    if (name == "nll") return members.once(2) && in.number(point.nll);
    return false;
  }) && members.all_of(0b111);
}

// The one that `record` holds already, with its memory, or a new one.
template <class T>
T& held(Record& record) {
  if (T* result = std::get_if<T>(&record.result)) return *result;
  return record.result.emplace<T>();
}

constexpr unsigned kAnswer = 9, kFirstOfReading = 10;
constexpr unsigned kEvery = 0b1111'1111;  // schema to seconds
constexpr unsigned kReading = 0b111'1111U << kFirstOfReading;

bool scan_member(Scanner& in, std::string_view name, Members& members, Record& r) {
  if (name == "answer") return members.once(kAnswer) && scan_answer(in, held<Answer>(r));
  auto& reading = held<Reading>(r);
  if (name == "points") {
    reading.points.clear();
    return members.once(kFirstOfReading) && in.list([&] { return scan_point(in, reading.points.emplace_back()); });
  }
  if (name == "bucket") return members.once(kFirstOfReading + 1) && in.whole(reading.bucket);
  if (name == "bucket_nll") return members.once(kFirstOfReading + 2) && in.numbers(reading.bucket_nll);
  if (name == "kl_tokens") return members.once(kFirstOfReading + 3) && in.whole(reading.kl_tokens);
  if (name == "kl") return members.once(kFirstOfReading + 4) && in.number(reading.kl);
  if (name == "inv_freq") return members.once(kFirstOfReading + 5) && in.numbers(reading.inv_freq);
  if (name == "attention_scale") return members.once(kFirstOfReading + 6) && in.number(reading.attention_scale);
  return false;
}

}  // namespace

bool scan_record(std::string_view line, Record& r) {
  if (line.size() > kMostBytes) return false;
  r.rung.clear();
  Scanner in(line);
  Members members;
  std::string schema;
  const bool read = in.object([&](std::string_view name) {
    if (name == "schema") return members.once(0) && in.text(schema) && schema == kRecordSchema;
    if (name == "key") return members.once(1) && in.text(r.key);
    if (name == "task") return members.once(2) && in.text(r.task);
    if (name == "method") return members.once(3) && in.text(r.method);
    if (name == "factor") return members.once(4) && in.number(r.factor);
    if (name == "document") return members.once(5) && in.text(r.document);
    if (name == "document_hash") return members.once(6) && in.text(r.document_hash);
    if (name == "seconds") return members.once(7) && in.number(r.seconds);
    if (name == "rung") return members.once(8) && in.text(r.rung);
    return scan_member(in, name, members, r);
  });
  if (!read || !in.end() || !members.all_of(kEvery)) return false;
  return members.any_of(1U << kAnswer) ? !members.any_of(kReading) : members.all_of(kReading);
}

}  // namespace mrrope::eval
