#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "gym/common/clock.hpp"
#include "gym/common/function_ref.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/node/defence.hpp"
#include "gym/node/dispute_thread.hpp"
#include "gym/node/node_config.hpp"
#include "gym/node/node_lock.hpp"
#include "gym/records/node.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::node {

/// A registered node at work in its network, worker or verifier: its key, the lock on it, the
/// connection to the coordinator, its view of the chain, and the player of its disputes, which runs
/// in a thread of its own. The references that it hands out live as long as the session.
class Session {
  public:
    /// Loads the key, locks it and the data directory, connects, checks the chain, starts the
    /// player of disputes and, where the configuration says so, gym-torrent, in this order.
    /// @param role of the player. @param on_dispute called from the player's thread; may be empty.
    /// @param stop cancels calls to the coordinator.
    /// @errors those of load_key, NodeLock::acquire, rpc::connect, open_chain, start_chain_checks
    /// DisputeThread::start and HelperSwarm::start.
    [[nodiscard]] static Result<std::unique_ptr<Session>> open(const NodeConfig& config,
                                                               player::Role role,
                                                               DisputeThread::OnEvent on_dispute,
                                                               const std::stop_token& stop);

    [[nodiscard]] const crypto::PrivateKey& key() const { return key_; }
    [[nodiscard]] const Clock& clock() const { return clock_; }
    [[nodiscard]] rpc::Coordinator& coordinator() { return *coordinator_; }
    [[nodiscard]] ChainView* chain() { return chain_.get(); }  ///< null without chain_rpc
    /// Null if the node plays no disputes.
    [[nodiscard]] DisputeThread* disputes() { return disputes_.get(); }
    /// Null without torrents.
    [[nodiscard]] mirror::Swarm* swarm() { return swarm_.get(); }
    [[nodiscard]] player::ClaimStore* claims() {
        return disputes_ ? &disputes_->claims() : nullptr;
    }

    /// Where a verifier's reports are defended; zero: nowhere.
    [[nodiscard]] Address report_game() const {
        return disputes_ ? disputes_->report_game() : Address();
    }

    /// Runs `work` with heartbeats from a second thread; afterwards tells the coordinator that the
    /// node leaves. @param activity called from that thread, with what it uses alive until `work`
    /// returns. @param last called in between with a connection that no request to stop cuts; may
    /// be empty. @errors those of `work`; then the coordinator is only told after
    /// kInvalidArgument, which a restart does not mend, and after kUnavailable, so that it gives
    /// another node the unit for which this one has no room.
    Status run(std::function<records::Activity()> activity, FunctionRef<Status()> work,
               const std::function<void(rpc::Coordinator&)>& last = {});

    /// stay_for_games(), with the session's player and without heartbeats.
    Status stay_for_games(const Error& why, FunctionRef<Status()> follow, std::chrono::seconds stay,
                          const std::stop_token& stop) const;

  private:
    Session(const NodeConfig& config, crypto::PrivateKey key, NodeLock lock)
        : config_(config), key_(std::move(key)), lock_(std::move(lock)) {}

    const NodeConfig config_;
    const crypto::PrivateKey key_;
    const NodeLock lock_;
    const SystemClock clock_;
    std::unique_ptr<rpc::Coordinator> coordinator_;
    records::NetworkDescription network_;
    std::unique_ptr<ChainView> chain_;
    std::unique_ptr<torrent::HelperSwarm> swarm_;
    std::unique_ptr<DisputeThread> disputes_;  // last: its thread uses everything above
};

}  // namespace gym::node
