#include "gym/commit/codec.hpp"

#include <limits>

namespace gym::commit {
namespace {

void append_big_endian(Bytes& out, std::uint64_t value, unsigned size_bytes) {
    for (unsigned i = size_bytes; i-- > 0;)
        out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

}  // namespace

Encoder& Encoder::u8(std::uint8_t value) {
    out_.push_back(value);
    return *this;
}

Encoder& Encoder::u16(std::uint16_t value) {
    append_big_endian(out_, value, 2);
    return *this;
}

Encoder& Encoder::u32(std::uint32_t value) {
    append_big_endian(out_, value, 4);
    return *this;
}

Encoder& Encoder::u64(std::uint64_t value) {
    append_big_endian(out_, value, 8);
    return *this;
}

Encoder& Encoder::raw(ByteView bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return *this;
}

Encoder& Encoder::bytes(ByteView value) {
    GYM_ASSERT(value.size() <= std::numeric_limits<std::uint32_t>::max(),
               "part too long to encode");
    return u32(static_cast<std::uint32_t>(value.size())).raw(value);
}

Error Decoder::malformed(const std::string& what) const {
    return fail(ErrorCode::kMalformed, what + " at byte " + std::to_string(offset_));
}

Result<std::uint64_t> Decoder::big_endian(std::size_t size_bytes) {
    GYM_TRY(const ByteView view, raw(size_bytes));
    std::uint64_t value = 0;
    for (const std::uint8_t byte : view)
        value = value << 8 | byte;
    return value;
}

Result<std::uint8_t> Decoder::u8() {
    GYM_TRY(const std::uint64_t value, big_endian(1));
    return static_cast<std::uint8_t>(value);
}

Result<std::uint16_t> Decoder::u16() {
    GYM_TRY(const std::uint64_t value, big_endian(2));
    return static_cast<std::uint16_t>(value);
}

Result<std::uint32_t> Decoder::u32() {
    GYM_TRY(const std::uint64_t value, big_endian(4));
    return static_cast<std::uint32_t>(value);
}

Result<std::uint64_t> Decoder::u64() {
    return big_endian(8);
}

Result<std::int64_t> Decoder::i64() {
    GYM_TRY(const std::uint64_t value, big_endian(8));
    return static_cast<std::int64_t>(value);
}

Result<bool> Decoder::boolean() {
    GYM_TRY(const std::uint8_t value, u8());
    if (value > 1) return malformed("a boolean is " + std::to_string(value) + " before");
    return value == 1;
}

Result<ByteView> Decoder::raw(std::size_t size_bytes) {
    if (size_bytes > remaining())
        return malformed("truncated: " + std::to_string(size_bytes) + " bytes expected, " +
                         std::to_string(remaining()) + " left");
    const ByteView view = input_.subspan(offset_, size_bytes);
    offset_ += size_bytes;
    return view;
}

Result<ByteView> Decoder::bytes(std::uint32_t size_bytes_max) {
    GYM_TRY(const std::uint32_t size, u32());
    if (size > size_bytes_max)
        return malformed("a part of " + std::to_string(size) + " bytes where at most " +
                         std::to_string(size_bytes_max) + " are allowed,");
    return raw(size);
}

Result<std::string> Decoder::string(std::uint32_t size_bytes_max) {
    GYM_TRY(const ByteView view, bytes(size_bytes_max));
    return std::string(view.begin(), view.end());
}

Result<std::uint32_t> Decoder::count(std::uint32_t count_max) {
    GYM_TRY(const std::uint32_t value, u32());
    if (value > count_max)
        return malformed(std::to_string(value) + " items where at most " +
                         std::to_string(count_max) + " are allowed,");
    return value;
}

Status Decoder::expect_end() const {
    if (remaining() != 0) return malformed(std::to_string(remaining()) + " bytes too many");
    return {};
}

}  // namespace gym::commit
