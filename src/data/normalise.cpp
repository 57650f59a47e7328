#include <algorithm>

#include "gym/data/filters.hpp"
#include "unicode.hpp"

namespace gym::data {
namespace {

/// Trims line ends and drops blank lines after another one and around the text.
std::string tidy(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    std::size_t blank_lines = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t last = line.find_last_not_of(" \t");
        line = line.substr(0, last == std::string_view::npos ? 0 : last + 1);
        if (line.empty()) {
            ++blank_lines;
            continue;
        }
        if (!out.empty()) out.append(blank_lines > 0 ? "\n\n" : "\n");
        out.append(line);
        blank_lines = 0;
    }
    return out;
}

}  // namespace

Reason normalise(std::string& text) {
    if (!is_utf8(text)) return "not UTF-8";
    text = tidy(nfc(without_odd_controls(text)));
    return text.empty() ? "empty" : Reason();
}

}  // namespace gym::data
