#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::chain {

/// A type of the contract ABI (Solidity's ABI specification). Signed and fixed-point numbers are
/// left out: our contracts have none.
struct AbiType {
    enum class Kind {
        kUint,
        kAddress,
        kBool,
        kFixedBytes,
        kBytes,
        kString,
        kArray,
        kFixedArray,
        kTuple
    };
    Kind kind = Kind::kUint;
    std::size_t size = 0;           ///< bits of uintN, bytes of bytesN, length of T[k]
    std::vector<AbiType> children;  ///< the element of an array, the members of a tuple

    /// Parses "uint256", "bytes32[]", "(address,uint64[3])[]"; tuples are written with parentheses.
    /// @errors kMalformed.
    static Result<AbiType> parse(std::string_view text);
    [[nodiscard]] std::string to_string() const;
    /// True if the encoding's length depends on the value.
    [[nodiscard]] bool is_dynamic() const;
    friend bool operator==(const AbiType&, const AbiType&) = default;
};

/// A value of any AbiType: numbers are Amount, bytesN and bytes are Bytes, arrays and tuples are
/// List.
class AbiValue {
  public:
    using List = std::vector<AbiValue>;
    AbiValue(Amount value) : value_(value) {}  // NOLINT: implicit by design, as are all below
    AbiValue(std::uint64_t value) : value_(Amount(value)) {}  // NOLINT
    AbiValue(bool value) : value_(value) {}                   // NOLINT
    AbiValue(Address value) : value_(value) {}                // NOLINT
    AbiValue(Bytes value) : value_(std::move(value)) {}       // NOLINT
    AbiValue(const Digest& value)
        : value_(Bytes(value.data.begin(), value.data.end())) {}  // NOLINT
    AbiValue(std::string value) : value_(std::move(value)) {}     // NOLINT
    AbiValue(const char* value) : value_(std::string(value)) {}   // NOLINT
    AbiValue(List value) : value_(std::move(value)) {}            // NOLINT
    /// An array of values of one C++ type.
    template <class T>
    static AbiValue array(const std::vector<T>& values) {
        return AbiValue(List(values.begin(), values.end()));
    }

    /// @errors kMalformed if the value is of another kind (or the number does not fit).
    [[nodiscard]] Result<Amount> amount() const;
    [[nodiscard]] Result<std::uint64_t> u64() const;
    [[nodiscard]] Result<bool> boolean() const;
    [[nodiscard]] Result<Address> address() const;
    [[nodiscard]] Result<Digest> digest() const;
    [[nodiscard]] Result<Bytes> bytes() const;
    [[nodiscard]] Result<std::string> text() const;
    [[nodiscard]] Result<List> list() const;
    /// For messages: 12, true, 0x.., "text", [a, b].
    [[nodiscard]] std::string to_string() const;
    friend bool operator==(const AbiValue&, const AbiValue&) = default;

  private:
    friend struct AbiCodec;
    std::variant<Amount, bool, Address, Bytes, std::string, List> value_;
};

/// @errors kInvalidArgument when values do not fit the types in number, kind or range.
[[nodiscard]] Result<Bytes> abi_encode(const std::vector<AbiType>& types,
                                       const std::vector<AbiValue>& values);

/// Strict: padding is zero, offsets are in order without gaps or sharing (as solc writes them),
/// nothing follows. Work and memory are linear in the input. @errors kMalformed.
[[nodiscard]] Result<std::vector<AbiValue>> abi_decode(const std::vector<AbiType>& types,
                                                       ByteView encoded);

/// Arguments as a contract reads them from an accepted call: nothing keeps a sender to the
/// encoder's layout. Offsets may lead anywhere, anything may follow; numbers are cut to their type,
/// and what cannot be read is empty, for the contract never looked at it.
/// @param calldata with the selector. @errors kMalformed: a tail that is shared by too many.
[[nodiscard]] Result<std::vector<AbiValue>> abi_read_calldata(const std::vector<AbiType>& types,
                                                              ByteView calldata);

/// A function, event or error written as "release(uint64,address[],uint256[])".
struct AbiSignature {
    std::string text;
    std::string name;
    std::vector<AbiType> inputs;

    /// @errors kMalformed.
    static Result<AbiSignature> parse(std::string_view text);
    /// Keccak-256 of the text: topic 0 of an event; its first four bytes are a function's selector.
    [[nodiscard]] Digest hash() const;
    [[nodiscard]] std::array<std::uint8_t, 4> selector() const;
    /// selector | encoded arguments. @errors kInvalidArgument.
    [[nodiscard]] Result<Bytes> encode_call(const std::vector<AbiValue>& arguments) const;
};

}  // namespace gym::chain
