#include "merger.hpp"

#include <algorithm>
#include <functional>

namespace gym::tokenizer {
namespace {

/// Up to here, looking at all neighbours for each merge is faster than a heap.
constexpr std::size_t kShortBytesMax = 64;
constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kBytes = 256;

std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32 | right;
}

}  // namespace

Merger::Merger(const Definition& definition)
    : merges_(definition.merges), whole_piece_first_(definition.whole_piece_first) {
    for (std::size_t id = 0; id < definition.tokens.size(); ++id) {
        const std::string& token = definition.tokens[id];
        if (token.size() == 1)
            byte_ids_[static_cast<std::uint8_t>(token[0])] = static_cast<std::uint32_t>(id);
    }
    ranks_.reserve(merges_.size());
    for (std::size_t rank = 0; rank < merges_.size(); ++rank)
        ranks_.emplace(pair_key(merges_[rank].left, merges_[rank].right),
                       static_cast<std::uint32_t>(rank));
    byte_pair_ranks_.resize(kBytes * kBytes);
    for (std::size_t pair = 0; pair < byte_pair_ranks_.size(); ++pair)
        byte_pair_ranks_[pair] = rank(byte_ids_[pair / kBytes], byte_ids_[pair % kBytes]);
    if (!whole_piece_first_) return;
    whole_pieces_.reserve(definition.tokens.size());
    for (std::size_t id = 0; id < definition.tokens.size(); ++id)
        if (!definition.tokens[id].empty())
            whole_pieces_.emplace(definition.tokens[id], static_cast<std::uint32_t>(id));
    for (const AddedToken& token : definition.added)
        if (token.special) whole_pieces_.erase(token.text);
}

std::uint32_t Merger::rank(std::uint32_t left, std::uint32_t right) const {
    const auto found = ranks_.find(pair_key(left, right));
    return found == ranks_.end() ? kNoRank : found->second;
}

void Merger::append(std::string_view piece, MergeScratch& scratch,
                    std::vector<std::uint32_t>& out) const {
    if (whole_piece_first_) {
        const auto found = whole_pieces_.find(piece);
        if (found != whole_pieces_.end()) return out.push_back(found->second);
    }
    if (merges_.empty()) {
        for (const char byte : piece)
            out.push_back(byte_ids_[static_cast<std::uint8_t>(byte)]);
        return;
    }
    scratch.ids_.resize(piece.size());
    scratch.ranks_.resize(piece.size());
    std::size_t previous = 0;
    for (std::size_t i = 0; i < piece.size(); ++i) {
        const std::size_t byte = static_cast<std::uint8_t>(piece[i]);
        scratch.ids_[i] = byte_ids_[byte];
        if (i > 0) scratch.ranks_[i - 1] = byte_pair_ranks_[previous * kBytes + byte];
        previous = byte;
    }
    if (piece.size() <= kShortBytesMax) {
        merge_short(scratch);
    } else {
        merge_long(scratch);
    }
    out.insert(out.end(), scratch.ids_.begin(), scratch.ids_.end());
}

void Merger::merge_short(MergeScratch& scratch) const {
    auto& ids = scratch.ids_;
    auto& ranks = scratch.ranks_;  // of each token with the next
    if (ids.size() < 2) return;
    ranks.pop_back();
    while (!ranks.empty()) {
        const auto best = std::ranges::min_element(ranks);
        if (*best == kNoRank) return;
        const auto at = best - ranks.begin();
        ids[static_cast<std::size_t>(at)] = merges_[*best].merged;
        ids.erase(ids.begin() + at + 1);
        ranks.erase(best);
        const auto i = static_cast<std::size_t>(at);
        if (i > 0) ranks[i - 1] = rank(ids[i - 1], ids[i]);
        if (i < ranks.size()) ranks[i] = rank(ids[i], ids[i + 1]);
    }
}

/// A heap of rank << 32 | position, in which entries stay when their neighbours change: one is
/// valid if the tokens there are still those of the rank's merge.
void Merger::merge_long(MergeScratch& scratch) const {
    auto& symbols = scratch.symbols_;
    auto& heap = scratch.heap_;
    const auto count = static_cast<std::uint32_t>(scratch.ids_.size());
    symbols.resize(count);
    heap.clear();
    for (std::uint32_t i = 0; i < count; ++i)
        symbols[i] = {scratch.ids_[i], i == 0 ? kNone : i - 1, i + 1 == count ? kNone : i + 1};
    const auto candidate = [&](std::uint32_t at) -> std::uint64_t {
        const std::uint32_t found = rank(symbols[at].id, symbols[symbols[at].next].id);
        return found == kNoRank ? UINT64_MAX : std::uint64_t{found} << 32 | at;
    };
    for (std::uint32_t i = 0; i + 1 < count; ++i)
        if (scratch.ranks_[i] != kNoRank)
            heap.push_back(std::uint64_t{scratch.ranks_[i]} << 32 | i);
    std::ranges::make_heap(heap, std::greater<>());
    const auto push = [&](std::uint32_t at) {
        const auto entry = candidate(at);
        if (entry == UINT64_MAX) return;
        heap.push_back(entry);
        std::ranges::push_heap(heap, std::greater<>());
    };
    while (!heap.empty()) {
        std::ranges::pop_heap(heap, std::greater<>());
        const auto at = static_cast<std::uint32_t>(heap.back());
        const Merge& merge = merges_[heap.back() >> 32];
        heap.pop_back();
        auto& left = symbols[at];
        if (left.id != merge.left || left.next == kNone || symbols[left.next].id != merge.right)
            continue;
        auto& right = symbols[left.next];
        left.id = merge.merged;
        left.next = right.next;
        right.id = kNone;  // no merge names it
        if (left.next != kNone) symbols[left.next].previous = at;
        if (left.previous != kNone) push(left.previous);
        if (left.next != kNone) push(at);
    }
    scratch.ids_.clear();
    for (std::uint32_t i = 0; i != kNone; i = symbols[i].next)
        scratch.ids_.push_back(symbols[i].id);
}

}  // namespace gym::tokenizer
