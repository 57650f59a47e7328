#include "rpc_parse.hpp"

#include <algorithm>

namespace gym::chain {
namespace {

namespace json = boost::json;

constexpr std::size_t kTopicsMax = 4;

Error wrong(const std::string& what, const std::string& why) {
    return fail(ErrorCode::kMalformed, "the node's reply: " + what + " " + why);
}

/// "0x" and 1 to 64 hexadecimal digits without leading zeros.
Result<Amount> decode_quantity(std::string_view text, const std::string& what) {
    if (!text.starts_with("0x") || text.size() < 3 || text.size() > 66)
        return wrong(what, "is not a quantity");
    std::string digits(text.substr(2));
    if (digits.size() > 1 && digits[0] == '0') return wrong(what, "has leading zeros");
    digits.insert(0, 64 - digits.size(), '0');
    const auto bytes = from_hex(digits);
    if (!bytes.ok()) return wrong(what, "is not a quantity");
    std::array<std::uint8_t, 32> word{};
    std::copy(bytes->begin(), bytes->end(), word.begin());
    return Amount::from_be32(word);
}

Result<std::uint64_t> narrow(const Result<Amount>& amount, const std::string& what) {
    if (!amount.ok()) return amount.error();
    const auto value = amount->to_u64();
    // The stores keep these numbers as signed 64-bit integers; no chain comes near.
    if (!value.ok() || *value > INT64_MAX) return wrong(what, "exceeds 63 bits");
    return *value;
}

Result<Bytes> decode_data(std::string_view text, const std::string& what) {
    if (!text.starts_with("0x")) return wrong(what, "is not hexadecimal data");
    auto bytes = from_hex(text);
    if (!bytes.ok()) return wrong(what, "is not hexadecimal data");
    return bytes;
}

}  // namespace

Result<Fields> Fields::of(const json::value& value, const char* what) {
    if (!value.is_object()) return wrong(what, "is not an object");
    return Fields(value.as_object(), what);
}

Error Fields::malformed(const char* name, const std::string& why) const {
    return wrong(std::string(what_) + "." + name, why);
}

bool Fields::absent(const char* name) const {
    const json::value* value = object_.if_contains(name);
    return value == nullptr || value->is_null();
}

Result<std::string_view> Fields::text(const char* name) const {
    const json::value* value = object_.if_contains(name);
    if (value == nullptr || !value->is_string()) return malformed(name, "is missing");
    return std::string_view(value->as_string());
}

Result<Amount> Fields::amount(const char* name) const {
    GYM_TRY(const std::string_view raw, text(name));
    return decode_quantity(raw, std::string(what_) + "." + name);
}

Result<std::uint64_t> Fields::u64(const char* name) const {
    return narrow(amount(name), std::string(what_) + "." + name);
}

Result<Bytes> Fields::bytes(const char* name) const {
    GYM_TRY(const std::string_view raw, text(name));
    return decode_data(raw, std::string(what_) + "." + name);
}

Result<const json::array*> Fields::array(const char* name) const {
    const json::value* value = object_.if_contains(name);
    if (value == nullptr || !value->is_array()) return malformed(name, "is missing");
    return &value->as_array();
}

Result<Amount> parse_amount(const json::value& value, const char* what) {
    if (!value.is_string()) return wrong(what, "is not a quantity");
    return decode_quantity(std::string_view(value.as_string()), what);
}

Result<std::uint64_t> parse_u64(const json::value& value, const char* what) {
    return narrow(parse_amount(value, what), what);
}

Result<Bytes> parse_bytes(const json::value& value, const char* what) {
    if (!value.is_string()) return wrong(what, "is not hexadecimal data");
    return decode_data(std::string_view(value.as_string()), what);
}

Result<Log> parse_log(const json::value& value) {
    GYM_TRY(const Fields fields, Fields::of(value, "log"));
    Log out;
    GYM_TRY(out.address, fields.fixed<Address>("address"));
    GYM_TRY(const json::array* topics, fields.array("topics"));
    if (topics->size() > kTopicsMax) return wrong("log.topics", "has more than 4 items");
    for (const json::value& topic : *topics) {
        GYM_TRY(const Bytes raw, parse_bytes(topic, "log.topics[]"));
        const auto digest = Digest::from(raw);
        if (!digest.ok()) return wrong("log.topics[]", "has not 32 bytes");
        out.topics.push_back(*digest);
    }
    GYM_TRY(out.data, fields.bytes("data"));
    GYM_TRY(out.block_number, fields.u64("blockNumber"));
    GYM_TRY(out.block_hash, fields.fixed<Digest>("blockHash"));
    GYM_TRY(out.transaction_hash, fields.fixed<Digest>("transactionHash"));
    GYM_TRY(const std::uint64_t index, fields.u64("logIndex"));
    if (index > INT32_MAX) return wrong("log.logIndex", "exceeds 31 bits");
    out.log_index = static_cast<std::uint32_t>(index);
    return out;
}

Result<std::vector<Log>> parse_logs(const json::array& values) {
    std::vector<Log> out;
    out.reserve(values.size());
    for (const json::value& value : values) {
        GYM_TRY(Log log, parse_log(value));
        out.push_back(std::move(log));
    }
    return out;
}

Result<Receipt> parse_receipt(const json::value& value) {
    GYM_TRY(const Fields fields, Fields::of(value, "receipt"));
    Receipt out;
    GYM_TRY(out.transaction_hash, fields.fixed<Digest>("transactionHash"));
    GYM_TRY(out.block_hash, fields.fixed<Digest>("blockHash"));
    GYM_TRY(out.block_number, fields.u64("blockNumber"));
    GYM_TRY(out.transaction_index, fields.u64("transactionIndex"));
    GYM_TRY(const std::uint64_t status, fields.u64("status"));
    out.success = status == 1;
    GYM_TRY(out.gas_used, fields.u64("gasUsed"));
    GYM_TRY(out.gas_price_wei, fields.amount("effectiveGasPrice"));
    if (!fields.absent("contractAddress")) {
        GYM_TRY(out.contract_address, fields.fixed<Address>("contractAddress"));
    }
    GYM_TRY(const json::array* logs, fields.array("logs"));
    GYM_TRY(out.logs, parse_logs(*logs));
    return out;
}

Result<ConsensusReceipt> parse_consensus_receipt(const json::value& value) {
    GYM_TRY(const Fields fields, Fields::of(value, "receipt"));
    ConsensusReceipt out;
    if (!fields.absent("type")) {
        GYM_TRY(const std::uint64_t type, fields.u64("type"));
        if (type > 0x7f) return wrong("receipt.type", "exceeds 7 bits");
        out.type = static_cast<std::uint8_t>(type);
    }
    GYM_TRY(const std::uint64_t status, fields.u64("status"));
    out.success = status == 1;
    GYM_TRY(out.cumulative_gas, fields.u64("cumulativeGasUsed"));
    GYM_TRY(out.bloom, fields.fixed<Bloom>("logsBloom"));
    GYM_TRY(const json::array* logs, fields.array("logs"));
    GYM_TRY(out.logs, parse_logs(*logs));
    return out;
}

std::string quantity(const Amount& value) {
    const std::string digits = to_hex(value.to_be32());
    const std::size_t first = digits.find_first_not_of('0');
    return first == std::string::npos ? "0x0" : "0x" + digits.substr(first);
}

}  // namespace gym::chain
