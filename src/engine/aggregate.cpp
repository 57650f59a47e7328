#include <algorithm>
#include <string>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::Program;
using program::Slot;
using program::SlotId;
using program::SlotKind;

std::string momentum_name(const std::string& param) {
    return std::string(program::kMomentumPrefix) + param;
}

/// The aggregate program's state, whose slots are the parameters and their momenta by name.
Result<State> join(const Program& aggregate, const State& base, const State& momentum) {
    State state;
    for (const SlotId id : state_slots(aggregate)) {
        const Slot& slot = aggregate.slot(id);
        const State& from = slot.kind == SlotKind::kParam ? base : momentum;
        const StateTensor* tensor = from.find(slot.name);
        if (tensor == nullptr)
            return fail(ErrorCode::kShapeMismatch, "no tensor '" + slot.name + "' was given");
        GYM_CHECK(check_tensor(slot, *tensor));
        state.tensors.push_back(*tensor);
    }
    return state;
}

/// Splits it again, in the order of `params`.
void split(const State& state, const State& params, AggregateResult& result) {
    for (const StateTensor& param : params.tensors) {
        result.base.tensors.push_back(*state.find(param.name));
        result.momentum.tensors.push_back(*state.find(momentum_name(param.name)));
    }
}

/// Input "delta.<param>": the deltas of one parameter, one after another.
std::vector<Bytes> stack(const State& base, std::span<const Delta> deltas) {
    std::vector<Bytes> stacked(base.tensors.size());
    for (std::size_t i = 0; i < base.tensors.size(); ++i) {
        stacked[i].reserve(deltas.size() * base.tensors[i].bytes.size());
        for (const Delta& delta : deltas) {
            const ByteView tensor = delta.tensor(i);
            stacked[i].insert(stacked[i].end(), tensor.begin(), tensor.end());
        }
    }
    return stacked;
}

/// A delta that was decoded for another program has other tensors.
Status check_fits(const State& base, const Delta& delta) {
    bool fits = delta.parameters() == base.tensors.size();
    for (std::size_t i = 0; fits && i < base.tensors.size(); ++i)
        fits = delta.tensor(i).size() == base.tensors[i].bytes.size();
    if (fits) return {};
    return fail(ErrorCode::kShapeMismatch,
                "delta " + delta.root().hex() + " does not have the program's parameters");
}

Digest batch_root(std::span<const Delta> deltas) {
    std::vector<Digest> roots;
    for (const Delta& delta : deltas)
        roots.push_back(delta.root());
    return included_root(roots.size(), commit::merkle_root(roots));
}

StepRecord make_record(const AggregateResult& result, std::span<const Delta> deltas) {
    StepRecord record;
    record.batch_root = batch_root(deltas);
    State both = result.base;
    both.tensors.insert(both.tensors.end(), result.momentum.tensors.begin(),
                        result.momentum.tensors.end());
    record.state_root = state_root(both);
    return record;
}

}  // namespace

State zero_momentum(const State& base) {
    State momentum = base;
    for (StateTensor& tensor : momentum.tensors) {
        tensor.name = momentum_name(tensor.name);
        std::ranges::fill(tensor.bytes, std::uint8_t{0});
    }
    return momentum;
}

Result<AggregateResult> run_aggregate(const Program& train, const State& base,
                                      const State& momentum, std::span<const Delta> deltas,
                                      const EngineOptions& options) {
    if (deltas.empty() || deltas.size() > program::kDeltasMax)
        return fail(ErrorCode::kInvalidArgument, "the outer step needs 1 to 1024 deltas");
    if (train.find_output(program::kLossOutput) == program::kNoSlot)
        return fail(ErrorCode::kInvalidArgument,
                    "the outer step is derived from the train program, and this one has no loss");
    const auto params = train.slots_of(SlotKind::kParam);
    GYM_CHECK(check_state(train, params, base));
    for (const Delta& delta : deltas)
        GYM_CHECK(check_fits(base, delta));
    GYM_TRY(Program aggregate,
            program::aggregate_program(train, static_cast<std::uint32_t>(deltas.size())));
    GYM_TRY(State state,
            join(aggregate, base, momentum.tensors.empty() ? zero_momentum(base) : momentum));

    const std::vector<Bytes> stacked = stack(base, deltas);
    std::vector<std::string> names;
    for (const StateTensor& tensor : base.tensors)
        names.push_back(std::string(program::kDeltaPrefix) + tensor.name);
    std::vector<NamedTensorView> inputs;
    for (std::size_t i = 0; i < names.size(); ++i)
        inputs.push_back({names[i], stacked[i]});
    GYM_TRY(Engine engine, Engine::create(aggregate, options));
    GYM_CHECK(engine.run(state, inputs));

    AggregateResult result{std::move(aggregate), {}, {}, {}, {}, {}, {}, 0};
    split(state, base, result);
    result.base_root = state_root(result.base, options.threads);
    result.momentum_root = state_root(result.momentum, options.threads);
    result.records.push_back(make_record(result, deltas));
    result.records_root = records_root(result.records);
    result.flops = program::flops_per_step(result.program);
    return result;
}

}  // namespace gym::engine
