#include <algorithm>
#include <string>

#include "gym/program/recognise.hpp"
#include "model_writer.hpp"

namespace gym::program {
namespace {

/// Weight decay is for the weights of products alone.
ParamGroup group_of(const Program& forward, SlotId slot) {
    for (const Op& op : forward.ops()) {
        if (op.code == Opcode::kGatherRows && op.inputs[0] == slot) return ParamGroup::kEmbedding;
    }
    return forward.slot(slot).dims.size() >= 2 ? ParamGroup::kLinear : ParamGroup::kBias;
}

Status require(bool condition, const std::string& rule) {
    if (condition) return {};
    return fail(ErrorCode::kInvalidArgument, "the imported model " + rule);
}

/// Of a classifier: the tokens that its first table has rows for.
Result<std::uint32_t> tokens_known(const Program& forward) {
    for (const Op& op : forward.ops())
        if (op.code == Opcode::kGatherRows) return forward.slot(op.inputs[0]).dims.front();
    return fail(ErrorCode::kInvalidArgument,
                "the imported model must look its tokens up in a table");
}

}  // namespace

bool reads_both_ways(const Program& program) {
    constexpr std::size_t kBidirectional = 3;  // attribute of attention
    return std::ranges::any_of(program.ops(), [](const Op& op) {
        return op.code == Opcode::kAttention && op.attributes[kBidirectional] == 1;
    });
}

Result<ModelConfig> imported_model(std::shared_ptr<const Program> forward) {
    const std::vector<SlotId> inputs = forward->slots_of(SlotKind::kInput);
    GYM_CHECK(require(inputs.size() == 1 && forward->slot(inputs[0]).dtype == DType::kI32 &&
                          forward->slot(inputs[0]).dims.size() == 2,
                      "must have one input, tokens (windows, context)"));
    GYM_CHECK(require(forward->slots_of(SlotKind::kState).empty() && forward->outputs().size() == 1,
                      "must be a forward pass with one output"));
    const Slot& tokens = forward->slot(inputs[0]);
    const Slot& logits = forward->slot(forward->outputs()[0].slot);
    const Dims wanted{tokens.dims[0] * tokens.dims[1], logits.dims.back()};
    const Dims by_class{tokens.dims[0], logits.dims.back()};
    const bool classifies = logits.dims != wanted && logits.dims == by_class;
    GYM_CHECK(require(logits.dtype == DType::kF32 && (logits.dims == wanted || classifies),
                      "must return a score for every token of the vocabulary at every position, "
                      "or for every class of each window, not " +
                          to_string(logits.dims) + " for tokens " + to_string(tokens.dims)));
    GYM_CHECK(require(classifies || !reads_both_ways(*forward),
                      "reads the tokens that it is to predict: its attention needs a causal mask; "
                      "only classifiers read both ways"));
    ModelConfig config;
    config.architecture = Architecture::kImported;
    config.vocabulary = logits.dims.back();
    if (classifies) {
        config.classes = logits.dims.back();
        GYM_TRY(config.vocabulary, tokens_known(*forward));
    }
    config.context = tokens.dims[1];
    config.forward = std::move(forward);
    return config;
}

Status check_imported(const ModelConfig& config, std::uint32_t windows) {
    if (config.forward == nullptr)
        return fail(ErrorCode::kInvalidArgument, "no imported model is given");
    const SlotId input = config.forward->slots_of(SlotKind::kInput).front();
    const std::uint32_t own = config.forward->slot(input).dims.front();
    return require(own == windows,
                   "takes " + std::to_string(own) +
                       " windows at a time: set batch to that (times micro_batches), not " +
                       std::to_string(windows));
}

SlotId write_forward(ModelWriter& w, SlotId tokens) {
    const Program& forward = *w.config.forward;
    std::vector<SlotId> ids(forward.slots().size());
    for (SlotId id = 0; id < ids.size(); ++id) {
        const Slot& slot = forward.slot(id);
        switch (slot.kind) {
            case SlotKind::kParam:
                ids[id] = w.param(slot.name, slot.dims, slot.init, group_of(forward, id));
                break;
            case SlotKind::kConstant:
                ids[id] = w.once(slot.name, [&] { return w.b.constant(slot); });
                break;
            case SlotKind::kInput:
                ids[id] = tokens;
                break;
            default:
                ids[id] = w.b.temp(slot.dtype, slot.dims);
        }
    }
    const auto rename = [&](std::vector<SlotId>& slots) {
        std::ranges::transform(slots, slots.begin(), [&](SlotId id) { return ids[id]; });
    };
    for (Op op : forward.ops()) {
        rename(op.inputs);
        rename(op.outputs);
        w.b.append(std::move(op));
    }
    return ids[forward.outputs()[0].slot];
}

}  // namespace gym::program
