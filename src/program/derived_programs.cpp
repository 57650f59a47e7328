#include <algorithm>
#include <map>
#include <string>

#include "gym/program/aggregate_parts.hpp"
#include "little_endian.hpp"
#include "model.hpp"

namespace gym::program {
namespace {

/// The ops and slots that one output of a program needs; parameters keep their values.
class Slice {
  public:
    explicit Slice(const Program& program)
        : program_(program), needed_(program.slots().size()), ids_(program.slots().size()) {
        find_dropouts();
    }

    Result<Program> to(std::string_view output) {
        const SlotId root = undropped(program_.find_output(output));
        if (root == kNoSlot)
            return fail(ErrorCode::kInvalidArgument,
                        "the program has no output '" + std::string(output) + "'");
        needed_[root] = true;
        // No op reads them: they say how the batch is cut out of the dataset.
        for (const std::string_view name : {kBatchStride, kBatchPadding})
            if (const SlotId slot = program_.find_slot(name); slot != kNoSlot) needed_[slot] = true;
        const std::vector<bool> keep = mark();
        ProgramParts parts;
        copy_slots(parts);
        for (std::size_t i = 0; i < keep.size(); ++i)
            if (keep[i]) parts.ops.push_back(renamed(program_.ops()[i]));
        parts.outputs = {{std::string(output), ids_[root]}};
        return Program::create(std::move(parts));
    }

  private:
    /// x * mask of a training step is x in every other.
    void find_dropouts() {
        std::vector<bool> mask(program_.slots().size());
        for (const Op& op : program_.ops()) {
            if (op.code == Opcode::kRandomMask) mask[op.outputs[0]] = true;
            if (op.code == Opcode::kMul && mask[op.inputs[1]])
                instead_[op.outputs[0]] = undropped(op.inputs[0]);
        }
    }
    [[nodiscard]] SlotId undropped(SlotId slot) const {
        const auto found = instead_.find(slot);
        return found == instead_.end() ? slot : found->second;
    }
    std::vector<bool> mark() {
        std::vector<bool> keep(program_.ops().size());
        for (std::size_t i = keep.size(); i-- > 0;) {
            const Op& op = program_.ops()[i];
            for (const SlotId out : op.outputs)
                keep[i] = keep[i] || needed_[out];
            if (!keep[i]) continue;
            for (const SlotId in : op.inputs)
                needed_[undropped(in)] = true;
            for (const SlotId out : op.outputs)
                needed_[out] = true;
        }
        return keep;
    }
    void copy_slots(ProgramParts& parts) {
        for (SlotId id = 0; id < needed_.size(); ++id) {
            if (!needed_[id]) continue;
            ids_[id] = static_cast<SlotId>(parts.slots.size());
            Slot slot = program_.slot(id);
            if (slot.next != kNoSlot) slot.next = ids_[id];
            parts.slots.push_back(std::move(slot));
        }
    }
    [[nodiscard]] Op renamed(Op op) const {
        for (SlotId& in : op.inputs)
            in = ids_[undropped(in)];
        for (SlotId& out : op.outputs)
            out = ids_[out];
        return op;
    }

    const Program& program_;
    std::map<SlotId, SlotId> instead_;  // the result of a dropout -> what it was made from
    std::vector<bool> needed_;
    std::vector<SlotId> ids_;
};

Result<float> outer_constant(const Program& train, std::string_view name) {
    const SlotId id = train.find_slot(name);
    const bool fits = id != kNoSlot && train.slot(id).kind == SlotKind::kConstant &&
                      train.slot(id).dtype == DType::kF32 &&
                      element_count(train.slot(id).dims) == 1;
    if (!fits)
        return fail(ErrorCode::kInvalidArgument,
                    "not a train program: no constant '" + std::string(name) + "'");
    return f32_at(train.slot(id).value, 0);
}

}  // namespace

bool has_labels(const Program& program) {
    return program.find_slot(kBatchStride) != kNoSlot &&
           program.find_slot(kBatchPadding) == kNoSlot;
}

Result<Program> evaluation_program(const Program& train) {
    return Slice(train).to(kLossOutput);
}

Result<Program> logits_program(const Program& train) {
    return Slice(train).to(kLogitsOutput);
}

Result<Program> logits_program(const ModelConfig& config, std::uint32_t windows) {
    GYM_CHECK(check_model(config));
    if (windows < 1 || windows > 65536)
        return fail(ErrorCode::kInvalidArgument, "windows must be 1 to 65536");
    GYM_CHECK(check_windows(config, windows));
    if (config.architecture == Architecture::kImported) GYM_CHECK(check_imported(config, windows));
    Builder builder;
    const Model model = write_model(builder, config, batch_input(builder, config, windows));
    builder.output(std::string(kLogitsOutput), model.logits);
    GYM_TRY(const Program program, builder.build());
    return Slice(program).to(kLogitsOutput);
}

namespace {

/// All deltas of a part, one after another. Where they are weighted, each is a row, so that a
/// column of weights fits.
Dims stacked(std::uint32_t deltas, const Dims& part, bool is_weighted) {
    if (is_weighted) return {deltas, static_cast<std::uint32_t>(element_count(part))};
    Dims dims{deltas};
    dims.insert(dims.end(), part.begin(), part.end());
    return dims;
}

}  // namespace

Result<OuterRates> outer_rates(const Program& train) {
    OuterRates rates;
    GYM_TRY(rates.learning_rate, outer_constant(train, kOuterLearningRate));
    GYM_TRY(rates.momentum, outer_constant(train, kOuterMomentum));
    return rates;
}

Result<Program> aggregate_program(const Program& train, std::uint32_t deltas,
                                  const DeltaGroups& groups, std::uint64_t elements_max) {
    if (deltas < 1 || deltas > kDeltasMax)
        return fail(ErrorCode::kInvalidArgument, "an aggregate takes 1 to " +
                                                     std::to_string(kDeltasMax) + " deltas, not " +
                                                     std::to_string(deltas));
    if (!are_legal(groups, deltas))
        return fail(ErrorCode::kInvalidArgument,
                    "of " + std::to_string(deltas) + " deltas, " + std::to_string(groups.held) +
                        " cannot be of the round before and " + std::to_string(groups.withdrawn) +
                        " withdrawn");
    GYM_TRY(const OuterRates rates, outer_rates(train));
    Builder b;
    const SlotId rate = b.constant(std::string(kOuterLearningRate), {1}, {rates.learning_rate});
    const SlotId mu = b.constant(std::string(kOuterMomentum), {1}, {rates.momentum});
    const DeltaWeights weighing = weights_of(groups, deltas);
    const bool is_weighted = !weighing.factors.empty();
    const SlotId count = b.scalar(weighing.divisor);
    const SlotId weights =
        is_weighted ? b.constant("outer.weights", {deltas, 1}, weighing.factors) : kNoSlot;
    const std::vector<SlotId> params = train.slots_of(SlotKind::kParam);
    for (const AggregatePart& part : aggregate_parts(train, deltas, elements_max)) {
        const Init& init = train.slot(params[part.parameter]).init;
        const SlotId base = b.param(part.name, part.dims, init);
        const SlotId momentum = b.state(std::string(kMomentumPrefix) + part.name, part.dims,
                                        {Init::Kind::kConstant, 0});
        SlotId delta = b.input(std::string(kDeltaPrefix) + part.name, DType::kF32,
                               stacked(deltas, part.dims, is_weighted));
        if (is_weighted) delta = b.mul(delta, weights);
        const SlotId mean = b.div(b.column_sum(delta, part.dims), count);
        const SlotId momentum_next = b.fma(momentum, mu, mean);
        const SlotId direction = b.fma(momentum_next, mu, mean);
        b.set_next(momentum, momentum_next);
        b.set_next(base, b.fma(direction, rate, base));
    }
    return b.build();
}

}  // namespace gym::program
