#include "virtual_chain.hpp"

#include "gym/commit/sha256.hpp"

namespace gym::sim {

Status VirtualChain::post_round(const coordinator::RoundPost& record) {
    rounds_.try_emplace({record.job_id, record.round}, head() + 1);
    if (record.round > 1) aggregates_.try_emplace({record.job_id, record.round - 1}, head() + 1);
    return {};
}

Status VirtualChain::post_aggregate(const coordinator::AggregatePost& aggregate) {
    aggregates_.try_emplace({aggregate.job_id, aggregate.round}, head() + 1);
    return {};
}

Result<std::optional<std::uint64_t>> VirtualChain::aggregate_block(
    const coordinator::AggregatePost& aggregate) {
    const auto found = aggregates_.find({aggregate.job_id, aggregate.round});
    if (found == aggregates_.end() || !counts(found->second)) return std::optional<std::uint64_t>();
    return std::optional(found->second);
}

Status VirtualChain::post_epoch(const coordinator::EpochPost& epoch) {
    epochs_.try_emplace(epoch.epoch, head() + 1);
    return {};
}

Result<bool> VirtualChain::round_posted(const Digest& job_id, std::uint64_t round, const Digest&) {
    const auto found = rounds_.find({job_id, round});
    return found != rounds_.end() && counts(found->second);
}

Result<std::optional<std::uint64_t>> VirtualChain::epoch_block(
    const coordinator::EpochPost& epoch) {
    const auto found = epochs_.find(epoch.epoch);
    if (found == epochs_.end() || !counts(found->second)) return std::optional<std::uint64_t>();
    return std::optional(found->second);
}

Result<std::optional<Digest>> VirtualChain::randomness(std::uint64_t block) {
    if (!counts(block)) return std::optional<Digest>();
    commit::Hasher hasher;
    hasher.update(as_bytes("virtual block")).update_u64(seed_).update_u64(block);
    return std::optional(hasher.finish());
}

Result<std::optional<coordinator::GameNews>> VirtualChain::games_since(
    const std::optional<std::uint64_t>&, const std::vector<Digest>&) {
    return std::optional<coordinator::GameNews>();
}

}  // namespace gym::sim
