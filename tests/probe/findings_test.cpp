// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "mrrope/probe.h"

namespace mrrope::probe {
namespace {

std::string codes(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += (text.empty() ? "" : " ") + finding.code;
  return text;
}

Length honest() {
  return {.advertised = 4096,
          .advertised_by = "GET /props: n_ctx",
          .accepted = 4096,
          .refused = 4097,
          .refused_status = 400,
          .sent = 4095,
          .read = 4095,
          .cut = Cut::none,
          .usage = 4095,
          .usage_believed = true};
}

TEST(Findings, OfAnHonestServerAreNone) {
  EXPECT_EQ(codes(length_findings(honest())), "");
  EXPECT_EQ(length_line(honest()), "advertised 4096, accepts 4096, reads all of it");
  EXPECT_EQ(codes(health_findings({.same_twice = true, .same_cached = true, .context_shift = false})), "");
  EXPECT_EQ(codes(health_findings({})), "");
}

TEST(Findings, NameWhatIsWrongWithALength) {
  Length length = honest();
  length.accepted = 2048, length.refused = 2049;
  EXPECT_EQ(codes(length_findings(length)), "P100");

  length = {.advertised = 131072, .accepted = 131072, .sent = 131071, .read = 32768, .cut = Cut::front};
  EXPECT_EQ(length_line(length), "advertised 131072, accepts 131072, reads the last 32768");
  EXPECT_EQ(codes(length_findings(length)), "P101");
  length.cut = Cut::middle, length.first = 20, length.read_within = 20;
  EXPECT_EQ(length_line(length), "advertised 131072, accepts 131072, reads the beginning and the last about 32748");
  length.advertised = 32768;
  EXPECT_EQ(codes(length_findings(length)), "P105");

  length = honest();
  length.advertised.reset();
  EXPECT_EQ(codes(length_findings(length)), "P102");
  length = honest();
  length.usage = 4000;
  EXPECT_EQ(codes(length_findings(length)), "P103");
  length = honest();
  length.accepted = 5000, length.refused.reset();
  EXPECT_EQ(codes(length_findings(length)), "P104");
  length = honest();
  length.read.reset(), length.cut = Cut::unknown;
  EXPECT_EQ(codes(length_findings(length)), "P106");
  EXPECT_EQ(length_line(length), "advertised 4096, accepts 4096, reads all of it by its own count");
  length = honest();
  length.also_advertised = 8192;
  EXPECT_EQ(codes(length_findings(length)), "P107");
  length = honest();
  length.refused_status = 500;
  EXPECT_EQ(codes(length_findings(length)), "P108");
}

TEST(Findings, NameWhatIsWrongWithHealth) {
  EXPECT_EQ(codes(health_findings({.same_twice = false, .same_cached = false, .context_shift = true})),
            "P300 P301 P302");
}

TEST(Findings, AreExplainedOnceEachInOrder) {
  std::string last;
  for (const FindingInfo& info : probe_catalogue()) {
    EXPECT_LT(last, std::string(info.code));
    last = info.code;
    EXPECT_NE(info.explanation.find("\n\n"), std::string_view::npos) << info.code;
  }
}

}  // namespace
}  // namespace mrrope::probe
