#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "gym/common/result.hpp"
#include "gym/mirror/torrents.hpp"

namespace gym::torrent {

/// The bounds of a node's sharing (deploy/config/worker.yaml documents each key).
struct SwarmOptions {
    std::filesystem::path program;  ///< gym-torrent
    std::filesystem::path folder;   ///< of shared blobs, in the clear; one process at a time
    std::string address = "0.0.0.0";
    std::uint16_t port = 7691;                         ///< 0: any free one
    std::uint64_t upload_bytes_per_s_max = 1'000'000;  ///< 0: no bound
    std::uint32_t connections_max = 60;
    std::uint64_t seed_bytes_max = std::uint64_t{10} << 30;  ///< of the folder
    std::uint32_t seed_s_max = 86'400;
    double seed_ratio_max = 3;  ///< sent bytes of a blob over its size

    friend bool operator==(const SwarmOptions&, const SwarmOptions&) = default;
};

struct SwarmCounters {
    std::uint64_t received_bytes = 0;  ///< of pieces from peers that were right
    std::uint64_t sent_bytes = 0;      ///< to peers
    std::uint64_t wrong_pieces = 0;    ///< that fit a torrent and not the blob
    std::uint32_t peers = 0;           ///< connected now
    std::uint32_t torrents = 0;        ///< shared now
    std::uint64_t starts = 0;          ///< of gym-torrent
};

/// The peers of a node by BitTorrent. `gym-torrent` (src/app/torrent), a process of its own,
/// speaks with them: it has no key of the node and none of its secrets, and the library it is built
/// on cannot share a process with the rest of Gym. Files in the folder pass pieces between the two.
/// Nothing that it says is believed: each piece is checked against the blob's list. When it ends it
/// is started again, after a pause; without it blobs come from mirrors alone. Thread-safe.
class HelperSwarm : public mirror::Swarm {
  public:
    /// Starts gym-torrent and waits until it listens. If it does not, as with a port that is taken,
    /// the log says why, and it is tried again. @errors kNotFound: there is no such program; kIo.
    [[nodiscard]] static Result<std::unique_ptr<HelperSwarm>> start(const SwarmOptions& options);
    [[nodiscard]] virtual SwarmCounters counters() const = 0;
    [[nodiscard]] virtual std::uint16_t port() const = 0;  ///< that it listens on
};

}  // namespace gym::torrent
