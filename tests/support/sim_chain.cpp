#include "sim_chain.hpp"

#include <algorithm>
#include <iterator>

#include "gym/crypto/keccak.hpp"

namespace gym::testing {
namespace {

using chain::BlockHeader;
using chain::BlockTag;
using chain::SendOutcome;

void add_to_bloom(chain::Bloom& bloom, ByteView value) {
    const Digest hash = crypto::keccak256(value);
    for (std::size_t i = 0; i < 6; i += 2) {
        const std::size_t bit = (std::size_t{hash.data[i]} << 8 | hash.data[i + 1]) % 2048;
        bloom.data[255 - bit / 8] |= static_cast<std::uint8_t>(1U << (bit % 8));
    }
}

/// A tenth more, as pools ask of a replacement.
bool outbids(const Amount& fee, const Amount& other) {
    return fee >= other.mul_div(Amount(110), Amount(100)).value();
}

bool starts_with(const Bytes& data, std::uint8_t byte) {
    return !data.empty() && data[0] == byte;
}

}  // namespace

SimChain::SimChain() {
    emitter.data.fill(0xee);
    topic = crypto::keccak256_text("Happened(bytes)");
    mine();
}

Status SimChain::check(const char* method) {
    if (!fault) return {};
    if (auto error = fault(method)) return *error;
    return {};
}

std::vector<SimChain::Executed> SimChain::executed() const {
    std::vector<Executed> out;
    for (const Block& block : blocks_)
        out.insert(out.end(), block.transactions.begin(), block.transactions.end());
    return out;
}

std::vector<chain::Log> SimChain::finalized_logs() const {
    std::vector<chain::Log> out;
    for (const Block& block : blocks_) {
        if (block.header.number > finalized_number()) break;
        for (const auto& receipt : block.receipts)
            out.insert(out.end(), receipt.logs.begin(), receipt.logs.end());
    }
    return out;
}

std::size_t SimChain::pool_size() const {
    std::size_t out = 0;
    for (const auto& [sender, queue] : pool_)
        out += queue.size();
    return out;
}

void SimChain::mine(std::uint32_t count, bool include_transactions) {
    for (; count > 0; --count) {
        Block block;
        block.header.number = blocks_.size();
        if (!blocks_.empty()) block.header.parent_hash = blocks_.back().header.hash;
        block.header.timestamp_s = 1'700'000'000 + blocks_.size();
        block.header.base_fee_wei = base_fee_wei_;
        block.header.gas_limit = 30'000'000;
        const Amount salt(++salt_);
        block.header.hash = crypto::keccak256(
            {as_bytes("sim block"), block.header.parent_hash.view(), salt.to_be32()});
        block.header.prevrandao = prevrandao ? prevrandao(block.header.number)
                                             : crypto::keccak256(block.header.hash.view());
        if (include_transactions) {
            for (auto& [sender, queue] : pool_) {
                while (!queue.empty()) {
                    const auto next = queue.begin();
                    std::uint64_t used = blocks_.empty() ? 0 : count_of(sender, head());
                    for (const Executed& done : block.transactions)
                        if (done.recovered.from == sender) ++used;
                    if (next->first < used) {
                        queue.erase(next);
                        continue;
                    }
                    if (next->first > used || next->second.transaction.fee_max_wei < base_fee_wei_)
                        break;
                    execute(block, next->second);
                    queue.erase(next);
                }
            }
        }
        block.header.receipts_root = chain::receipts_root(block.receipts);
        blocks_.push_back(std::move(block));
    }
    finalized_highest_ = std::max(finalized_highest_, finalized_number());
}

void SimChain::execute(Block& block, const RecoveredTransaction& recovered) {
    const chain::Transaction& tx = recovered.transaction;
    const bool success = !starts_with(tx.data, kReverts) && !starts_with(tx.data, kFailsLate);
    chain::ConsensusReceipt receipt;
    receipt.type = 2;
    receipt.success = success;
    receipt.cumulative_gas = (block.transactions.size() + 1) * kGasPerCall;
    if (success && tx.to == emitter) {
        chain::Log log;
        log.address = emitter;
        log.topics = {topic};
        log.data = tx.data;
        log.block_number = block.header.number;
        log.block_hash = block.header.hash;
        log.transaction_hash = recovered.hash;
        for (const auto& earlier : block.receipts)
            log.log_index += static_cast<std::uint32_t>(earlier.logs.size());
        add_to_bloom(receipt.bloom, emitter.view());
        add_to_bloom(receipt.bloom, topic.view());
        add_to_bloom(block.header.logs_bloom, emitter.view());
        add_to_bloom(block.header.logs_bloom, topic.view());
        receipt.logs.push_back(std::move(log));
    }
    block.receipts.push_back(std::move(receipt));
    block.transactions.push_back({recovered, success, block.header.number});
}

void SimChain::reorg(std::uint32_t depth, bool forget_transactions) {
    GYM_ASSERT(depth < blocks_.size(), "the first block stays");
    std::vector<Executed> undone;
    for (std::uint32_t i = 0; i < depth; ++i) {
        const auto& transactions = blocks_.back().transactions;
        undone.insert(undone.begin(), transactions.begin(), transactions.end());
        blocks_.pop_back();
    }
    if (!forget_transactions)
        for (const Executed& done : undone)
            pool_[done.recovered.from].emplace(done.recovered.transaction.nonce, done.recovered);
    mine(depth + 1, false);
}

const SimChain::Block* SimChain::find(const Digest& hash) const {
    for (const Block& block : blocks_)
        if (block.header.hash == hash) return &block;
    return nullptr;
}

const SimChain::Block* SimChain::find(const chain::BlockId& id) const {
    if (const auto* hash = std::get_if<Digest>(&id)) return find(*hash);
    std::uint64_t number = head();
    if (const auto* tag = std::get_if<BlockTag>(&id)) {
        if (*tag == BlockTag::kFinalized || *tag == BlockTag::kSafe) number = finalized_number();
    } else {
        number = std::get<std::uint64_t>(id);
    }
    return number < blocks_.size() ? &blocks_[number] : nullptr;
}

std::uint64_t SimChain::finalized_number() const {
    const std::uint64_t by_depth = head() < kFinalityDepth ? 0 : head() - kFinalityDepth;
    return std::min(std::max(by_depth, finalized_highest_), head());
}

std::uint64_t SimChain::count_of(const Address& account, std::uint64_t up_to) const {
    std::uint64_t out = 0;
    for (const Block& block : blocks_) {
        if (block.header.number > up_to) break;
        for (const Executed& done : block.transactions)
            if (done.recovered.from == account) ++out;
    }
    return out;
}

Result<std::uint64_t> SimChain::chain_id() {
    GYM_CHECK(check("chain_id"));
    return std::uint64_t{kChainId};
}

Result<std::optional<BlockHeader>> SimChain::block(const chain::BlockId& id) {
    GYM_CHECK(check("block"));
    const Block* found = find(id);
    return found ? std::optional(found->header) : std::optional<BlockHeader>();
}

Result<std::vector<BlockHeader>> SimChain::blocks(std::uint64_t first, std::uint32_t count) {
    GYM_CHECK(check("blocks"));
    std::vector<BlockHeader> out;
    for (std::uint64_t i = first; i < first + count && i < blocks_.size(); ++i)
        out.push_back(blocks_[i].header);
    return out;
}

Result<std::vector<chain::Log>> SimChain::find_logs(const chain::LogQuery& query) {
    GYM_CHECK(check("find_logs"));
    queries.push_back(query);
    const auto wanted = [&](const chain::Log& log) {
        if (log.address != query.address) return false;
        for (std::size_t i = 0; i < query.topics.size(); ++i)
            if (query.topics[i] && (i >= log.topics.size() || log.topics[i] != *query.topics[i]))
                return false;
        return true;
    };
    std::vector<chain::Log> out;
    for (const Block& block : blocks_) {
        if (block.header.number < query.first_block || block.header.number > query.last_block)
            continue;
        for (const auto& receipt : block.receipts)
            std::ranges::copy_if(receipt.logs, std::back_inserter(out), wanted);
    }
    if (lie) lie(out);
    return out;
}

Result<std::vector<chain::Log>> SimChain::logs(const Digest& block_hash,
                                               const chain::LogFilter& filter) {
    GYM_TRY(const auto receipts, this->receipts(block_hash));
    std::vector<chain::Log> out;
    for (const auto& receipt : receipts)
        for (const chain::Log& log : receipt.logs)
            if (std::count(filter.addresses.begin(), filter.addresses.end(), log.address) > 0)
                out.push_back(log);
    return out;
}

Result<std::vector<chain::ConsensusReceipt>> SimChain::receipts(const Digest& block_hash) {
    GYM_CHECK(check("receipts"));
    const Block* found = find(block_hash);
    if (found == nullptr) return fail(ErrorCode::kNotFound, "no such block");
    auto out = found->receipts;
    if (hides_a_log)
        for (auto& receipt : out)
            if (!receipt.logs.empty()) {
                receipt.logs.clear();
                break;
            }
    return out;
}

Result<std::optional<chain::Receipt>> SimChain::receipt(const Digest& transaction_hash) {
    GYM_CHECK(check("receipt"));
    for (const Block& block : blocks_) {
        for (std::size_t i = 0; i < block.transactions.size(); ++i) {
            const Executed& done = block.transactions[i];
            if (done.recovered.hash != transaction_hash) continue;
            chain::Receipt out;
            out.transaction_index = i;
            out.logs = block.receipts[i].logs;
            out.transaction_hash = transaction_hash;
            out.block_hash = block.header.hash;
            out.block_number = block.header.number;
            out.success = done.success;
            out.gas_used = kGasPerCall;
            out.gas_price_wei = block.header.base_fee_wei;
            return std::optional(out);
        }
    }
    return std::optional<chain::Receipt>();
}

Result<std::uint64_t> SimChain::nonce(const Address& account, const chain::BlockId& at) {
    GYM_CHECK(check("nonce"));
    const Block* found = find(at);
    if (found == nullptr) return fail(ErrorCode::kInternal, "no such block");
    return count_of(account, found->header.number);
}

Result<Amount> SimChain::balance(const Address&, const chain::BlockId&) {
    GYM_CHECK(check("balance"));
    return Amount(UINT64_MAX);
}

Result<Bytes> SimChain::code(const Address&, const chain::BlockId&) {
    GYM_CHECK(check("code"));
    return Bytes();
}

Result<chain::CallOutcome> SimChain::call(const chain::CallRequest& request,
                                          const chain::BlockId&) {
    GYM_CHECK(check("call"));
    const bool reverts =
        starts_with(request.data, kReverts) || starts_with(request.data, kFailsLate);
    return chain::CallOutcome{reverts, reverts ? Bytes{1, 2, 3, 4} : Bytes{}};
}

Result<chain::GasEstimate> SimChain::estimate_gas(const chain::CallRequest& request) {
    GYM_CHECK(check("estimate_gas"));
    const bool reverts = starts_with(request.data, kReverts);
    return chain::GasEstimate{reverts, kGasPerCall, reverts ? Bytes{1, 2, 3, 4} : Bytes{}};
}

Result<Amount> SimChain::suggested_priority_fee() {
    GYM_CHECK(check("suggested_priority_fee"));
    return priority_fee_wei_;
}

Result<SendOutcome> SimChain::send(ByteView raw_transaction) {
    GYM_CHECK(check("send"));
    GYM_TRY(const RecoveredTransaction recovered, decode_transaction(raw_transaction));
    const chain::Transaction& tx = recovered.transaction;
    GYM_ASSERT(tx.chain_id == kChainId, "signed for this chain");
    if (tx.nonce < count_of(recovered.from, head())) return SendOutcome::kNonceUsed;
    if (refusal) return *refusal;
    auto& queue = pool_[recovered.from];
    const auto there = queue.find(tx.nonce);
    if (there != queue.end() && there->second.hash != recovered.hash) {
        const chain::Transaction& old = there->second.transaction;
        if (!outbids(tx.fee_max_wei, old.fee_max_wei) ||
            !outbids(tx.priority_fee_wei, old.priority_fee_wei))
            return SendOutcome::kUnderpriced;
    }
    queue.insert_or_assign(tx.nonce, recovered);
    if (after_send) after_send();
    return SendOutcome::kAccepted;
}

}  // namespace gym::testing
