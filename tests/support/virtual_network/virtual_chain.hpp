#pragma once

#include <map>
#include <utility>

#include "gym/common/clock.hpp"
#include "gym/coordinator/chain_port.hpp"

namespace gym::sim {

/// A chain with a block each `block_ms` of virtual time. What is posted is in the next block and
/// counts once `confirmations` blocks are on top. Its randomness is a function of the seed.
class VirtualChain final : public coordinator::ChainPort {
  public:
    struct Pace {
        std::int64_t block_ms = 2'000;
        std::uint32_t confirmations = 1;
    };
    VirtualChain(const Clock& clock, Pace pace, std::uint64_t seed)
        : clock_(clock), pace_(pace), seed_(seed), start_ms_(clock.now_ms()) {}

    Status post_round(const coordinator::RoundPost& record) override;
    Status post_aggregate(const coordinator::AggregatePost& aggregate) override;
    Status post_epoch(const coordinator::EpochPost& epoch) override;
    Status tick() override { return {}; }
    Result<bool> round_posted(const Digest& job_id, std::uint64_t round,
                              const Digest& hash) override;
    Result<std::optional<std::uint64_t>> aggregate_block(
        const coordinator::AggregatePost& aggregate) override;
    Result<std::optional<std::uint64_t>> epoch_block(const coordinator::EpochPost& epoch) override;
    Result<std::optional<Digest>> randomness(std::uint64_t block) override;
    Result<std::optional<coordinator::CommitmentNews>> commitments_since(
        const std::optional<std::uint64_t>& /*seen_block*/) override {
        return std::optional<coordinator::CommitmentNews>();  // nobody publishes any
    }
    std::optional<Address> dispute_game() const override { return std::nullopt; }
    Result<std::optional<std::uint64_t>> disputable_blocks() override {
        return std::optional<std::uint64_t>();
    }
    Result<std::optional<coordinator::GameNews>> games_since(
        const std::optional<std::uint64_t>& seen_block, const std::vector<Digest>& open) override;

    [[nodiscard]] UnixMs next_block_ms() const {
        return start_ms_ + static_cast<std::int64_t>(head() + 1) * pace_.block_ms;
    }

  private:
    [[nodiscard]] std::uint64_t head() const {
        return static_cast<std::uint64_t>((clock_.now_ms() - start_ms_) / pace_.block_ms);
    }
    [[nodiscard]] bool counts(std::uint64_t block) const {
        return block + pace_.confirmations <= head();
    }

    const Clock& clock_;
    const Pace pace_;
    const std::uint64_t seed_;
    const UnixMs start_ms_;
    std::map<std::pair<Digest, std::uint64_t>, std::uint64_t> rounds_;  // their blocks
    std::map<std::pair<Digest, std::uint64_t>, std::uint64_t> aggregates_;
    std::map<std::uint64_t, std::uint64_t> epochs_;
};

}  // namespace gym::sim
