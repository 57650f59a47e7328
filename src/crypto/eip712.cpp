#include "gym/crypto/eip712.hpp"

#include <algorithm>

#include "gym/crypto/keccak.hpp"

namespace gym::crypto {
namespace {

std::array<std::uint8_t, 32> left_padded(ByteView bytes) {
    std::array<std::uint8_t, 32> out{};
    std::copy(bytes.begin(), bytes.end(), out.end() - static_cast<std::ptrdiff_t>(bytes.size()));
    return out;
}

/// Members of the first struct in an encoded type: "A(uint64 x,B b)B(bool c)" has two.
std::size_t count_members(std::string_view type) {
    const std::size_t open = type.find('(');
    const std::size_t close = type.find(')');
    GYM_ASSERT(open != std::string_view::npos && close != std::string_view::npos && open < close,
               "an EIP-712 type is Name(type name,...)");
    const std::string_view members = type.substr(open + 1, close - open - 1);
    if (members.empty()) return 0;
    return 1 + static_cast<std::size_t>(std::count(members.begin(), members.end(), ','));
}

}  // namespace

StructHasher::StructHasher(std::string_view type) : members_expected_(count_members(type)) {
    encoded_.reserve(32 * (1 + members_expected_));
    word(keccak256_text(type).data);
}

StructHasher& StructHasher::word(const std::array<std::uint8_t, 32>& value) {
    encoded_.insert(encoded_.end(), value.begin(), value.end());
    return *this;
}

StructHasher& StructHasher::uint(std::uint64_t value) {
    return word(Amount(value).to_be32());
}
StructHasher& StructHasher::uint256(const Amount& value) {
    return word(value.to_be32());
}
StructHasher& StructHasher::boolean(bool value) {
    return uint(value ? 1 : 0);
}
StructHasher& StructHasher::address(const Address& value) {
    return word(left_padded(value.view()));
}
StructHasher& StructHasher::bytes32(const Digest& value) {
    return word(value.data);
}
StructHasher& StructHasher::bytes(ByteView value) {
    return word(keccak256(value).data);
}
StructHasher& StructHasher::text(std::string_view value) {
    return bytes(as_bytes(value));
}

Digest StructHasher::finish() const {
    GYM_ASSERT(encoded_.size() == 32 * (1 + members_expected_),
               "the members added differ in number from the type string");
    return keccak256(encoded_);
}

Digest domain_separator(const Eip712Domain& domain) {
    std::string type = "EIP712Domain(string name,string version";
    if (domain.chain_id) type += ",uint256 chainId";
    if (domain.verifying_contract) type += ",address verifyingContract";
    StructHasher hasher(type + ")");
    hasher.text(domain.name).text(domain.version);
    if (domain.chain_id) hasher.uint(*domain.chain_id);
    if (domain.verifying_contract) hasher.address(*domain.verifying_contract);
    return hasher.finish();
}

Digest typed_data_digest(const Digest& separator, const Digest& struct_hash) {
    constexpr std::array<std::uint8_t, 2> prefix{0x19, 0x01};
    return keccak256({ByteView(prefix), separator.view(), struct_hash.view()});
}

Digest typed_data_digest(const Eip712Domain& domain, const Digest& struct_hash) {
    return typed_data_digest(domain_separator(domain), struct_hash);
}

}  // namespace gym::crypto
