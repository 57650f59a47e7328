#pragma once

#include <optional>

#include "gym/program/program.hpp"
#include "gym/program/train_program.hpp"

namespace gym::program {

/// The decoder that `program` (a train or a logits program) runs, if it is one that
/// train_program() writes: predicts the next token, and has exactly the ops, parameters and
/// constants that a GPT or Llama of this configuration has. `init_std` is not recognised. Absent
/// for every other program, an imported or altered one included.
[[nodiscard]] std::optional<ModelConfig> recognise_decoder(const Program& program);

/// The same of an encoder (Architecture::kEncoder), whatever its task. Not recognised are also
/// `mask_rate` and `dropout`, which matter in training alone.
[[nodiscard]] std::optional<ModelConfig> recognise_encoder(const Program& program);

/// The first op of `program` that is attention, within documents or not; nullptr if none is.
/// Attributes 0 and 1 are its context and heads.
[[nodiscard]] const Op* first_attention(const Program& program);

/// Whether a token of `program` may read later ones: it predicts none of them.
[[nodiscard]] bool reads_both_ways(const Program& program);

}  // namespace gym::program
