#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "facts.hpp"
#include "gym/coordinator/options.hpp"
#include "gym/coordinator/reexecution_board.hpp"
#include "gym/coordinator/results.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"

namespace gym::coordinator {

/// The verifiers with enough stake to be drawn, as of the last tick: transactions ask no chain.
/// Thread-safe.
class StakedVerifiers {
  public:
    void set(std::set<Address> verifiers) {
        const std::scoped_lock lock(mutex_);
        verifiers_ = std::move(verifiers);
    }
    [[nodiscard]] bool contains(const Address& verifier) const {
        const std::scoped_lock lock(mutex_);
        return verifiers_.contains(verifier);
    }

  private:
    mutable std::mutex mutex_;
    std::set<Address> verifiers_;
};

/// Dependencies and options of all parts of the coordinator. Parts are free functions over it, so
/// that nothing survives in memory between two calls but facts that never change, and re-executions
/// under way, which are begun anew where they are forgotten.
struct Context {
    Dependencies deps;
    Options options;
    UnixMs began_at_ms = 0;  ///< this process
    std::shared_ptr<Facts> facts = std::make_shared<Facts>();
    std::shared_ptr<ReexecutionBoard> audits = std::make_shared<ReexecutionBoard>();
    std::shared_ptr<ReexecutionBoard> rulings = std::make_shared<ReexecutionBoard>();
    std::shared_ptr<ReexecutionBoard> prefixes = std::make_shared<ReexecutionBoard>();
    std::shared_ptr<ReexecutionBoard> report_checks = std::make_shared<ReexecutionBoard>();
    /// Whether this tick has read the chain for published commitments as far as it goes.
    std::shared_ptr<std::atomic<bool>> log_read = std::make_shared<std::atomic<bool>>(false);
    std::shared_ptr<StakedVerifiers> staked_verifiers = std::make_shared<StakedVerifiers>();

    [[nodiscard]] UnixMs now() const { return deps.clock.now_ms(); }
    /// Whether the operator lets `address` take part in this role.
    [[nodiscard]] bool admits(records::NodeRole role, const Address& address) const {
        const auto& allowed = role == records::NodeRole::kVerifier ? options.verifiers_allowed
                                                                   : options.workers_allowed;
        return allowed.empty() || allowed.contains(address);
    }
    /// Whether a draw may fall on the verifier: it is admitted, and stakes enough.
    [[nodiscard]] bool may_draw(const Address& verifier) const {
        return admits(records::NodeRole::kVerifier, verifier) &&
               (options.verifier_stake_min.is_zero() || staked_verifiers->contains(verifier));
    }

    /// One transaction of a tick. A step that was lost in COMMIT shows up as kUnavailable, and the
    /// next tick looks what is true.
    template <class F>
    auto transact(F&& body) const {
        return deps.database.transact(std::forward<F>(body));
    }
    /// One transaction of a call that finds its own work when it runs again.
    template <class F>
    auto transact_idempotent(F&& body) const {
        db::TransactOptions repeat;
        repeat.idempotent = true;
        return deps.database.transact(std::forward<F>(body), repeat);
    }
    /// The same for one that takes the feed's lock: others get it before the disk has the log.
    template <class F>
    auto transact_feed(F&& body) const {
        db::TransactOptions repeat;
        repeat.idempotent = true;
        repeat.disk_wait = db::DiskWait::kAfterCommit;
        return deps.database.transact(std::forward<F>(body), repeat);
    }
};

/// One line for the log and one step taken.
void note(TickSummary& summary, std::string line);
[[nodiscard]] std::string name_round(const registry::Round& round);
/// One line for the log and one step taken: the job is in another status now.
void note_status(TickSummary& summary, const Digest& job_id, registry::JobStatus status,
                 const std::string& reason);
/// The first eight digits of an id, for log lines.
[[nodiscard]] std::string short_id(const Digest& id);

}  // namespace gym::coordinator
