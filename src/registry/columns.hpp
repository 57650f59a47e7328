#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "gym/db/value.hpp"

namespace gym::registry {

/// One value of each item, as an SQL array for unnest().
template <class Item, class Value>
db::Param column_of(std::span<const Item> items, const Value& value) {
    std::vector<std::decay_t<std::invoke_result_t<const Value&, const Item&>>> out;
    out.reserve(items.size());
    for (const Item& item : items)
        out.push_back(value(item));
    return db::Param::array(out);
}

}  // namespace gym::registry
