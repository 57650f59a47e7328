#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/data/build.hpp"

namespace gym::data {

/// The rows of one document, one after another: a whole number of rows.window + 1 tokens.
/// @param end behind the document's tokens, if the tokenizer has an end of text.
/// @errors kInvalidArgument where the document has the padding token.
[[nodiscard]] Result<std::vector<std::uint32_t>> padded_rows(std::vector<std::uint32_t> tokens,
                                                             std::optional<std::uint32_t> end,
                                                             const PaddedRows& rows);

}  // namespace gym::data
