#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace gym::testing {

/// Lines to tokenize, the same for the same seed: text that Debian packages carry and generated
/// ones, a line each in turn.
///
/// Carried: the King James Bible (bible-kjv), definitions of WordNet (wordnet-base), C++ headers
/// (libstdc++), names of languages and regions and spelled-out numbers in ICU's languages
/// (libicu72). Generated: runs of odd spaces and line ends, digits, contractions, identifiers,
/// emoji with joiners and modifiers, letters with combining marks, random assigned characters of
/// all scripts, repeated characters.
///
/// All lines are UTF-8, without special tokens. Left out is what JavaScript's regular expressions
/// take for something else than Unicode says: U+FEFF and U+0085 (spaces), U+017F (folds to "s"),
/// and characters that ICU does not know.
class TokenizerCorpus {
  public:
    explicit TokenizerCorpus(std::uint64_t seed);
    std::string next_line();
    /// Only kinds that texts mostly consist of: carried lines, names and numbers in many languages,
    /// code, emoji.
    std::string next_usual_line();

  private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    const std::string& any_of(const std::vector<std::string>& list) {
        return list[below(list.size())];
    }
    std::string spaces();
    std::string code();
    std::string emoji();
    std::string marks();
    std::string scripts();
    std::string repeats();
    std::string languages();
    std::string mixture();

    std::mt19937_64 random_;
    std::vector<std::string> carried_;
    std::uint64_t lines_ = 0;
};

/// English of `bytes` bytes: the Bible and WordNet's definitions, a line of each in turn.
std::string english_text(std::size_t bytes);

}  // namespace gym::testing
