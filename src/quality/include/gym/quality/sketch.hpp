#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gym/quality/chunker.hpp"
#include "gym/quality/minhash.hpp"

namespace gym::quality {

/// 9 MiB of sketches, 1,048,576 band keys. Up to about 16 million tokens every chunk is sampled.
inline constexpr std::size_t kSampledChunksMax = 65'536;

struct ChunkSketch {
    BandKeys keys{};
    std::uint32_t tokens = 0;
    std::uint32_t level = 0;  ///< sample_level()

    friend bool operator==(const ChunkSketch&, const ChunkSketch&) = default;
};

/// The part of a dataset that is kept to compare it with others.
struct DatasetSketch {
    std::uint64_t tokens = 0;           ///< all
    std::uint64_t compared_tokens = 0;  ///< those in chunks, sampled or not: all but the edges
    /// Chunks of this level and above were sampled: the lowest for which there are at most
    /// kSampledChunksMax.
    std::uint32_t level = 0;
    std::vector<ChunkSketch> chunks;  ///< sampled ones, in the order of the stream

    friend bool operator==(const DatasetSketch&, const DatasetSketch&) = default;
};

/// Makes the sketch of one stream of tokens in one pass and bounded memory: a file larger than
/// memory is read piece by piece. The result depends on the tokens alone, not on the pieces. Not
/// thread-safe.
class Sketcher {
  public:
    /// @param sampled_max at least 1; the network's constant except in tests.
    explicit Sketcher(std::size_t sampled_max = kSampledChunksMax);
    Sketcher(const Sketcher&) = delete;
    Sketcher& operator=(const Sketcher&) = delete;

    void add(TokenView tokens) { chunker_.add(tokens); }
    /// The sketch of everything that was added; the sketcher is spent.
    [[nodiscard]] DatasetSketch finish();

  private:
    void add_chunk(std::span<const std::uint64_t> shingles);

    std::size_t sampled_max_;
    DatasetSketch sketch_;
    Chunker chunker_;
};

/// The sketch of tokens in memory.
[[nodiscard]] DatasetSketch sketch(TokenView tokens);

/// Every band key of the sketch once, ascending: what a registry keeps.
[[nodiscard]] std::vector<std::uint64_t> distinct_keys(const DatasetSketch& sketch);

}  // namespace gym::quality
