#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

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
    /// @param left until no commitment to the unit is taken: an eighth of it, where that is less
    /// than `every`, lies between two messages. Absent: it has no end.
    void begin(const protocol::UnitPrefix& unit, std::span<const engine::StepRecord> done,
               std::optional<std::chrono::milliseconds> left = std::nullopt);
    /// Where no more than a step fits into what is `left`, the next message does not wait: what is
    /// signed after the unit's end is not taken. Clocks may differ by kClockSlackMs.
    void expect_end(std::optional<std::chrono::milliseconds> left);
    void after_step(const engine::StepRecord& record);
    /// Whether the unit under way is the one that was committed to.
    [[nodiscard]] bool is_of(const protocol::UnitCommitment& commitment) const {
        return newest_.round_record == commitment.round_record && newest_.slot == commitment.slot;
    }
    /// The unit is committed to, or given up: nothing of it is left to say.
    void end();
    /// Whether the coordinator refused a message, as it does once the unit has ended; told once.
    [[nodiscard]] bool take_refusal() { return std::exchange(is_refused_, false); }
    struct Said {
        std::uint32_t taken = 0;  ///< steps of the newest prefix that the coordinator has
        bool is_open = false;     ///< it took one now: the unit has not ended
    };
    /// Sends the newest prefix of a unit that is given up, and waits for the answer.
    Said say_last();
    /// The newest prefix of the unit under way, for a node that stops; absent if it was sent.
    [[nodiscard]] std::optional<protocol::SignedPrefix> unsent();

  private:
    using SteadyTime = std::chrono::steady_clock::time_point;

    void send();
    /// Notes what became of the message under way. @param waits for it; otherwise only if it ended.
    void collect(bool waits);

    rpc::Coordinator& coordinator_;
    const crypto::PrivateKey& key_;
    node::Timer& timer_;
    const std::optional<std::chrono::milliseconds> every_;
    std::optional<crypto::Eip712Domain> domain_;  ///< absent: no unit is under way
    protocol::UnitPrefix newest_;
    std::uint32_t sent_steps_ = 0;             ///< of what the coordinator took
    std::chrono::milliseconds unit_every_{0};  ///< of the unit under way
    SteadyTime next_, sent_at_, stepped_at_;
    bool is_refused_ = false;
    struct Sending;
    std::unique_ptr<Sending> sending_;  ///< the message under way; null: none
};

}  // namespace gym::worker
