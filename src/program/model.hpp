#pragma once

#include <string>
#include <vector>

#include "gym/program/builder.hpp"
#include "gym/program/train_program.hpp"

namespace gym::program {

/// Weight decay is chosen by group.
enum class ParamGroup : std::uint8_t { kLinear, kEmbedding, kNorm, kBias };

struct ModelParam {
    SlotId slot = kNoSlot;
    std::string name;
    ParamGroup group = ParamGroup::kLinear;
};

/// A model's forward pass, written into a builder.
struct Model {
    std::vector<ModelParam> params;  ///< in slot order
    SlotId targets = kNoSlot;        ///< i32, one for each row of the logits
    SlotId logits = kNoSlot;
    /// (rows, 1): 1 for each row whose target counts, else 0; kNoSlot: all do.
    SlotId counted = kNoSlot;
    std::uint32_t dropouts = 0;  ///< in this pass and those before it
};

/// @errors kInvalidArgument naming the setting that is out of bounds.
Status check_model(const ModelConfig& config);
/// That so many windows are a batch whose rows can be counted. @errors kInvalidArgument.
Status check_windows(const ModelConfig& config, std::uint32_t windows);

/// An imported model has its number of windows built in.
Status check_imported(const ModelConfig& config, std::uint32_t windows);

/// The purpose of a forward pass: dropout happens only in training.
struct Pass {
    std::vector<ModelParam> params;     ///< of an earlier pass, used again
    SlotId random = kNoSlot;            ///< input "random"; kNoSlot: no dropout
    std::uint32_t dropouts_before = 0;  ///< in earlier passes
};

/// Whether training draws random numbers.
[[nodiscard]] bool is_random(const ModelConfig& config);
/// Of an encoder: the tokens of one of the sequences in a window's context, which share it evenly.
[[nodiscard]] std::uint32_t sequence_tokens(const ModelConfig& config);
[[nodiscard]] std::uint32_t mask_token(const ModelConfig& config);

/// The loss of a pass: the mean over the rows that count.
[[nodiscard]] SlotId loss_of(Builder& builder, const Model& model);
/// loss_of() where only some rows count.
[[nodiscard]] SlotId counted_loss(Builder& builder, const Model& model);

/// Writes the model over windows of `batch` (windows, context + 1). `config` must have passed
/// check_model().
[[nodiscard]] Model write_model(Builder& builder, const ModelConfig& config, SlotId batch,
                                Pass pass = {});
/// The input that write_model() reads.
[[nodiscard]] SlotId batch_input(Builder& builder, const ModelConfig& config,
                                 std::uint32_t windows);

}  // namespace gym::program
