#pragma once

#include <cstdint>
#include <string>

/// Whether a network has room for a model's deltas and states: one rule for the coordinator, which
/// pauses a job, and for those who refuse it before.
namespace gym::protocol {

/// Sizes that a network has room for.
struct SizeLimits {
    std::uint64_t blob_bytes = 0;    ///< of a blob that nodes may send or fetch (blob_bytes_max)
    std::uint64_t deltas_bytes = 0;  ///< of all deltas of a round (deltas_bytes_max)
    friend bool operator==(const SizeLimits&, const SizeLimits&) = default;
};

/// Bytes of a delta of codec 0, at most: a head, and four bytes of each parameter.
[[nodiscard]] constexpr std::uint64_t plain_delta_bytes(std::uint64_t parameters) {
    constexpr std::uint64_t kHeaderBytesMax = 64;
    return kHeaderBytesMax + 4 * parameters;
}

/// Blobs of a job.
struct JobBytes {
    std::uint64_t delta = 0;  ///< each delta
    std::uint64_t state = 0;  ///< the largest state that a node fetches; 0: not known
};

/// Why no round of such a job could end: no worker can send its delta, a node cannot fetch a state,
/// or the coordinator's store has no room for the deltas of `workers_min` workers in a round. One
/// sentence, which names the setting; empty if the network has room.
[[nodiscard]] std::string too_large(const JobBytes& job, std::uint64_t workers_min,
                                    const SizeLimits& limits);

}  // namespace gym::protocol
