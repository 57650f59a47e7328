#include "gym/chain/abi.hpp"

#include <charconv>

#include "gym/crypto/keccak.hpp"

namespace gym::chain {
namespace {

constexpr unsigned kTypeDepthMax = 8;
constexpr std::size_t kFixedLengthMax = 1024;

Error malformed(std::string_view text, std::string_view why) {
    return fail(ErrorCode::kMalformed, "ABI type '" + std::string(text) + "': " + std::string(why));
}

/// Digits without leading zeros, up to `max`; nothing else.
std::optional<std::size_t> parse_number(std::string_view digits, std::size_t max) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || digits[0] == '0' ||
        value > max)
        return std::nullopt;
    return value;
}

/// Splits "a,(b,c),d" at the commas outside parentheses. @errors kMalformed.
Result<std::vector<std::string_view>> split_members(std::string_view text) {
    std::vector<std::string_view> out;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '(') ++depth;
        if (text[i] == ')' && --depth < 0) return malformed(text, "unbalanced parentheses");
        if (text[i] == ',' && depth == 0) {
            out.push_back(text.substr(begin, i - begin));
            begin = i + 1;
        }
    }
    if (depth != 0) return malformed(text, "unbalanced parentheses");
    if (!text.empty()) out.push_back(text.substr(begin));
    return out;
}

Result<AbiType> parse_elementary(std::string_view text) {
    AbiType out;
    if (text == "address") {
        out.kind = AbiType::Kind::kAddress;
    } else if (text == "bool") {
        out.kind = AbiType::Kind::kBool;
    } else if (text == "string") {
        out.kind = AbiType::Kind::kString;
    } else if (text == "bytes") {
        out.kind = AbiType::Kind::kBytes;
    } else if (text.starts_with("uint")) {
        const auto bits = text.size() > 4 ? parse_number(text.substr(4), 256) : std::nullopt;
        if (!bits || *bits % 8 != 0) return malformed(text, "no such width");
        out.kind = AbiType::Kind::kUint;
        out.size = *bits;
    } else if (text.starts_with("bytes")) {
        const auto bytes = parse_number(text.substr(5), 32);
        if (!bytes) return malformed(text, "no such width");
        out.kind = AbiType::Kind::kFixedBytes;
        out.size = *bytes;
    } else {
        return malformed(text, "unknown");
    }
    return out;
}

Result<AbiType> parse_type(std::string_view text, unsigned depth);

Result<std::vector<AbiType>> parse_types(std::string_view text, unsigned depth) {
    GYM_TRY(const auto members, split_members(text));
    std::vector<AbiType> out;
    for (const std::string_view member : members) {
        GYM_TRY(AbiType type, parse_type(member, depth));
        out.push_back(std::move(type));
    }
    return out;
}

Result<AbiType> parse_type(std::string_view text, unsigned depth) {
    if (depth > kTypeDepthMax) return malformed(text, "nests too deep");
    if (text.empty()) return malformed(text, "empty");
    AbiType out;
    if (text.back() == ']') {
        const std::size_t open = text.rfind('[');
        if (open == std::string_view::npos) return malformed(text, "unbalanced brackets");
        GYM_TRY(AbiType element, parse_type(text.substr(0, open), depth + 1));
        const std::string_view length = text.substr(open + 1, text.size() - open - 2);
        out.kind = length.empty() ? AbiType::Kind::kArray : AbiType::Kind::kFixedArray;
        if (!length.empty()) {
            const auto count = parse_number(length, kFixedLengthMax);
            if (!count) return malformed(text, "no such length");
            out.size = *count;
        }
        out.children.push_back(std::move(element));
        return out;
    }
    if (text.front() != '(') return parse_elementary(text);
    if (text.back() != ')' || text.size() == 2) return malformed(text, "not a tuple with members");
    out.kind = AbiType::Kind::kTuple;
    GYM_TRY(out.children, parse_types(text.substr(1, text.size() - 2), depth + 1));
    return out;
}

}  // namespace

Result<AbiType> AbiType::parse(std::string_view text) {
    return parse_type(text, 0);
}

std::string AbiType::to_string() const {
    switch (kind) {
        case Kind::kUint:
            return "uint" + std::to_string(size);
        case Kind::kAddress:
            return "address";
        case Kind::kBool:
            return "bool";
        case Kind::kFixedBytes:
            return "bytes" + std::to_string(size);
        case Kind::kBytes:
            return "bytes";
        case Kind::kString:
            return "string";
        case Kind::kArray:
            return children[0].to_string() + "[]";
        case Kind::kFixedArray:
            return children[0].to_string() + "[" + std::to_string(size) + "]";
        case Kind::kTuple:
            break;
    }
    std::string out = "(";
    for (const AbiType& child : children)
        out += (out.size() > 1 ? "," : "") + child.to_string();
    return out + ")";
}

bool AbiType::is_dynamic() const {
    switch (kind) {
        case Kind::kBytes:
        case Kind::kString:
        case Kind::kArray:
            return true;
        case Kind::kFixedArray:
        case Kind::kTuple:
            for (const AbiType& child : children)
                if (child.is_dynamic()) return true;
            return false;
        default:
            return false;
    }
}

Result<AbiSignature> AbiSignature::parse(std::string_view text) {
    const std::size_t open = text.find('(');
    if (open == 0 || open == std::string_view::npos || text.back() != ')')
        return fail(ErrorCode::kMalformed,
                    "ABI signature '" + std::string(text) + "' is not name(type,...)");
    AbiSignature out;
    out.text = text;
    out.name = text.substr(0, open);
    GYM_TRY(out.inputs, parse_types(text.substr(open + 1, text.size() - open - 2), 0));
    return out;
}

Digest AbiSignature::hash() const {
    return crypto::keccak256_text(text);
}

std::array<std::uint8_t, 4> AbiSignature::selector() const {
    const Digest digest = hash();
    return {digest.data[0], digest.data[1], digest.data[2], digest.data[3]};
}

Result<Bytes> AbiSignature::encode_call(const std::vector<AbiValue>& arguments) const {
    auto encoded = abi_encode(inputs, arguments);
    if (!encoded.ok()) return encoded.error().in(text);
    const auto head = selector();
    Bytes out(head.begin(), head.end());
    out.insert(out.end(), encoded->begin(), encoded->end());
    return out;
}

namespace {

Error not_a(const AbiValue& value, std::string_view what) {
    return fail(ErrorCode::kMalformed,
                "ABI: " + value.to_string() + " is not a " + std::string(what));
}

}  // namespace

Result<Amount> AbiValue::amount() const {
    if (const auto* value = std::get_if<Amount>(&value_)) return *value;
    return not_a(*this, "number");
}

Result<std::uint64_t> AbiValue::u64() const {
    GYM_TRY(const Amount value, amount());
    const auto narrow = value.to_u64();
    if (!narrow.ok()) return not_a(*this, "64-bit number");
    return *narrow;
}

Result<bool> AbiValue::boolean() const {
    if (const auto* value = std::get_if<bool>(&value_)) return *value;
    return not_a(*this, "bool");
}

Result<Address> AbiValue::address() const {
    if (const auto* value = std::get_if<Address>(&value_)) return *value;
    return not_a(*this, "address");
}

Result<Digest> AbiValue::digest() const {
    const auto* value = std::get_if<Bytes>(&value_);
    if (value == nullptr || value->size() != Digest::kSize) return not_a(*this, "bytes32");
    return Digest::from(*value);
}

Result<Bytes> AbiValue::bytes() const {
    if (const auto* value = std::get_if<Bytes>(&value_)) return *value;
    return not_a(*this, "byte string");
}

Result<std::string> AbiValue::text() const {
    if (const auto* value = std::get_if<std::string>(&value_)) return *value;
    return not_a(*this, "text");
}

Result<AbiValue::List> AbiValue::list() const {
    if (const auto* value = std::get_if<List>(&value_)) return *value;
    return not_a(*this, "list");
}

std::string AbiValue::to_string() const {
    if (const auto* value = std::get_if<Amount>(&value_)) return value->to_string();
    if (const auto* value = std::get_if<bool>(&value_)) return *value ? "true" : "false";
    if (const auto* value = std::get_if<Address>(&value_)) return value->hex();
    if (const auto* value = std::get_if<Bytes>(&value_)) return to_hex0x(*value);
    if (const auto* value = std::get_if<std::string>(&value_)) return '"' + *value + '"';
    std::string out = "[";
    for (const AbiValue& item : std::get<List>(value_))
        out += (out.size() > 1 ? ", " : "") + item.to_string();
    return out + "]";
}

}  // namespace gym::chain
