// SPDX-License-Identifier: MIT
#include "targets/windows.h"

#include "formats/gguf_rope.h"
#include "targets/llama_cpp.h"

namespace mrrope::targets {

std::int64_t only_window(const ModelFile& model) {
  if (const HfConfig* config = model.hf()) {
    const Result<HfFacts> facts = config->facts();
    return facts && facts->only_windows_rotate ? facts->sliding_window : 0;
  }
  const Result<formats::GgufRope> rope = formats::read_gguf_rope(*model.gguf());
  return rope && only_windows_rotate(*rope) ? rope->sliding_window : 0;
}

}  // namespace mrrope::targets
