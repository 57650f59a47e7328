#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "transaction_decoder.hpp"

namespace gym::testing {

/// A chain inside the test: a pool with replacement rules, blocks on demand, reorgs, finality at a
/// fixed depth, and faults. A transaction whose data starts with kReverts fails when estimated and
/// when mined, with kFailsLate only when mined; one to `emitter` emits a log with its data. Not
/// thread-safe.
class SimChain final : public chain::ChainClient {
  public:
    static constexpr std::uint64_t kChainId = 4242;
    static constexpr std::uint64_t kFinalityDepth = 6;
    static constexpr std::uint8_t kReverts = 0xff;
    static constexpr std::uint8_t kFailsLate = 0xfe;
    static constexpr std::uint64_t kGasPerCall = 50'000;

    SimChain();

    /// The events of the canonical chain, in order.
    struct Executed {
        RecoveredTransaction recovered;
        bool success = false;
        std::uint64_t block_number = 0;
    };
    [[nodiscard]] std::vector<Executed> executed() const;
    /// Logs of the canonical chain up to the finalized block, in order.
    [[nodiscard]] std::vector<chain::Log> finalized_logs() const;
    [[nodiscard]] std::size_t pool_size() const;
    [[nodiscard]] std::uint64_t head() const { return blocks_.size() - 1; }

    void mine(std::uint32_t count = 1, bool include_transactions = true);
    /// Replaces the last `depth` blocks by `depth` + 1 other ones; their transactions return to the
    /// pool, or are forgotten. Depths beyond finality break the rules of the chain on purpose.
    void reorg(std::uint32_t depth, bool forget_transactions);
    void drop_pool() { pool_.clear(); }
    void set_base_fee(const Amount& wei) { base_fee_wei_ = wei; }
    void suggest_priority_fee(const Amount& wei) { priority_fee_wei_ = wei; }

    Address emitter;
    Digest topic;
    /// Called before each method with its name: returns an error to fail with, or throws.
    std::function<std::optional<Error>(const char* method)> fault;
    /// The error that send() returns instead of taking the transaction.
    std::optional<chain::SendOutcome> refusal;
    /// Called after a transaction entered the pool.
    std::function<void()> after_send;
    /// The queries that find_logs() was called with.
    std::vector<chain::LogQuery> queries;
    /// prevrandao of a block by its number; none: another one each, as random as the hash.
    std::function<Digest(std::uint64_t)> prevrandao;
    /// Leaves the first log out of the receipts that it serves.
    bool hides_a_log = false;
    /// Changes what find_logs() returns.
    std::function<void(std::vector<chain::Log>&)> lie;

    Result<std::uint64_t> chain_id() override;
    Result<std::optional<chain::BlockHeader>> block(const chain::BlockId& id) override;
    Result<std::vector<chain::BlockHeader>> blocks(std::uint64_t first,
                                                   std::uint32_t count) override;
    Result<std::vector<chain::Log>> logs(const Digest& block_hash,
                                         const chain::LogFilter& filter) override;
    Result<std::vector<chain::Log>> find_logs(const chain::LogQuery& query) override;
    Result<std::vector<chain::ConsensusReceipt>> receipts(const Digest& block_hash) override;
    Result<std::optional<chain::Receipt>> receipt(const Digest& transaction_hash) override;
    Result<std::uint64_t> nonce(const Address& account, const chain::BlockId& at) override;
    Result<Amount> balance(const Address& account, const chain::BlockId& at) override;
    Result<Bytes> code(const Address& account, const chain::BlockId& at) override;
    Result<chain::CallOutcome> call(const chain::CallRequest& request,
                                    const chain::BlockId& at) override;
    Result<chain::GasEstimate> estimate_gas(const chain::CallRequest& request) override;
    Result<Amount> suggested_priority_fee() override;
    Result<chain::SendOutcome> send(ByteView raw_transaction) override;

  private:
    struct Block {
        chain::BlockHeader header;
        std::vector<Executed> transactions;
        std::vector<chain::ConsensusReceipt> receipts;
    };
    using Pool = std::map<Address, std::map<std::uint64_t, RecoveredTransaction>>;

    [[nodiscard]] Status check(const char* method);
    [[nodiscard]] const Block* find(const Digest& hash) const;
    [[nodiscard]] const Block* find(const chain::BlockId& id) const;
    [[nodiscard]] std::uint64_t finalized_number() const;
    [[nodiscard]] std::uint64_t count_of(const Address& account, std::uint64_t up_to) const;
    void execute(Block& block, const RecoveredTransaction& recovered);

    std::vector<Block> blocks_;
    Pool pool_;
    Amount base_fee_wei_{1'000'000'000};
    Amount priority_fee_wei_{1'000'000'000};
    std::uint64_t salt_ = 0;  // makes every block's hash differ from its twin in a reorg
    std::uint64_t finalized_highest_ = 0;  // finality never goes back, reorg or not
};

}  // namespace gym::testing
