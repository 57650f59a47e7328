#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "gym/engine/engine.hpp"
#include "gym/kernels/f32.h"
#include "gym/program/aggregate_parts.hpp"
#include "small_model.hpp"

// run_aggregate() goes through the deltas tile by tile. What it computes is the aggregate program:
// here the engine runs that program, op by op over whole tensors.
namespace gym::engine {
namespace {

using program::AggregatePart;
using testing::SmallUnit;

std::string momentum_name(const std::string& name) {
    return std::string(program::kMomentumPrefix) + name;
}

void put_part(const AggregatePart& part, const StateTensor& from, const std::string& name,
              State& to) {
    const auto begin = from.bytes.begin() + static_cast<std::ptrdiff_t>(4 * part.first);
    const auto size = static_cast<std::ptrdiff_t>(4 * program::element_count(part.dims));
    to.tensors.push_back(
        {name, from.dtype, {part.dims.begin(), part.dims.end()}, Bytes(begin, begin + size)});
}

/// The state after the program's run, its parts put together again: bases, then momenta.
std::pair<Bytes, Bytes> engine_step(const program::Program& aggregate, const SmallUnit& unit,
                                    const State& momentum, const std::vector<Delta>& deltas,
                                    std::uint64_t elements_max) {
    const auto parts = program::aggregate_parts(
        unit.program, static_cast<std::uint32_t>(deltas.size()), elements_max);
    State state;
    std::vector<std::vector<float>> stacked;
    for (const AggregatePart& part : parts) {
        put_part(part, unit.base.tensors[part.parameter], part.name, state);
        put_part(part, momentum.tensors[part.parameter], momentum_name(part.name), state);
        const std::size_t count = program::element_count(part.dims);
        auto& all = stacked.emplace_back(deltas.size() * count);
        for (std::size_t k = 0; k < deltas.size(); ++k)
            deltas[k].read(part.parameter, part.first, {all.data() + k * count, count});
    }
    std::vector<std::string> names;
    for (const AggregatePart& part : parts)
        names.push_back(std::string(program::kDeltaPrefix) + part.name);
    std::vector<NamedTensorView> inputs;
    for (std::size_t i = 0; i < parts.size(); ++i)
        inputs.push_back(
            {names[i],
             {reinterpret_cast<const std::uint8_t*>(stacked[i].data()), 4 * stacked[i].size()}});
    Engine engine = Engine::create(aggregate).value();
    EXPECT_TRUE(engine.run(state, inputs).ok());
    std::pair<Bytes, Bytes> out;
    for (const AggregatePart& part : parts) {
        const Bytes& base = state.find(part.name)->bytes;
        const Bytes& next = state.find(momentum_name(part.name))->bytes;
        out.first.insert(out.first.end(), base.begin(), base.end());
        out.second.insert(out.second.end(), next.begin(), next.end());
    }
    return out;
}

Bytes joined(const State& state) {
    Bytes out;
    for (const StateTensor& tensor : state.tensors)
        out.insert(out.end(), tensor.bytes.begin(), tensor.bytes.end());
    return out;
}

/// Deltas of the unit's program, with some numbers that are not ordinary.
std::vector<Delta> strange_deltas(const SmallUnit& unit, std::size_t count) {
    std::mt19937_64 rng(count);
    std::normal_distribution<float> noise(0, 0.01F);
    std::vector<Delta> out;
    for (std::size_t k = 0; k < count; ++k) {
        State end = unit.base;
        for (StateTensor& tensor : end.tensors)
            for (std::size_t i = 0; i < tensor.bytes.size(); i += 4) {
                float value = 0;
                std::memcpy(&value, &tensor.bytes[i], sizeof value);
                value += noise(rng);
                if (rng() % 500 == 0)
                    value = kernels::f32::from_bits(static_cast<std::uint32_t>(rng()) & 0xFFBFFFFF);
                std::memcpy(&tensor.bytes[i], &value, sizeof value);
            }
        const Bytes bytes = encode_delta(unit.program, unit.base, end).value();
        out.push_back(Delta::decode(unit.program, blob::VerifiedBlob::hash(bytes)).value());
    }
    return out;
}

class OuterProgram : public ::testing::TestWithParam<program::DeltaCodec> {};
INSTANTIATE_TEST_SUITE_P(Codecs, OuterProgram,
                         ::testing::Values(program::DeltaCodec::kFloat,
                                           program::DeltaCodec::kDense),
                         [](const auto& test) {
                             return test.param == program::DeltaCodec::kFloat ? "none" : "dense";
                         });

TEST_P(OuterProgram, IsWhatTheTilesCompute) {
    auto config = testing::small_config();
    config.compression = GetParam();
    const SmallUnit unit{.program = testing::small_program(config)};
    for (const std::size_t count : {1U, 2U, 5U, 70U}) {
        const auto deltas = strange_deltas(unit, count);
        const State momentum = run_aggregate(unit.program, unit.base, {}, deltas).value().momentum;
        std::vector<program::DeltaGroups> all{0, 1, count};
        if (count == 5) all.insert(all.end(), {{0, 1, 0}, {2, 3, 1}, {1, 2, 2}});
        if (count == 70) all.insert(all.end(), {{9, 16, 5}, {0, 3, 3}});
        for (const program::DeltaGroups& groups : all) {
            for (const std::uint64_t elements_max :
                 {std::uint64_t{program::kSlotElementsMax}, 300 * std::uint64_t{count} + 2}) {
                SCOPED_TRACE(std::to_string(count) + " deltas, " + std::to_string(groups.held) +
                             " held, " + std::to_string(groups.withdrawn) +
                             " withdrawn, parts of " + std::to_string(elements_max));
                EngineOptions options;
                options.threads = count % 2 == 0 ? 2 : 1;
                options.isa = count == 5 ? "scalar" : "auto";
                const auto made = run_aggregate(unit.program, unit.base, momentum, deltas, groups,
                                                options, elements_max);
                ASSERT_TRUE(made.ok()) << made.error().message;
                const auto [base, next] =
                    engine_step(made->program, unit, momentum, deltas, elements_max);
                EXPECT_EQ(joined(made->base), base);
                EXPECT_EQ(joined(made->momentum), next);
                EXPECT_EQ(made->base_root, state_root(made->base));
                EXPECT_EQ(made->momentum_root, state_root(made->momentum));
            }
        }
    }
}

}  // namespace
}  // namespace gym::engine
