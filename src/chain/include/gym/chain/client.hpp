#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::chain {

/// A reorganisation may move what happened in blocks as new as these; deeper ones are not expected.
inline constexpr std::uint64_t kReorgBlocks = 64;

using Bloom = FixedBytes<256, struct BloomTag>;

/// The fields of a block that the protocol and the follower need.
struct BlockHeader {
    std::uint64_t number = 0;
    Digest hash;
    Digest parent_hash;
    Digest prevrandao;  ///< mixHash: the randomness beacon's output
    std::uint64_t timestamp_s = 0;
    Amount base_fee_wei;
    std::uint64_t gas_limit = 0;
    std::uint64_t gas_used = 0;  ///< by all transactions of the block
    Bloom logs_bloom;
    Digest receipts_root;
    friend bool operator==(const BlockHeader&, const BlockHeader&) = default;
};

enum class BlockTag { kLatest, kSafe, kFinalized, kPending };
/// A block by tag, by number, or by hash.
using BlockId = std::variant<BlockTag, std::uint64_t, Digest>;

struct Log {
    Address address;
    std::vector<Digest> topics;
    Bytes data;
    std::uint64_t block_number = 0;
    Digest block_hash;
    Digest transaction_hash;
    std::uint32_t log_index = 0;  ///< position in its block
    friend bool operator==(const Log&, const Log&) = default;
};

struct Receipt {
    Digest transaction_hash;
    Digest block_hash;
    std::uint64_t block_number = 0;
    std::uint64_t transaction_index = 0;  ///< position in its block
    bool success = false;
    std::uint64_t gas_used = 0;
    Amount gas_price_wei;  ///< effective
    std::optional<Address> contract_address;
    std::vector<Log> logs;
};

/// A receipt as the block's receipts root commits to it (EIP-2718).
struct ConsensusReceipt {
    std::uint8_t type = 0;  ///< of its transaction; 0: legacy
    bool success = false;
    std::uint64_t cumulative_gas = 0;
    Bloom bloom;
    std::vector<Log> logs;
};

struct CallRequest {
    std::optional<Address> from;
    std::optional<Address> to;  ///< absent: contract creation
    Amount value_wei;
    Bytes data;
    std::optional<std::uint64_t> gas_limit;
};

/// The EVM's answer: output, or revert data. A revert is an answer, not a failure of the
/// client.
struct CallOutcome {
    bool reverted = false;
    Bytes output;
};

struct GasEstimate {
    bool reverted = false;
    std::uint64_t gas = 0;
    Bytes revert_data;
};

/// Which logs a follower wants: of any of `addresses` (not empty), with topic 0 in `topics` (empty:
/// all).
struct LogFilter {
    std::vector<Address> addresses;
    std::vector<Digest> topics;
};

/// Selects logs of the canonical chain. `topics` by position: absent, or
/// behind its end, means any.
struct LogQuery {
    Address address;
    std::vector<std::optional<Digest>> topics;
    std::uint64_t first_block = 0;
    std::uint64_t last_block = 0;
};

/// How a node took a transaction.
enum class SendOutcome {
    kAccepted,     ///< in the pool now, or already known
    kNonceUsed,    ///< a transaction with this nonce is on chain
    kUnderpriced,  ///< a replacement needs higher fees, or the fee is below the node's floor
    kNoFunds,      ///< the sender cannot cover value + gas
};

/// An Ethereum node, as much of it as we use. An interface, so that rules are tested on simulated
/// chains. Every method: @errors kUnavailable or kTimeout when the node does not answer (after the
/// transport's own retries), kMalformed when its answer is not what the specification says,
/// kMismatch when it contradicts itself, kInternal for an error it reports.
class ChainClient {
  public:
    virtual ~ChainClient() = default;

    [[nodiscard]] virtual Result<std::uint64_t> chain_id() = 0;
    /// Absent if there is no such block, or no longer one.
    [[nodiscard]] virtual Result<std::optional<BlockHeader>> block(const BlockId& id) = 0;
    /// Headers [first, first + count), in order; fewer when the chain ends. count <=
    /// kBlocksPerCallMax.
    [[nodiscard]] virtual Result<std::vector<BlockHeader>> blocks(std::uint64_t first,
                                                                  std::uint32_t count) = 0;
    /// Logs of one block, by hash, so that a reorg cannot mix two chains; kNotFound for an unknown
    /// block.
    [[nodiscard]] virtual Result<std::vector<Log>> logs(const Digest& block_hash,
                                                        const LogFilter& filter) = 0;
    /// Logs of blocks first to last as the chain is now, in order: for views and plans that are
    /// made anew each time. A reorg can undo them; what must be done once follows with LogFollower.
    /// At most kBlocksPerQueryMax blocks, which is what nodes serve.
    [[nodiscard]] virtual Result<std::vector<Log>> find_logs(const LogQuery& query) = 0;
    /// All receipts of one block, in order; kNotFound for an unknown block.
    [[nodiscard]] virtual Result<std::vector<ConsensusReceipt>> receipts(
        const Digest& block_hash) = 0;
    /// Absent if the transaction is in no block of the canonical chain.
    [[nodiscard]] virtual Result<std::optional<Receipt>> receipt(
        const Digest& transaction_hash) = 0;
    /// Transactions of `account` in the chain up to `at`: its next nonce there.
    [[nodiscard]] virtual Result<std::uint64_t> nonce(const Address& account,
                                                      const BlockId& at) = 0;
    [[nodiscard]] virtual Result<Amount> balance(const Address& account, const BlockId& at) = 0;
    [[nodiscard]] virtual Result<Bytes> code(const Address& account, const BlockId& at) = 0;
    [[nodiscard]] virtual Result<CallOutcome> call(const CallRequest& request,
                                                   const BlockId& at) = 0;
    /// An outcome for each request, in order; many of them take few round trips. At a tag, blocks
    /// may pass between them. @errors of any of them.
    [[nodiscard]] virtual Result<std::vector<CallOutcome>> calls(
        std::span<const CallRequest> requests, const BlockId& at);
    [[nodiscard]] virtual Result<GasEstimate> estimate_gas(const CallRequest& request) = 0;
    [[nodiscard]] virtual Result<Amount> suggested_priority_fee() = 0;
    [[nodiscard]] virtual Result<SendOutcome> send(ByteView raw_transaction) = 0;

    static constexpr std::uint32_t kBlocksPerCallMax = 128;
    static constexpr std::size_t kCallsPerBatchMax = 100;  ///< what nodes take in one batch
    static constexpr std::uint64_t kBlocksPerQueryMax = 5'000;
};

/// find_logs() over any number of blocks, in parts that the reply limits of client and node take.
/// @errors as ChainClient.
[[nodiscard]] Result<std::vector<Log>> find_all_logs(ChainClient& client, LogQuery query);

/// Explicit limits of the HTTP transport. Every request is safe to repeat (reading, or sending the
/// same signed bytes again), so each is tried `attempts` times on kUnavailable and kTimeout,
/// waiting retry_delay_ms * 2^(attempt - 1) between tries.
struct HttpOptions {
    std::uint32_t timeout_ms = 10'000;  ///< of one attempt: connect, send, receive
    std::uint32_t attempts = 4;         ///< 1 .. 10
    std::uint32_t retry_delay_ms = 100;
    std::uint64_t reply_bytes_max = 32 << 20;
    /// Rebuild each header's hash from its fields, so that a node cannot alter one unnoticed. Off
    /// only for chains whose headers have fields of their own.
    bool verify_headers = true;
};

/// A client of a node's JSON-RPC endpoint "http(s)://host:port/path". Thread-safe (calls are
/// serialised; one connection, kept alive). @errors kInvalidArgument for another URL or options out
/// of bounds. Does not connect.
[[nodiscard]] Result<std::unique_ptr<ChainClient>> make_http_client(
    const std::string& url, const HttpOptions& options = {});

/// One JSON-RPC call with `params_json` (a JSON array), for control methods of private chains
/// (evm_mine).
/// @return the result as JSON text. @errors as ChainClient.
[[nodiscard]] Result<std::string> http_rpc_call(const std::string& url, const std::string& method,
                                                const std::string& params_json,
                                                const HttpOptions& options = {});

/// @errors kMismatch, naming both ids, if the node serves another chain than `expected`.
Status check_chain_id(ChainClient& client, std::uint64_t expected);

/// True if the bloom filter may contain `value` (an address or topic); false is certain (yellow
/// paper, 4.3.1).
[[nodiscard]] bool bloom_may_contain(const Bloom& bloom, ByteView value);

/// The root of the Merkle-Patricia tree over a block's receipts: equal to the header's
/// receipts_root exactly if no receipt or log is missing, added or altered (yellow paper, appendix
/// D).
[[nodiscard]] Digest receipts_root(const std::vector<ConsensusReceipt>& receipts);

/// That `receipt` is what the block of `header` has at its place, by all receipts of that block:
/// its status, its gas and its logs. Which transaction stands there the receipts root does not say.
/// @errors kMismatch naming what differs.
Status check_receipt(const BlockHeader& header, const std::vector<ConsensusReceipt>& receipts,
                     const Receipt& receipt);

}  // namespace gym::chain
