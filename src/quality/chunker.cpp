#include "gym/quality/chunker.hpp"

#include <utility>

#include "mix.hpp"

namespace gym::quality {
namespace {

struct RollingSeeds {
    std::uint64_t base = 0;    ///< of the polynomial, odd
    std::uint64_t oldest = 0;  ///< base^kShingleTokens: takes out the token that leaves
    std::uint64_t rank = 0;    ///< odd
};

const RollingSeeds& seeds() {
    static const RollingSeeds kSeeds = [] {
        RollingSeeds out;
        out.base = seed_of("gym.quality.rolling.v1", 0) | 1;
        out.rank = seed_of("gym.quality.boundary.v1", 0) | 1;
        out.oldest = 1;
        for (std::size_t i = 0; i < kShingleTokens; ++i)
            out.oldest *= out.base;
        return out;
    }();
    return kSeeds;
}

}  // namespace

Chunker::Chunker(Sink sink) : sink_(std::move(sink)) {
    chunk_.reserve(kChunkTokensMax);
}

void Chunker::add(TokenView tokens) {
    const RollingSeeds& with = seeds();
    for (const std::uint32_t token : tokens) {
        // Token 0 must count, or a run of them would hash like any shorter one.
        std::uint32_t& slot = last_tokens_[tokens_ % kShingleTokens];
        const std::uint64_t leaving = tokens_ < kShingleTokens ? 0 : std::uint64_t{slot} + 1;
        rolling_ = rolling_ * with.base + (std::uint64_t{token} + 1) - leaving * with.oldest;
        slot = token;
        ++tokens_;
        if (tokens_ >= kShingleTokens) add_window(mix(rolling_));
    }
}

void Chunker::add_window(std::uint64_t hash) {
    const std::uint64_t window = tokens_ - kShingleTokens;
    // By a multiple, so that boundaries are not the shingles that the permutations find least.
    const Candidate candidate{window, hash * seeds().rank};
    hashes_[window % kRing] = hash;
    while (back_ > front_ && candidates_[(back_ - 1) % kRing].rank > candidate.rank)
        --back_;
    candidates_[back_++ % kRing] = candidate;
    if (window < kBoundaryReach) return;
    const std::uint64_t decided = window - kBoundaryReach;
    if (decided < kBoundaryReach) return decide(decided, false);
    while (candidates_[front_ % kRing].window < decided - kBoundaryReach)
        ++front_;
    decide(decided, candidates_[front_ % kRing].window == decided);
}

void Chunker::decide(std::uint64_t window, bool is_boundary) {
    if (in_chunk_) chunk_.push_back(hashes_[window % kRing]);
    if (in_chunk_ && (is_boundary || chunk_.size() == kChunkTokensMax)) cut();
    in_chunk_ = in_chunk_ || is_boundary;
}

void Chunker::cut() {
    sink_(chunk_);
    chunk_.clear();
}

}  // namespace gym::quality
