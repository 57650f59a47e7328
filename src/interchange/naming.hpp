#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/program/program.hpp"

namespace gym::interchange {

/// How one of our tensors lies in the other software's.
enum class Form : std::uint8_t {
    kSame,
    kTransposed,   ///< theirs is ours transposed (GPT-2's Conv1D)
    kStackedQkv,   ///< ours holds the rows of three of theirs: queries, keys, values
    kBias,         ///< the same; if ours is missing, theirs must be zero
    kStackedBias,  ///< kBias of a kStackedQkv
    kSegments,     ///< theirs alone: added to tokens by the segment that they are in
};

/// "#" in a name stands for the number of a block, the same on both sides.
struct NameRule {
    std::string_view ours;
    std::vector<std::string_view> theirs;  ///< one, or the parts of a stack
    Form form = Form::kSame;
};

/// One architecture: everything that is to be known about its names.
struct Naming {
    std::string_view name;
    std::string_view prefix;  ///< of their names; a file may leave it out
    std::vector<NameRule> rules;
    std::string_view tied_ours;    ///< the tensor that an output layer may repeat
    std::string_view tied_theirs;  ///< that output layer
    /// Names that end so hold no weights, or some of a part that the program does not have.
    std::vector<std::string_view> buffers;
    /// BERT: their embedding of segments. A program has none, because all of its tokens are of the
    /// first one, whose row is a part of the positions.
    std::string_view segments = {};
    bool pairs = false;  ///< a window may have two segments: their rows must be equal
};

[[nodiscard]] std::span<const Naming> namings();

/// A rule for one tensor of a program: names with their block's number put in.
struct BoundRule {
    std::string ours;
    std::vector<std::string> theirs;
    Form form = Form::kSame;
    program::SlotId slot = program::kNoSlot;    ///< none: a bias that the program lacks
    program::SlotId beside = program::kNoSlot;  ///< of such a bias: the slot of its weight; of
                                                ///< segments: the token embedding
    std::uint64_t query_rows = 0;               ///< of a stack: the rows of its first part
};

/// The rules for all parameters of `program` in slot order, then for the biases it lacks. Empty if
/// a parameter has no rule.
[[nodiscard]] std::vector<BoundRule> bind(const Naming& naming, const program::Program& program);

}  // namespace gym::interchange
