#include "fake_world.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::testing {

Status FakeChain::reachable() const {
    if (down) return fail(ErrorCode::kUnavailable, "the chain does not answer");
    return {};
}

/// As the contract checks it.
Status FakeChain::check_origin(const coordinator::RoundPost& record) const {
    const auto wrong = [&](const std::string& why) {
        return fail(ErrorCode::kConflict, "round " + std::to_string(record.round) + ": " + why);
    };
    GYM_TRY(const protocol::RoundHead head, protocol::decode_round_head(record.head));
    if (record.round == 1)
        return record.origin.empty() && head.included == 0 ? Status() : wrong("has an origin");
    const auto before = heads_.find({record.job_id, record.round - 1});
    if (before == heads_.end()) return wrong("is behind no other one");
    if (head.included == 0) {
        GYM_TRY(const protocol::RoundHead same, protocol::decode_round_head(before->second));
        const bool stays = record.origin == before->second &&
                           head.base_state_root == same.base_state_root &&
                           head.momentum_root == same.momentum_root;
        return stays ? Status() : wrong("has another base without deltas");
    }
    GYM_TRY(const auto made, protocol::decode_signed_commitment(record.origin));
    const bool its = made.commitment.round_record == head.previous_record &&
                     made.commitment.final_state_root == head.base_state_root &&
                     made.commitment.delta_root == head.momentum_root;
    return its ? Status() : wrong("has another base than its aggregate made");
}

Status FakeChain::post_round(const coordinator::RoundPost& record) {
    const std::lock_guard lock(mutex_);
    GYM_CHECK(reachable());
    GYM_CHECK(check_origin(record));
    if (!takes_rounds) return {};
    const std::pair key(record.job_id, record.round);
    if (!rounds_.try_emplace(key, record.record_hash, head_ + 1).second) return {};
    ++posts;
    heads_[key] = record.head;
    GYM_TRY(const protocol::RoundHead head, protocol::decode_round_head(record.head));
    if (head.included != 0)
        aggregates_.try_emplace({record.job_id, record.round - 1}, record.origin, head_ + 1);
    return {};
}

Status FakeChain::post_aggregate(const coordinator::AggregatePost& aggregate) {
    const std::lock_guard lock(mutex_);
    GYM_CHECK(reachable());
    aggregates_.try_emplace({aggregate.job_id, aggregate.round}, aggregate.commitment, head_ + 1);
    return {};
}

Result<std::optional<coordinator::CommitmentNews>> FakeChain::commitments_since(
    const std::optional<std::uint64_t>& seen_block) {
    const std::lock_guard lock(mutex_);
    GYM_CHECK(reachable());
    if (log_down) return fail(ErrorCode::kUnavailable, "the chain has no logs");
    if (seen_block && head_ <= *seen_block) return std::optional<coordinator::CommitmentNews>();
    coordinator::CommitmentNews news;
    news.seen_block = head_;
    for (const auto& item : published_)
        if (item.block <= head_ && item.block > seen_block.value_or(0))
            news.published.push_back(item);
    return std::optional(std::move(news));
}

Result<std::optional<std::uint64_t>> FakeChain::aggregate_block(
    const coordinator::AggregatePost& aggregate) {
    const std::lock_guard lock(mutex_);
    GYM_CHECK(reachable());
    const auto found = aggregates_.find({aggregate.job_id, aggregate.round});
    if (found == aggregates_.end() || found->second.second > head_)
        return std::optional<std::uint64_t>();
    if (found->second.first != aggregate.commitment)
        return fail(ErrorCode::kConflict, "another aggregate");
    return std::optional(found->second.second);
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
