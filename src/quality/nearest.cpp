#include "gym/quality/nearest.hpp"

#include <map>
#include <set>

#include "gym/common/ppm.hpp"

namespace gym::quality {
namespace {

/// The datasets that have a chunk like this one.
std::set<std::uint64_t> owners_of(const ChunkSketch& chunk, const KeyOwners& owners) {
    std::set<std::uint64_t> out;
    for (const std::uint64_t key : chunk.keys)
        if (const auto found = owners.find(key); found != owners.end()) out.insert(found->second);
    return out;
}

}  // namespace

std::optional<Nearest> nearest(const DatasetSketch& sketch, const KeyOwners& owners) {
    std::uint64_t sampled_tokens = 0;
    std::map<std::uint64_t, std::uint64_t> alike;  // dataset -> tokens
    for (const ChunkSketch& chunk : sketch.chunks) {
        sampled_tokens += chunk.tokens;
        for (const std::uint64_t dataset : owners_of(chunk, owners))
            alike[dataset] += chunk.tokens;
    }
    Nearest out;
    std::uint64_t most = 0;
    for (const auto& [dataset, tokens] : alike) {
        if (tokens <= most) continue;
        most = tokens;
        out.dataset = dataset;
    }
    if (sampled_tokens == 0) return std::nullopt;
    // At most 2^26 sampled tokens: 65,536 chunks of 1,024.
    out.ppm = static_cast<std::uint32_t>(most * kPpm / sampled_tokens);
    if (out.ppm == 0) return std::nullopt;
    return out;
}

}  // namespace gym::quality
