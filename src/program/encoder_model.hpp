#pragma once

#include "model_writer.hpp"

namespace gym::program {

/// An encoder up to what its task needs of it.
struct Encoded {
    SlotId rows = kNoSlot;   ///< (sequences * tokens, width), normalised
    SlotId table = kNoSlot;  ///< the token embedding
    SlotId hidden =
        kNoSlot;  ///< masked: (sequences * tokens, 1), 1 where a token is hidden, else 0
    SlotId padding = kNoSlot;  ///< with a padding token: the same shape, 1 where a token is that
};

/// @param tokens i32 (windows, context).
[[nodiscard]] Encoded write_encoder(ModelWriter& writer, SlotId tokens);
/// The scores of the task; their rows are model.hpp's.
[[nodiscard]] SlotId encoder_logits(ModelWriter& writer, const Encoded& encoded);
/// i32 (windows): the place of each query's relevant passage among those of the batch.
[[nodiscard]] SlotId relevant_passages(ModelWriter& writer, std::uint32_t windows);

}  // namespace gym::program
