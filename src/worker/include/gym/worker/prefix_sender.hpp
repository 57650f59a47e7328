#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "gym/engine/record.hpp"
#include "gym/node/backoff.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/prefix.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::worker {

/// Now and then signs what the steps of a unit so far gave, and sends it to the coordinator, so
/// that they are paid for if the unit ends without a commitment (docs/PROTOCOL.md, "Prefixes").
/// A message is sent by a thread of its own: a step never waits for the network, and what fails is
/// made up for by the next message. Not thread-safe. Its end waits for that thread.
class PrefixSender {
  public:
    /// @param every absent: nothing is signed nor sent; zero: after every step. The references must
    /// outlive the sender.
    PrefixSender(rpc::Coordinator& coordinator, const crypto::PrivateKey& key, node::Timer& timer,
                 std::optional<std::chrono::milliseconds> every);
    PrefixSender(const PrefixSender&) = delete;
    PrefixSender& operator=(const PrefixSender&) = delete;
    ~PrefixSender();

    /// From here on steps are this unit's. Without an answer of the coordinator, which knows the
    /// domain of signatures, nothing is sent for it.
    /// @param unit with neither steps nor link. @param done the records of the steps before.
    void begin(const protocol::UnitPrefix& unit, std::span<const engine::StepRecord> done);
    void after_step(const engine::StepRecord& record);
    /// Whether the unit under way is the one that was committed to.
    [[nodiscard]] bool is_of(const protocol::UnitCommitment& commitment) const {
        return newest_.round_record == commitment.round_record && newest_.slot == commitment.slot;
    }
    /// The unit is committed to, or given up: nothing of it is left to say.
    void end();
    /// The newest prefix of the unit under way, for a node that stops; absent if it was sent.
    [[nodiscard]] std::optional<protocol::SignedPrefix> unsent();

  private:
    void send();
    /// Notes what became of the message under way. @param waits for it; otherwise only if it ended.
    void collect(bool waits);

    rpc::Coordinator& coordinator_;
    const crypto::PrivateKey& key_;
    node::Timer& timer_;
    const std::optional<std::chrono::milliseconds> every_;
    std::optional<crypto::Eip712Domain> domain_;  ///< absent: no unit is under way
    protocol::UnitPrefix newest_;
    std::uint32_t sent_steps_ = 0;  ///< of what the coordinator took
    std::chrono::steady_clock::time_point next_;
    struct Sending;
    std::unique_ptr<Sending> sending_;  ///< the message under way; null: none
};

}  // namespace gym::worker
