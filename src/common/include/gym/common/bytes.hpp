#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/result.hpp"

namespace gym {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

[[nodiscard]] inline ByteView as_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Lower-case hexadecimal without a prefix.
[[nodiscard]] std::string to_hex(ByteView bytes);
/// Lower-case hexadecimal with "0x" in front, as Ethereum writes it.
[[nodiscard]] std::string to_hex0x(ByteView bytes);
/// Decodes hexadecimal of either case, with or without "0x".
/// @errors kMalformed for an odd length or another character.
[[nodiscard]] Result<Bytes> from_hex(std::string_view text);

/// N bytes of one meaning; `Tag` keeps an address from being passed for a digest.
template <std::size_t N, class Tag>
struct FixedBytes {
    static constexpr std::size_t kSize = N;
    std::array<std::uint8_t, N> data{};

    [[nodiscard]] ByteView view() const noexcept { return {data.data(), N}; }
    [[nodiscard]] std::string hex() const { return to_hex0x(view()); }
    [[nodiscard]] bool is_zero() const noexcept { return data == std::array<std::uint8_t, N>{}; }

    /// @errors kMalformed unless `bytes` has exactly N bytes.
    static Result<FixedBytes> from(ByteView bytes) {
        if (bytes.size() != N)
            return fail(ErrorCode::kMalformed, "expected " + std::to_string(N) + " bytes, got " +
                                                   std::to_string(bytes.size()));
        FixedBytes out;
        std::memcpy(out.data.data(), bytes.data(), N);
        return out;
    }
    /// @errors kMalformed unless `text` is N bytes of hexadecimal ("0x" optional).
    static Result<FixedBytes> parse(std::string_view text) {
        GYM_TRY(const Bytes bytes, from_hex(text));
        return from(bytes);
    }
    friend auto operator<=>(const FixedBytes&, const FixedBytes&) = default;
};

/// A SHA-256 or Keccak-256 value.
using Digest = FixedBytes<32, struct DigestTag>;
/// An Ethereum address: the last 20 bytes of the Keccak-256 of a public key or contract creation.
using Address = FixedBytes<20, struct AddressTag>;

}  // namespace gym

template <std::size_t N, class Tag>
struct std::hash<gym::FixedBytes<N, Tag>> {
    std::size_t operator()(const gym::FixedBytes<N, Tag>& value) const noexcept {
        std::size_t out = 0;  // the bytes are uniform hashes already
        std::memcpy(&out, value.data.data(), sizeof out < N ? sizeof out : N);
        return out;
    }
};
