#include "generation_program.hpp"

#include <optional>
#include <string>

#include "gym/program/train_program.hpp"

namespace gym::engine {
namespace {

using program::ModelConfig;
using program::Opcode;
using program::Program;
using program::Slot;

const Slot* find(const Program& program, const std::string& name) {
    const program::SlotId id = program.find_slot(name);
    return id == program::kNoSlot ? nullptr : &program.slot(id);
}

const program::Op* first_op(const Program& program, Opcode code) {
    for (const program::Op& op : program.ops()) {
        if (op.code == code) return &op;
    }
    return nullptr;
}

/// The configuration that a model's parameters and ops speak of; checked by writing the model
/// again.
std::optional<ModelConfig> configuration(const Program& logits) {
    const Slot* tokens = find(logits, "token_embedding");
    const Slot* positions = find(logits, "position_embedding");
    const Slot* up = find(logits, "blocks.0.mlp.up.weight");
    const program::Op* norm = first_op(logits, Opcode::kLayernorm);
    const program::Op* attention = first_op(logits, Opcode::kAttention);
    if (tokens == nullptr || positions == nullptr || up == nullptr || norm == nullptr ||
        attention == nullptr)
        return std::nullopt;
    ModelConfig config;
    config.vocabulary = tokens->dims.front();
    config.width = tokens->dims.back();
    config.context = positions->dims.front();
    config.heads = static_cast<std::uint32_t>(attention->attributes[1]);
    config.mlp_ratio = up->dims.front() / config.width;
    config.layernorm_epsilon = norm->f32(0);
    config.tied_embeddings =
        find(logits, "head.weight") == nullptr && find(logits, "head") == nullptr;
    config.bias = find(logits, "blocks.0.mlp.up.bias") != nullptr;
    config.layers = 0;
    while (find(logits, "blocks." + std::to_string(config.layers) + ".mlp.up.weight") != nullptr)
        ++config.layers;
    return config;
}

/// Equal but for initial values, which a program that only reads its parameters does not use.
bool same_model(const Program& a, const Program& b) {
    const auto without_init = [](const Program& program) {
        program::ProgramParts parts = program.parts();
        for (Slot& slot : parts.slots) {
            if (slot.init.kind != program::Init::Kind::kNone)
                slot.init = {program::Init::Kind::kConstant, 0};
        }
        return parts;
    };
    return without_init(a) == without_init(b);
}

}  // namespace

Result<Program> generation_program(const Program& train) {
    GYM_TRY(const Program logits, program::logits_program(train));
    const auto config = configuration(logits);
    const Slot* batch = find(logits, std::string(program::kBatchInput));
    if (!config || batch == nullptr) return logits;
    const auto rewritten = program::logits_program(*config, batch->dims.front());
    if (!rewritten.ok() || !same_model(*rewritten, logits)) return logits;
    return program::logits_program(*config, 1);
}

}  // namespace gym::engine
