// SPDX-License-Identifier: MIT
//
// Does one thing to a model, for tests that kill it or look at what it wrote (faults_test.py,
// independent_reader_test.py).
//
//   edit_driver copy MODEL TARGET       the edits below, into a copy
//   edit_driver inplace MODEL           the same in place
//   edit_driver interrupt MODEL STEPS   the same, but stops after so many effects on the disk, as a crash would
//   edit_driver undo MODEL              takes them back in place
//   edit_driver recover MODEL           prints "undone" or "nothing to do"
//   edit_driver sidecar TARGET          the tensor alone
//   edit_driver types                   "<ggml_type> <name> <elements> <bytes>", one line per tensor type
//
// Prints "ready" before it begins and the error, if any, after it; exits 1 then.
#include <csignal>
#include <cstdio>
#include <string>

#include "formats/gguf_in_place.h"
#include "formats/gguf_types.h"
#include "mrrope/gguf.h"

namespace {

using namespace mrrope;

int fail(const Error& error) {
  (void)std::fprintf(stderr, "error: %s\n", to_string(error).c_str());
  return 1;
}

GgufEdits edits_of(const GgufModel& model) {
  GgufEdits edits;
  edits.set(model.architecture() + ".context_length", GgufValue::u32(131072));
  edits.set("mrrope.plan", GgufValue::text(std::string(5000, 'p')));
  edits.add_tensor("rope_freqs.weight", {1, 2, 4, 8});
  return edits;
}

// Of a model whose length was 8192.
GgufEdits inverse_of(const GgufModel& model) {
  GgufEdits edits;
  edits.set(model.architecture() + ".context_length", GgufValue::u32(8192));
  edits.remove("mrrope.plan");
  edits.removed_tensors = {"rope_freqs.weight"};
  return edits;
}

int run(const std::string& command, const std::string& path, const std::string& target) {
  if (command == "types") {
    for (std::uint32_t type = 0; type < formats::kTensorTypes.size(); ++type) {
      const formats::TensorType* known = formats::tensor_type(type);
      if (known != nullptr)
        std::printf("%u %s %u %u\n", type, std::string(known->name).c_str(), known->elements, known->bytes);
    }
    return 0;
  }
  if (command == "recover") {
    const Result<bool> undone = recover_gguf(path);
    if (!undone) return fail(undone.error());
    (void)std::puts(*undone ? "undone" : "nothing to do");
    return 0;
  }
  (void)std::puts("ready");
  (void)std::fflush(stdout);
  Result<void> done;
  if (command == "sidecar") {
    GgufEdits edits;
    edits.add_tensor("rope_freqs.weight", {1, 2, 4, 8});
    done = write_gguf_sidecar(edits, path);
  } else {
    const Result<GgufModel> model = read_gguf(path);
    if (!model) return fail(model.error());
    if (command == "copy") done = write_gguf(*model, edits_of(*model), target);
    if (command == "inplace") done = edit_gguf_in_place(*model, edits_of(*model));
    if (command == "interrupt") {
      done =
          formats::edit_in_place(*model, edits_of(*model),
                                 {.go_on = [left = std::stoi(target)]() mutable { return left-- > 0; }, .piece = 1024});
    }
    if (command == "undo") done = edit_gguf_in_place(*model, inverse_of(*model));
  }
  return done ? 0 : fail(done.error());
}

}  // namespace

int main(int count, char** arguments) {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to report, not a reason to die
  const auto argument = [&](int i) { return i < count ? std::string(arguments[i]) : std::string(); };
  return run(argument(1), argument(2), argument(3));
}
