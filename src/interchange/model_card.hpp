#pragma once

#include <cstdint>
#include <string>

#include "folder_config.hpp"
#include "gym/interchange/model_folder.hpp"

namespace gym::interchange {

/// Facts of README.md that are counted, not given.
struct CardFacts {
    Digest program_root, state_root;
    std::uint64_t parameters = 0;
    enum class Tokens : std::uint8_t { kFiles, kBytes, kUnknown } tokens = Tokens::kUnknown;
};

/// README.md: the model card, with what Hugging Face's hub reads in front.
[[nodiscard]] std::string model_card(const ModelCard& card, const FolderConfig& config,
                                     const CardFacts& facts);

}  // namespace gym::interchange
