#include <algorithm>
#include <string>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/aggregate_parts.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::AggregatePart;
using program::Program;
using program::SlotKind;

std::string momentum_name(const std::string& param) {
    return std::string(program::kMomentumPrefix) + param;
}

/// The bytes of a part among those of its parameter.
ByteView bytes_of(const AggregatePart& part, ByteView parameter) {
    return parameter.subspan(part.first * sizeof(float),
                             program::element_count(part.dims) * sizeof(float));
}

StateTensor cut(const AggregatePart& part, const StateTensor& from, std::string name) {
    const ByteView bytes = bytes_of(part, from.bytes);
    return {std::move(name),
            from.dtype,
            {part.dims.begin(), part.dims.end()},
            Bytes(bytes.begin(), bytes.end())};
}

/// The aggregate program's state: every part of a parameter and its momentum.
/// @pre `base` is the train program's.
Result<State> join(const Program& aggregate, std::span<const AggregatePart> parts,
                   const State& base, const State& momentum) {
    State state;
    for (const AggregatePart& part : parts) {
        const StateTensor& param = base.tensors[part.parameter];
        const std::string name = momentum_name(param.name);
        const StateTensor* of_momentum = momentum.find(name);
        if (of_momentum == nullptr)
            return fail(ErrorCode::kShapeMismatch, "no tensor '" + name + "' was given");
        if (of_momentum->dtype != param.dtype || of_momentum->dims != param.dims ||
            of_momentum->bytes.size() != param.bytes.size())
            return fail(ErrorCode::kShapeMismatch,
                        "tensor '" + name + "' is not like its parameter");
        state.tensors.push_back(cut(part, param, part.name));
        state.tensors.push_back(cut(part, *of_momentum, momentum_name(part.name)));
    }
    GYM_CHECK(check_state(aggregate, state_slots(aggregate), state));
    return state;
}

/// Puts the parts' tensors together again, in the order of `params`.
void split(const State& state, std::span<const AggregatePart> parts, const State& params,
           AggregateResult& result) {
    const auto append = [](State& to, std::size_t tensor, const StateTensor& part) {
        Bytes& bytes = to.tensors[tensor].bytes;
        bytes.insert(bytes.end(), part.bytes.begin(), part.bytes.end());
    };
    for (const StateTensor& param : params.tensors) {
        result.base.tensors.push_back({param.name, param.dtype, param.dims, {}});
        result.momentum.tensors.push_back({momentum_name(param.name), param.dtype, param.dims, {}});
        result.base.tensors.back().bytes.reserve(param.bytes.size());
        result.momentum.tensors.back().bytes.reserve(param.bytes.size());
    }
    for (const AggregatePart& part : parts) {
        append(result.base, part.parameter, *state.find(part.name));
        append(result.momentum, part.parameter, *state.find(momentum_name(part.name)));
    }
}

/// Elements that are written before they are read.
struct Elements {
    std::unique_ptr<float[]> values;
    std::size_t count = 0;
    [[nodiscard]] ByteView bytes() const {
        return {reinterpret_cast<const std::uint8_t*>(values.get()), count * sizeof(float)};
    }
};

/// Input "delta.<part>": the deltas of one part, one after another.
std::vector<Elements> stack(std::span<const AggregatePart> parts, std::span<const Delta> deltas) {
    std::vector<Elements> stacked;
    for (const AggregatePart& part : parts) {
        const std::uint64_t elements = program::element_count(part.dims);
        const std::size_t count = deltas.size() * elements;
        Elements all{std::make_unique_for_overwrite<float[]>(count), count};
        for (std::size_t k = 0; k < deltas.size(); ++k)
            deltas[k].read(part.parameter, part.first, {all.values.get() + k * elements, elements});
        stacked.push_back(std::move(all));
    }
    return stacked;
}

/// A delta that was decoded for another program has other tensors.
Status check_fits(const State& base, const Delta& delta) {
    bool fits = delta.parameters() == base.tensors.size();
    for (std::size_t i = 0; fits && i < base.tensors.size(); ++i)
        fits = delta.elements(i) * sizeof(float) == base.tensors[i].bytes.size();
    if (fits) return {};
    return fail(ErrorCode::kShapeMismatch,
                "delta " + delta.root().hex() + " does not have the program's parameters");
}

Digest batch_root(std::span<const Delta> deltas, std::size_t held) {
    std::vector<Digest> roots;
    for (const Delta& delta : deltas)
        roots.push_back(delta.root());
    return included_root(roots.size(), held, commit::merkle_root(roots));
}

StepRecord make_record(const AggregateResult& result, std::span<const Delta> deltas,
                       std::size_t held) {
    StepRecord record;
    record.batch_root = batch_root(deltas, held);
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
                                      std::size_t held, const EngineOptions& options,
                                      std::uint64_t elements_max) {
    if (deltas.empty() || deltas.size() > program::kDeltasMax)
        return fail(ErrorCode::kInvalidArgument, "the outer step needs 1 to 1024 deltas");
    if (train.find_output(program::kLossOutput) == program::kNoSlot)
        return fail(ErrorCode::kInvalidArgument,
                    "the outer step is derived from the train program, and this one has no loss");
    const auto params = train.slots_of(SlotKind::kParam);
    GYM_CHECK(check_state(train, params, base));
    for (const Delta& delta : deltas)
        GYM_CHECK(check_fits(base, delta));
    const auto count = static_cast<std::uint32_t>(deltas.size());
    if (held > deltas.size())
        return fail(ErrorCode::kInvalidArgument,
                    "more deltas are of the round before than there are");
    GYM_TRY(Program aggregate, program::aggregate_program(
                                   train, count, static_cast<std::uint32_t>(held), elements_max));
    const std::vector<AggregatePart> parts = program::aggregate_parts(train, count, elements_max);
    GYM_TRY(State state, join(aggregate, parts, base,
                              momentum.tensors.empty() ? zero_momentum(base) : momentum));

    const std::vector<Elements> stacked = stack(parts, deltas);
    std::vector<std::string> names;
    names.reserve(parts.size());
    for (const AggregatePart& part : parts)
        names.push_back(std::string(program::kDeltaPrefix) + part.name);
    std::vector<NamedTensorView> inputs;
    inputs.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
        inputs.push_back({names[i], stacked[i].bytes()});
    GYM_TRY(Engine engine, Engine::create(aggregate, options));
    GYM_CHECK(engine.run(state, inputs));

    AggregateResult result{std::move(aggregate), {}, {}, {}, {}, {}, {}, 0};
    split(state, parts, base, result);
    result.base_root = state_root(result.base, options.threads);
    result.momentum_root = state_root(result.momentum, options.threads);
    result.records.push_back(make_record(result, deltas, held));
    result.records_root = records_root(result.records);
    result.flops = program::flops_per_step(result.program);
    return result;
}

}  // namespace gym::engine
