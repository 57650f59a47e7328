#include "fake_world.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::testing {

Status FakeChain::reachable() const {
    if (down) return fail(ErrorCode::kUnavailable, "the chain does not answer");
    return {};
}

Status FakeChain::post_round(const Digest& job_id, std::uint64_t round, const Digest& hash) {
    const std::lock_guard lock(mutex_);
    GYM_CHECK(reachable());
    if (rounds_.try_emplace({job_id, round}, hash, head_ + 1).second) ++posts;
    return {};
}

Status FakeChain::post_epoch(const coordinator::EpochPost& epoch) {
    const std::lock_guard lock(mutex_);
    GYM_CHECK(reachable());
    if (!epochs.try_emplace(epoch.epoch, epoch).second) return {};
    epoch_blocks_[epoch.epoch] = head_ + 1;
    ++posts;
    return {};
}

Status FakeChain::tick() {
    return reachable();
}

Result<bool> FakeChain::round_posted(const Digest& job_id, std::uint64_t round,
                                     const Digest& hash) {
    const std::lock_guard lock(mutex_);
    GYM_CHECK(reachable());
    const auto found = rounds_.find({job_id, round});
    if (found == rounds_.end() || found->second.second > head_) return false;
    if (found->second.first != hash) return fail(ErrorCode::kConflict, "another record");
    return true;
}

Result<std::optional<std::uint64_t>> FakeChain::epoch_block(const coordinator::EpochPost& epoch) {
    const std::lock_guard lock(mutex_);
    GYM_CHECK(reachable());
    const auto found = epochs.find(epoch.epoch);
    if (found == epochs.end() || epoch_blocks_[epoch.epoch] > head_)
        return std::optional<std::uint64_t>();
    if (found->second != epoch) return fail(ErrorCode::kConflict, "another root");
    return std::optional(epoch_blocks_[epoch.epoch]);
}

void FakeChain::play(const registry::DisputedUnit& unit) {
    const std::lock_guard lock(mutex_);
    auto& [since, now] = games_[unit.name];
    const bool opens = unit.open_games > now.open_games;
    since = head_ + 1;
    now = unit;
    if (opens) now.opened_block = since;
}

Result<std::optional<coordinator::GameNews>> FakeChain::games_since(
    const std::optional<std::uint64_t>& seen_block, const std::vector<Digest>& /*open*/) {
    const std::lock_guard lock(mutex_);
    ++game_looks;
    GYM_CHECK(reachable());
    const std::uint64_t seen = seen_block.value_or(head_ - 1);
    if (head_ <= seen) return std::optional<coordinator::GameNews>();
    coordinator::GameNews news{head_, window_blocks, {}};
    // None of those that are open and unchanged: nothing may wait for their turn.
    for (const auto& [name, entry] : games_)
        if (entry.first > seen && entry.first <= head_) news.units.push_back(entry.second);
    return std::optional(std::move(news));
}

Result<std::optional<Digest>> FakeChain::randomness(std::uint64_t block) {
    const std::lock_guard lock(mutex_);
    GYM_CHECK(reachable());
    if (block > head_) return std::optional<Digest>();
    if (beacon) return beacon;
    commit::Hasher hasher;
    return std::optional(hasher.update(as_bytes("block")).update_u64(block).finish());
}

}  // namespace gym::testing
