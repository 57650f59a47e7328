#include "gym/quality/novelty.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace gym::quality {
namespace {

__extension__ using Wide = unsigned __int128;
using Keys = std::unordered_set<std::uint64_t>;

/// Of the sampled chunks of one level and above.
struct Sample {
    std::size_t chunks = 0;
    std::uint64_t tokens = 0;
    std::uint64_t novel_tokens = 0;
};

constexpr std::size_t kLevels = 65;  // sample_level() is at most 64

Result<Keys> known_keys(const DatasetSketch& sketch, const Registered& registered) {
    const std::vector<std::uint64_t> keys = distinct_keys(sketch);
    Keys out;
    for (std::size_t first = 0; first < keys.size(); first += kLookupKeysMax) {
        const std::size_t count = std::min(kLookupKeysMax, keys.size() - first);
        GYM_TRY(const auto known, registered.known(std::span(keys).subspan(first, count)));
        out.insert(known.begin(), known.end());
    }
    return out;
}

/// `seen` begins with what is registered.
std::array<Sample, kLevels> sample(const DatasetSketch& sketch, Keys seen) {
    std::array<Sample, kLevels> out;
    for (const ChunkSketch& chunk : sketch.chunks) {
        const bool is_novel =
            std::ranges::none_of(chunk.keys, [&](std::uint64_t key) { return seen.contains(key); });
        // A near-duplicate's keys, too: a text like it resembles the registered ones.
        seen.insert(chunk.keys.begin(), chunk.keys.end());
        Sample& at = out[std::min<std::size_t>(chunk.level, kLevels - 1)];
        ++at.chunks;
        at.tokens += chunk.tokens;
        if (is_novel) at.novel_tokens += chunk.tokens;
    }
    for (std::size_t level = kLevels - 1; level > 0; --level) {
        out[level - 1].chunks += out[level].chunks;
        out[level - 1].tokens += out[level].tokens;
        out[level - 1].novel_tokens += out[level].novel_tokens;
    }
    return out;
}

/// The sample's estimate for all compared tokens, as a part of all tokens.
std::uint32_t estimate_ppm(const DatasetSketch& sketch, const Sample& sample) {
    if (sketch.tokens == 0 || sample.tokens == 0) return 0;
    // Tokens are below 2^40: 2^100 at most, over 2^80.
    const Wide novel = Wide{sketch.compared_tokens} * sample.novel_tokens * kPpm;
    return static_cast<std::uint32_t>(novel / (Wide{sample.tokens} * sketch.tokens));
}

}  // namespace

Result<Novelty> novelty(const DatasetSketch& sketch, const Registered& registered) {
    GYM_TRY(Keys known, known_keys(sketch, registered));
    const auto samples = sample(sketch, std::move(known));
    const std::size_t own = std::min<std::size_t>(sketch.level, kLevels - 1);
    const std::size_t last = std::min<std::size_t>(registered.level_max, kLevels - 1);
    Novelty out{sketch.tokens, samples[own].novel_tokens, estimate_ppm(sketch, samples[own])};
    for (std::size_t level = own + 1; level <= last; ++level)
        if (samples[level].chunks >= kEstimateChunksMin)
            out.ppm = std::min(out.ppm, estimate_ppm(sketch, samples[level]));
    return out;
}

}  // namespace gym::quality
