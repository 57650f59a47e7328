#include <bit>
#include <optional>
#include <string>

#include "gym/program/recognise.hpp"
#include "little_endian.hpp"
#include "recognise_parts.hpp"

namespace gym::program {
namespace {

using recognise::find;
using recognise::first_op;

/// The task, by what stands behind the blocks.
bool read_task(const Program& program, ModelConfig& config) {
    const Slot* classes = find(program, "head.weight");
    const bool pools = find(program, "pooler.weight") != nullptr;
    if (find(program, "transform.weight") != nullptr) {
        config.task = Task::kMasked;
        config.tied_embeddings = find(program, "head") == nullptr;
        const Slot* mask = find(program, "mask_token");
        if (mask == nullptr || mask->value.size() != sizeof(std::int32_t)) return false;
        config.mask_token = std::bit_cast<std::uint32_t>(f32_at(mask->value, 0));
        return true;
    }
    if (find(program, "unit_length") != nullptr) {
        config.task = Task::kEmbed;
    } else if (pools && classes != nullptr && classes->dims.size() == 2) {
        config.task = Task::kClassify;
        config.classes = classes->dims[0];
    } else if (pools && find(program, "head") != nullptr) {
        config.task = Task::kRerank;
    } else {
        return false;
    }
    config.pooling = find(program, "first_tokens") != nullptr ? Pooling::kFirst : Pooling::kMean;
    return true;
}

/// The scalar that the last product multiplies scores with.
std::optional<float> last_factor(const Program& logits) {
    SlotId out = logits.find_output(kLogitsOutput);
    for (const Op& op : logits.ops())  // absent passages have less
        if (op.code == Opcode::kSub && op.outputs[0] == out) out = op.inputs[0];
    std::optional<SlotId> factor;
    for (const Op& op : logits.ops())
        if (op.code == Opcode::kMul && op.outputs[0] == out) factor = op.inputs[1];
    for (const Op& op : logits.ops())
        if (factor && op.code == Opcode::kFill && op.outputs[0] == *factor)
            return std::bit_cast<float>(static_cast<std::uint32_t>(op.attributes[0]));
    return std::nullopt;
}

/// Windows of the batch, and what a window is made of.
std::uint32_t read_windows(const Program& logits, std::uint32_t tokens, ModelConfig& config) {
    const Dims& scores = logits.slot(logits.find_output(kLogitsOutput)).dims;
    if (scores.size() != 2 || scores[0] == 0) return 0;
    config.context = tokens;
    if (config.task == Task::kMasked) return scores[0] / tokens;
    if (config.task == Task::kRerank) config.passages = scores[1];
    if (config.task == Task::kEmbed) {
        config.passages = scores[1] / scores[0];
        const auto factor = last_factor(logits);
        if (!factor || !(*factor > 0)) return 0;
        config.temperature = 1.0 / double{*factor};
    }
    const std::uint32_t sequences = config.task == Task::kRerank  ? config.passages
                                    : config.task == Task::kEmbed ? config.passages + 1
                                                                  : 1;
    config.context = tokens * sequences;
    return scores[0];
}

/// What parameters say. Not checked.
std::optional<ModelConfig> read_encoder(const Program& program) {
    const Slot* table = find(program, "token_embedding");
    const Slot* up = find(program, "blocks.0.mlp.up.weight");
    const Op* attention = first_op(program, Opcode::kAttention);
    const Op* norm = first_op(program, Opcode::kLayernorm);
    if (table == nullptr || table->dims.size() != 2 || up == nullptr || up->dims.size() != 2 ||
        attention == nullptr || norm == nullptr || find(program, "embedding_norm.gamma") == nullptr)
        return std::nullopt;
    ModelConfig config;
    config.architecture = Architecture::kEncoder;
    config.vocabulary = table->dims[0];
    config.width = table->dims[1];
    config.heads = static_cast<std::uint32_t>(attention->attributes[1]);
    config.layers = recognise::blocks_of(program);
    config.hidden_width = up->dims[0];
    config.layernorm_epsilon = norm->f32(0);
    if (config.heads == 0 || !read_task(program, config)) return std::nullopt;
    config.padding_token = recognise::padding_of(program);
    return config;
}

}  // namespace

std::optional<ModelConfig> recognise_encoder(const Program& program) {
    const auto logits = logits_program(program);
    if (!logits.ok()) return std::nullopt;
    auto config = read_encoder(*logits);
    const Op* attention = first_op(*logits, Opcode::kAttention);
    if (!config || attention == nullptr || attention->attributes[0] == 0) return std::nullopt;
    const std::uint32_t windows =
        read_windows(*logits, static_cast<std::uint32_t>(attention->attributes[0]), *config);
    if (windows == 0) return std::nullopt;
    const auto rewritten = logits_program(*config, windows);
    if (!rewritten.ok() || !recognise::Comparison(*logits, *rewritten).equal()) return std::nullopt;
    return config;
}

}  // namespace gym::program
