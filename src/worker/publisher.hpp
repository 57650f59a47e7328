#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "gym/common/result.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/node/timer.hpp"
#include "gym/player/claim.hpp"
#include "gym/worker/unit_journal.hpp"
#include "gym/worker/worker.hpp"

namespace gym::worker {

/// Hands the player each commitment that the coordinator does not take. The player publishes it on
/// chain, and opens a game if no epoch has it (docs/adr/0049-withheld-data-on-chain.md). Not
/// thread-safe.
class Publisher {
  public:
    /// @param options with claims and chain, or it publishes nothing. Both must outlive it.
    Publisher(const WorkerOptions& options, node::Timer& timer)
        : claims_(options.claims),
          chain_(options.chain),
          timer_(timer),
          wait_(options.publish_after) {}

    enum class Outcome : std::uint8_t {
        kPublished,
        kWaits,  ///< until it is time, or until the chain answers
        kNever,  ///< the worker plays no games, or no epoch to come may have the commitment
    };
    /// Publishes a commitment that is refused at once, and one that does not get through after
    /// WorkerOptions::publish_after.
    Outcome publish(const JournalEntry& entry, const Error& refused);
    /// Publishes a commitment that publish() made wait, once it is time.
    Outcome publish_overdue(const JournalEntry& entry);
    /// An epoch has the commitment: there is nothing to ask for. @errors kIo.
    Status withdraw(const JournalEntry& entry);
    /// Whether the player asks for the commitment, or will. Its receipt may come as long as it
    /// does, whatever the coordinator says of the unit.
    [[nodiscard]] bool asks_for(const JournalEntry& entry) const;

  private:
    Result<bool> leave_to_player(const JournalEntry& entry);
    [[nodiscard]] Result<bool> is_too_late(const JournalEntry& entry) const;
    void say(const std::string& failure);

    player::ClaimStore* claims_;
    node::ChainView* chain_;
    node::Timer& timer_;
    std::chrono::milliseconds wait_;
    /// By unit, when its commitment is to be published.
    std::map<Digest, std::chrono::steady_clock::time_point> due_;
    std::string failing_;  ///< why nothing can be published; told once
};

}  // namespace gym::worker
