#include "log_cache.hpp"

#include <algorithm>
#include <iterator>

#include "gym/chain/log_check.hpp"

namespace gym::player {

Result<std::optional<LogCache::Block>> LogCache::find(std::uint64_t number) {
    GYM_TRY(const auto header, client_.block(number));
    if (!header) return std::optional<Block>();
    return std::optional(Block{header->number, header->hash});
}

void LogCache::drop_unasked() {
    std::erase_if(kept_, [](const auto& entry) { return !entry.second.asked; });
    for (auto& [key, kept] : kept_)
        kept.asked = false;
}

Status LogCache::follow(const chain::BlockHeader& head) {
    if (head_ && head_->hash == head.hash) return {};
    drop_unasked();
    std::optional<Block> next;
    if (head.number > chain::kReorgBlocks) {
        GYM_TRY(next, find(head.number - chain::kReorgBlocks));
    }
    // After the new one: a reorg between the two calls shows here, or in the next tick.
    if (settled_) {
        GYM_TRY(const auto now, find(settled_->number));
        if (!now || now->hash != settled_->hash) {
            kept_.clear();
            settled_.reset();
        }
    }
    if (next && (!settled_ || next->number > settled_->number)) settled_ = next;
    head_ = Block{head.number, head.hash};
    return {};
}

Result<std::vector<chain::Log>> LogCache::read(const Address& address, const Topics& topics,
                                               std::uint64_t first_block) {
    GYM_ASSERT(head_, "follow() comes first");
    Kept& kept = kept_[{address, topics}];
    kept.asked = true;
    if (first_block < kept.first || kept.next <= first_block)
        kept = {first_block, first_block, {}, true};
    kept.first = first_block;
    std::erase_if(kept.logs, [&](const chain::Log& log) { return log.block_number < first_block; });
    std::vector<chain::Log> out = kept.logs;
    if (kept.next > head_->number) return out;
    GYM_TRY(std::vector<chain::Log> newer,
            chain::find_all_logs(client_, {address, topics, kept.next, head_->number}));
    std::ranges::copy(newer, std::back_inserter(out));
    if (!settled_ || settled_->number < kept.next) return out;
    const auto unsettled = std::ranges::find_if(
        newer, [&](const chain::Log& log) { return log.block_number > settled_->number; });
    GYM_CHECK(chain::check_logs(client_, {address, topics, kept.next, settled_->number},
                                settled_->hash, {newer.begin(), unsettled}));
    kept.logs.insert(kept.logs.end(), newer.begin(), unsettled);
    kept.next = settled_->number + 1;
    return out;
}

}  // namespace gym::player
