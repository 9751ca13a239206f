// SPDX-License-Identifier: MIT
//
// Weights and vocabulary through libllama. Our own reader looks at the header first: it refuses hostile files that
// llama.cpp would end the process over, and says where.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <utility>

#include "llama/log.h"
#include "llama/model_impl.h"
#include "llama/rpc.h"
#include "mrrope/model_file.h"

namespace mrrope {

namespace {

using llama::LogScope;

Error bad_option(const char* option, const char* expected, const std::string& found) {
  return {ErrorCode::invalid_argument, fmt::format("expected {}, found \"{}\"", expected, found), "", option};
}

Result<void> set_modes(const LlamaModelOptions& options, llama_model_params& params) {
  if (options.split_mode == "none") {
    params.split_mode = LLAMA_SPLIT_MODE_NONE;
  } else if (options.split_mode == "layer") {
    params.split_mode = LLAMA_SPLIT_MODE_LAYER;
  } else if (options.split_mode == "row") {
    params.split_mode = LLAMA_SPLIT_MODE_ROW;
  } else {
    return bad_option("split_mode", "none, layer or row", options.split_mode);
  }
  constexpr std::array<std::string_view, 6> kLoadModes = {"auto", "none", "mmap", "mlock", "mmap+mlock", "dio"};
  if (std::find(kLoadModes.begin(), kLoadModes.end(), options.load_mode) == kLoadModes.end()) {
    return bad_option("load_mode", "auto, none, mmap, mlock, mmap+mlock or dio", options.load_mode);
  }
  params.load_mode = llama_load_mode_from_str(options.load_mode.c_str());
  return {};
}

// Calls f(buffer, size) -> length as llama.cpp's functions fill texts: the length, or its negative if that is more than
// the size.
template <class F>
std::string fill_text(std::size_t guess, F f) {
  std::string text(guess, '\0');
  std::int64_t length = f(text.data(), static_cast<std::int32_t>(text.size()));
  if (length < 0 || static_cast<std::size_t>(length) > text.size()) {
    text.resize(static_cast<std::size_t>(length < 0 ? -length : length));
    length = f(text.data(), static_cast<std::int32_t>(text.size()));
  }
  text.resize(static_cast<std::size_t>(std::max<std::int64_t>(length, 0)));
  return text;
}

constexpr std::size_t kMaxText = std::numeric_limits<std::int32_t>::max() / 8;  // llama.cpp counts in int32

}  // namespace

Result<LlamaModel> LlamaModel::load(const std::string& path, const LlamaModelOptions& options) {
  const Result<ModelFile> header = read_model(path);
  if (!header) return header.error();
  if (header->gguf() == nullptr) {
    return Error{ErrorCode::unsupported, "llama.cpp runs GGUF files; convert the checkpoint first", path};
  }

  llama::start_llama();
  const LogScope log;
  llama_model_params params = llama_model_default_params();
  if (const auto ok = set_modes(options, params); !ok) return ok.error();
  Result<std::vector<ggml_backend_dev_t>> devices = llama::offload_devices(options.rpc);
  if (!devices) return std::move(devices).error();
  std::vector<float> split = options.tensor_split;
  if (split.size() > llama_max_devices()) {
    return bad_option("tensor_split", "fewer shares", fmt::format("{} of them", split.size()));
  }
  split.resize(llama_max_devices(), 0.0F);

  params.devices = devices->data();
  params.n_gpu_layers = options.n_gpu_layers;
  params.main_gpu = options.main_gpu;
  if (!options.tensor_split.empty()) params.tensor_split = split.data();
  params.vocab_only = options.vocab_only;
  params.check_tensors = options.check_tensors;
  params.use_extra_bufts = options.repack;

  auto impl = std::make_shared<Impl>();
  impl->model.reset(llama_model_load_from_file(header->path.c_str(), params));
  if (!impl->model) return Error{ErrorCode::unsupported, "llama.cpp does not load the file" + log.tail(), path};
  impl->vocab_only = options.vocab_only;
  if (options.n_gpu_layers != 0) {
    for (ggml_backend_dev_t device : *devices) {
      if (device != nullptr) impl->devices.emplace_back(ggml_backend_dev_name(device));
    }
  }
  return LlamaModel(std::move(impl));
}

LlamaModel::LlamaModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
LlamaModel::LlamaModel(LlamaModel&&) noexcept = default;
LlamaModel& LlamaModel::operator=(LlamaModel&&) noexcept = default;
LlamaModel::~LlamaModel() = default;

// ---- Facts ----------------------------------------------------------------------------------------------------------

std::string LlamaModel::architecture() const {
  std::array<char, 128> name{};
  llama_model_meta_val_str(impl_->model.get(), "general.architecture", name.data(), name.size());
  return name.data();
}

int LlamaModel::n_layer() const { return llama_model_n_layer(impl_->model.get()); }
int LlamaModel::n_vocab() const { return llama_vocab_n_tokens(impl_->vocab()); }
std::int64_t LlamaModel::n_ctx_train() const { return llama_model_n_ctx_train(impl_->model.get()); }

std::optional<Token> LlamaModel::bos() const {
  const llama_token token = llama_vocab_bos(impl_->vocab());
  return token == LLAMA_TOKEN_NULL ? std::nullopt : std::optional<Token>(token);
}

std::optional<Token> LlamaModel::eos() const {
  const llama_token token = llama_vocab_eos(impl_->vocab());
  return token == LLAMA_TOKEN_NULL ? std::nullopt : std::optional<Token>(token);
}

bool LlamaModel::adds_bos() const { return llama_vocab_get_add_bos(impl_->vocab()); }
bool LlamaModel::ends_text(Token t) const { return llama_vocab_is_eog(impl_->vocab(), t); }

bool LlamaModel::can_truncate() const {
  return !llama_model_is_recurrent(impl_->model.get()) && !llama_model_is_hybrid(impl_->model.get());
}

std::vector<std::string> LlamaModel::devices() const { return impl_->devices; }

// ---- Text -----------------------------------------------------------------------------------------------------------

Result<std::vector<Token>> LlamaModel::tokenize(std::string_view text, const TokenizeOptions& options) const {
  if (text.size() > kMaxText) {
    return Error{ErrorCode::invalid_argument, fmt::format("a text of {} bytes is too long", text.size()), ""};
  }
  const auto bytes = static_cast<std::int32_t>(text.size());
  std::vector<Token> tokens(text.size() / 2 + 16);
  const auto run = [&] {
    return llama_tokenize(impl_->vocab(), text.data(), bytes, tokens.data(), static_cast<std::int32_t>(tokens.size()),
                          options.add_special, options.parse_special);
  };
  try {
    std::int32_t count = run();
    if (count < 0) {
      tokens.resize(static_cast<std::size_t>(-count));
      count = run();
    }
    tokens.resize(static_cast<std::size_t>(std::max(count, 0)));
  } catch (const std::exception& error) {  // some tokenizers throw on bytes they have no token for
    return Error{ErrorCode::malformed, std::string("llama.cpp cannot tokenize the text: ") + error.what(), ""};
  }
  return tokens;
}

Result<std::string> LlamaModel::detokenize(std::span<const Token> tokens, bool special) const {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= n_vocab()) {
      return Error{ErrorCode::invalid_argument, fmt::format("{} is no token", tokens[i]), fmt::format("tokens[{}]", i)};
    }
  }
  if (tokens.size() > kMaxText) return Error{ErrorCode::invalid_argument, "too many tokens", ""};
  try {
    return fill_text(tokens.size() * 4 + 16, [&](char* text, std::int32_t size) {
      return llama_detokenize(impl_->vocab(), tokens.data(), static_cast<std::int32_t>(tokens.size()), text, size,
                              !special, special);
    });
  } catch (const std::exception& error) {
    return Error{ErrorCode::malformed, std::string("llama.cpp cannot detokenize: ") + error.what(), ""};
  }
}

std::string LlamaModel::chat_template() const {
  const char* text = llama_model_chat_template(impl_->model.get(), nullptr);
  return text != nullptr ? text : "";
}

Result<std::string> LlamaModel::apply_chat_template(std::span<const ChatMessage> messages,
                                                    const std::string& name) const {
  const std::string chosen = name.empty() ? chat_template() : name;
  if (chosen.empty()) {
    return Error{ErrorCode::unsupported, "the file has no chat template", "tokenizer.chat_template"};
  }
  std::vector<llama_chat_message> list;
  std::size_t bytes = 256;
  for (const ChatMessage& message : messages) {
    list.push_back({message.role.c_str(), message.content.c_str()});
    bytes += message.role.size() + message.content.size() + 64;
  }
  if (bytes > kMaxText) return Error{ErrorCode::invalid_argument, "the conversation is too long", ""};
  bool recognised = true;
  std::string text = fill_text(bytes, [&](char* buffer, std::int32_t size) {
    const std::int32_t length = llama_chat_apply_template(chosen.c_str(), list.data(), list.size(), true, buffer, size);
    recognised = length >= 0;
    return std::max(length, 0);
  });
  if (!recognised) {
    return name.empty() ? Error{ErrorCode::unsupported, "llama.cpp does not recognise the chat template",
                                "tokenizer.chat_template"}
                        : Error{ErrorCode::invalid_argument, "llama.cpp knows no chat template \"" + name + "\"", ""};
  }
  return text;
}

}  // namespace mrrope
