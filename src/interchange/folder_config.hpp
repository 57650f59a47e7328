#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "gym/program/program.hpp"

namespace gym::interchange {

/// Tokens with a meaning of their own; absent where the tokenizer has none.
struct SpecialTokens {
    std::optional<std::uint32_t> begin, end, padding;
};

/// What Hugging Face's transformers read beside the weights.
struct FolderConfig {
    std::string names;             ///< of the weights: "gpt2", "llama", "qwen2", or "gym"
    boost::json::object config;    ///< config.json
    boost::json::object generate;  ///< generation_config.json
    std::string architecture;      ///< one line for people
    std::uint32_t vocabulary = 0;
    std::uint32_t context = 0;
    /// What the model does, which decides what commands its card names.
    enum class Kind : std::uint8_t { kContinues, kEncodes, kClassifies } kind = Kind::kContinues;

    /// Whether from_pretrained() of transformers takes the folder.
    [[nodiscard]] bool is_known() const { return names != "gym"; }
};

/// Of a decoder that recognise_decoder() knows, by the names of its own architecture; of any other
/// program a config of model type "gym", which says what the program's input and output are.
[[nodiscard]] FolderConfig folder_config(const program::Program& program,
                                         const SpecialTokens& special);

/// One member a line, as people read configuration files.
[[nodiscard]] std::string json_lines(const boost::json::object& object);

}  // namespace gym::interchange
