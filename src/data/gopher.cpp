#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "gym/data/filters.hpp"
#include "unicode.hpp"

namespace gym::data {
namespace {

constexpr std::size_t kWordsMin = 50, kWordsMax = 100'000;
constexpr double kMeanWordMin = 3, kMeanWordMax = 10;
constexpr double kSymbolsPerWordMax = 0.1;
constexpr double kBulletLinesMax = 0.9, kEllipsisLinesMax = 0.3;
constexpr double kWordsWithLetterMin = 0.8;
constexpr std::size_t kStopWordsMin = 2;
constexpr std::array<std::string_view, 8> kStopWords{"the", "be",   "to",   "of",
                                                     "and", "that", "have", "with"};
constexpr std::array<std::string_view, 2> kEllipses{"...", "\u2026"};
constexpr std::array<std::string_view, 8> kBullets{"\u2022", "\u2023", "\u25b6", "\u25c0",
                                                   "\u25e6", "\u25aa", "-",      "*"};

constexpr double kRepeatedPartsMax = 0.3, kRepeatedBytesMax = 0.2;
constexpr std::array<double, 3> kTopGramMax{0.20, 0.18, 0.16};                         // 2 to 4
constexpr std::array<double, 6> kRepeatedGramMax{0.15, 0.14, 0.13, 0.12, 0.11, 0.10};  // 5 to 10
constexpr std::array<Reason, 3> kTopGramReasons{"top 2-gram", "top 3-gram", "top 4-gram"};
constexpr std::array<Reason, 6> kRepeatedGramReasons{"repeated 5-grams", "repeated 6-grams",
                                                     "repeated 7-grams", "repeated 8-grams",
                                                     "repeated 9-grams", "repeated 10-grams"};

/// Calls `part` for every piece of `text` between separators, empty ones left out.
template <class Part>
void for_each_part(std::string_view text, std::string_view separator, Part&& part) {
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        const std::string_view piece = text.substr(0, end);
        if (!piece.empty()) part(piece);
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + separator.size());
    }
}

std::size_t count_of(std::string_view text, std::string_view symbol) {
    std::size_t count = 0;
    for (std::size_t at = text.find(symbol); at != std::string_view::npos;
         at = text.find(symbol, at + symbol.size()))
        ++count;
    return count;
}

double share(std::size_t part, std::size_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Reason judge_lines(std::string_view text) {
    std::size_t lines = 0, bullets = 0, ellipses = 0;
    for_each_part(text, "\n", [&](std::string_view line) {
        ++lines;
        const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
        const auto begins = [&](std::string_view b) { return line.substr(begin).starts_with(b); };
        const auto ends = [&](std::string_view e) { return line.ends_with(e); };
        bullets += std::ranges::any_of(kBullets, begins) ? 1 : 0;
        ellipses += std::ranges::any_of(kEllipses, ends) ? 1 : 0;
    });
    if (share(bullets, lines) > kBulletLinesMax) return "bullet lines";
    if (share(ellipses, lines) > kEllipsisLinesMax) return "ellipsis lines";
    return {};
}

/// Counts keys of one kind of n-gram at a time; open addressing, cleared by its generation.
class GramCounter {
  public:
    void begin(std::size_t grams) {
        std::size_t size = 64;
        while (size < grams * 2)
            size *= 2;
        slots_.assign(size, {});
    }
    /// How often `key` has been counted, this time included.
    std::uint32_t add(std::uint64_t key) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = key & mask;
        while (slots_[at].count != 0 && slots_[at].key != key)
            at = (at + 1) & mask;
        slots_[at].key = key;
        return ++slots_[at].count;
    }

  private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t count = 0;
    };
    std::vector<Slot> slots_;
};

/// Words with their hashes: what n-grams are made of.
struct HashedWords {
    std::vector<std::string_view> words;
    std::vector<std::uint64_t> hashes;

    explicit HashedWords(std::string_view text) {
        split_words(text, words);
        hashes.reserve(words.size());
        for (const std::string_view word : words)
            hashes.push_back(::XXH3_64bits(word.data(), word.size()));
    }
    [[nodiscard]] std::uint64_t gram(std::size_t first, std::size_t n) const {
        return ::XXH3_64bits(hashes.data() + first, n * sizeof(std::uint64_t));
    }
    /// Bytes from the first to the last word, with what is between them.
    [[nodiscard]] std::size_t span_bytes(std::size_t first, std::size_t n) const {
        const std::string_view last = words[first + n - 1];
        return static_cast<std::size_t>(last.data() + last.size() - words[first].data());
    }
};

/// The share of the bytes that the most frequent n-gram takes, if it occurs more than once.
double top_gram_share(const HashedWords& words, std::size_t n, std::size_t bytes,
                      GramCounter& counter) {
    if (words.words.size() < n) return 0;
    const std::size_t grams = words.words.size() - n + 1;
    counter.begin(grams);
    std::uint32_t most = 1;
    std::size_t most_bytes = 0;
    for (std::size_t i = 0; i < grams; ++i) {
        const std::uint32_t count = counter.add(words.gram(i, n));
        if (count < 2 || count < most) continue;
        const std::size_t covered = count * words.span_bytes(i, n);
        most_bytes = count > most ? covered : std::max(most_bytes, covered);
        most = count;
    }
    return share(most_bytes, bytes);
}

/// The share of the bytes in n-grams that occurred before, each byte counted once.
double repeated_gram_share(const HashedWords& words, std::size_t n, std::size_t bytes,
                           GramCounter& counter) {
    if (words.words.size() < n) return 0;
    const std::size_t grams = words.words.size() - n + 1;
    counter.begin(grams);
    std::size_t covered = 0, covered_words = 0;  // words below the second are counted
    for (std::size_t i = 0; i < grams; ++i) {
        if (counter.add(words.gram(i, n)) < 2) continue;
        const std::size_t from = std::max(i, covered_words);
        covered += words.span_bytes(from, i + n - from);
        covered_words = i + n;
    }
    return share(covered, bytes);
}

Reason judge_repeated_parts(std::string_view text, std::string_view separator, Reason parts_reason,
                            Reason bytes_reason) {
    std::unordered_set<std::string_view> seen;
    std::size_t parts = 0, repeated = 0, repeated_bytes = 0;
    for_each_part(text, separator, [&](std::string_view part) {
        ++parts;
        if (seen.insert(part).second) return;
        ++repeated;
        repeated_bytes += part.size();
    });
    if (share(repeated, parts) > kRepeatedPartsMax) return parts_reason;
    if (share(repeated_bytes, text.size()) > kRepeatedBytesMax) return bytes_reason;
    return {};
}

}  // namespace

Reason gopher_quality(std::string_view text) {
    std::vector<std::string_view> words;
    split_words(text, words);
    if (words.size() < kWordsMin) return "too few words";
    if (words.size() > kWordsMax) return "too many words";
    std::size_t letters = 0, with_letter = 0;
    std::array<bool, kStopWords.size()> stop_words{};
    for (const std::string_view word : words) {
        const WordShape shape = shape_of(word);
        letters += shape.code_points;
        with_letter += shape.has_letter ? 1 : 0;
        const auto* const stop = std::ranges::find(kStopWords, word);
        if (stop != kStopWords.end())
            stop_words[static_cast<std::size_t>(stop - kStopWords.begin())] = true;
    }
    const double mean = share(letters, words.size());
    if (mean < kMeanWordMin || mean > kMeanWordMax) return "mean word length";
    if (share(count_of(text, "#"), words.size()) > kSymbolsPerWordMax) return "hash symbols";
    if (share(count_of(text, kEllipses[0]) + count_of(text, kEllipses[1]), words.size()) >
        kSymbolsPerWordMax)
        return "ellipses";
    if (const Reason lines = judge_lines(text); !lines.empty()) return lines;
    if (share(with_letter, words.size()) < kWordsWithLetterMin) return "words without a letter";
    if (static_cast<std::size_t>(std::ranges::count(stop_words, true)) < kStopWordsMin)
        return "stop words";
    return {};
}

Reason gopher_repetition(std::string_view text) {
    if (const Reason lines =
            judge_repeated_parts(text, "\n", "repeated lines", "bytes in repeated lines");
        !lines.empty())
        return lines;
    if (const Reason paragraphs = judge_repeated_parts(text, "\n\n", "repeated paragraphs",
                                                       "bytes in repeated paragraphs");
        !paragraphs.empty())
        return paragraphs;
    const HashedWords words(text);
    GramCounter counter;
    for (std::size_t i = 0; i < kTopGramMax.size(); ++i)
        if (top_gram_share(words, i + 2, text.size(), counter) > kTopGramMax[i])
            return kTopGramReasons[i];
    for (std::size_t i = 0; i < kRepeatedGramMax.size(); ++i)
        if (repeated_gram_share(words, i + 5, text.size(), counter) > kRepeatedGramMax[i])
            return kRepeatedGramReasons[i];
    return {};
}

}  // namespace gym::data
