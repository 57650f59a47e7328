#include "virtual_chain.hpp"

#include "gym/commit/sha256.hpp"

namespace gym::sim {

Status VirtualChain::post_round(const Digest& job_id, std::uint64_t round, const Digest&) {
    rounds_.try_emplace({job_id, round}, head() + 1);
    return {};
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
