#pragma once

#include "model_writer.hpp"

/// Documents that share a window, and attention that keeps them apart
/// (ModelConfig::document_separator).
namespace gym::program {

/// f32 (elements of tokens, 1): how many documents of its window end before each token, so that the
/// tokens of one have the same number, its separator included; kNoSlot if the model has no
/// separator. @param tokens i32 (windows, context).
[[nodiscard]] SlotId document_numbers(ModelWriter& writer, SlotId tokens);

/// Attention in which a token reads itself and those before it, of its document where `documents`
/// says which that is. @param qkv (rows, 3 * columns of the heads). @param documents (rows, 1) or
/// kNoSlot.
[[nodiscard]] SlotId decoder_attention(ModelWriter& writer, SlotId qkv, SlotId documents);

}  // namespace gym::program
