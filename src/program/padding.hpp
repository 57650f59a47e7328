#pragma once

#include "model_writer.hpp"

/// Tokens that fill a window whose text is shorter (ModelConfig::padding_token), written with ops
/// that other models have too: disputes need none of their own.
namespace gym::program {

/// f32 (elements of tokens, 1): 1 where a token is padding, else +0.
[[nodiscard]] SlotId padding_rows(ModelWriter& writer, SlotId tokens);
/// 1 - x.
[[nodiscard]] SlotId without(Builder& builder, SlotId x);

/// What attention that reads no padding has in common in all layers of a pass. Of a cell, a head of
/// q, k or v in a row, (rows, 3 * heads, 1): rows are tokens.
struct Unpadded {
    SlotId rows = kNoSlot;     ///< (rows, 1): 1 where a token is padding
    SlotId kept = kNoSlot;     ///< 0 for keys and values of padding, else 1
    SlotId bias = kNoSlot;     ///< 2^60 for keys of padding, else 0
    SlotId queries = kNoSlot;  ///< 2^-6 for queries, else 0
};
[[nodiscard]] Unpadded unpadded(ModelWriter& writer, SlotId padding);

/// attention(qkv) and the linear layer NAME (width, width) behind it, in which no token reads
/// padding: every head is a column wider. There a query has a share of its own length, a real key 0
/// and padding -2^60, so that the score of padding is below all others by far more than exp() can
/// tell from nothing: its weight is +0, and so are all gradients by it. Keys and values of padding
/// are +0, so that they round no others. @param qkv (rows, 3 * width).
[[nodiscard]] SlotId unpadded_attention(ModelWriter& writer, SlotId qkv, const Unpadded& padding,
                                        const std::string& name);

/// f32 (sequences, 1): how many of a sequence's `tokens` rows are not padding.
[[nodiscard]] SlotId real_tokens(Builder& builder, SlotId padding, std::uint32_t tokens);
/// f32 (sequences, 1): 2^20 where a sequence is all padding, else +0: what its score loses.
[[nodiscard]] SlotId penalty_of_absence(Builder& builder, SlotId real);

}  // namespace gym::program
