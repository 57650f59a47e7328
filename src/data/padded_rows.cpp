#include "padded_rows.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace gym::data {

Result<std::vector<std::uint32_t>> padded_rows(std::vector<std::uint32_t> tokens,
                                               std::optional<std::uint32_t> end,
                                               const PaddedRows& rows) {
    if (end) tokens.push_back(*end);
    if (std::ranges::find(tokens, rows.padding) != tokens.end())
        return fail(ErrorCode::kInvalidArgument,
                    "the document has token " + std::to_string(rows.padding) +
                        ", which would be padding: name another one, such as the first that the "
                        "tokenizer does not have");
    const std::size_t window = rows.window;
    std::vector<std::uint32_t> out;
    // A row's last token is what its last but one predicts: the next row begins with it. What would
    // be alone in a row predicts nothing.
    for (std::size_t at = 0; at == 0 || at + 1 < tokens.size(); at += window) {
        const std::size_t count = std::min(window + 1, tokens.size() - at);
        const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(count));
        out.resize(out.size() + window + 1 - count, rows.padding);
    }
    return out;
}

}  // namespace gym::data
