#include "gym/quality/sketch.hpp"

#include <algorithm>
#include <utility>

#include "gym/common/assert.hpp"

namespace gym::quality {

Sketcher::Sketcher(std::size_t sampled_max)
    : sampled_max_(sampled_max),
      chunker_([this](std::span<const std::uint64_t> shingles) { add_chunk(shingles); }) {
    GYM_ASSERT(sampled_max > 0, "a sample of nothing");
}

void Sketcher::add_chunk(std::span<const std::uint64_t> shingles) {
    sketch_.compared_tokens += shingles.size();
    const std::uint32_t level = sample_level(shingles);
    if (level < sketch_.level) return;
    sketch_.chunks.push_back(
        {band_keys(minhash(shingles)), static_cast<std::uint32_t>(shingles.size()), level});
    // A level that is too low for a part of the stream is too low for all of it.
    while (sketch_.chunks.size() > sampled_max_) {
        ++sketch_.level;
        std::erase_if(sketch_.chunks,
                      [&](const ChunkSketch& chunk) { return chunk.level < sketch_.level; });
    }
}

DatasetSketch Sketcher::finish() {
    sketch_.tokens = chunker_.tokens();
    return std::move(sketch_);
}

DatasetSketch sketch(TokenView tokens) {
    Sketcher sketcher;
    sketcher.add(tokens);
    return sketcher.finish();
}

std::vector<std::uint64_t> distinct_keys(const DatasetSketch& sketch) {
    std::vector<std::uint64_t> out;
    out.reserve(sketch.chunks.size() * kBands);
    for (const ChunkSketch& chunk : sketch.chunks)
        out.insert(out.end(), chunk.keys.begin(), chunk.keys.end());
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

}  // namespace gym::quality
