#include "gym/chain/abi.hpp"

namespace gym::chain {
namespace {

Error not_a(const AbiValue& value, std::string_view what) {
    return fail(ErrorCode::kMalformed, "ABI: " + value.to_string() + " is no " + std::string(what));
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
