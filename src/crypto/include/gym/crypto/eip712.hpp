#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"

namespace gym::crypto {

/// Domain of a signature (EIP-712). Absent fields are left out of the domain's type, as the EIP
/// says.
struct Eip712Domain {
    std::string name;
    std::string version;
    std::optional<std::uint64_t> chain_id;
    std::optional<Address> verifying_contract;
};

/// hashStruct(eip712Domain).
[[nodiscard]] Digest domain_separator(const Eip712Domain& domain);

/// Builds hashStruct of one value, member by member in the order of its type:
///
///     StructHasher hasher("Mail(address to,uint64 sequence,string text)");
///     const Digest hash = hasher.address(to).uint(sequence).text("hello").finish();
///
/// The number of members is checked against the type string (GYM_ASSERT: both are in the program).
/// A member that is a struct is added with bytes32(its hash) and its type appended to the type
/// string, as the EIP says.
class StructHasher {
  public:
    explicit StructHasher(std::string_view type);

    StructHasher& uint(std::uint64_t value);      ///< uint8 .. uint64
    StructHasher& uint256(const Amount& value);   ///< uint256 (and narrower)
    StructHasher& boolean(bool value);            ///< bool
    StructHasher& address(const Address& value);  ///< address
    StructHasher& bytes32(const Digest& value);   ///< bytes32, or the hash of a nested struct
    /// Dynamic bytes; an array of bytes32 or of nested structs' hashes, joined.
    StructHasher& bytes(ByteView value);
    StructHasher& text(std::string_view value);  ///< string

    [[nodiscard]] Digest finish() const;

  private:
    StructHasher& word(const std::array<std::uint8_t, 32>& value);
    Bytes encoded_;
    std::size_t members_expected_ = 0;
};

/// The signed digest: keccak256(0x19 0x01 | domain separator | struct hash).
[[nodiscard]] Digest typed_data_digest(const Digest& separator, const Digest& struct_hash);
[[nodiscard]] Digest typed_data_digest(const Eip712Domain& domain, const Digest& struct_hash);

}  // namespace gym::crypto
