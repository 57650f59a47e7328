#pragma once

#include <functional>
#include <memory>

#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/node/node_config.hpp"
#include "gym/player/player.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::node {

/// A node's side of disputes on chain, in a thread of its own: a game's clock does not wait for the
/// unit that the node works on. Everything it needs is in the data directory (disputes/,
/// transactions.sqlite), so a node that was killed resumes its games.
class DisputeThread {
  public:
    using OnEvent = std::function<void(const player::PlayerEvent&)>;  ///< from its thread
    /// nullptr if `config` names no dispute_game and the node has nothing to lose without. Warns of
    /// what the node lacks for a game's gas or bond. `coordinator` must outlive the thread.
    /// A node with claims to defend starts even if contract and network do not match: it continues
    /// asking, plays as soon as the contract is a game, and lasting_failure() says what is wrong.
    /// @errors kInvalidArgument: a worker with stake, or that needs one, and no dispute_game; an
    /// address that is none or has no such contract; no chain_rpc; kMismatch: another chain or game
    /// than the coordinator's; kIo; kMalformed: a damaged claim.
    static Result<std::unique_ptr<DisputeThread>> start(const NodeConfig& config,
                                                        const records::NetworkDescription& network,
                                                        rpc::Coordinator& coordinator,
                                                        const crypto::PrivateKey& key,
                                                        player::Role role, OnEvent on_event);
    virtual ~DisputeThread() = default;  ///< stops it; a unit that is run again is given up

    /// Adds a claim to defend or to challenge. Thread-safe.
    [[nodiscard]] virtual player::ClaimStore& claims() = 0;
    /// Why games about new units could not be played here until somebody changes something: nothing
    /// more may be signed. Found at any time, since the chain may be away at the start.
    /// Thread-safe. @errors kInvalidArgument, kMismatch as of start().
    [[nodiscard]] virtual Status lasting_failure() const = 0;
};

}  // namespace gym::node
