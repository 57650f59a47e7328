#include "text.hpp"

#include <algorithm>

namespace gym::chain {

std::string printable(std::string_view text, std::size_t size_max) {
    std::string out(text.substr(0, size_max));
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    if (text.size() > size_max) out += "...";
    return out;
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

}  // namespace gym::chain
