#pragma once

#include <string>
#include <vector>

#include "gym/program/builder.hpp"
#include "gym/program/gpt.hpp"

namespace gym::program {

/// Weight decay is chosen by group.
enum class ParamGroup : std::uint8_t { linear, embedding, norm, bias };

struct ModelParam {
    SlotId slot = kNoSlot;
    std::string name;
    ParamGroup group = ParamGroup::linear;
};

/// A model's forward pass, written into a builder.
struct Model {
    std::vector<ModelParam> params;  ///< in slot order
    SlotId targets = kNoSlot;        ///< i32, one for each row of the logits
    SlotId logits = kNoSlot;
};

/// @errors kInvalidArgument naming the setting that is out of bounds.
Status check_model(const ModelConfig& config);

/// An imported model has its number of windows built in.
Status check_imported(const ModelConfig& config, std::uint32_t windows);

/// Writes the model over windows of `batch` (windows, context + 1); `params` holds the parameters
/// of an earlier call, which this one then uses again. `config` must have passed check_model().
[[nodiscard]] Model write_model(Builder& builder, const ModelConfig& config, SlotId batch,
                                std::vector<ModelParam> params = {});
/// The input that write_model() reads.
[[nodiscard]] SlotId batch_input(Builder& builder, const ModelConfig& config,
                                 std::uint32_t windows);

}  // namespace gym::program
