// SPDX-License-Identifier: MIT
//
// A text that climbs. Where the last layer alone is extended, every cached key is a function of the text and of its own
// table: turned from rung to rung it must be what the table of the last rung makes of the text anew. That is the oracle
// here; it knows nothing of turns.
#include <map>
#include <set>

#include "tests/llama/support.h"

namespace mrrope::test {
namespace {

// Four rungs so short that a test passes them all, each with the table of an extension by 1, 2, 4, 8.
constexpr std::array<std::int64_t, 4> kLengths = {24, 40, 64, 100};

Ladder short_ladder(const RopeSpec& spec, const std::string& method = "mrrope-pro") {
  Ladder ladder;
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    const std::int64_t factor = std::int64_t{1} << i;
    Result<Plan> plan =
        make_plan(spec, spec.context_trained * factor, factor == 1 ? Method{None{}} : *parse_method(method));
    if (!plan) throw std::runtime_error(to_string(plan.error()));
    ladder.rungs.push_back(
        {.name = std::to_string(kLengths[i]), .length = kLengths[i], .plan = *std::move(plan), .why = ""});
  }
  return ladder;
}

// Rows [from, to) of `rows`.
std::vector<float> part(const std::vector<float>& rows, const LlamaModel& model, std::int64_t from, std::int64_t to) {
  return {rows.begin() + from * model.n_vocab(), rows.begin() + to * model.n_vocab()};
}

// The weights are float16, and llama.cpp rounds what they are multiplied with to that: a key that is off by the 2^-22 of a
// turn in float32 flips such a rounding now and then, 2^-11 of the value, before the layer and after it.
constexpr double kTurns = 2 / 2048.0;

ContextOptions small(const std::string& cache = "f32") {
  ContextOptions options = one_thread(256);
  options.ubatch_size = 16;  // rungs end inside of ubatches
  options.cache_type_k = options.cache_type_v = cache;
  return options;
}

// Largest distance of a rung's rows from those of reading anew, and what a text that did not turn would have.
struct Exactness {
  double climbing = 0, unturned = 0;
};

Exactness compare_with_reading_anew(const LlamaModel& model, const Ladder& ladder, const ContextOptions& options) {
  LlamaContext context = context_of(model, options);
  const std::vector<Token> tokens = random_tokens(model, static_cast<std::size_t>(kLengths.back()));
  if (const auto ok = context.use(ladder); !ok) throw std::runtime_error(to_string(ok.error()));
  const std::vector<float> climbed = logits(context, tokens);
  Exactness out;
  std::vector<float> before;
  for (std::size_t r = 0; r < ladder.rungs.size(); ++r) {
    if (r == 0) context.use_file();
    else use(context, ladder.rungs[r].plan);
    const std::vector<float> anew = logits(context, tokens);
    const std::int64_t from = r == 0 ? 0 : kLengths[r - 1];
    const std::vector<float> mine = part(climbed, model, from, kLengths[r]);
    const std::vector<float> wanted = part(anew, model, from, kLengths[r]);
    if (r == 0) {
      EXPECT_EQ(mine, wanted) << "inside the trained length, bit for bit";
    } else {
      out.climbing = std::max(out.climbing, distance(mine, wanted));
      out.unturned = std::max(out.unturned, distance(part(before, model, from, kLengths[r]), wanted));
    }
    before = anew;
  }
  return out;
}

// The same model with a plan for its last layer alone, be it one with a window.
RopeSpec last_layer_alone(RopeSpec spec, int n_layer) {
  const auto names_it = [&](const LayerGroup& g) {
    return std::find(g.layers.begin(), g.layers.end(), n_layer - 1) != g.layers.end();
  };
  auto group = std::find_if(spec.groups.begin(), spec.groups.end(), names_it);
  if (group == spec.groups.end()) {
    group = std::find_if(spec.groups.begin(), spec.groups.end(), [](const LayerGroup& g) { return g.layers.empty(); });
  }
  if (group == spec.groups.end()) throw std::runtime_error("the last layer is in no group");
  LayerGroup last = *group;
  last.name = "last";
  last.layers = {n_layer - 1};
  last.extended = true;
  std::erase(group->layers, n_layer - 1);
  for (LayerGroup& other : spec.groups) other.extended = false;
  spec.groups.insert(spec.groups.begin(), last);
  return spec;
}

enum class Outcome { equal, refused, other };

Outcome climb_and_compare(const std::string& name) {
  const std::string path = tiny(name);
  const LlamaModel model = load(path);
  Result<LlamaContext> context = LlamaContext::create(model, small());
  if (!context) return Outcome::other;
  const Ladder ladder = short_ladder(last_layer_alone(*rope_spec(file_of(path)), model.n_layer()));
  if (const auto ok = context->use(ladder); !ok) return Outcome::refused;
  const Exactness found = compare_with_reading_anew(model, ladder, small());
  if (found.unturned == 0) return Outcome::other;
  EXPECT_LT(found.climbing, kTurns);
  EXPECT_GT(found.unturned, 3 * found.climbing) << "the oracle sees no turn";
  return Outcome::equal;
}

// Keys are normalised after their rotation; several positions a token, or a cache of blocks, or another number of rotated
// dimensions in each layer; an indexer that pairs other coordinates than its layer, two bases.
const std::set<std::string> kRefused = {
    "hunyuan-dense", "hunyuan-moe", "hunyuan_vl", "maincoder", "talkie",  // normalised
    "paddleocr",     "qwen2vl",     "qwen35",     "qwen35moe", "qwen3tts",
    "qwen3vl",       "qwen3vlmoe",  "qwen4exp",   "step35",  // no shift
    "deepseek32",    "deepseek4",   "dots3note"};            // two ways
// Do not continue a text; do not rotate in the last layer, or at all; read the keys of another layer; hide a turn behind
// eight bits of every activation.
const std::set<std::string> kOther = {"dream",   "llada",  "llada-moe",  "rnd1",       "afmoe",       "cohere2",
                                      "llama4",  "maple",  "cohere2moe", "exaone-moe", "exaone4-swa", "muse-glimmer",
                                      "smollm3", "refact", "gemma3n",    "llama-q8_0"};

TEST(Climb, EqualsReadingAnewInEveryArchitectureThatCanClimbAndTheOthersAreRefused) {
  MRROPE_NEED_TINY_MODELS();
  std::size_t equal = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(tiny_models())) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".gguf" || name.find("-of-") != std::string::npos || kOther.contains(name))
      continue;
    SCOPED_TRACE(name);
    const bool refused = kRefused.contains(name);
    const Outcome outcome = climb_and_compare(name);
    EXPECT_EQ(outcome, refused ? Outcome::refused : Outcome::equal);
    equal += outcome == Outcome::equal ? 1 : 0;
  }
  EXPECT_EQ(equal, 91U);
}

// Layers with a window rotate and the others do not: llama.cpp shifts both caches, and one has nothing to shift. The last
// layer of Llama 4 does not rotate, so its own plan shows that it normalises keys in the others.
TEST(Climb, IsRefusedBeforeAnythingIsComputed) {
  MRROPE_NEED_TINY_MODELS();
  for (const char* name : {"cohere2", "exaone4-swa", "muse-glimmer", "llama4"}) {
    SCOPED_TRACE(name);
    const LlamaModel model = load(tiny(name));
    LlamaContext context = context_of(model, small());
    const std::vector<float> file = logits(context, random_tokens(model, 20));
    const auto done = context.use(short_ladder(*rope_spec(file_of(tiny(name)))));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::unsupported);
    EXPECT_EQ(context.n_cached(), 20U);
  }
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model, small("bf16"));
  EXPECT_FALSE(context.use(short_ladder(*rope_spec(file_of(tiny("llama"))))));
}

struct Short {
  LlamaModel model = load(tiny("llama"));
  Ladder ladder = short_ladder(last_layer_alone(*rope_spec(file_of(tiny("llama"))), model.n_layer()));
  LlamaContext context = context_of(model, small());
  std::vector<Token> tokens = random_tokens(model, 100);
};

TEST(Climb, GoesDownAgainWhenATextIsCutBack) {
  MRROPE_NEED_TINY_MODELS();
  Short s;
  ASSERT_TRUE(s.context.use(s.ladder));
  const std::vector<float> climbed = logits(s.context, s.tokens);
  for (const std::int64_t length : {70, 50, 30, 10}) {
    ASSERT_TRUE(s.context.truncate(static_cast<std::size_t>(length)));
    const std::vector<float> again = logits(s.context, {s.tokens.begin() + length, s.tokens.end()});
    EXPECT_LT(distance(again, part(climbed, s.model, length, 100)), kTurns) << "after " << length;
  }
  s.context.clear();
  EXPECT_EQ(logits(s.context, s.tokens), climbed) << "from the start, nothing is turned back";
}

// Rounding differs with the size of a batch, by as much as it does without a ladder.
TEST(Climb, DoesNotDependOnHowTheTextIsCutIntoBatches) {
  MRROPE_NEED_TINY_MODELS();
  Short s;
  ASSERT_TRUE(s.context.use(s.ladder));
  const std::vector<float> whole = logits(s.context, s.tokens);
  for (const std::size_t piece : {1U, 7U, 39U}) {
    s.context.clear();
    std::vector<float> rows;
    for (std::size_t at = 0; at < s.tokens.size(); at += piece) {
      const auto first = s.tokens.begin() + static_cast<std::ptrdiff_t>(at);
      const std::vector<float> some =
          logits(s.context, {first, first + static_cast<std::ptrdiff_t>(std::min(piece, s.tokens.size() - at))});
      rows.insert(rows.end(), some.begin(), some.end());
    }
    EXPECT_LT(distance(rows, whole), kTurns) << "pieces of " << piece;
  }
}

TEST(Climb, FollowsPositionsThatAreNotThoseOfTheSequence) {
  MRROPE_NEED_TINY_MODELS();
  Short s;
  std::vector<std::int32_t> at = positions(30, 1);
  for (std::size_t i = 15; i < at.size(); ++i) at[i] += 60;  // 75 to 89: on the last rung
  const std::vector<Token> tokens(s.tokens.begin(), s.tokens.begin() + 30);
  ASSERT_TRUE(s.context.use(s.ladder));
  const std::vector<float> climbed = logits(s.context, tokens, at);
  use(s.context, s.ladder.rungs.back().plan);
  const std::vector<float> anew = logits(s.context, tokens, at);
  EXPECT_LT(distance(part(climbed, s.model, 15, 30), part(anew, s.model, 15, 30)), kTurns);
  s.context.use_file();
  const std::vector<float> file = logits(s.context, tokens, at);
  EXPECT_LT(distance(part(climbed, s.model, 0, 15), part(file, s.model, 0, 15)), kTurns);
  EXPECT_GT(distance(part(climbed, s.model, 15, 30), part(file, s.model, 15, 30)), 3 * kTurns);
}

TEST(Climb, TellsTheTableThatTheTextHasReached) {
  MRROPE_NEED_TINY_MODELS();
  Short s;
  ASSERT_TRUE(s.context.use(s.ladder));
  for (std::size_t r = 0; r < s.ladder.rungs.size(); ++r) {
    const auto from = static_cast<std::ptrdiff_t>(s.context.n_cached());
    ASSERT_TRUE(s.context.decode(std::vector<Token>(s.tokens.begin() + from, s.tokens.begin() + kLengths[r])));
    double nearest = 1;
    for (const Rotation& rotation : s.context.rotation()) {
      nearest = std::min(nearest, table_difference(rotation.inv_freq, s.ladder.rungs[r].plan.groups[0].inv_freq));
    }
    EXPECT_LT(nearest, 4 / 16777216.0) << "rung " << r;
  }
}

TEST(Climb, GeneratesAcrossBorders) {
  MRROPE_NEED_TINY_MODELS();
  Short s;
  ASSERT_TRUE(s.context.use(s.ladder));
  const std::vector<Token> prompt(s.tokens.begin(), s.tokens.begin() + 20);
  const auto said = s.context.generate_greedy(prompt, {.max_tokens = 60});
  ASSERT_TRUE(said);
  ASSERT_EQ(said->size(), 60U);
  std::vector<Token> text = prompt;
  text.insert(text.end(), said->begin(), said->end());
  s.context.clear();
  const std::vector<float> rows = logits(s.context, text);
  for (std::size_t i = 0; i < said->size(); ++i) {
    const auto row = rows.begin() + static_cast<std::ptrdiff_t>((19 + i) * static_cast<std::size_t>(s.model.n_vocab()));
    const float best = *std::max_element(row, row + s.model.n_vocab());
    EXPECT_GT(row[(*said)[i]], best - 0.01F) << "token " << i;  // equal but for a tie
  }
}

// Each turn multiplies every cell of a cache by the ratio of two scales, those that no token has any more, too.
TEST(Climb, AndStartingOverAThousandTimesLeavesNumbers) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model, small("f16"));
  const Ladder ladder = short_ladder(last_layer_alone(*rope_spec(file_of(tiny("llama"))), model.n_layer()));
  const std::vector<Token> tokens = random_tokens(model, 100);
  ASSERT_TRUE(context.use(ladder));
  const std::vector<float> first = logits(context, tokens);
  for (int i = 0; i < 1000; ++i) {
    context.clear();
    ASSERT_TRUE(context.decode(std::vector<Token>(tokens.begin(), tokens.begin() + 26)));
  }
  context.clear();
  EXPECT_EQ(logits(context, tokens), first);
}

// The last layer sees a window of which its cache keeps no more than it needs: cells are used again.
TEST(Climb, TurnsAWindowWhoseCellsAreUsedAgain) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("laguna"));
  ContextOptions options = small();
  options.ctx_size = 2048;
  LlamaContext context = context_of(model, options);
  Ladder ladder = short_ladder(last_layer_alone(*rope_spec(file_of(tiny("laguna"))), model.n_layer()));
  ladder.rungs[0].length = 700;
  ladder.rungs[1].length = 1100;
  ladder.rungs[2].length = 1300;
  ladder.rungs[3].length = 1500;
  const std::vector<Token> tokens = random_tokens(model, 1500);
  ASSERT_TRUE(context.use(ladder));
  const std::vector<float> climbed = logits(context, tokens);
  ASSERT_FALSE(context.truncate(100)) << "the window has moved on";
  use(context, ladder.rungs[3].plan);
  const std::vector<float> anew = logits(context, tokens);
  EXPECT_LT(distance(part(climbed, model, 1300, 1500), part(anew, model, 1300, 1500)), kTurns);
  context.use_file();
  EXPECT_GT(distance(part(logits(context, tokens), model, 1300, 1500), part(anew, model, 1300, 1500)), 3 * kTurns);
}

TEST(Climb, LeavesAnEmptyCacheWhenItEndsInTheMiddleOfATurn) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  ContextOptions options = one_thread(1 << 17);  // a turn takes some milliseconds
  options.ubatch_size = 64;
  LlamaContext context = context_of(model, options);
  const Ladder ladder = short_ladder(*rope_spec(file_of(tiny("llama"))));
  const std::vector<Token> tokens = random_tokens(model, 30);
  ASSERT_TRUE(context.use(ladder));
  const std::vector<float> wanted = logits(context, tokens);
  bool emptied = false;
  for (int wait = 0; wait < 200 && !emptied; ++wait) {
    context.clear();
    ASSERT_TRUE(context.decode(std::vector<Token>(tokens.begin(), tokens.begin() + 24)));
    const Result<void> done = decode_and_cancel(context, std::vector<Token>(tokens.begin() + 24, tokens.end()),
                                                std::chrono::microseconds(100 * wait));
    emptied = !done && context.n_cached() == 0;  // 24: before the turn
    context.clear();
    (void)context.decode(std::vector<Token>(1, tokens[0]));  // takes a cancellation that came too late
    context.clear();
    EXPECT_EQ(logits(context, tokens), wanted) << wait;
  }
  EXPECT_TRUE(emptied);
}

TEST(Climb, KeepsTheCacheWhenItIsCancelledBeforeATurn) {
  MRROPE_NEED_TINY_MODELS();
  Short s;
  ASSERT_TRUE(s.context.use(s.ladder));
  const std::vector<float> climbed = logits(s.context, s.tokens);
  s.context.clear();
  ASSERT_TRUE(s.context.decode(std::vector<Token>(s.tokens.begin(), s.tokens.begin() + 24)));
  s.context.request_cancel();
  const auto cancelled = s.context.decode(std::vector<Token>(s.tokens.begin() + 24, s.tokens.end()));
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
  EXPECT_EQ(s.context.n_cached(), 24U) << "before anything was turned";
  EXPECT_LT(distance(logits(s.context, {s.tokens.begin() + 24, s.tokens.end()}), part(climbed, s.model, 24, 100)),
            kTurns);
}

// A cache that rounds keys rounds them once more at each rung: errors that add up like a random walk, sqrt(rungs + 1)
// times one, and the factor 2 for the largest of a few.
TEST(Climb, RoundsKeysOnceARung) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  const RopeSpec spec = last_layer_alone(*rope_spec(file_of(tiny("llama"))), model.n_layer());
  const std::vector<Token> tokens = random_tokens(model, 100);
  constexpr int kRungs = 24;  // from 1 to 64 times, 1.19 times each
  Ladder many;
  for (int r = 0; r <= kRungs; ++r) {
    const double factor = std::pow(64.0, r / static_cast<double>(kRungs));
    const auto target = static_cast<std::int64_t>(std::llround(static_cast<double>(spec.context_trained) * factor));
    many.rungs.push_back({.name = std::to_string(r),
                          .length = 50 + r,
                          .plan = *make_plan(spec, target, r == 0 ? Method{None{}} : Method{MrRopePro{}}),
                          .why = ""});
  }
  many.rungs.back().length = 100;
  Ladder one = many;
  one.rungs.erase(one.rungs.begin() + 1, one.rungs.end() - 1);
  one.rungs.front().length = 50;
  LlamaContext exact = context_of(model, small());
  use(exact, many.rungs.back().plan);
  const std::vector<float> wanted = part(logits(exact, tokens), model, 75, 100);
  for (const char* type : {"f32", "f16", "q8_0", "q4_0"}) {
    ContextOptions options = small(type);
    if (std::string(type)[0] == 'q') options.flash_attn = "on";
    LlamaContext context = context_of(model, options);
    const auto error_of = [&](const Ladder& ladder) {
      if (const auto ok = context.use(ladder); !ok) throw std::runtime_error(to_string(ok.error()));
      return distance(part(logits(context, tokens), model, 75, 100), wanted);
    };
    const double once = error_of(one), often = error_of(many);
    RecordProperty(std::string(type) + "_once", std::to_string(once));
    RecordProperty(std::string(type) + "_often", std::to_string(often));
    std::cout << type << ": " << once << " after one turn, " << often << " after " << kRungs << "\n";
    EXPECT_LT(often, 2 * std::sqrt(kRungs + 1.0) * std::max(once, kTurns / 2));
  }
}

TEST(Climb, OfOneRungIsItsPlan) {
  MRROPE_NEED_TINY_MODELS();
  Short s;
  Ladder one = s.ladder;
  one.rungs.erase(one.rungs.begin(), one.rungs.end() - 1);
  ASSERT_TRUE(s.context.use(one));
  const std::vector<float> climbed = logits(s.context, s.tokens);
  use(s.context, one.rungs[0].plan);
  EXPECT_EQ(logits(s.context, s.tokens), climbed);
}

TEST(Climb, OfAnotherModelIsRefusedAndNothingChanges) {
  MRROPE_NEED_TINY_MODELS();
  Short s;
  use(s.context, s.ladder.rungs.back().plan);
  const std::vector<float> before = logits(s.context, s.tokens);
  const auto other = s.context.use(*climbing_ladder(*parse_spec("dim=128,base=10000,ctx=4096"), 16384));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::inconsistent);
  s.context.clear();
  EXPECT_EQ(logits(s.context, s.tokens), before);
  Ladder empty;
  EXPECT_FALSE(s.context.use(empty));
}

}  // namespace
}  // namespace mrrope::test
