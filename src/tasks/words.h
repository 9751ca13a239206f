// SPDX-License-Identifier: MIT
//
// The words keys and lists are made of.
#pragma once

#include <string_view>
#include <vector>

namespace mrrope::eval::drafts {

const std::vector<std::string_view>& nouns();       // 1627
const std::vector<std::string_view>& adjectives();  // 613

}  // namespace mrrope::eval::drafts
