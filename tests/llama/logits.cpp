// SPDX-License-Identifier: MIT
//
// Logits of pseudo-random tokens by unmodified llama.cpp, for tests: does a file load, and does it compute what the
// same plan computes when it is injected into the running model?
//
//   llama_logits MODEL --out FILE [options]   writes float32 logits [tokens][vocabulary], prints one line of JSON
//   llama_logits --check MODEL [options]      only loads the model and makes a context
//
//   --first-position P --tokens N --seed S    N tokens at positions P, P+1, ... (default 0, 48, 1)
//   --ctx C                                   context size (default 512); decides between long and short factors
//   --cache-f32 1                             keys and values in float32 (float16 amplifies differences)
//   --rope-scaling none|linear|yarn --rope-scale X --yarn-orig-ctx N --yarn-attn-factor A    as in llama-cli
//   --override-kv KEY=int|float|bool|str:VALUE                                                as in llama-cli
//   --factors FILE --attn A [--layers i,j]    replaces the rotation of these layers: float32 pair factors, magnitude A
//   --trace                                   adds what every rotation of the graph was asked to do to the JSON
//
// Exit status 1 and the log of llama.cpp on standard error if anything fails, also where llama.cpp would abort.
// Everything that could make two runs differ is off: flash attention, repacked weights, more than two threads.
#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kBatch = 512;
// Where ggml_rope_ext keeps its arguments (ggml.c); the struct member op_params is public, the order is not documented.
enum RopeParam { kDims = 1, kMode = 2, kBase = 5, kScale = 6, kExtrapolation = 7, kMagnitude = 8 };
static_assert(GGML_MAX_OP_PARAMS == 64, "another ggml: look at ggml_rope_impl again");

std::string log_text;  // NOLINT: llama_log_set and ggml_set_abort_callback know no state of ours

[[noreturn]] void fail(const std::string& reason) {
  std::fprintf(stderr, "%sllama_logits: %s\n", log_text.c_str(), reason.c_str());
  std::fflush(nullptr);
  std::_Exit(1);  // not exit: after an abort inside llama.cpp its destructors must not run
}

struct Options {
  std::string model, out, factors;
  int first_position = 0, tokens = 48, ctx = 512;
  unsigned seed = 1;
  bool check = false, trace = false, cache_f32 = false;
  float attn = 1.0F;
  std::set<int> layers;  // empty: all
  llama_rope_scaling_type rope_scaling = LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED;
  float rope_scale = 0.0F, yarn_attn_factor = -1.0F;
  unsigned yarn_orig_ctx = 0;
  std::vector<llama_model_kv_override> overrides;
};

llama_rope_scaling_type scaling_type(const std::string& name) {
  if (name == "none") return LLAMA_ROPE_SCALING_TYPE_NONE;
  if (name == "linear") return LLAMA_ROPE_SCALING_TYPE_LINEAR;
  if (name == "yarn") return LLAMA_ROPE_SCALING_TYPE_YARN;
  fail("unknown scaling " + name);
}

llama_model_kv_override parse_override(const std::string& text) {
  const std::size_t equals = text.find('='), colon = text.find(':', equals);
  if (equals == std::string::npos || colon == std::string::npos) fail("not KEY=TYPE:VALUE: " + text);
  const std::string type = text.substr(equals + 1, colon - equals - 1), value = text.substr(colon + 1);
  llama_model_kv_override result{};
  std::snprintf(result.key, sizeof result.key, "%s", text.substr(0, equals).c_str());
  if (type == "int") {
    result.tag = LLAMA_KV_OVERRIDE_TYPE_INT;
    result.val_i64 = std::stoll(value);
  } else if (type == "float") {
    result.tag = LLAMA_KV_OVERRIDE_TYPE_FLOAT;
    result.val_f64 = std::stod(value);
  } else if (type == "bool") {
    result.tag = LLAMA_KV_OVERRIDE_TYPE_BOOL;
    result.val_bool = value == "true";
  } else if (type == "str") {
    result.tag = LLAMA_KV_OVERRIDE_TYPE_STR;
    std::snprintf(result.val_str, sizeof result.val_str, "%s", value.c_str());
  } else {
    fail("unknown type in " + text);
  }
  return result;
}

std::set<int> parse_layers(const std::string& text) {
  std::set<int> layers;
  std::istringstream stream(text);
  for (std::string layer; std::getline(stream, layer, ',');) layers.insert(std::stoi(layer));
  return layers;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (++i >= argc) fail(name + " needs a value");
      return argv[i];
    };
    if (name == "--check") o.check = true;
    else if (name == "--trace") o.trace = true;
    else if (name == "--out") o.out = value();
    else if (name == "--first-position") o.first_position = std::stoi(value());
    else if (name == "--tokens") o.tokens = std::stoi(value());
    else if (name == "--seed") o.seed = static_cast<unsigned>(std::stoul(value()));
    else if (name == "--ctx") o.ctx = std::stoi(value());
    else if (name == "--cache-f32") o.cache_f32 = std::stoi(value()) != 0;
    else if (name == "--factors") o.factors = value();
    else if (name == "--attn") o.attn = std::stof(value());
    else if (name == "--layers") o.layers = parse_layers(value());
    else if (name == "--rope-scaling") o.rope_scaling = scaling_type(value());
    else if (name == "--rope-scale") o.rope_scale = std::stof(value());
    else if (name == "--yarn-attn-factor") o.yarn_attn_factor = std::stof(value());
    else if (name == "--yarn-orig-ctx") o.yarn_orig_ctx = static_cast<unsigned>(std::stoul(value()));
    else if (name == "--override-kv") o.overrides.push_back(parse_override(value()));
    else if (!name.starts_with("--") && o.model.empty()) o.model = name;
    else fail("unknown argument " + name);
  }
  if (o.model.empty() || (!o.check && o.out.empty())) fail("usage: llama_logits MODEL --out FILE | --check MODEL");
  if (!o.overrides.empty()) o.overrides.push_back({});  // an empty key ends the list
  return o;
}

// ---- the rotations of the running graph -----------------------------------------------------------------------------

struct Rotations {
  std::vector<float> factors;  // empty: look, do not touch
  float attn = 1.0F;
  std::set<int> layers;
  ggml_tensor* tensor = nullptr;
  int layer = -1;              // of the last node that had one in its name; a rotation does not always
  std::set<std::string> seen;  // JSON objects, before the change
  std::string error;
};

float float_param(const ggml_tensor& rope, int index) {
  float value = 0;
  std::memcpy(&value, &rope.op_params[index], sizeof value);
  return value;
}

void set_float_param(ggml_tensor& rope, int index, float value) {
  std::memcpy(&rope.op_params[index], &value, sizeof value);
}

// llama.cpp names the tensors of layer 3 "Qcur-3", "Qcur-3 (view)" and so on. -1: no layer in the name.
int layer_in_name(const ggml_tensor& tensor) {
  const std::string name = tensor.name;
  const std::size_t dash = name.rfind('-');
  const bool number = dash != std::string::npos && dash + 1 < name.size() && std::isdigit(name[dash + 1]) != 0;
  return number ? std::atoi(name.c_str() + dash + 1) : -1;
}

std::string describe(const ggml_tensor& rope, int layer) {
  char text[256];
  std::snprintf(text, sizeof text,
                R"({"layer":%d,"dims":%d,"mode":%d,"freq_base":%.9g,"freq_scale":%.9g,"ext_factor":%.9g,)"
                R"("attn_factor":%.9g,"factors":%s})",
                layer, rope.op_params[kDims], rope.op_params[kMode], float_param(rope, kBase),
                float_param(rope, kScale), float_param(rope, kExtrapolation), float_param(rope, kMagnitude),
                rope.src[2] != nullptr ? "true" : "false");
  return text;
}

// cb_eval of llama_context_params: sees every node before it runs. Returning false keeps whole graphs together.
bool on_node(ggml_tensor* node, bool ask, void* user_data) {
  if (!ask) return false;
  Rotations& r = *static_cast<Rotations*>(user_data);
  if (const int layer = layer_in_name(*node); layer >= 0) r.layer = layer;
  // A graph that is used again comes with our change in it.
  if (node->op != GGML_OP_ROPE || (r.tensor != nullptr && node->src[2] == r.tensor)) return false;
  r.seen.insert(describe(*node, r.layer));
  if (r.factors.empty() || (!r.layers.empty() && !r.layers.contains(r.layer))) return false;
  if (2 * r.factors.size() != static_cast<std::size_t>(node->op_params[kDims]))
    r.error = "layer " + std::to_string(r.layer) + " rotates " + std::to_string(node->op_params[kDims]) +
              " dimensions, the table has " + std::to_string(r.factors.size()) + " pairs";
  node->src[2] = r.tensor;
  set_float_param(*node, kScale, 1.0F);
  set_float_param(*node, kExtrapolation, 0.0F);
  set_float_param(*node, kMagnitude, r.attn);
  return false;
}

std::vector<float> read_floats(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty() || bytes.size() % sizeof(float) != 0) fail("no float32 values in " + path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The kernel fills its table up to the head size, also where fewer dimensions rotate, so the tensor is longer than the
// table; the rest is 1. Lives until the program ends.
ggml_tensor* factor_tensor(std::vector<float> values) {
  constexpr std::size_t kPairs = 4096;
  values.resize(kPairs, 1.0F);
  ggml_context* context = ggml_init({ggml_tensor_overhead(), nullptr, true});
  ggml_tensor* tensor = ggml_new_tensor_1d(context, GGML_TYPE_F32, kPairs);
  ggml_backend_alloc_ctx_tensors_from_buft(context, ggml_backend_cpu_buffer_type());
  ggml_backend_tensor_set(tensor, values.data(), 0, kPairs * sizeof(float));
  return tensor;
}

// ---- llama.cpp ------------------------------------------------------------------------------------------------------

using Model = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using Context = std::unique_ptr<llama_context, decltype(&llama_free)>;

Model load(const Options& o) {
  llama_model_params params = llama_model_default_params();
  params.use_extra_bufts = false;
  params.n_gpu_layers = 0;
  if (!o.overrides.empty()) params.kv_overrides = o.overrides.data();
  Model model(llama_model_load_from_file(o.model.c_str(), params), llama_model_free);
  if (!model) fail("llama.cpp refuses " + o.model);
  return model;
}

Context make_context(llama_model* model, const Options& o, Rotations& rotations) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<unsigned>(o.ctx);
  params.n_batch = params.n_ubatch = kBatch;
  params.n_threads = params.n_threads_batch = 2;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  if (o.cache_f32) params.type_k = params.type_v = GGML_TYPE_F32;
  params.rope_scaling_type = o.rope_scaling;
  if (o.rope_scale != 0.0F) params.rope_freq_scale = 1.0F / o.rope_scale;
  params.yarn_attn_factor = o.yarn_attn_factor;
  params.yarn_orig_ctx = o.yarn_orig_ctx;
  if (o.trace || !o.factors.empty()) {
    params.cb_eval = on_node;
    params.cb_eval_user_data = &rotations;
  }
  Context context(llama_init_from_model(model, params), llama_free);
  if (!context) fail("no context for " + o.model);
  return context;
}

void decode(llama_context* context, int n_vocab, const Options& o) {
  std::ofstream out(o.out, std::ios::binary);
  std::mt19937 random(o.seed);  // its sequence is fixed by the standard
  const auto free_batch = [](llama_batch* batch) { llama_batch_free(*batch); };
  llama_batch batch = llama_batch_init(kBatch, 0, 1);
  const std::unique_ptr<llama_batch, decltype(free_batch)> owner(&batch, free_batch);
  for (int done = 0; done < o.tokens; done += batch.n_tokens) {
    batch.n_tokens = std::min(kBatch, o.tokens - done);
    for (int i = 0; i < batch.n_tokens; ++i) {
      batch.token[i] = static_cast<llama_token>(random() % static_cast<unsigned>(n_vocab));
      batch.pos[i] = o.first_position + done + i;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = 1;
    }
    if (llama_decode(context, batch) != 0) fail("llama_decode failed");
    for (int i = 0; i < batch.n_tokens; ++i)
      out.write(reinterpret_cast<const char*>(llama_get_logits_ith(context, i)),
                n_vocab * std::streamsize{sizeof(float)});
  }
  if (!out.flush()) fail("cannot write " + o.out);
}

const char* rope_name(llama_rope_type type) {
  switch (type) {
    case LLAMA_ROPE_TYPE_NONE: return "none";
    case LLAMA_ROPE_TYPE_NORM: return "norm";
    case LLAMA_ROPE_TYPE_NEOX: return "neox";
    case LLAMA_ROPE_TYPE_MROPE: return "mrope";
    case LLAMA_ROPE_TYPE_IMROPE: return "imrope";
    default: return "other";
  }
}

void print_facts(const llama_model* model, int n_vocab, const Rotations& rotations) {
  char arch[64] = "";
  llama_model_meta_val_str(model, "general.architecture", arch, sizeof arch);
  std::printf(R"({"architecture":"%s","n_ctx_train":%d,"n_vocab":%d,"n_layer":%d,"n_swa":%d,"rope_type":"%s",)"
              R"("rope_freq_scale_train":%.9g,"rope":[)",
              arch, llama_model_n_ctx_train(model), n_vocab, llama_model_n_layer(model), llama_model_n_swa(model),
              rope_name(llama_model_rope_type(model)), llama_model_rope_freq_scale_train(model));
  const char* separator = "";
  for (const std::string& rotation : rotations.seen) {
    std::printf("%s%s", separator, rotation.c_str());
    separator = ",";
  }
  std::printf("]}\n");
}

void run(const Options& o) {
  llama_log_set([](ggml_log_level, const char* text, void*) { log_text += text; }, nullptr);
  ggml_set_abort_callback([](const char* message) { fail(message); });
  ggml_backend_load_all();

  Rotations rotations;
  if (!o.factors.empty()) {
    rotations.factors = read_floats(o.factors);
    rotations.tensor = factor_tensor(rotations.factors);
  }
  rotations.attn = o.attn;
  rotations.layers = o.layers;

  const Model model = load(o);
  const Context context = make_context(model.get(), o, rotations);
  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model.get()));
  if (!o.check) decode(context.get(), n_vocab, o);
  if (!rotations.error.empty()) fail(rotations.error);
  print_facts(model.get(), n_vocab, rotations);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {  // a number that is none
    fail(error.what());
  }
  return 0;
}
