// SPDX-License-Identifier: MIT
#include "mrrope/benchmarks.h"

namespace mrrope::eval {

namespace {

// Stands where the prompt goes; no template has a use for it.
constexpr std::string_view kMark = "\x01prompt\x01";

}  // namespace

Result<PromptFrame> make_frame(const LlamaModel& model, const std::string& choice) {
  if (choice == "none" || (choice == "auto" && model.chat_template().empty())) return PromptFrame{};
  const bool of_file = choice == "auto" || choice == "file";
  const ChatMessage message{"user", std::string(kMark)};
  const Result<std::string> text = model.apply_chat_template({&message, 1}, of_file ? "" : choice);
  if (!text) {
    if (choice == "auto") return PromptFrame{};
    return Error{text.error().code, to_string(text.error()), "", "chat_template"};
  }
  const std::size_t at = text->find(kMark);
  if (at == std::string::npos) {
    return Error{ErrorCode::unsupported, "the template does not keep the user's text as it is", "", "chat_template"};
  }
  PromptFrame frame{text->substr(0, at), text->substr(at + kMark.size()), of_file ? "file" : choice};
  // Templates of models that think before they answer know this switch; off, it is an empty thought.
  if (of_file && model.chat_template().find("enable_thinking") != std::string::npos) {
    frame.after += "<think>\n\n</think>\n\n";
  }
  return frame;
}

}  // namespace mrrope::eval
