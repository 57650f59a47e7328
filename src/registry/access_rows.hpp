#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/registry/visibility.hpp"

namespace gym::registry {

/// The addresses that a statement joined into one value; NULL: none.
[[nodiscard]] inline std::vector<Address> split_addresses(const std::optional<Bytes>& joined) {
    std::vector<Address> out;
    if (!joined) return out;
    constexpr std::size_t kSize = sizeof(Address);
    for (std::size_t at = 0; at + kSize <= joined->size(); at += kSize) {
        Address& one = out.emplace_back();
        std::copy_n(joined->begin() + static_cast<std::ptrdiff_t>(at), kSize, one.data.begin());
    }
    return out;
}

}  // namespace gym::registry
