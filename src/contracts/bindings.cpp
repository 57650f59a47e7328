#include "bindings.hpp"

#include <sstream>

namespace gym::contracts {
namespace {

chain::AbiSignature parse_own(std::string_view text) {
    auto signature = chain::AbiSignature::parse(text);
    GYM_ASSERT(signature.ok(), "a signature in the bindings parses");
    return std::move(signature).value();
}

/// Splits at the commas outside parentheses: "bool a, (uint8,bytes32) b" has two members.
std::vector<std::string> split_members(std::string_view text) {
    std::vector<std::string> out;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] == '(') ++depth;
        if (i < text.size() && text[i] == ')') --depth;
        if (i < text.size() && (text[i] != ',' || depth != 0)) continue;
        if (i > begin) out.emplace_back(text.substr(begin, i - begin));
        begin = i + 1;
    }
    return out;
}

}  // namespace

Declaration Declaration::of(std::string_view text) {
    const std::size_t open = text.find('(');
    GYM_ASSERT(open != std::string_view::npos && text.back() == ')', "name(type name, ...)");
    Declaration out;
    std::string canonical(text.substr(0, open + 1));
    for (const std::string& member : split_members(text.substr(open + 1, text.size() - open - 2))) {
        std::istringstream words(member);
        std::string type;
        std::string name;
        words >> type >> name;
        const bool indexed = name == "indexed";
        if (indexed) words >> name;
        canonical += (out.names.empty() ? "" : ",") + type;
        out.names.push_back(name);
        out.indexed.push_back(indexed);
    }
    out.signature = parse_own(canonical + ")");
    return out;
}

chain::IntentRequest ContractCall::intent(std::string id) const {
    chain::IntentRequest out;
    out.id = std::move(id);
    out.to = to;
    out.data = data;
    out.value_wei = value_wei;
    out.label = label;
    return out;
}

Bytes call_data(std::string_view function, const std::vector<chain::AbiValue>& arguments) {
    auto encoded = parse_own(function).encode_call(arguments);
    GYM_ASSERT(encoded.ok(), "the bindings' arguments fit their signature");
    return std::move(encoded).value();
}

ContractCall make_call(const Address& to, std::string_view function,
                       const std::vector<chain::AbiValue>& arguments, std::string label) {
    return {to, call_data(function, arguments), std::move(label)};
}

std::vector<chain::AbiValue> permit_arguments(const Address& owner, const Amount& amount,
                                              std::uint64_t deadline_s,
                                              const crypto::Signature& permit) {
    const auto r = permit.data.begin(), s = r + Digest::kSize, v = s + Digest::kSize;
    return {owner, amount, deadline_s, std::uint64_t{*v}, Bytes(r, s), Bytes(s, v)};
}

namespace {

std::string_view name_of(std::string_view function) {
    return function.substr(0, function.find('('));
}

Result<std::vector<chain::AbiValue>> decode_view(const chain::CallOutcome& outcome,
                                                 const Address& contract, std::string_view function,
                                                 std::string_view outputs) {
    const std::string name(name_of(function));
    if (outcome.reverted)
        return fail(ErrorCode::kConflict, name + ": " + describe_revert(outcome.output));
    // The EVM answers a call to an address without code with success and no data.
    if (outcome.output.empty())
        return fail(ErrorCode::kNotFound, name + ": there is no contract at " + contract.hex());
    auto values = chain::abi_decode(parse_own(outputs).inputs, outcome.output);
    if (!values.ok()) return values.error().in(name);
    return values;
}

chain::CallRequest view_request(const Address& contract, std::string_view function,
                                const std::vector<chain::AbiValue>& arguments) {
    chain::CallRequest request;
    request.to = contract;
    request.data = call_data(function, arguments);
    return request;
}

}  // namespace

Result<std::vector<chain::AbiValue>> call_view(chain::ChainClient& client, const Address& contract,
                                               const chain::BlockId& at, std::string_view function,
                                               const std::vector<chain::AbiValue>& arguments,
                                               std::string_view outputs) {
    const auto outcome = client.call(view_request(contract, function, arguments), at);
    if (!outcome.ok()) return outcome.error().in(name_of(function));
    return decode_view(*outcome, contract, function, outputs);
}

Result<std::vector<std::vector<chain::AbiValue>>> call_views(
    chain::ChainClient& client, const Address& contract, const chain::BlockId& at,
    std::string_view function, const std::vector<std::vector<chain::AbiValue>>& arguments,
    std::string_view outputs) {
    std::vector<chain::CallRequest> requests;
    requests.reserve(arguments.size());
    for (const auto& one : arguments)
        requests.push_back(view_request(contract, function, one));
    const auto outcomes = client.calls(requests, at);
    if (!outcomes.ok()) return outcomes.error().in(name_of(function));
    std::vector<std::vector<chain::AbiValue>> out;
    out.reserve(outcomes->size());
    for (const chain::CallOutcome& outcome : *outcomes) {
        GYM_TRY(auto values, decode_view(outcome, contract, function, outputs));
        out.push_back(std::move(values));
    }
    return out;
}

Result<Amount> view_amount(chain::ChainClient& client, const Address& contract,
                           const chain::BlockId& at, std::string_view function,
                           const std::vector<chain::AbiValue>& arguments) {
    GYM_TRY(const auto values, call_view(client, contract, at, function, arguments, "_(uint256)"));
    return values[0].amount();
}

Result<Address> view_address(chain::ChainClient& client, const Address& contract,
                             std::string_view function) {
    GYM_TRY(const auto values,
            call_view(client, contract, chain::BlockTag::kLatest, function, {}, "_(address)"));
    return values[0].address();
}

Status read(const chain::AbiValue& value, Digest& out) {
    GYM_TRY(out, value.digest());
    return {};
}
Status read(const chain::AbiValue& value, Address& out) {
    GYM_TRY(out, value.address());
    return {};
}
Status read(const chain::AbiValue& value, Amount& out) {
    GYM_TRY(out, value.amount());
    return {};
}
Status read(const chain::AbiValue& value, Bytes& out) {
    GYM_TRY(out, value.bytes());
    return {};
}
Status read(const chain::AbiValue& value, bool& out) {
    GYM_TRY(out, value.boolean());
    return {};
}
Status read(const chain::AbiValue& value, std::uint8_t& out) {
    GYM_TRY(const std::uint64_t number, value.u64());
    out = static_cast<std::uint8_t>(number);
    return {};
}
Status read(const chain::AbiValue& value, std::uint32_t& out) {
    GYM_TRY(const std::uint64_t number, value.u64());
    out = static_cast<std::uint32_t>(number);
    return {};
}
Status read(const chain::AbiValue& value, std::uint64_t& out) {
    GYM_TRY(out, value.u64());
    return {};
}
Status read(const chain::AbiValue& value, game::Stage& out) {
    std::uint8_t number = 0;
    GYM_CHECK(read(value, number));
    out = static_cast<game::Stage>(number);
    return {};
}
Status read(const chain::AbiValue& value, game::GameStatus& out) {
    GYM_TRY(const std::uint64_t number, value.u64());
    if (number > static_cast<std::uint64_t>(game::GameStatus::kMoot))
        return fail(ErrorCode::kMalformed,
                    "a game has status " + std::to_string(number) + ", which does not exist");
    out = static_cast<game::GameStatus>(number);
    return {};
}
Status read(const chain::AbiValue& value, game::Cursor& out) {
    GYM_TRY(const chain::AbiValue::List words, value.list());
    return read_all(words, out.stage, out.answered, out.height, out.index, out.leaves, out.node,
                    out.twin, out.frame);
}

bool is_event(const Declaration& event, const Address& contract, const chain::Log& log) {
    return log.address == contract && !log.topics.empty() &&
           log.topics[0] == event.signature.hash();
}

Result<std::vector<chain::AbiValue>> decode_event(const Declaration& event, const chain::Log& log) {
    const auto malformed = [&](const std::string& why) {
        return fail(ErrorCode::kMalformed, "event " + event.signature.text + " in transaction " +
                                               log.transaction_hash.hex() + ": " + why);
    };
    std::vector<chain::AbiType> in_data;
    std::size_t topics_expected = 1;
    for (std::size_t i = 0; i < event.indexed.size(); ++i) {
        if (event.indexed[i])
            ++topics_expected;
        else
            in_data.push_back(event.signature.inputs[i]);
    }
    if (log.topics.size() != topics_expected) return malformed("another number of topics");
    const auto data = chain::abi_decode(in_data, log.data);
    if (!data.ok()) return malformed(data.error().message);
    std::vector<chain::AbiValue> out;
    std::size_t topic = 1;
    std::size_t member = 0;
    for (std::size_t i = 0; i < event.indexed.size(); ++i) {
        if (!event.indexed[i]) {
            out.push_back((*data)[member++]);
            continue;
        }
        const auto value =
            chain::abi_decode({event.signature.inputs[i]}, log.topics[topic++].view());
        if (!value.ok()) return malformed(value.error().message);
        out.push_back(value->front());
    }
    return out;
}

}  // namespace gym::contracts
