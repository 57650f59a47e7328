#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "definition.hpp"

namespace gym::tokenizer {

using PieceMap = boost::unordered_flat_map<std::string_view, std::uint32_t>;

/// Buffers of merges, kept between calls. Not shared by threads.
class MergeScratch {
    friend class Merger;
    struct Symbol {
        std::uint32_t id;
        std::uint32_t previous;
        std::uint32_t next;
    };
    std::vector<std::uint32_t> ids_;
    std::vector<std::uint32_t> ranks_;
    std::vector<Symbol> symbols_;
    std::vector<std::uint64_t> heap_;
};

/// BPE: of all neighbours that a merge joins, the first by rank, then from the left, are joined
/// until none is left. Immutable, thread-safe. Takes O(n log n) for n bytes.
class Merger {
  public:
    /// @param definition complete; its tokens must outlive the merger.
    explicit Merger(const Definition& definition);
    /// Appends the tokens of `piece` to `out`.
    void append(std::string_view piece, MergeScratch& scratch,
                std::vector<std::uint32_t>& out) const;

  private:
    static constexpr std::uint32_t kNoRank = UINT32_MAX;
    [[nodiscard]] std::uint32_t rank(std::uint32_t left, std::uint32_t right) const;
    void merge_short(MergeScratch& scratch) const;
    void merge_long(MergeScratch& scratch) const;

    std::span<const Merge> merges_;
    std::array<std::uint32_t, 256> byte_ids_{};
    std::vector<std::uint32_t> byte_pair_ranks_;  ///< of left << 8 | right, by bytes: most look-ups
    boost::unordered_flat_map<std::uint64_t, std::uint32_t> ranks_;  ///< of left << 32 | right
    bool whole_piece_first_;
    PieceMap whole_pieces_;
};

}  // namespace gym::tokenizer
