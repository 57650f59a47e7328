#include <algorithm>
#include <iterator>
#include <mutex>

#include "gym/chain/client.hpp"
#include "json_rpc.hpp"
#include "rpc_parse.hpp"

namespace gym::chain {
namespace {

namespace json = boost::json;

const char* tag_text(BlockTag tag) {
    switch (tag) {
        case BlockTag::kLatest:
            return "latest";
        case BlockTag::kSafe:
            return "safe";
        case BlockTag::kFinalized:
            return "finalized";
        case BlockTag::kPending:
            return "pending";
    }
    return "latest";
}

/// The block parameter of state queries; a hash in the form of EIP-1898.
json::value block_param(const BlockId& id) {
    if (const auto* tag = std::get_if<BlockTag>(&id)) return tag_text(*tag);
    if (const auto* number = std::get_if<std::uint64_t>(&id))
        return json::string(quantity(Amount(*number)));
    return json::object{{"blockHash", std::get<Digest>(id).hex()}};
}

json::object call_object(const CallRequest& request) {
    json::object out;
    if (request.from) out["from"] = request.from->hex();
    if (request.to) out["to"] = request.to->hex();
    if (!request.value_wei.is_zero()) out["value"] = quantity(request.value_wei);
    if (request.gas_limit) out["gas"] = quantity(Amount(*request.gas_limit));
    out["data"] = to_hex0x(request.data);
    return out;
}

Result<CallOutcome> call_outcome(const RpcReply& reply) {
    if (const auto* error = std::get_if<RpcError>(&reply)) {
        if (!error->is_revert()) return error->as_error("eth_call");
        return CallOutcome{true, error->data};
    }
    GYM_TRY(Bytes output, parse_bytes(std::get<json::value>(reply), "output"));
    return CallOutcome{false, std::move(output)};
}

/// Error messages of nodes, in lower case, about a transaction that they reject. The specification
/// names no codes.
struct SendPhrase {
    const char* text;
    SendOutcome outcome;
};
constexpr SendPhrase kSendPhrases[] = {
    {"already known", SendOutcome::kAccepted},
    {"already imported", SendOutcome::kAccepted},
    {"known transaction", SendOutcome::kAccepted},
    {"nonce too low", SendOutcome::kNonceUsed},
    {"underpriced", SendOutcome::kUnderpriced},
    {"fee too low", SendOutcome::kUnderpriced},
    {"less than block base fee", SendOutcome::kUnderpriced},
    {"insufficient funds", SendOutcome::kNoFunds},
};

class HttpClient final : public ChainClient {
  public:
    HttpClient(std::unique_ptr<HttpTransport> transport, bool verify_headers)
        : verify_headers_(verify_headers), rpc_(std::move(transport)) {}

    Result<std::uint64_t> chain_id() override {
        GYM_TRY(const json::value value, result("eth_chainId", {}));
        return parse_u64(value, "chain id");
    }

    Result<std::optional<BlockHeader>> block(const BlockId& id) override {
        const auto* hash = std::get_if<Digest>(&id);
        const auto* number = std::get_if<std::uint64_t>(&id);
        GYM_TRY(const json::value value,
                hash ? result("eth_getBlockByHash", {hash->hex(), false})
                     : result("eth_getBlockByNumber", {block_param(id), false}));
        GYM_TRY(auto header, optional_header(value));
        if (header && ((hash && header->hash != *hash) || (number && header->number != *number)))
            return another_block();
        return header;
    }

    Result<std::vector<BlockHeader>> blocks(std::uint64_t first, std::uint32_t count) override {
        GYM_ASSERT(count <= kBlocksPerCallMax, "a bounded range");
        std::vector<BlockHeader> out;
        if (count == 0) return out;
        std::vector<json::array> params;
        for (std::uint32_t i = 0; i < count; ++i)
            params.push_back({block_param(first + i), false});
        const std::lock_guard lock(mutex_);
        GYM_TRY(const auto replies, rpc_.batch("eth_getBlockByNumber", params));
        for (const RpcReply& reply : replies) {
            if (const auto* error = std::get_if<RpcError>(&reply))
                return error->as_error("eth_getBlockByNumber");
            GYM_TRY(const auto header, optional_header(std::get<json::value>(reply)));
            if (!header) break;
            if (header->number != first + out.size()) return another_block();
            out.push_back(*header);
        }
        return out;
    }

    Result<std::vector<Log>> logs(const Digest& block_hash, const LogFilter& filter) override {
        json::array addresses;
        for (const Address& address : filter.addresses)
            addresses.push_back(json::string(address.hex()));
        json::object query{{"blockHash", block_hash.hex()}, {"address", std::move(addresses)}};
        if (!filter.topics.empty()) {
            json::array topics;
            for (const Digest& topic : filter.topics)
                topics.push_back(json::string(topic.hex()));
            query["topics"] = json::array{std::move(topics)};
        }
        GYM_TRY(const json::value value, result("eth_getLogs", {std::move(query)}));
        if (!value.is_array()) return fail(ErrorCode::kMalformed, "eth_getLogs: no array");
        return parse_logs(value.as_array());
    }

    Result<std::vector<Log>> find_logs(const LogQuery& query) override {
        GYM_ASSERT(query.last_block < query.first_block + kBlocksPerQueryMax, "a bounded range");
        json::array topics;
        for (const auto& topic : query.topics)
            topics.push_back(topic ? json::value(topic->hex()) : json::value(nullptr));
        GYM_TRY(
            const json::value value,
            result("eth_getLogs", {json::object{{"fromBlock", quantity(Amount(query.first_block))},
                                                {"toBlock", quantity(Amount(query.last_block))},
                                                {"address", query.address.hex()},
                                                {"topics", std::move(topics)}}}));
        if (!value.is_array()) return fail(ErrorCode::kMalformed, "eth_getLogs: no array");
        return parse_logs(value.as_array());
    }

    Result<std::vector<ConsensusReceipt>> receipts(const Digest& block_hash) override {
        GYM_TRY(const json::value value, result("eth_getBlockReceipts", {block_hash.hex()}));
        if (value.is_null())
            return fail(ErrorCode::kNotFound, "the node has no block " + block_hash.hex());
        if (!value.is_array()) return fail(ErrorCode::kMalformed, "eth_getBlockReceipts: no array");
        std::vector<ConsensusReceipt> out;
        for (const json::value& item : value.as_array()) {
            GYM_TRY(ConsensusReceipt receipt, parse_consensus_receipt(item));
            out.push_back(std::move(receipt));
        }
        return out;
    }

    Result<std::optional<Receipt>> receipt(const Digest& transaction_hash) override {
        GYM_TRY(const json::value value,
                result("eth_getTransactionReceipt", {transaction_hash.hex()}));
        if (value.is_null()) return std::optional<Receipt>();
        GYM_TRY(Receipt receipt, parse_receipt(value));
        if (receipt.transaction_hash != transaction_hash)
            return fail(ErrorCode::kMalformed,
                        "the node answers with another transaction's receipt");
        return std::optional<Receipt>(std::move(receipt));
    }

    Result<std::uint64_t> nonce(const Address& account, const BlockId& at) override {
        GYM_TRY(const json::value value,
                result("eth_getTransactionCount", {account.hex(), block_param(at)}));
        return parse_u64(value, "nonce");
    }

    Result<Amount> balance(const Address& account, const BlockId& at) override {
        GYM_TRY(const json::value value,
                result("eth_getBalance", {account.hex(), block_param(at)}));
        return parse_amount(value, "balance");
    }

    Result<Bytes> code(const Address& account, const BlockId& at) override {
        GYM_TRY(const json::value value, result("eth_getCode", {account.hex(), block_param(at)}));
        return parse_bytes(value, "code");
    }

    Result<CallOutcome> call(const CallRequest& request, const BlockId& at) override {
        GYM_TRY(const RpcReply reply,
                rpc_call("eth_call", {call_object(request), block_param(at)}));
        return call_outcome(reply);
    }

    Result<std::vector<CallOutcome>> calls(std::span<const CallRequest> requests,
                                           const BlockId& at) override {
        std::vector<CallOutcome> out;
        out.reserve(requests.size());
        for (; !requests.empty();
             requests = requests.subspan(std::min(requests.size(), kCallsPerBatchMax))) {
            std::vector<json::array> params;
            for (const CallRequest& one :
                 requests.first(std::min(requests.size(), kCallsPerBatchMax)))
                params.push_back({call_object(one), block_param(at)});
            const std::lock_guard lock(mutex_);
            GYM_TRY(const auto replies, rpc_.batch("eth_call", params));
            for (const RpcReply& reply : replies) {
                GYM_TRY(CallOutcome outcome, call_outcome(reply));
                out.push_back(std::move(outcome));
            }
        }
        return out;
    }

    Result<GasEstimate> estimate_gas(const CallRequest& request) override {
        GYM_TRY(const RpcReply reply,
                rpc_call("eth_estimateGas", {call_object(request), "pending"}));
        if (const auto* error = std::get_if<RpcError>(&reply)) {
            if (!error->is_revert()) return error->as_error("eth_estimateGas");
            return GasEstimate{true, 0, error->data};
        }
        GYM_TRY(const std::uint64_t gas, parse_u64(std::get<json::value>(reply), "gas"));
        return GasEstimate{false, gas, {}};
    }

    Result<Amount> suggested_priority_fee() override {
        GYM_TRY(const json::value value, result("eth_maxPriorityFeePerGas", {}));
        return parse_amount(value, "priority fee");
    }

    Result<SendOutcome> send(ByteView raw_transaction) override {
        GYM_TRY(const RpcReply reply,
                rpc_call("eth_sendRawTransaction", {json::string(to_hex0x(raw_transaction))}));
        const auto* error = std::get_if<RpcError>(&reply);
        if (error == nullptr) return SendOutcome::kAccepted;
        const std::string message = lower_case(error->message);
        for (const SendPhrase& phrase : kSendPhrases)
            if (message.find(phrase.text) != std::string::npos) return phrase.outcome;
        return error->as_error("eth_sendRawTransaction");
    }

  private:
    Result<json::value> result(const char* method, const json::array& params) {
        const std::lock_guard lock(mutex_);
        return rpc_.result(method, params);
    }
    Result<RpcReply> rpc_call(const char* method, const json::array& params) {
        const std::lock_guard lock(mutex_);
        return rpc_.call(method, params);
    }
    [[nodiscard]] Result<std::optional<BlockHeader>> optional_header(
        const json::value& value) const {
        if (value.is_null()) return std::optional<BlockHeader>();
        GYM_TRY(const BlockHeader header, parse_header(value, verify_headers_));
        return std::optional<BlockHeader>(header);
    }
    static Error another_block() {
        return fail(ErrorCode::kMalformed, "the node answers with another block's header");
    }

    const bool verify_headers_;
    std::mutex mutex_;  // the connection serves one request at a time
    JsonRpc rpc_;
};

}  // namespace

Result<std::vector<CallOutcome>> ChainClient::calls(std::span<const CallRequest> requests,
                                                    const BlockId& at) {
    std::vector<CallOutcome> out;
    out.reserve(requests.size());
    for (const CallRequest& request : requests) {
        GYM_TRY(CallOutcome outcome, call(request, at));
        out.push_back(std::move(outcome));
    }
    return out;
}

Result<std::unique_ptr<ChainClient>> make_http_client(const std::string& url,
                                                      const HttpOptions& options) {
    GYM_TRY(auto transport, HttpTransport::create(url, options));
    return std::unique_ptr<ChainClient>(
        std::make_unique<HttpClient>(std::move(transport), options.verify_headers));
}

Result<std::string> http_rpc_call(const std::string& url, const std::string& method,
                                  const std::string& params_json, const HttpOptions& options) {
    GYM_TRY(auto transport, HttpTransport::create(url, options));
    boost::system::error_code error;
    const json::value params = json::parse(params_json, error);
    if (error || !params.is_array())
        return fail(ErrorCode::kInvalidArgument, method + ": parameters are a JSON array");
    JsonRpc rpc(std::move(transport));
    GYM_TRY(const json::value value, rpc.result(method, params.as_array()));
    return json::serialize(value);
}

Result<std::vector<Log>> find_all_logs(ChainClient& client, LogQuery query) {
    std::vector<Log> out;
    const std::uint64_t end = query.last_block;
    std::uint64_t blocks = ChainClient::kBlocksPerQueryMax;
    while (query.first_block <= end) {
        blocks = std::min(blocks, end - query.first_block + 1);
        query.last_block = query.first_block + blocks - 1;
        auto logs = client.find_logs(query);
        if (!logs.ok()) {
            const ErrorCode code = logs.error().code;
            const bool later = code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout;
            if (later || blocks == 1) return logs.error();
            // Strangers fill blocks with logs: a reply that is too large for us, or for the node's
            // own limits, is requested in parts.
            blocks /= 2;
            continue;
        }
        out.insert(out.end(), std::make_move_iterator(logs->begin()),
                   std::make_move_iterator(logs->end()));
        query.first_block = query.last_block + 1;
        blocks = std::min(2 * blocks, ChainClient::kBlocksPerQueryMax);
    }
    return out;
}

Status check_chain_id(ChainClient& client, std::uint64_t expected) {
    GYM_TRY(const std::uint64_t actual, client.chain_id());
    if (actual != expected)
        return fail(ErrorCode::kMismatch, "the node serves chain " + std::to_string(actual) +
                                              ", expected chain " + std::to_string(expected));
    return {};
}

}  // namespace gym::chain
