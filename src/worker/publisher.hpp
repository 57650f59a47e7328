#pragma once

#include <chrono>
#include <map>

#include "gym/common/result.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/node/timer.hpp"
#include "gym/player/claim.hpp"
#include "gym/worker/unit_journal.hpp"
#include "gym/worker/worker.hpp"

namespace gym::worker {

/// Leaves commitments that the coordinator does not take to the player, who publishes them on chain
/// and asks for those that no epoch has (docs/adr/0049-withheld-data-on-chain.md). Not thread-safe.
class Publisher {
  public:
    /// @param options with claims and chain, or it publishes nothing. Both must outlive it.
    Publisher(const WorkerOptions& options, node::Timer& timer)
        : claims_(options.claims),
          chain_(options.chain),
          timer_(timer),
          wait_(options.publish_after) {}

    /// Publishes at once what is refused, and after WorkerOptions::publish_after what merely does
    /// not get through. @return whether it did: not as long as it waits, and not if no epoch to
    /// come may have the commitment. @errors of the chain; kIo.
    Result<bool> publish(const JournalEntry& entry, const Error& refused);
    /// The same for a commitment that did not get through, once it is time.
    Result<bool> publish_overdue(const JournalEntry& entry);
    /// An epoch has the commitment: there is nothing to ask for. @errors kIo.
    Status withdraw(const JournalEntry& entry);

  private:
    Result<bool> leave_to_player(const JournalEntry& entry);
    [[nodiscard]] Result<bool> is_too_late(const JournalEntry& entry) const;

    player::ClaimStore* claims_;
    node::ChainView* chain_;
    node::Timer& timer_;
    std::chrono::milliseconds wait_;
    /// By unit, since when its commitment is not taken.
    std::map<Digest, std::chrono::steady_clock::time_point> since_;
};

}  // namespace gym::worker
