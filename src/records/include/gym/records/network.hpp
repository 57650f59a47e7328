#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/protocol/commitment.hpp"

namespace gym::records {

inline constexpr std::size_t kMirrorsMax = 64;
inline constexpr std::size_t kMirrorUrlBytesMax = 512;

/// Facts of the network that a node needs before its first signed call.
struct NetworkDescription {
    std::uint64_t chain_id = 0;
    Address commitment_log;  ///< with chain_id, the domain of every signature
    UnixMs server_ms = 0;    ///< the coordinator's clock when it answered
    std::uint64_t blob_bytes_max = std::uint64_t{1} << 30;
    std::uint32_t heartbeat_every_ms = 5'000;
    std::string software_version;
    /// Blocks from an epoch's root to the block whose randomness draws the sample.
    std::uint32_t beacon_delay_blocks = 2;
    Address stake;           ///< contract with the workers' stakes; zero: not given
    Address dispute_game;    ///< contract whose verdicts the coordinator follows; zero: not given
    Amount minimum_stake;    ///< what a worker needs for a unit, in wei; zero: nothing
    Address verifier_stake;  ///< contract with the verifiers' stakes; zero: not given
    Address report_game;     ///< with the games about their reports; zero: not given
    Amount minimum_verifier_stake;  ///< what a verifier needs to be drawn, in wei; zero: nothing
    /// Servers of public blobs (docs/PROTOCOL.md, "Blobs by HTTP"): http(s)://host[:port][/path].
    std::vector<std::string> mirrors;

    [[nodiscard]] crypto::Eip712Domain domain() const {
        return protocol::signing_domain(chain_id, commitment_log);
    }
};

}  // namespace gym::records
