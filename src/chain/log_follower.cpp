#include "gym/chain/log_follower.hpp"

#include <algorithm>

#include "gym/chain/log_check.hpp"

namespace gym::chain {
namespace {

FollowedBlock followed(const BlockHeader& header) {
    return {header.number, header.hash, header.parent_hash, header.timestamp_s};
}

std::string named(std::uint64_t number, const Digest& hash) {
    return "block " + std::to_string(number) + " (" + hash.hex() + ")";
}

Error contradiction(const std::string& what) {
    return fail(ErrorCode::kMismatch, "following the chain stopped: " + what);
}

}  // namespace

LogFollower::LogFollower(ChainClient& client, FollowerStore& store, FollowerOptions options,
                         LogHandler handler)
    : client_(client), store_(store), options_(std::move(options)), handler_(std::move(handler)) {
    GYM_ASSERT(!options_.filter.addresses.empty(), "a follower needs a contract to follow");
    GYM_ASSERT(options_.blocks_per_tick_max >= 1 && options_.logs_per_tick_max >= 1, "bounds");
}

Result<FollowReport> LogFollower::tick() {
    if (!chain_checked_) {
        GYM_CHECK(check_chain_id(client_, options_.chain_id));
        chain_checked_ = true;
    }
    FollowReport report;
    // Finality is requested before the head, so that it cannot lie beyond the blocks that follow.
    GYM_TRY(const auto finalized, client_.block(BlockTag::kFinalized));
    GYM_TRY(const auto head, client_.block(BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the node has no block");
    GYM_CHECK(check_finalized_kept());
    GYM_CHECK(leave_orphans(report));
    GYM_CHECK(add_blocks(head->number, report));
    if (finalized) GYM_CHECK(note_finality(*finalized));
    GYM_CHECK(deliver(report));
    GYM_TRY(const auto tip, store_.tip());
    GYM_TRY(const auto marked, store_.finalized());
    report.tip = tip ? tip->number : 0;
    report.finalized = marked ? marked->number : 0;
    report.caught_up =
        tip && tip->number >= head->number && report.logs_delivered < options_.logs_per_tick_max;
    return report;
}

/// A finalized block can never change: if it did, the node serves a false chain, or consensus
/// broke.
Status LogFollower::check_finalized_kept() {
    GYM_TRY(const auto marked, store_.finalized());
    if (!marked) return {};
    GYM_TRY(const auto header, client_.block(marked->number));
    if (header && header->hash == marked->hash) return {};
    if (!header)
        return fail(ErrorCode::kUnavailable, "the node's chain ends before " +
                                                 named(marked->number, marked->hash) +
                                                 ", which was finalized (it lags, or was reset)");
    return contradiction(named(marked->number, marked->hash) +
                         " was finalized, now the chain has " + header->hash.hex() + " there");
}

Status LogFollower::leave_orphans(FollowReport& report) {
    GYM_TRY(const auto tip, store_.tip());
    if (!tip) return {};
    std::uint64_t first_orphan = tip->number + 1;
    // Ends at the latest at the finalized block, which was just found unchanged, or at the first
    // block.
    for (std::optional<FollowedBlock> block = tip; block;) {
        GYM_TRY(const auto header, client_.block(block->number));
        if (header && header->hash == block->hash) break;
        first_orphan = block->number;
        if (block->number == 0) break;
        GYM_TRY(block, store_.canonical(block->number - 1));
    }
    if (first_orphan > tip->number) return {};
    GYM_CHECK(store_.orphan_from(first_orphan));
    report.blocks_orphaned = static_cast<std::uint32_t>(tip->number - first_orphan + 1);
    return {};
}

Status LogFollower::add_blocks(std::uint64_t head, FollowReport& report) {
    GYM_TRY(auto tip, store_.tip());
    std::uint64_t next = tip ? tip->number + 1 : options_.start_block;
    while (next <= head && report.blocks_added < options_.blocks_per_tick_max) {
        const std::uint64_t wanted =
            std::min<std::uint64_t>({head - next + 1, ChainClient::kBlocksPerCallMax,
                                     options_.blocks_per_tick_max - report.blocks_added});
        GYM_TRY(const auto headers, client_.blocks(next, static_cast<std::uint32_t>(wanted)));
        std::vector<BlockWithLogs> batch;
        for (const BlockHeader& header : headers) {
            // A parent that is not our tip is a reorg since leave_orphans(): the next tick sorts it
            // out.
            if (tip && header.parent_hash != tip->hash) break;
            auto logs = logs_of(header);
            if (!logs.ok() && logs.error().code == ErrorCode::kNotFound) break;  // the same
            if (!logs.ok()) return logs.error();
            tip = followed(header);
            batch.push_back({*tip, std::move(logs).value()});
        }
        if (batch.empty()) return {};
        GYM_CHECK(store_.append(batch));
        report.blocks_added += static_cast<std::uint32_t>(batch.size());
        next += batch.size();
        if (batch.size() < wanted) return {};
    }
    return {};
}

Result<std::vector<Log>> LogFollower::logs_of(const BlockHeader& header) {
    const auto& addresses = options_.filter.addresses;
    if (std::none_of(addresses.begin(), addresses.end(), [&](const Address& address) {
            return bloom_may_contain(header.logs_bloom, address.view());
        }))
        return std::vector<Log>();
    if (!options_.verify_receipts) {
        GYM_TRY(const auto logs, client_.logs(header.hash, options_.filter));
        return wanted_logs(header, logs);
    }
    const auto all = logs_by_receipts(client_, header);
    if (!all.ok() && all.error().code == ErrorCode::kMismatch)
        return contradiction(all.error().message);
    if (!all.ok()) return all.error();
    return wanted_logs(header, *all);
}

Result<std::vector<Log>> LogFollower::wanted_logs(const BlockHeader& header,
                                                  const std::vector<Log>& logs) const {
    const LogFilter& filter = options_.filter;
    std::vector<Log> out;
    for (const Log& log : logs) {
        if (log.block_hash != header.hash || log.block_number != header.number)
            return contradiction("a log of " + named(header.number, header.hash) +
                                 " names another block");
        if (std::find(filter.addresses.begin(), filter.addresses.end(), log.address) ==
            filter.addresses.end())
            continue;
        if (!filter.topics.empty() &&
            (log.topics.empty() || std::find(filter.topics.begin(), filter.topics.end(),
                                             log.topics[0]) == filter.topics.end()))
            continue;
        if (!bloom_may_contain(header.logs_bloom, log.address.view()))
            return contradiction("a log of " + named(header.number, header.hash) +
                                 " is not in the block's bloom filter");
        out.push_back(log);
    }
    std::sort(out.begin(), out.end(),
              [](const Log& a, const Log& b) { return a.log_index < b.log_index; });
    return out;
}

Status LogFollower::note_finality(const BlockHeader& finalized) {
    GYM_TRY(const auto tip, store_.tip());
    GYM_TRY(const auto marked, store_.finalized());
    if (!tip || finalized.number < options_.start_block) return {};
    if (marked && finalized.number <= marked->number) return {};  // a node that lags
    if (finalized.number <= tip->number) {
        GYM_TRY(const auto ours, store_.canonical(finalized.number));
        // Ours may be a block that was orphaned since: the next tick leaves it. Finality waits for
        // that.
        if (!ours || ours->hash != finalized.hash) return {};
        return store_.finalize(*ours);
    }
    // Behind: everything up to the tip is final if the tip is still on the finalized chain.
    GYM_TRY(const auto header, client_.block(tip->number));
    if (!header || header->hash != tip->hash) return {};
    return store_.finalize(*tip);
}

Status LogFollower::deliver(FollowReport& report) {
    GYM_TRY(const auto logs, store_.undelivered(options_.logs_per_tick_max));
    for (const Log& log : logs) {
        const LogKey key{options_.chain_id, log.block_hash, log.log_index};
        GYM_CHECK(handler_(key, log));
        GYM_CHECK(store_.mark_delivered({key}));
        ++report.logs_delivered;
    }
    return {};
}

}  // namespace gym::chain
