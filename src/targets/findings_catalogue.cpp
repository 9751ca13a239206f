// SPDX-License-Identifier: MIT
//
// Every finding there is, and what to tell a person who meets it: what it means and why it hurts, then what to do.
#include "mrrope/findings.h"

namespace mrrope {

const std::vector<FindingInfo>& finding_catalogue() {
  using enum Severity;
  static const std::vector<FindingInfo> all = {
      {"R000", error, "the file cannot be used",
       "A key that llama.cpp needs is missing, has another type than it reads, or has a value from which no table of "
       "angles follows: a base of 0, a factor that is no number, an architecture it does not know.\n\n"
       "Convert the model again with a current convert_hf_to_gguf.py, or correct the key that the message names."},
      {"R001", error, "a longer context_length without scaling",
       "Somebody raised context_length because a front end caps at it. Nothing slows the rotation down, so that beyond "
       "the trained length the model meets angles that it has never seen, and its text falls apart.\n\n"
       "Extend the file instead: mrrope extend writes the length and the scaling that belongs to it."},
      {"R002", error, "factor tensors that the architecture ignores",
       "llama.cpp loads the factors for this architecture and rotates without them. The file looks extended and runs "
       "plain.\n\n"
       "Remove the tensors, or use a method that keys can say: linear, ntk or yarn."},
      {"R003", error, "factor tensors that the architecture refuses",
       "The graph of this architecture takes no factors, and llama.cpp stops with \"wrong number of tensors\".\n\n"
       "Remove the tensors; keys can say linear, ntk and yarn. mrrope extend --relabel writes the model under another "
       "name whose graph is the same and takes factors, where there is one."},
      {"R004", error, "scaled twice",
       "There are factors per pair and a rope.scaling.factor as well. llama.cpp applies both, since a file without a "
       "scaling type means linear: every pair is slowed down twice.\n\n"
       "Set rope.scaling.type to none if the tensor says it all; else remove the tensor."},
      {"R005", error, "longrope without factors",
       "The type says longrope and the lists are not there: that is what convert_hf_to_gguf makes of such a config "
       "outside the Phi family. The model runs unscaled.\n\n"
       "Extend the GGUF itself: mrrope extend FILE -c N -o OUT."},
      {"R006", error, "yarn without the original length",
       "YaRN places its ramp by the trained length. Without rope.scaling.original_context_length, llama.cpp takes "
       "context_length for it, which is the extended one, and slows the wrong pairs.\n\n"
       "Set rope.scaling.original_context_length to the length the model was trained for."},
      {"R007", warning, "yarn keys that nobody reads",
       "llama.cpp reads yarn_beta_* in grok and mistral3 only, and yarn_ext_factor and yarn_attn_factor in grok only. "
       "Elsewhere the file says one thing and the engine does another.\n\n"
       "Use the flags --yarn-*, or bake the table with mrrope extend --method yarn:beta_fast=…"},
      {"R008", warning, "yarn length and factor disagree",
       "The original length times the factor is not context_length. Front ends cap at context_length, so that you get "
       "less than the factor pays for, or a length that it does not reach.\n\n"
       "Make them agree."},
      {"R009", warning, "long and short factors differ",
       "llama.cpp chooses between the lists by the context that is allocated, not by the text. The same prompt is "
       "rotated otherwise at another -c.\n\n"
       "Start it for the length you mean, or write the same list twice (mrrope extend does)."},
      {"R010", error, "half a pair of factor lists",
       "One of rope_factors_long and rope_factors_short is missing and counts as ones.\n\n"
       "Write both."},
      {"R011", error, "rope_freqs beside factor lists",
       "Only one of them has a place in the graph, and the file does not load.\n\n"
       "Keep one: rope_freqs, or the lists with scaling type longrope."},
      {"R012", error, "the base is missing",
       "Without rope.freq_base llama.cpp takes 10000. Models of this architecture were trained with another, and "
       "produce noise from the first token.\n\n"
       "Write rope_theta of the model's config.json as rope.freq_base."},
      {"R013", warning, "two names for the factor",
       "rope.scale_linear is the old name of rope.scaling.factor and is ignored beside it.\n\n"
       "Remove rope.scale_linear."},
      {"R014", warning, "a factor that is switched off",
       "rope.scaling.type none makes llama.cpp pass over the factor; other readers may not.\n\n"
       "Set the type that is meant, or the factor to 1."},
      {"R015", warning, "factors below 1",
       "ggml divides the speeds by the factors, so that numbers below 1 turn faster than in training. They are "
       "probably reciprocals.\n\n"
       "Write s, not 1/s."},
      {"R100", error, "the config cannot be used",
       "A field is missing or cannot be what it says: a list of another length than the head has pairs, a base that is "
       "no number. transformers fails on it, or runs the model unscaled.\n\n"
       "Correct the field that the message names."},
      {"R101", warning, "type beside rope_type",
       "Both names say the same, and ExLlamaV2 stops at that.\n\n"
       "Keep rope_type; Phi-3 alone wants type."},
      {"R102", error, "type and rope_type disagree",
       "Some engines read the one and some the other, so that one file is two models.\n\n"
       "Keep rope_type with the value that is meant."},
      {"R103", warning, "scaling in the new dialect only",
       "transformers 5 saves rope_parameters alone. transformers 4, mlx-lm and others read rope_scaling only and run "
       "the model unscaled, without a word.\n\n"
       "Write rope_scaling and rope_theta too; mrrope extend writes both dialects."},
      {"R104", warning, "base in the new dialect only",
       "rope_theta stands inside rope_parameters, where transformers 4 and mlx-lm do not look. They take 10000, and "
       "the model produces noise.\n\n"
       "Write rope_theta at the top level too."},
      {"R105", error, "the base was dropped",
       "Overwriting the rope dictionary lost rope_theta, and the class default (10000 for most) takes its place. "
       "Perplexity goes from 10 to thousands.\n\n"
       "Write rope_theta as it was before."},
      {"R106", error, "the two dialects disagree",
       "rope_scaling and rope_parameters say different things, and engines differ in which they read.\n\n"
       "Make them equal."},
      {"R107", error, "yarn without the original length",
       "YaRN places its ramp by the trained length. Without original_max_position_embeddings it is taken from "
       "max_position_embeddings, which is the extended one.\n\n"
       "Write original_max_position_embeddings."},
      {"R108", error, "yarn without a longer max_position_embeddings",
       "The factor is above 1 and the declared length is still the trained one. Engines cap there, and those that "
       "compute the factor from the lengths get 1 and run plain.\n\n"
       "Set max_position_embeddings to the original length times the factor."},
      {"R109", warning, "yarn factor and lengths disagree",
       "A YaRN config says its factor twice: as `factor`, and as max_position_embeddings over "
       "original_max_position_embeddings. Most engines take the first, a few the second, and vLLM and SGLang run out "
       "of table rows beyond original times factor. The message names the engines that take the second on this "
       "model.\n\n"
       "Make them agree. If the original length looks odd in a file that mrrope extended, see R118: with longrope it "
       "carries the attention scale; with yarn it is the trained length."},
      {"R110", warning, "one mscale alone",
       "mscale and mscale_all_dim act in transformers only if both are there; one alone is ignored there and read "
       "elsewhere.\n\n"
       "Give both, or attention_factor."},
      {"R111", warning, "attention_factor that some engines ignore",
       "With yarn, some engines compute the attention scale from the factor whatever attention_factor says. The "
       "message names them. Their scores are too flat or too sharp at every length.\n\n"
       "Use a longrope table, which has a spelling of the scale for each of them: mrrope extend writes one."},
      {"R112", warning, "truncate: false",
       "llama.cpp and some engines round the ends of YaRN's ramp to whole pairs all the same: a slightly different "
       "table.\n\n"
       "Bake the table: mrrope extend --method yarn:truncate=false."},
      {"R113", warning, "linear in vLLM",
       "vLLM multiplies max_position_embeddings by the factor of linear once more and offers a length that the model "
       "does not have.\n\n"
       "Give it --max-model-len."},
      {"R114", warning, "dynamic",
       "dynamic has no effect in vLLM. In transformers the table changes while a text grows, and keys that are cached "
       "keep their old rotation.\n\n"
       "Use a static method: mrrope plan."},
      {"R115", error, "original length nested only",
       "transformers 4 looks for the original length of longrope at the top level only, does not find it and stays "
       "with the short list.\n\n"
       "Write it at the top level too, or the same list twice."},
      {"R116", warning, "short and long factors differ",
       "Engines choose between the lists in seven ways: by the text, the start, the file, the position. Most leave "
       "keys in the cache that were rotated by the other list.\n\n"
       "Make the lists equal; mrrope extend does."},
      {"R117", warning, "one spelling of the attention scale",
       "transformers reads attention_factor of longrope; vLLM and SGLang read short_mscale and long_mscale; others "
       "compute it from the lengths.\n\n"
       "Write all three; mrrope extend does."},
      {"R118", warning, "original length at the top level",
       "vLLM takes original_max_position_embeddings at the top level for the length that it serves.\n\n"
       "Give it --max-model-len. The number may look odd, such as 12783: engines that read no scale compute it as "
       "sqrt(ln M / ln L) from the declared length M and this L, and mrrope extend picks the L for which the plan's "
       "scale comes out. It is not the trained length, and with two equal lists nothing else depends on it."},
      {"R119", error, "Phi-3 without type",
       "The class of Phi-3 in transformers 4 looks for the key type and fails without it.\n\n"
       "Write type."},
      {"R120", error, "no head_dim",
       "The classes of Mistral and Mixtral in transformers 4 leave head_dim empty, and the formulas of yarn, longrope "
       "and dynamic multiply it.\n\n"
       "Write head_dim: hidden_size / num_attention_heads."},
      {"R121", error, "unknown rope type",
       "No engine knows the type by that name: some fail, some run unscaled.\n\n"
       "One of linear, dynamic, yarn, longrope and llama3 is meant."},
      {"R122", error, "no rope type",
       "A rope_scaling without rope_type is treated as plain.\n\n"
       "Write rope_type."},
      {"R123", error, "factor below 1",
       "A factor speeds the rotation up below 1; it is probably the reciprocal.\n\n"
       "Factors are at least 1."},
      {"R200", error, "the engine does not load it",
       "The engine refuses the file: it does not know the model or the kind of scaling, or wants other fields. It says "
       "so when it starts, so nothing runs wrongly.\n\n"
       "Ask for a file for this engine (mrrope extend --target ENGINE), or serve it with an engine that the table "
       "says serves it."},
      {"R201", error, "the engine ignores the scaling",
       "The engine loads the file, passes over the scaling and offers the longer length all the same. Up to the "
       "trained length the answers look right; beyond it the model meets angles it has never seen, and nothing in the "
       "log says so.\n\n"
       "Serve it with another engine, or hold this one to the trained length."},
      {"R202", error, "the engine rotates by another table",
       "The engine computes other angles than the file says: it reads other fields, other defaults, or another form of "
       "the same law. Quality suffers at every length, and mostly beyond the trained one.\n\n"
       "Ask for a file for this engine (mrrope extend --target ENGINE), or serve it with another."},
      {"R203", warning, "the engine scales attention otherwise",
       "The angles are right and the attention scale is not: scores are too flat or too sharp by the square of the "
       "difference.\n\n"
       "A longrope table carries the scale in the spelling of each engine: mrrope extend --target ENGINE."},
      {"R204", warning, "the engine serves fewer tokens",
       "The engine takes another number than max_position_embeddings for the length and serves less than the file "
       "declares, unless told.\n\n"
       "Give it the length when you start it; the message says how where we know."},
      {"R205", error, "the engine rotates some positions otherwise",
       "One table holds for most of a text and another for the rest, or single tokens are rotated as if they stood "
       "elsewhere (SGLang rotates the token at the original length as position 0). Distances between the two parts "
       "come out wrong, and keys in the cache stay so.\n\n"
       "Ask for a file for this engine (mrrope extend --target ENGINE), or serve it with another."},
      {"R206", warning, "a sliding window hides the extension",
       "Every layer that rotates looks back a fixed number of tokens only. A slower rotation changes what it sees "
       "inside its window, where the model was right before, and lets it see no further.\n\n"
       "Leave the table alone. Layers without rotation reach any length; a model that has windows only can carry news "
       "further by its depth, not by its table."},
      {"R207", note, "not checked",
       "Nobody has run this engine with this kind of model or read its code for it. What the table shows is what it "
       "does with other models.\n\n"
       "Try it: compare its answers with those of transformers on a text beyond the trained length."},
  };
  return all;
}

}  // namespace mrrope
