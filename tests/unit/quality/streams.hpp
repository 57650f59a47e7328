#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "gym/quality/novelty.hpp"

namespace gym::quality {

using Tokens = std::vector<std::uint16_t>;

inline Tokens random_tokens(std::mt19937_64& random, std::size_t count,
                            std::uint32_t vocabulary = 32'000) {
    Tokens out(count);
    for (auto& token : out)
        token = static_cast<std::uint16_t>(random() % vocabulary);
    return out;
}

/// Bytes of made-up prose: 2,000 words, frequent ones shorter and far more often, so that windows
/// repeat as they do in a text.
inline Tokens prose(std::mt19937_64& random, std::size_t count) {
    static const std::vector<Tokens> kWords = [] {
        std::mt19937_64 fixed(1);
        std::vector<Tokens> words(2'000);
        for (std::size_t i = 0; i < words.size(); ++i) {
            words[i] = Tokens(2 + i % 3 + i / 300);
            for (auto& letter : words[i])
                letter = static_cast<std::uint16_t>('a' + fixed() % 26);
            words[i].push_back(' ');
        }
        return words;
    }();
    std::uniform_real_distribution<double> uniform(0, 1);
    Tokens out;
    while (out.size() < count) {
        const double rank = std::pow(static_cast<double>(kWords.size()), uniform(random)) - 1;
        const Tokens& word = kWords[static_cast<std::size_t>(rank)];
        out.insert(out.end(), word.begin(), word.end());
    }
    out.resize(count);
    return out;
}

inline Tokens joined(Tokens first, const Tokens& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// `tokens` with about `ppm` of them replaced.
inline Tokens changed(std::mt19937_64& random, Tokens tokens, std::uint32_t ppm) {
    for (auto& token : tokens)
        if (random() % kPpm < ppm) token = static_cast<std::uint16_t>(token + 1 + random() % 100);
    return tokens;
}

/// A registry in memory.
class Book {
  public:
    void add(const DatasetSketch& sketch) {
        for (const std::uint64_t key : distinct_keys(sketch))
            keys_.insert(key);
        level_max_ = std::max(level_max_, sketch.level);
    }
    void add(const Tokens& tokens) { add(sketch(tokens)); }

    [[nodiscard]] Registered registered() const {
        return {[this](std::span<const std::uint64_t> keys) -> Result<std::vector<std::uint64_t>> {
                    std::vector<std::uint64_t> out;
                    for (const std::uint64_t key : keys)
                        if (keys_.contains(key)) out.push_back(key);
                    return out;
                },
                level_max_};
    }
    [[nodiscard]] Novelty novelty_of(const DatasetSketch& sketch) const {
        return novelty(sketch, registered()).value();
    }
    [[nodiscard]] Novelty novelty_of(const Tokens& tokens) const {
        return novelty_of(sketch(tokens));
    }
    /// Novelty, then registration, as a network does it.
    Novelty enter(const Tokens& tokens) {
        const DatasetSketch made = sketch(tokens);
        const Novelty out = novelty_of(made);
        add(made);
        return out;
    }

  private:
    std::set<std::uint64_t> keys_;
    std::uint32_t level_max_ = 0;
};

}  // namespace gym::quality
