#include "byte_alphabet.hpp"

#include <array>
#include <cstdint>

namespace gym::tokenizer {
namespace {

constexpr unsigned kBytes = 256;
constexpr unsigned kAlphabetEnd =
    0x144;  // 256 and the 68 bytes that have no character of their own

constexpr bool is_own_character(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
    std::array<std::uint16_t, kBytes> character{};
    std::array<std::int16_t, kAlphabetEnd> byte{};
};

constexpr Alphabet make_alphabet() {
    Alphabet out;
    out.byte.fill(-1);
    unsigned next = kBytes;
    for (unsigned byte = 0; byte < kBytes; ++byte) {
        const unsigned character = is_own_character(byte) ? byte : next++;
        out.character[byte] = static_cast<std::uint16_t>(character);
        out.byte[character] = static_cast<std::int16_t>(byte);
    }
    return out;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string to_alphabet(std::string_view bytes) {
    std::string out;
    out.reserve(2 * bytes.size());
    for (const char byte : bytes) {
        const unsigned character = kAlphabet.character[static_cast<std::uint8_t>(byte)];
        if (character < 0x80) {
            out += static_cast<char>(character);
        } else {  // all are below U+0800
            out += static_cast<char>(0xc0 | character >> 6);
            out += static_cast<char>(0x80 | (character & 0x3f));
        }
    }
    return out;
}

std::optional<std::string> from_alphabet(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned character = static_cast<std::uint8_t>(text[i]);
        if (character >= 0x80) {
            if ((character & 0xe0) != 0xc0 || i + 1 == text.size()) return std::nullopt;
            const unsigned second = static_cast<std::uint8_t>(text[++i]);
            if ((second & 0xc0) != 0x80) return std::nullopt;
            character = (character & 0x1f) << 6 | (second & 0x3f);
        }
        if (character >= kAlphabetEnd || kAlphabet.byte[character] < 0) return std::nullopt;
        out += static_cast<char>(kAlphabet.byte[character]);
    }
    return out;
}

}  // namespace gym::tokenizer
