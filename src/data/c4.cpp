#include <algorithm>
#include <array>
#include <vector>

#include "gym/data/filters.hpp"
#include "unicode.hpp"

namespace gym::data {
namespace {

constexpr std::size_t kWordsInLineMin = 5;
constexpr std::size_t kSentencesMin = 3;
constexpr std::array<std::string_view, 6> kLineEnds{".", "!", "?", "\"", "\u201d", "'"};
constexpr std::array<std::string_view, 7> kBadLines{
    "javascript",   "terms of use",   "privacy policy", "cookie policy",
    "uses cookies", "use of cookies", "use cookies"};

std::string lower_ascii(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

bool keeps(std::string_view line, std::vector<std::string_view>& words) {
    const auto ends = [&](std::string_view end) { return line.ends_with(end); };
    if (!std::ranges::any_of(kLineEnds, ends) || line.ends_with("...")) return false;
    split_words(line, words);
    if (words.size() < kWordsInLineMin) return false;
    const std::string lower = lower_ascii(line);
    return std::ranges::none_of(
        kBadLines, [&](std::string_view bad) { return lower.find(bad) != std::string::npos; });
}

/// Ends of sentences: a word whose last sign, apart from quotation marks and brackets, is . ! or ?
std::size_t sentences(std::string_view text, std::vector<std::string_view>& words) {
    split_words(text, words);
    std::size_t count = 0;
    for (std::string_view word : words) {
        while (!word.empty() && (word.back() == '"' || word.back() == '\'' || word.back() == ')' ||
                                 word.ends_with("\u201d")))
            word.remove_suffix(word.ends_with("\u201d") ? 3 : 1);
        if (!word.empty() && std::string_view(".!?").find(word.back()) != std::string_view::npos)
            ++count;
    }
    return count;
}

}  // namespace

Reason c4(std::string& text) {
    if (text.find('{') != std::string::npos) return "curly bracket";
    if (lower_ascii(text).find("lorem ipsum") != std::string::npos) return "lorem ipsum";
    std::string out;
    out.reserve(text.size());
    std::vector<std::string_view> words;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (!keeps(line, words)) continue;
        if (!out.empty()) out += '\n';
        out.append(line);
    }
    if (sentences(out, words) < kSentencesMin) return "too few sentences";
    text = std::move(out);
    return {};
}

}  // namespace gym::data
