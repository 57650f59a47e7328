#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/node/timer.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/records/network.hpp"

namespace gym::node {

/// Facts that a node reads from the chain itself, so that it need not trust the coordinator.
/// @errors of every call: kUnavailable or kTimeout when the chain does not answer.
class ChainView {
  public:
    struct Round {
        Digest record_hash;
        std::uint64_t epoch = 0;  ///< 0 while the round takes commitments
    };
    /// The round of a drand chain that draws an epoch's units, by the network's contracts.
    struct Drand {
        std::uint64_t round = 0;
        Digest randomness;  ///< zero until somebody has proven the round
    };
    struct Epoch {
        Digest commitments_root;
        std::uint32_t count = 0;
        std::uint64_t block = 0;          ///< the block with the root
        std::optional<Drand> drand = {};  ///< absent: prevrandao of a later block draws
    };
    virtual ~ChainView() = default;

    /// Checks that this is the right chain, has the contract, and that what draws there is random.
    /// @errors also kMismatch (another chain), kNotFound (no contract at the address),
    /// kInvalidArgument (chain::check_prevrandao).
    virtual Status check() = 0;
    /// Absent: not posted (yet).
    virtual Result<std::optional<Round>> round(const Digest& job_id, std::uint64_t round) = 0;
    /// Whether the aggregate of the round is on chain. @errors also kConflict: the contract keeps
    /// none.
    virtual Result<bool> has_aggregate(const Digest& job_id, std::uint64_t round) = 0;
    virtual Result<std::optional<Epoch>> epoch(std::uint64_t epoch) = 0;
    /// prevrandao of a block; absent while the chain has not reached it.
    virtual Result<std::optional<Digest>> randomness(std::uint64_t block) = 0;
    /// Whether a game has proven the unit of this name faulty (game::unit_of()). @errors also
    /// kInvalidArgument: the network names no contract of games.
    virtual Result<bool> is_proven_faulty(const Digest& unit) = 0;
};

struct ChainViewConfig {
    std::string rpc_url;         ///< http://host:port
    std::uint64_t chain_id = 0;  ///< must be this one
    Address commitment_log;
    Address dispute_game;  ///< zero: the network plays no games
};
/// Over a node's JSON-RPC and the CommitmentLog contract. Does not connect.
/// @errors kInvalidArgument: rpc_url is not a URL.
[[nodiscard]] Result<std::unique_ptr<ChainView>> make_chain_view(const ChainViewConfig& config);

/// Checks that the record before this one is the one that the chain holds, and that the chain
/// holds the aggregate which made the base state if deltas went in, and none if not; nothing is
/// before round 1.
/// @errors kMismatch; those of ChainView::round().
Status check_record_before(ChainView& chain, const protocol::RoundHead& record);

/// Waits until the chain holds this record for its round, at most `wait_max`.
/// @errors kMismatch: the chain holds another record, or another one before it; kUnavailable: it
/// holds none in time, or does not answer; kCancelled.
Status wait_for_round(ChainView& chain, Timer& timer, const protocol::RoundHead& record,
                      std::chrono::milliseconds wait_max, const std::stop_token& stop);

/// The chain that `config` names, checked against the one that the coordinator's `network` works
/// on; nullptr without chain_rpc. Does not connect.
/// @errors kMismatch: the node is configured with another contract; kInvalidArgument.
[[nodiscard]] Result<std::unique_ptr<ChainView>> open_chain(
    const NodeConfig& config, const records::NetworkDescription& network);
/// Checks that it is the right chain, and logs what the node checks there from now on (nothing, if
/// `chain` is null). A chain that does not answer now causes only a warning.
/// @errors kMismatch, kNotFound.
Status start_chain_checks(ChainView* chain, const records::NetworkDescription& network);

}  // namespace gym::node
