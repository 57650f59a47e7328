#include "gym/codec/clip.hpp"

#include <algorithm>

namespace gym::codec {

std::uint64_t next_bound(std::vector<std::uint64_t> squared_norms) {
    if (squared_norms.empty()) return kNoBound;
    const auto middle =
        squared_norms.begin() + static_cast<std::ptrdiff_t>((squared_norms.size() - 1) / 2);
    std::nth_element(squared_norms.begin(), middle, squared_norms.end());
    return *middle;
}

}  // namespace gym::codec
