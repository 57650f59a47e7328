#pragma once

// A byte-level tokenizer of a few merges, as the JSON that a test changes.

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "byte_alphabet.hpp"

namespace gym::testing {

/// A tokenizer.json: the tokens 0 to 255 are the bytes in their order, then come those that the
/// merges make, then "<|endoftext|>". Merges are pairs of bytes (not of the alphabet).
inline boost::json::object small_tokenizer_json(
    const std::vector<std::pair<std::string, std::string>>& merges,
    const std::string& pattern = {}) {
    namespace json = boost::json;
    json::object vocabulary;
    json::array rules;
    const auto add = [&](const std::string& token) {
        vocabulary.emplace(tokenizer::to_alphabet(token), vocabulary.size());
    };
    for (unsigned byte = 0; byte < 256; ++byte)
        add(std::string(1, static_cast<char>(byte)));
    for (const auto& [left, right] : merges) {
        rules.push_back(
            json::string(tokenizer::to_alphabet(left) + " " + tokenizer::to_alphabet(right)));
        add(left + right);
    }
    json::object byte_level{{"type", "ByteLevel"},
                            {"add_prefix_space", false},
                            {"trim_offsets", true},
                            {"use_regex", pattern.empty()}};
    json::object pre_tokenizer = byte_level;
    if (!pattern.empty()) {
        json::object split{{"type", "Split"},
                           {"pattern", {{"Regex", pattern}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
        pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}};
    }
    const std::uint64_t end_of_text = vocabulary.size();
    return {
        {"version", "1.0"},
        {"added_tokens", {{{"id", end_of_text}, {"content", "<|endoftext|>"}, {"special", true}}}},
        {"normalizer", nullptr},
        {"pre_tokenizer", pre_tokenizer},
        {"decoder", byte_level},
        {"model",
         {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", rules}, {"unk_token", nullptr}}}};
}

/// Merges that spell "hello", " world" and some parts.
inline std::vector<std::pair<std::string, std::string>> small_merges() {
    return {{"h", "e"}, {"l", "l"},   {"he", "ll"}, {"hell", "o"}, {" ", "w"},
            {"o", "r"}, {" w", "or"}, {"l", "d"},   {" wor", "ld"}};
}

}  // namespace gym::testing
