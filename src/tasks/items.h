// SPDX-License-Identifier: MIT
//
// What the tasks that ask the items of a file share: items.cpp has those with options, published_items.cpp the others.
#pragma once

#include <string>
#include <string_view>

#include "tasks/draft.h"

namespace mrrope::eval::drafts {

// The item of the sample's index, which is below their number.
Result<const Item*> asked_item(const Brief& brief);

Error unusable(const Item& item, std::string_view what);

// One form that does not grow, with what its file says of the item.
Forms whole(Draft draft, const Item& item);

}  // namespace mrrope::eval::drafts
