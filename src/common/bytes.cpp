#include "gym/common/bytes.hpp"

namespace gym {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

int digit_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

void append_hex(std::string& out, ByteView bytes) {
    for (const std::uint8_t byte : bytes) {
        out.push_back(kDigits[byte >> 4]);
        out.push_back(kDigits[byte & 15]);
    }
}

}  // namespace

std::string to_hex(ByteView bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    append_hex(out, bytes);
    return out;
}

std::string to_hex0x(ByteView bytes) {
    std::string out = "0x";
    out.reserve(2 + bytes.size() * 2);
    append_hex(out, bytes);
    return out;
}

Result<Bytes> from_hex(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    if (text.size() % 2 != 0)
        return fail(ErrorCode::kMalformed, "hexadecimal text has an odd number of digits");
    Bytes out;
    out.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = digit_value(text[i]);
        const int low = digit_value(text[i + 1]);
        if (high < 0 || low < 0)
            return fail(ErrorCode::kMalformed,
                        "character " + std::to_string(i) + " is not a hexadecimal digit");
        out.push_back(static_cast<std::uint8_t>(high << 4 | low));
    }
    return out;
}

}  // namespace gym
