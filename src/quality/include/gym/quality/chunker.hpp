#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gym/common/token_view.hpp"

/// Cuts a token stream into chunks by its content, so that the same passage is cut at the same
/// places wherever it stands.
///
/// Every window of kShingleTokens tokens has a hash. A token ends a chunk if its window's hash is
/// the smallest of all within kBoundaryReach tokens to both sides (the leftmost, if several are).
/// Unlike "hash modulo n with a least length", this looks at nothing but the neighbourhood: two
/// streams are cut alike again kBoundaryReach + kShingleTokens tokens after they differ, and no
/// matter where a stream is split in two, its parts are cut at no place where the whole is not.
/// Chunks that a boundary ends have more than kBoundaryReach tokens and 2 * kBoundaryReach + 1 on
/// average where the text does not repeat itself; a stretch without a boundary is cut after
/// kChunkTokensMax. (Local minima as boundaries: Bjorner, Blass, Gurevich, "Content-dependent
/// chunking for differential compression: the local maximum approach", 2010.)
///
/// The tokens before the first and after the last boundary are the stream's edges, about 300 tokens
/// each. Edges have no ends of their own, so nothing can be compared with them.
namespace gym::quality {

/// Long enough that chunks of unrelated English share few windows even where a token is a byte (0.2
/// % on average; of five bytes, 1.3 %), short enough that a change spoils only 8 of a chunk's.
inline constexpr std::size_t kShingleTokens = 8;
/// Chunks of 257 tokens on average: a document of 1,000 tokens still has chunks of its own when its
/// neighbours change.
inline constexpr std::size_t kBoundaryReach = 128;
inline constexpr std::size_t kChunkTokensMax = 1024;

/// Cuts one stream. Memory is bounded by kChunkTokensMax, whatever the stream's length. Integer
/// arithmetic only: the same chunks on every machine, however the stream is divided into add()s.
/// Not thread-safe.
class Chunker {
  public:
    /// Called with a chunk's shingle hashes, one for each token: that of the window that ends with
    /// the token. The view ends with the call.
    using Sink = std::function<void(std::span<const std::uint64_t>)>;
    explicit Chunker(Sink sink);

    void add(TokenView tokens);

    /// Tokens so far, edges included.
    [[nodiscard]] std::uint64_t tokens() const { return tokens_; }

  private:
    /// Powers of two, so that a position's place in a ring is a mask away.
    static constexpr std::size_t kRing = 512;
    static_assert(kRing > 2 * kBoundaryReach && (kRing & (kRing - 1)) == 0);

    struct Candidate {
        std::uint64_t window = 0;  ///< its number: the first full window is 0
        std::uint64_t rank = 0;    ///< the smallest within reach is a boundary
    };

    void add_window(std::uint64_t hash);
    void decide(std::uint64_t window, bool is_boundary);
    void cut();

    Sink sink_;
    std::uint64_t tokens_ = 0;
    std::uint64_t rolling_ = 0;
    std::array<std::uint32_t, kShingleTokens> last_tokens_{};
    std::array<std::uint64_t, kRing> hashes_{};  ///< of the windows that are not decided
    std::array<Candidate, kRing> candidates_{};  ///< ascending ranks; the front is the smallest
    std::uint64_t front_ = 0;
    std::uint64_t back_ = 0;  ///< one past the last candidate
    bool in_chunk_ = false;   ///< a boundary has been seen
    std::vector<std::uint64_t> chunk_;
};

}  // namespace gym::quality
