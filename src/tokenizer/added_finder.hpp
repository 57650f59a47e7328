#pragma once

#include <bitset>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "definition.hpp"

namespace gym::tokenizer {

/// Finds added tokens in texts: the leftmost, of those that begin there the longest. Immutable,
/// thread-safe.
class AddedFinder {
  public:
    struct Found {
        std::size_t begin = 0;
        std::size_t size = 0;
        std::uint32_t id = 0;
    };
    AddedFinder() = default;
    /// The tokens whose `normalized` is as given, without special ones unless `special`.
    /// @param added must outlive the finder.
    AddedFinder(const std::vector<AddedToken>& added, bool normalized, bool special);

    [[nodiscard]] bool empty() const { return ids_.empty(); }
    /// The next one from byte `from` on.
    [[nodiscard]] std::optional<Found> find(std::string_view text, std::size_t from) const;

  private:
    boost::unordered_flat_map<std::string_view, std::uint32_t> ids_;
    std::bitset<256> first_bytes_;
    std::vector<std::size_t> sizes_;  ///< that occur, descending
};

}  // namespace gym::tokenizer
