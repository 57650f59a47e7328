#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace gym::tokenizer {

/// The tokens of pieces seen lately: words come again and again, and merging one takes far longer
/// than looking it up. One line of the CPU's cache for each piece, which the next piece with the
/// same hash replaces. Not shared by threads.
class PieceCache {
  public:
    static constexpr std::size_t kPieceBytesMax = 24;
    static constexpr std::size_t kTokensMax = 7;

    /// A piece of at most kPieceBytesMax bytes, as it is looked up.
    struct Key {
        std::array<std::uint64_t, 3> words{};
        std::uint8_t size = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct alignas(64) Entry {
        Key key;  ///< size 0: unused, since no piece is empty
        std::uint8_t count = 0;
        std::array<std::uint32_t, kTokensMax> tokens{};
    };

    [[nodiscard]] static Key key_of(std::string_view piece) {
        Key key;
        std::memcpy(key.words.data(), piece.data(), piece.size());
        key.size = static_cast<std::uint8_t>(piece.size());
        return key;
    }
    /// Where the piece's tokens are, or would be.
    [[nodiscard]] Entry& entry(const Key& key) {
        std::uint64_t hash = key.size;
        for (const std::uint64_t word : key.words)
            hash = (hash ^ word ^ hash >> 29) * 0x9e3779b97f4a7c15U;
        return entries_[hash >> kHashShift];
    }

  private:
    static constexpr unsigned kEntriesLog2 = 14;  // 1 MiB
    static constexpr unsigned kHashShift = 64 - kEntriesLog2;
    std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << kEntriesLog2);
};

}  // namespace gym::tokenizer
