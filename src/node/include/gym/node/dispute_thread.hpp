#pragma once

#include <functional>
#include <memory>

#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/node/node_config.hpp"
#include "gym/player/player.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::node {

/// Plays a node's side of disputes on chain, in a thread of its own: a game's clock does not wait
/// for the unit that the node works on. Keeps everything it needs in the data directory (disputes/,
/// transactions.sqlite), so a node that was killed continues its games.
class DisputeThread {
  public:
    using OnEvent = std::function<void(const player::PlayerEvent&)>;  ///< from its thread
    /// @return nullptr if `config` names no dispute_game and the node has nothing to lose without
    /// one. Warns if the node lacks the gas or bond of a game. `coordinator` must outlive the
    /// thread. A node with claims to defend starts even if contract and network do not fit: it
    /// keeps asking, plays as soon as the contract is a game, and lasting_failure() says what is
    /// wrong.
    /// @errors kInvalidArgument: the node has or needs stake, and there is no dispute_game; the
    /// address is malformed or holds no such contract; no chain_rpc; kMismatch: the coordinator
    /// works with another chain or game; kIo; kMalformed: a claim on disk is damaged.
    static Result<std::unique_ptr<DisputeThread>> start(const NodeConfig& config,
                                                        const records::NetworkDescription& network,
                                                        rpc::Coordinator& coordinator,
                                                        const crypto::PrivateKey& key,
                                                        player::Role role, OnEvent on_event);
    virtual ~DisputeThread() = default;  ///< stops it, and any unit that it runs again

    /// Where the node files the units that it defends or challenges. Thread-safe.
    [[nodiscard]] virtual player::ClaimStore& claims() = 0;
    /// The reason why this node cannot play games about new units until its settings change; it
    /// must not sign until then. May appear at any time, since the chain may not answer at the
    /// start. Thread-safe. @errors kInvalidArgument, kMismatch as of start().
    [[nodiscard]] virtual Status lasting_failure() const = 0;
    /// Whether this process has run a unit for a move in a game, and the claim is still there.
    /// Thread-safe.
    [[nodiscard]] virtual bool is_playing() const = 0;
    /// Of a verifier, the contract in which its reports are defended, for which it signs them;
    /// zero: nowhere. It stays the same as long as there are reports to defend, even if the
    /// coordinator names another one.
    [[nodiscard]] virtual Address report_game() const = 0;
};

}  // namespace gym::node
