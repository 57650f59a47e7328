#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// The canonical byte form of everything that is hashed, signed or stored: integers big-endian of
/// fixed width, variable parts with a u32 length in front. One value has exactly one encoding.
namespace gym::commit {

class Encoder {
  public:
    Encoder& u8(std::uint8_t value);
    Encoder& u16(std::uint16_t value);
    Encoder& u32(std::uint32_t value);
    Encoder& u64(std::uint64_t value);
    Encoder& i64(std::int64_t value) { return u64(static_cast<std::uint64_t>(value)); }
    /// One byte, 0 or 1.
    Encoder& boolean(bool value) { return u8(value ? 1 : 0); }
    /// The bytes alone: the reader knows how many.
    Encoder& raw(ByteView bytes);
    template <std::size_t N, class Tag>
    Encoder& fixed(const FixedBytes<N, Tag>& value) {
        return raw(value.view());
    }
    /// u32 length, then the bytes. At most 2^32 - 1.
    Encoder& bytes(ByteView value);
    Encoder& string(std::string_view value) { return bytes(as_bytes(value)); }

    [[nodiscard]] const Bytes& view() const { return out_; }
    [[nodiscard]] Bytes take() { return std::move(out_); }

  private:
    Bytes out_;
};

/// Reads what Encoder writes. Every error is kMalformed and names the offset. Does not own the
/// bytes: they must outlive the decoder and every view it returned.
class Decoder {
  public:
    explicit Decoder(ByteView input) : input_(input) {}

    Result<std::uint8_t> u8();
    Result<std::uint16_t> u16();
    Result<std::uint32_t> u32();
    Result<std::uint64_t> u64();
    Result<std::int64_t> i64();
    /// @errors kMalformed for a byte that is neither 0 nor 1.
    Result<bool> boolean();
    Result<ByteView> raw(std::size_t size_bytes);
    template <class Fixed>
    Result<Fixed> fixed() {
        GYM_TRY(const ByteView view, raw(Fixed::kSize));
        return Fixed::from(view);
    }
    Result<Digest> digest() { return fixed<Digest>(); }
    Result<Address> address() { return fixed<Address>(); }
    /// A length-prefixed part of at most `size_bytes_max` bytes.
    Result<ByteView> bytes(std::uint32_t size_bytes_max);
    Result<std::string> string(std::uint32_t size_bytes_max);
    /// A u32 number of items that follow, at most `count_max`.
    Result<std::uint32_t> count(std::uint32_t count_max);
    /// Every encoding ends here. @errors kMalformed if bytes are left.
    [[nodiscard]] Status expect_end() const;

    [[nodiscard]] std::size_t offset() const { return offset_; }
    [[nodiscard]] std::size_t remaining() const { return input_.size() - offset_; }

  private:
    Result<std::uint64_t> big_endian(std::size_t size_bytes);
    [[nodiscard]] Error malformed(const std::string& what) const;
    ByteView input_;
    std::size_t offset_ = 0;
};

}  // namespace gym::commit
