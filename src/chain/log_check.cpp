#include "gym/chain/log_check.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

namespace gym::chain {
namespace {

bool is_wanted(const LogQuery& query, const Log& log) {
    if (log.address != query.address) return false;
    for (std::size_t i = 0; i < query.topics.size(); ++i)
        if (query.topics[i] && (i >= log.topics.size() || log.topics[i] != *query.topics[i]))
            return false;
    return true;
}

bool may_have_logs(const BlockHeader& header, const LogQuery& query) {
    return bloom_may_contain(header.logs_bloom, query.address.view()) &&
           std::ranges::all_of(query.topics, [&](const std::optional<Digest>& topic) {
               return !topic || bloom_may_contain(header.logs_bloom, topic->view());
           });
}

std::string named(const BlockHeader& header) {
    return "block " + std::to_string(header.number) + " (" + header.hash.hex() + ")";
}

Error contradiction(const BlockHeader& header, const std::string& what) {
    return fail(ErrorCode::kMismatch, "the node's logs contradict " + named(header) + ": " + what);
}

Result<std::vector<Log>> logs_of(ChainClient& client, const BlockHeader& header,
                                 const LogQuery& query) {
    std::vector<Log> out;
    if (!may_have_logs(header, query)) return out;
    GYM_TRY(const auto all, logs_by_receipts(client, header));
    std::ranges::copy_if(all, std::back_inserter(out),
                         [&](const Log& log) { return is_wanted(query, log); });
    return out;
}

/// What the receipts root commits to, and the block.
bool is_same(const Log& a, const Log& b) {
    return a.block_number == b.block_number && a.address == b.address && a.topics == b.topics &&
           a.data == b.data;
}

Error has_changed() {
    return fail(ErrorCode::kUnavailable, "the node's chain changed while its logs were checked");
}

/// Takes the logs of one block off the front of `left`.
Status check_block(ChainClient& client, const BlockHeader& header, const LogQuery& query,
                   std::span<const Log>& left) {
    GYM_TRY(const std::vector<Log> expected, logs_of(client, header, query));
    for (const Log& log : expected) {
        if (left.empty() || !is_same(left.front(), log))
            return contradiction(header, "a log is missing or altered");
        left = left.subspan(1);
    }
    if (!left.empty() && left.front().block_number <= header.number)
        return contradiction(header, "a log is not in its receipts");
    return {};
}

}  // namespace

Result<std::vector<Log>> logs_by_receipts(ChainClient& client, const BlockHeader& header) {
    GYM_TRY(const auto receipts, client.receipts(header.hash));
    if (receipts_root(receipts) != header.receipts_root)
        return fail(ErrorCode::kMismatch,
                    "the node's receipts of " + named(header) +
                        " do not hash to the block's receipts root: logs are missing or altered");
    std::vector<Log> out;
    for (const ConsensusReceipt& receipt : receipts)
        out.insert(out.end(), receipt.logs.begin(), receipt.logs.end());
    // The root commits to content and order, not to the fields around it: those must follow from
    // it.
    for (std::size_t i = 0; i < out.size(); ++i)
        if (out[i].log_index != i)
            return fail(ErrorCode::kMismatch, "logs of " + named(header) + " are misnumbered");
    return out;
}

Status check_logs(ChainClient& client, const LogQuery& query, const Digest& last,
                  std::span<const Log> logs) {
    std::optional<Digest> parent;
    for (std::uint64_t next = query.first_block; next <= query.last_block;) {
        const std::uint64_t count =
            std::min<std::uint64_t>(query.last_block - next + 1, ChainClient::kBlocksPerCallMax);
        GYM_TRY(const auto headers, client.blocks(next, static_cast<std::uint32_t>(count)));
        if (headers.size() != count) return has_changed();
        for (const BlockHeader& header : headers) {
            if (parent && header.parent_hash != *parent) return has_changed();
            parent = header.hash;
            GYM_CHECK(check_block(client, header, query, logs));
        }
        next += count;
    }
    if (parent && *parent != last) return has_changed();
    return {};
}

}  // namespace gym::chain
