#include "json_rpc.hpp"

#include <algorithm>

#include "gym/common/printable.hpp"

namespace gym::chain {
namespace {

namespace json = boost::json;

constexpr std::size_t kMessageShown = 300;
constexpr std::int64_t kRevertCode = 3;  // what geth, reth and anvil use for reverts
// EIP-1474: what time or another replica of the node mends.
constexpr std::int64_t kResourceNotFound = -32001;
constexpr std::int64_t kResourceUnavailable = -32002;
constexpr std::int64_t kLimitExceeded = -32005;

/// Error messages of nodes, in lower case, about a block that they do not have yet, or whose state
/// they no longer hold: a replica that lags, a node that has just been restarted, a pruned one.
/// Their error codes differ.
constexpr const char* kStateMissing[] = {
    "header not found",  "block not found",         "unknown block",          "blockoutofrange",
    "missing trie node", "state not available",     "state is not available", "historical state",
    "state at block",    "state already discarded",
};

Error malformed(const std::string& method, const std::string& why) {
    return fail(ErrorCode::kMalformed, method + ": the node's reply " + why);
}

/// Revert data is the error's "data": a string, or an object that holds one (some nodes nest it).
Bytes revert_data(const json::object& error) {
    const json::value* data = error.if_contains("data");
    if (data != nullptr && data->is_object()) data = data->as_object().if_contains("data");
    if (data == nullptr || !data->is_string()) return {};
    return from_hex(std::string_view(data->as_string())).value_or({});
}

Result<RpcReply> parse_reply(const std::string& method, const json::value& reply,
                             std::int64_t id_first, std::int64_t id_last, std::int64_t& id) {
    const json::object* object = reply.if_object();
    if (object == nullptr) return malformed(method, "is not a JSON-RPC object");
    const json::value* reply_id = object->if_contains("id");
    const json::value* error = object->if_contains("error");
    if (error != nullptr && error->is_object()) {
        const json::object& fields = error->as_object();
        RpcError out;
        if (const json::value* code = fields.if_contains("code"); code && code->is_int64())
            out.code = code->as_int64();
        if (const json::value* text = fields.if_contains("message"); text && text->is_string())
            out.message = printable_ascii(std::string_view(text->as_string()), kMessageShown);
        out.data = revert_data(fields);
        // A node that could not read the request answers with a null id.
        id = reply_id != nullptr && reply_id->is_int64() ? reply_id->as_int64() : id_first;
        return RpcReply(std::move(out));
    }
    if (reply_id == nullptr || !reply_id->is_int64() || reply_id->as_int64() < id_first ||
        reply_id->as_int64() > id_last)
        return malformed(method, "answers another request");
    id = reply_id->as_int64();
    const json::value* result = object->if_contains("result");
    if (result == nullptr) return malformed(method, "has neither result nor error");
    return RpcReply(*result);
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return out;
}

bool RpcError::is_revert() const {
    return code == kRevertCode || lower_case(message).find("revert") != std::string::npos;
}

bool RpcError::is_passing() const {
    if (code == kResourceNotFound || code == kResourceUnavailable || code == kLimitExceeded)
        return true;
    const std::string said = lower_case(message);
    return std::ranges::any_of(
        kStateMissing, [&](const char* phrase) { return said.find(phrase) != std::string::npos; });
}

Error RpcError::as_error(const std::string& method) const {
    return fail(is_passing() ? ErrorCode::kUnavailable : ErrorCode::kInternal,
                method + ": the node reports error " + std::to_string(code) + ": " + message);
}

json::object JsonRpc::request(const std::string& method, const json::array& params) {
    return {{"jsonrpc", "2.0"}, {"id", next_id_++}, {"method", method}, {"params", params}};
}

Result<json::value> JsonRpc::exchange(const std::string& method, const json::value& body) {
    auto text = transport_->post(json::serialize(body));
    if (!text.ok()) return text.error().in(method);
    boost::system::error_code error;
    json::value reply = json::parse(*text, error);
    if (error) return malformed(method, "is not JSON (" + error.message() + ")");
    return reply;
}

Result<RpcReply> JsonRpc::call(const std::string& method, const json::array& params) {
    const std::int64_t id = next_id_;
    GYM_TRY(const json::value reply, exchange(method, request(method, params)));
    std::int64_t answered = 0;
    return parse_reply(method, reply, id, id, answered);
}

Result<std::vector<RpcReply>> JsonRpc::batch(const std::string& method,
                                             const std::vector<json::array>& params) {
    const std::int64_t first = next_id_;
    const auto last = first + static_cast<std::int64_t>(params.size()) - 1;
    json::array body;
    for (const json::array& one : params)
        body.push_back(request(method, one));
    GYM_TRY(const json::value reply, exchange(method, body));
    if (!reply.is_array()) {  // a node that refuses the batch answers with one error
        std::int64_t answered = 0;
        GYM_TRY(const RpcReply single, parse_reply(method, reply, first, last, answered));
        if (const auto* error = std::get_if<RpcError>(&single)) return error->as_error(method);
        return malformed(method, "to a batch is not an array");
    }
    if (reply.as_array().size() != params.size())
        return malformed(method, "to a batch has another length");
    std::vector<std::optional<RpcReply>> slots(params.size());
    for (const json::value& item : reply.as_array()) {
        std::int64_t id = 0;
        GYM_TRY(RpcReply parsed, parse_reply(method, item, first, last, id));
        if (id < first || id > last || slots[static_cast<std::size_t>(id - first)])
            return malformed(method, "to a batch answers one request twice");
        slots[static_cast<std::size_t>(id - first)] = std::move(parsed);
    }
    std::vector<RpcReply> out;
    out.reserve(slots.size());
    for (auto& slot : slots)
        out.push_back(std::move(*slot));
    return out;
}

Result<json::value> JsonRpc::result(const std::string& method, const json::array& params) {
    GYM_TRY(RpcReply reply, call(method, params));
    if (const auto* error = std::get_if<RpcError>(&reply)) return error->as_error(method);
    return std::move(std::get<json::value>(reply));
}

}  // namespace gym::chain
