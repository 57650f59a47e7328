#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/program/program.hpp"
#include "gym/program/train_program.hpp"
#include "little_endian.hpp"

/// What recognising decoders and encoders have in common.
namespace gym::program::recognise {

[[nodiscard]] inline const Slot* find(const Program& program, const std::string& name) {
    const SlotId id = program.find_slot(name);
    return id == kNoSlot ? nullptr : &program.slot(id);
}

[[nodiscard]] inline const Op* first_op(const Program& program, Opcode code) {
    const auto found = std::ranges::find(program.ops(), code, &Op::code);
    return found == program.ops().end() ? nullptr : &*found;
}

[[nodiscard]] inline std::uint32_t blocks_of(const Program& program) {
    std::uint32_t layers = 0;
    while (find(program, "blocks." + std::to_string(layers) + ".norm1.gamma") != nullptr)
        ++layers;
    return layers;
}

/// The token of which a model's constant says that it is padding.
[[nodiscard]] inline std::optional<std::uint32_t> padding_of(const Program& program) {
    if (const Slot* token = find(program, std::string(kBatchPadding)))
        return static_cast<std::uint32_t>(f32_at(token->value, 0));
    const Slot* table = find(program, "is_padding");
    if (table == nullptr || table->dtype != DType::kF32) return std::nullopt;
    for (std::size_t i = 0; i < table->value.size() / sizeof(float); ++i)
        if (f32_at(table->value, i) == 1.0F) return static_cast<std::uint32_t>(i);
    return std::nullopt;
}

/// Compares the ops of two programs in order, whatever their slots' numbers.
class Comparison {
  public:
    Comparison(const Program& a, const Program& b) : a_(a), b_(b) {}

    bool equal() {
        const auto ops_a = computing(a_), ops_b = computing(b_);
        return ops_a.size() == ops_b.size() && same_params() &&
               std::ranges::equal(ops_a, ops_b,
                                  [this](const Op* a, const Op* b) { return same_op(*a, *b); });
    }

  private:
    /// All ops but those that cut a micro-batch and its tokens out of the batch.
    static std::vector<const Op*> computing(const Program& program) {
        std::vector<const Op*> ops;
        for (const Op& op : program.ops())
            if (!cuts_tokens(program, op)) ops.push_back(&op);
        return ops;
    }
    static bool cuts_tokens(const Program& program, const Op& op) {
        return op.code == Opcode::kStridedCopy && program.slot(op.inputs[0]).dtype == DType::kI32;
    }
    [[nodiscard]] bool same_params() const {
        const auto params_a = a_.slots_of(SlotKind::kParam),
                   params_b = b_.slots_of(SlotKind::kParam);
        return std::ranges::equal(params_a, params_b, [this](SlotId a, SlotId b) {
            return a_.slot(a).name == b_.slot(b).name && a_.slot(a).dims == b_.slot(b).dims;
        });
    }
    bool same_op(const Op& a, const Op& b) {
        if (a.code != b.code || a.attributes != b.attributes) return false;
        if (!std::ranges::equal(a.inputs, b.inputs,
                                [this](SlotId x, SlotId y) { return same_input(x, y); }))
            return false;
        if (a.outputs.size() != b.outputs.size()) return false;
        for (std::size_t i = 0; i < a.outputs.size(); ++i) {
            if (a_.slot(a.outputs[i]).dims != b_.slot(b.outputs[i]).dims) return false;
            made_[a.outputs[i]] = b.outputs[i];
        }
        return true;
    }
    [[nodiscard]] bool same_input(SlotId a, SlotId b) const {
        const Slot &x = a_.slot(a), &y = b_.slot(b);
        if (x.dtype != y.dtype) return false;
        if (x.dtype == DType::kI32 && x.kind != SlotKind::kConstant)
            return element_count(x.dims) == element_count(y.dims);  // the tokens
        if (const auto made = made_.find(a); made != made_.end()) return made->second == b;
        return x.kind == y.kind && x.name == y.name && x.dims == y.dims &&
               (x.value == y.value || x.name == kOnlyInTraining);
    }

    /// Which tokens an evaluation hides is no part of the model.
    static constexpr std::string_view kOnlyInTraining = "hidden_in_evaluation";

    const Program &a_, &b_;
    std::map<SlotId, SlotId> made_;  // by an op of a -> by the same op of b
};

}  // namespace gym::program::recognise
