#include "gym/common/printable.hpp"

namespace gym {
namespace {

constexpr unsigned char kDelete = 0x7f;
/// U+0080 to U+009F are this byte and one from 0x80 to 0x9f.
constexpr unsigned char kC1Lead = 0xc2;

/// Bytes of the control character at the beginning of `text`; 0: there is none.
std::size_t control_bytes(std::string_view text) noexcept {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < ' ' || first == kDelete) return 1;
    if (first != kC1Lead || text.size() < 2) return 0;
    const auto second = static_cast<unsigned char>(text[1]);
    return second >= 0x80 && second <= 0x9f ? 2 : 0;
}

}  // namespace

bool is_printable(std::string_view text) noexcept {
    for (; !text.empty(); text.remove_prefix(1))
        if (control_bytes(text) != 0) return false;
    return true;
}

std::string without_controls(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const bool is_layout = text.front() == '\n' || text.front() == '\t';
        const std::size_t skipped = is_layout ? 0 : control_bytes(text);
        if (skipped == 0) out += text.front();
        text.remove_prefix(skipped == 0 ? 1 : skipped);
    }
    return out;
}

std::string printable_ascii(std::string_view text, std::size_t size_max) {
    std::string out(text.substr(0, size_max));
    for (char& c : out)
        if (c < ' ' || c > '~') c = '?';
    if (text.size() > size_max) out += "...";
    return out;
}

}  // namespace gym
