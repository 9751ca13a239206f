// SPDX-License-Identifier: MIT
//
// What each engine that reads config.json does with it: one struct of rules per engine, one evaluator for all
// (hf_effective.cpp). A rule exists where engines were seen to differ; a behaviour that no combination of rules
// describes has a row of its own in `exceptions`.
//
// M is max_position_embeddings, L original_max_position_embeddings.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mrrope/targets.h"

namespace mrrope::targets {

enum RopeType : unsigned {
  kDefault = 1U << 0,
  kLinear = 1U << 1,
  kDynamic = 1U << 2,
  kYarn = 1U << 3,
  kLlama3 = 1U << 4,
  kLongRope = 1U << 5,
  kProportional = 1U << 6,
};
inline constexpr unsigned kClassic = kDefault | kLinear | kDynamic | kYarn | kLlama3 | kLongRope;
inline constexpr unsigned kEvery = kClassic | kProportional;

// Which objects of the file are seen, and who wins.
enum class Reader {
  transformers5,  // rope_scaling, else rope_parameters; L at the top level wins over the one inside
  transformers4,  // rope_scaling beside rope_theta; rope_parameters is not seen
  scaling,        // its own reader of the same fields
  either,         // its own reader: rope_scaling, else rope_parameters
  parameters,     // its own reader: rope_parameters only, whose base wins over rope_theta
};

// Where a file has both `type` and `rope_type`.
enum class TypeKeys { rope_type_wins, type_wins, refused, refused_if_different };

// ---- longrope ------------------------------------------------------------------------------------------------------

// Where L is looked for. Elsewhere it is not seen.
enum class Original {
  as_read,         // where the reader has put it; else M
  top_level,       // else M
  top_level_only,  // else the engine fails
  top_then_rope,
  rope_then_top,
};

// When the long list is used.
enum class ListChoice {
  by_length,  // as soon as a sequence of the batch is longer than L; cached keys keep their rotation
  by_start,   // if the engine was started for more than L tokens
  by_file,    // if M > L
  long_only,
  phi3_by_start,  // on Phi-3 as by_start, else as long_only
  short_only,
  by_position,  // from position L on, inside one sequence: a mixture unless the lists are equal
  by_chunk,     // if more than L tokens are computed at once: never while generating
};

// Where the attention scale comes from. The formula is sqrt(1 + ln(M/L)/ln L), 1 for M <= L.
enum class ScaleSource {
  attention_factor,      // else the formula, with `factor` in place of M/L
  mscales,               // short_mscale or long_mscale, else the formula
  mscales_or_attention,  // both mscales, else as attention_factor
  formula,
  formula_by_start,         // with the started length in place of M; 1 with the short list
  mscales_turn_the_angles,  // the formula; but with both mscales the angles are multiplied by them
  none,                     // always 1
};

struct LongRopeRules {
  Original original = Original::as_read;
  ListChoice list = ListChoice::by_length;
  ScaleSource scale = ScaleSource::formula;
  bool wrong_at_original = false;  // the token at position L is rotated as position 0
};

// ---- yarn ----------------------------------------------------------------------------------------------------------

// mscale and mscale_all_dim.
enum class MscalePair {
  ignored,
  if_both_nonzero,
  if_both_given,
  ratio,  // m(S, mscale, default 1) / m(S, mscale_all_dim, default 0)
};

struct YarnRules {
  bool ratio_wins = false;       // S is M/L where L is given, whatever `factor` says
  bool attention_factor = true;  // read
  bool attn_factor = false;      // read, and multiplies the scale
  MscalePair mscales = MscalePair::if_both_nonzero;
  bool betas = true;                   // read; else 32 and 1
  bool needs_betas = false;            // fails without them
  bool truncate_key = true;            // read
  bool truncate_nested = true;         // read in a rope_parameters per kind of layer, too
  bool truncates = true;               // without the key
  bool table_ends = false;             // rows for L * factor positions, whatever M is
  bool band_by_start = false;          // the ramp is placed by the started length instead of L, and plain up to L
  bool warmth_replaces_scale = false;  // with llama_4_scaling_beta the scale is 1
  std::int64_t original_default = 0;   // 0: M

  // Beside mrope_section
  int sections_times = 1;               // L counts so many times, for the ramp and for the rows
  std::string_view sections_once = {};  // but not on these model types
  bool sections_mscales = true;         // mscale and mscale_all_dim may stand
};

enum class DynamicRule {
  by_length,       // the base grows with the sequence beyond M
  plain,           // no effect
  at_full_length,  // fixed: the base for M * factor tokens
};

// ---- The length it offers ------------------------------------------------------------------------------------------

struct LengthRules {
  unsigned multiplied = 0;  // types whose `factor` multiplies M, where no L is inside the rope object
  bool multiplied_despite_original = false;
  std::string_view never_multiplied = {};  // model types
  bool longrope_original = false;          // with longrope, a top-level L is the length, not M
};

// ---- Exceptions ----------------------------------------------------------------------------------------------------

enum class Outcome {
  honoured,    // as the rules say
  ignored,     // rotates plainly
  refused,     // does not load
  broken,      // loads and computes something else than a table
  inverted,    // the list multiplies the speeds instead of dividing them
  fixed,       // rotates by a table in its code, base 10000, whatever the file says
  built_once,  // by the code of transformers 5, without a length: the short list, dynamic plain
  handed_on,   // to transformers 5: the model runs there, and rotates as it does there
  as_linear,   // takes every type for linear, and fails without `factor`
  unchecked,   // nobody has looked: what the rules say is a guess
};

// The first row that fits decides.
struct HfException {
  std::string_view models;  // model_type names between blanks; empty: all
  unsigned types;
  Outcome outcome;
  std::string_view says;         // for people, as the end of "vLLM …"
  std::string_view source = {};  // file and line where that stands, if not where EngineInfo::source points
  std::string_view flags = {};   // without which its command does not start
};

// Phi-3's own demands on rope_scaling.
enum class Phi3Rule {
  none,
  needs_type,          // the key must be called `type`
  plain_without_type,  // else nothing is read
  three_fields,        // type, short_factor, long_factor and nothing else
};

// The base an engine takes for some models where it finds none.
struct OwnBase {
  std::string_view models = {};
  double base = 0;
};

struct HfEngine {
  EngineInfo info;
  Reader reader = Reader::transformers5;
  std::string_view either = {};      // models for which Reader::scaling is Reader::either
  std::string_view parameters = {};  // … and those for which it is Reader::parameters
  TypeKeys type_keys = TypeKeys::rope_type_wins;
  unsigned types = kClassic;
  unsigned sectioned = kEvery;         // those that take three positions per token (mrope_section)
  std::string_view unknown_type = {};  // its error for any other type
  LongRopeRules longrope = {};
  YarnRules yarn = {};
  DynamicRule dynamic = DynamicRule::by_length;
  LengthRules length = {};
  Phi3Rule phi3 = Phi3Rule::none;
  OwnBase own_base = {};
  std::string_view needs_head_dim = {};  // models that fail without an explicit head_dim where the table depends on it
  std::string_view needs_type = {};      // models on which a scaling must be called `type`
  std::string_view needs_betas = {};     // models that fail on yarn without beta_fast and beta_slow
  std::string_view needs_mscales = {};   // … and without mscale and mscale_all_dim
  std::string_view mscale_pair = {};     // models on which MscalePair is if_both_nonzero, whatever the rule says
  bool trips_over_nested = false;  // longrope in rope_scaling beside a per-layer-type rope_parameters is a KeyError
  std::span<const HfException> exceptions = {};
  std::string_view command = {};  // how to start it, with {model}, {context} and {class}, its loader (transformers)
  std::string_view remark = {};   // what else a user should know
};

std::span<const HfEngine> hf_engines();
const HfEngine* find_hf_engine(std::string_view name);

// "a b c" contains the word "b".
bool names_model(std::string_view models, std::string_view model_type);

// nullptr: as the rules say.
const HfException* exception_for(const HfEngine& engine, std::string_view model_type, unsigned type);

}  // namespace mrrope::targets
