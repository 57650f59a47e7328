#pragma once

#include <cstdint>
#include <vector>

#include "gym/interchange/model_folder.hpp"

namespace gym::interchange {

/// tokenizer.json and tokenizer_config.json of a model whose tokens are bytes, for transformers'
/// PreTrainedTokenizerFast: token n is the byte n, for every text and back.
[[nodiscard]] std::vector<NamedFile> byte_tokenizer(std::uint32_t context);

}  // namespace gym::interchange
