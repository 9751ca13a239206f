// SPDX-License-Identifier: MIT
//
// Prose for those who bring none: sentences that are English and say nothing, of our own words. A novel is the better
// haystack, because nothing in it looks as if it had been made.
#include <array>

#include "mrrope/tasks.h"
#include "tasks/random.h"
#include "tasks/words.h"

namespace mrrope::eval {

namespace {

using drafts::Random;

// # stands for an adjective, @ for a noun.
constexpr std::array<std::string_view, 24> kSentences = {
    "The # @ stood near the @ for most of the day.",
    "Nobody in the house had ever seen such a # @ before.",
    "She looked at the @ and thought of the # @ at home.",
    "It was late when they came back with the @.",
    "He said that the # @ belonged to his father, who had kept it behind the @.",
    "There was a @ on the table, and beside it a # @.",
    "In the morning the @ was gone, and so was the # @.",
    "They spoke of the @ for an hour, and of nothing else.",
    "If the @ had been less #, the story might have ended here.",
    "The road led past a # @ and down to the @.",
    "What the old man wanted was a # @ and a little rest.",
    "After the rain the @ looked more # than ever.",
    "You could hear the @ from the other side of the garden.",
    "We had been told that the # @ was not for sale.",
    "The children ran around the @ until it was dark.",
    "A letter arrived, and with it a # @ wrapped in paper.",
    "Some people like a # @, others would rather have a @.",
    "His sister kept the @ under her bed, next to the # @.",
    "The doctor asked for a @, but there was only a # @.",
    "All winter the # @ had been waiting in the barn.",
    "When the train stopped, a # @ fell from the shelf.",
    "Not far from the @ they found the remains of a # @.",
    "The # @ made no sound, and the @ did not move.",
    "It is easy to forget a @, and hard to find it again.",
};

}  // namespace

std::string built_in_story(std::size_t bytes) {
  Random random(1);
  std::string text;
  text.reserve(bytes + 128);
  for (int sentence = 1; text.size() < bytes; ++sentence) {
    const std::string_view form = kSentences[random.below(kSentences.size())];
    for (const char c : form) {
      if (c == '@') {
        text += drafts::nouns()[random.below(drafts::nouns().size())];
      } else if (c == '#') {
        text += drafts::adjectives()[random.below(drafts::adjectives().size())];
      } else {
        text += c;
      }
    }
    text += sentence % 12 == 0 ? '\n' : ' ';
  }
  return text;
}

}  // namespace mrrope::eval
