#pragma once

#include <string>
#include <vector>

#include "gym/program/builder.hpp"
#include "gym/program/gpt.hpp"

namespace gym::program {

struct ModelParam {
    SlotId slot = kNoSlot;
    std::string name;
    bool decay = false;  ///< weight decay applies
};

/// A GPT's forward pass, written into a builder.
struct GptModel {
    std::vector<ModelParam> params;  ///< in slot order
    SlotId targets = kNoSlot;        ///< i32 [windows, context]
    SlotId logits = kNoSlot;
};

/// @errors kInvalidArgument naming the setting that is out of bounds.
Status check_model(const GptConfig& config);
/// `config` must have passed check_model().
[[nodiscard]] GptModel write_model(Builder& builder, const GptConfig& config,
                                   std::uint32_t windows);

}  // namespace gym::program
