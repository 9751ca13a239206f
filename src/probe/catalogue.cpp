// SPDX-License-Identifier: MIT
//
// Every finding there is about a running server: what it means and why it hurts, then what to do.
#include <algorithm>
#include <cassert>
#include <utility>

#include "mrrope/probe.h"
#include "probe/report.h"

namespace mrrope::probe {

const std::vector<FindingInfo>& probe_catalogue() {
  using enum Severity;
  static const std::vector<FindingInfo> all = {
      {"P100", error, "accepts fewer tokens than it advertises",
       "The server names a length and refuses requests that are shorter. Clients that plan by what it says (most do) "
       "fail on their longest prompts.\n\n"
       "Start it for the length it names, or make what it names true: --max-model-len, -c."},
      {"P101", error, "prompts are cut",
       "The server answers long prompts with HTTP 200 and computes only a part of them: the model never sees the rest. "
       "Nothing in the answer says so, and it looks like a model that forgets.\n\n"
       "Start the server for the length that is needed, or send no more than it reads."},
      {"P102", note, "no length is advertised",
       "No endpoint of the server tells how long a request may be. Clients have to guess.\n\n"
       "Tell the probe what it was started for."},
      {"P103", warning, "usage differs from our count",
       "The server counts other tokens in a prompt than the vocabulary does: it adds some, counts only those that were "
       "not cached, or has another tokenizer.\n\n"
       "Do not judge lengths by its usage. If the tokenizer is another one, the model answers something else, too."},
      {"P104", note, "accepts more than it advertises",
       "Requests beyond the advertised length are answered. Whether the model can make sense of such distances is "
       "another question.\n\n"
       "Keep to the advertised length unless you know the table that is served."},
      {"P105", warning, "prompts beyond the length are cut, not refused",
       "The server reads as much as it advertises. What is longer is cut and answered as if it were all.\n\n"
       "Count tokens before sending, or have a gateway refuse what is too long."},
      {"P106", note, "what is read cannot be told",
       "The server gives no log probabilities, and its texts do not change with the prompt in a way that tells which "
       "part of it was read.\n\n"
       "Its own count of tokens, if it gives one, is all there is."},
      {"P107", warning, "two lengths are advertised",
       "Two endpoints of the server name different lengths. The smaller is believed here; a client may believe the "
       "other one.\n\n"
       "Look at how it was started."},
      {"P108", warning, "too long a request is an error of the server",
       "Instead of refusing a long request (HTTP 400, 413) the server fails (HTTP 500). Clients take that for a "
       "passing "
       "trouble and ask again.\n\n"
       "Bound the length in front of it; look for memory that runs out."},
      {"P200", error, "the server runs another table than it should",
       "The model's file, or the plan that was expected, says one table, and the server's probabilities are those of "
       "another one. Engines ignore what they do not know in a file, flags override what it says, and the model then "
       "rotates by something nobody chose.\n\n"
       "mrrope doctor tells what each engine makes of the file; look at the flags the server was started with."},
      {"P201", error, "the plain table is served beyond the trained length",
       "The server takes longer requests than the model was trained for, and rotates as if nothing were to be "
       "extended. Beyond the trained length the model meets angles it has never seen, and answers fall apart.\n\n"
       "Extend the file (mrrope extend) or start the server for the trained length."},
      {"P202", warning, "the attention scale is off",
       "The speeds of the rotation are those of the table, and the scale of cosines and sines is not: an attention "
       "factor was set by hand, or the engine computes its own.\n\n"
       "Quality suffers more at long distances. mrrope doctor tells which engines do this to a file."},
      {"P203", note, "the table cannot be told",
       "The server gives no log probabilities, counts other tokens than the model does, or its weights are others than "
       "those that run here.\n\n"
       "Give the very file that is served, and ask a server that gives log probabilities."},
      {"P204", note, "several tables explain the server",
       "At the lengths that were asked about, these tables make no difference that can be seen.\n\n"
       "Ask with longer prompts: --table-tokens 2k."},
      {"P205", warning, "none of the tables that were tried explains the server",
       "The weights are the server's, and its probabilities are those of another table than all that were tried: other "
       "parameters, a changed base, a table of its own.\n\n"
       "Give the plan that you think it runs, --plan plan.json."},
      {"P300", warning, "the same prompt has different answers",
       "Greedy answers should be the same. Batches that are put together as requests arrive round sums in another "
       "order, and near ties fall the other way; or the server samples although it was told not to.\n\n"
       "Compare methods in pairs over many samples rather than by single answers."},
      {"P301", warning, "the prefix cache changes answers",
       "A prompt whose beginning the server remembers is answered otherwise than one that is computed anew. A little "
       "of "
       "that is rounding; much of it is a cache that was filled under another table or length.\n\n"
       "Measure with the cache off."},
      {"P302", warning, "context shift is on",
       "When prompt and answer fill the length, the server drops the older half and goes on. The answer ends well "
       "formed and has forgotten the question, and the keys that remain were rotated for other places.\n\n"
       "Start it without --context-shift, or bound max_tokens."},
  };
  return all;
}

void Report::add(std::string_view code, std::string message, std::string advice) {
  const auto& all = probe_catalogue();
  const auto info = std::find_if(all.begin(), all.end(), [&](const FindingInfo& one) { return one.code == code; });
  assert(info != all.end());
  findings.push_back({std::string(code), info->severity, std::move(message), std::move(advice)});
}

}  // namespace mrrope::probe
