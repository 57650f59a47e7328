#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "delta_check.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/engine/encoded_aggregate.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/engine/unit.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"
#include "make_context.hpp"
#include "outer_step.hpp"
#include "state_codec.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using commit::kChunkBytes;
using program::Program;
using program::SlotKind;

/// Elements of a range where nobody says how many ranges there are: few enough for all threads to
/// have one, and many times what is read of a stored delta at a time.
constexpr std::uint64_t kRangeElementsMax = std::uint64_t{1} << 22;
constexpr std::uint64_t kRangeElementsMin = std::uint64_t{1} << 16;
constexpr std::uint64_t kRangesPerThread = 4;
/// Elements of one range that a thread takes at a time: whole rows.
constexpr std::uint64_t kBlockElements = std::uint64_t{1} << 18;
static_assert(kBlockElements % kOuterTile == 0);

/// As many as asked for; else by the number of elements.
std::uint64_t count_ranges(const Program& train, RangeCount ranges, unsigned threads) {
    if (ranges != RangeCount::kAny) return static_cast<std::uint64_t>(ranges);
    const std::uint64_t elements = program::parameter_count(train);
    const std::uint64_t shared = std::min(kRangesPerThread * threads, elements / kRangeElementsMin);
    return std::max<std::uint64_t>({elements / kRangeElementsMax, shared, 1});
}

EngineOptions options_for(std::span<const Delta> deltas, const EngineOptions& options) {
    EngineOptions used = options;
    used.threads = outer_threads(deltas, options.threads);
    return used;
}

/// Calls work(desk, i) for every i below `count`, on all threads, until one of them fails.
template <class Work>
Status on_all_threads(const kernels::Context& context, std::span<const Delta> deltas,
                      std::size_t count, const Work& work) {
    std::vector<OuterDesk> desks(static_cast<std::size_t>(context.pool().threads()),
                                 OuterDesk(deltas));
    std::vector<Status> statuses(count);
    std::atomic<bool> failed = false;
    context.pool().parallel_for_dynamic(
        static_cast<std::int64_t>(count), 1, [&](kernels::LoopChunk chunk) {
            const kernels::ExactFloatEnvironment environment;
            OuterDesk& desk = desks[static_cast<std::size_t>(chunk.thread)];
            for (auto i = static_cast<std::size_t>(chunk.begin);
                 i < static_cast<std::size_t>(chunk.end) && !failed; ++i) {
                statuses[i] = work(desk, i);
                if (!statuses[i].ok()) failed = true;
            }
        });
    for (const Status& status : statuses)
        GYM_CHECK(status);
    return {};
}

/// An outer step that is about to run, and what it was derived from.
struct Prepared {
    kernels::Context context;
    OuterStep step;
    RangePlan plan;
};
Result<Prepared> prepare(const Program& train, std::span<const Delta> deltas,
                         const program::DeltaGroups& groups, const EngineOptions& options,
                         RangeCount ranges) {
    const EngineOptions used = options_for(deltas, options);
    GYM_TRY(kernels::Context context, make_context(used));
    GYM_TRY(OuterStep step, OuterStep::of(context.isa(), train, deltas, groups));
    GYM_TRY(RangePlan plan, RangePlan::of(train, count_ranges(train, ranges, used.threads)));
    return Prepared{std::move(context), std::move(step), std::move(plan)};
}

/// Runs the step over all ranges, in place, each once and on any thread: no two of them have a byte
/// in common.
/// @param bytes_of_part where it works. @param update all of the update. @return what each range
/// hashes to.
Result<std::vector<RangeRoots>> move_all(
    const Prepared& prepared, std::span<const Delta> deltas,
    const std::function<PartBytes(const ParameterPart&)>& bytes_of_part, ByteView update) {
    const RangePlan& plan = prepared.plan;
    std::vector<RangeRoots> roots(plan.size());
    const auto move = [&](OuterDesk& desk, std::size_t range) -> Status {
        std::vector<PartBytes> parts;
        for (const ParameterPart& part : plan.cuts().parts(range)) {
            GYM_CHECK(prepared.step.run(part, parts.emplace_back(bytes_of_part(part)), desk));
        }
        const ChunkSpan chunks = plan.cuts().update_chunks(range);
        const std::uint64_t begin =
            std::min<std::uint64_t>(chunks.first * kChunkBytes, update.size());
        const std::uint64_t size =
            std::min<std::uint64_t>(chunks.count * kChunkBytes, update.size() - begin);
        roots[range] = roots_of(plan, range, parts, update.subspan(begin, size), 1);
        return {};
    };
    GYM_CHECK(on_all_threads(prepared.context, deltas, plan.size(), move));
    return roots;
}

/// Where the parts of a base and an outer state lie.
std::function<PartBytes(const ParameterPart&)> parts_of(const RangePlan& plan, State& base,
                                                        State& outer) {
    return [&plan, &base, &outer](const ParameterPart& part) {
        const std::uint64_t at = part.first * sizeof(float), size = part.count * sizeof(float);
        const auto elements = [&](State& state, std::size_t tensor) {
            return std::span<std::uint8_t>(state.tensors[tensor].bytes).subspan(at, size);
        };
        PartBytes out{elements(base, part.parameter), elements(outer, part.parameter), {}, {}, 0};
        if (!plan.has_update()) return out;
        out.residual = elements(outer, plan.parameters() + part.parameter);
        out.update = outer.tensors.back().bytes;
        out.row = plan.cuts().first_row(part.parameter) + part.first / codec::kRowElements;
        return out;
    };
}

/// The record of the one step of an aggregate.
StepRecord record_of(const AggregateRoots& roots, std::span<const Delta> deltas,
                     const program::DeltaGroups& groups) {
    std::vector<Digest> included;
    for (const Delta& delta : deltas)
        included.push_back(delta.root());
    StepRecord record;
    record.batch_root = included_root(included.size(), groups, commit::merkle_root(included));
    record.state_root = roots.state;
    return record;
}

/// Whether the tensors that end with this part have zeros behind them.
Status check_zeros(const RangePlan& plan, const RangeBuffers& buffers, const ParameterPart& part) {
    if (part.first + part.count < plan.cuts().elements()[part.parameter]) return {};
    const auto check = [](const StateIndex& state, const EncodedBytes& bytes,
                          std::size_t tensor) -> Status {
        const std::uint64_t begin = state.begin(tensor) + state.tensor_bytes(tensor);
        if (is_all_zeros(bytes.at(begin, state.end(tensor) - begin))) return {};
        return fail(ErrorCode::kMalformed, "a byte behind tensor '" + state.layout()[tensor].name +
                                               "' of a state is not 0");
    };
    GYM_CHECK(check(plan.base(), buffers.base, part.parameter));
    GYM_CHECK(check(plan.outer(), buffers.momentum, part.parameter));
    if (!plan.has_update()) return {};
    return check(plan.outer(), buffers.residual, plan.parameters() + part.parameter);
}

/// Where the update lies in an encoded outer state.
DeltaSpan update_in(const RangePlan& plan) {
    if (!plan.has_update()) return {};
    const std::size_t tensor = plan.outer().tensors() - 1;
    return {plan.outer().begin(tensor), plan.outer().tensor_bytes(tensor)};
}

/// What stands in an update before its rows are written.
/// @param update its chunks from the first one on, or from another one on.
void begin_update(const Program& train, bool has_head, std::span<std::uint8_t> update) {
    std::ranges::fill(update, std::uint8_t{0});
    if (!has_head) return;
    const Bytes head =
        delta_head(program::DeltaCodec::kDense, train.slots_of(SlotKind::kParam).size());
    std::ranges::copy(head, update.begin());
}

/// Whether the bytes are those of the range.
Status check_bytes(const RangeChunks& chunks, const RangeBytes& bytes) {
    const auto check = [](const char* what, const ChunkSpan& needed, ByteView given) -> Status {
        if (given.size() == needed.count * kChunkBytes) return {};
        return fail(ErrorCode::kShapeMismatch, std::to_string(given.size()) + " bytes of " + what +
                                                   ", the range has " +
                                                   std::to_string(needed.count * kChunkBytes));
    };
    GYM_CHECK(check("the base state", chunks.base, bytes.base));
    GYM_CHECK(check("the momentum", chunks.momentum, bytes.momentum));
    return check("the residual", chunks.residual, bytes.residual);
}

/// Some elements of a part, for one thread.
struct Block {
    ParameterPart elements;
    PartBytes bytes;
};
void add_blocks(const ParameterPart& part, const PartBytes& bytes, std::vector<Block>& blocks) {
    for (std::uint64_t first = 0; first < part.count; first += kBlockElements) {
        const std::uint64_t count = std::min(kBlockElements, part.count - first);
        const auto elements = [&](std::span<std::uint8_t> all) {
            return all.empty() ? all : all.subspan(first * sizeof(float), count * sizeof(float));
        };
        blocks.push_back({{part.parameter, part.first + first, count},
                          {elements(bytes.base), elements(bytes.momentum), elements(bytes.residual),
                           bytes.update, bytes.row + first / codec::kRowElements}});
    }
}

}  // namespace

Result<AggregateResult> run_aggregate(const Program& train, State base, State momentum,
                                      std::span<const Delta> deltas,
                                      const program::DeltaGroups& groups,
                                      const EngineOptions& options, std::uint64_t elements_max,
                                      RangeCount ranges) {
    GYM_TRY(const Prepared prepared, prepare(train, deltas, groups, options, ranges));
    GYM_CHECK(check_state(train, train.slots_of(SlotKind::kParam), base));
    const auto count = static_cast<std::uint32_t>(deltas.size());
    GYM_TRY(Program aggregate, program::aggregate_program(train, count, groups, elements_max));
    AggregateResult result{std::move(aggregate), std::move(base), {}, {}, {}, {}, {}, 0};
    GYM_TRY(result.momentum, outer_state_before_step(train, result.base, std::move(momentum)));
    GYM_TRY(const auto moved,
            move_all(prepared, deltas, parts_of(prepared.plan, result.base, result.momentum),
                     update_of(result.momentum)));
    GYM_TRY(const AggregateRoots roots, combine_ranges(train, prepared.plan, moved));
    result.base_root = roots.base;
    result.momentum_root = roots.momentum;
    result.records.push_back(record_of(roots, deltas, groups));
    result.records_root = records_root(result.records);
    result.flops = program::flops_per_step(result.program);
    return result;
}

Result<EncodedAggregate> run_encoded_aggregate(const Program& train, Bytes base, Bytes momentum,
                                               std::span<const Delta> deltas,
                                               const program::DeltaGroups& groups,
                                               const EngineOptions& options, RangeCount ranges) {
    GYM_TRY(const Prepared prepared, prepare(train, deltas, groups, options, ranges));
    const RangePlan& plan = prepared.plan;
    const auto count = static_cast<std::uint32_t>(deltas.size());
    GYM_TRY(Program aggregate, program::aggregate_program(train, count, groups));
    GYM_CHECK(plan.base().check(base));
    if (momentum.empty()) {
        GYM_TRY(momentum, encoded_zero_outer_state(train));
    }
    GYM_CHECK(plan.outer().check(momentum));
    EncodedAggregate out{
        std::move(aggregate), std::move(base), std::move(momentum), update_in(plan), {}, {}, {}, 0};
    const EncodedBytes outer{out.momentum, 0};
    const RangeBuffers buffers{{out.base, 0}, outer, outer, outer};
    for (std::size_t range = 0; range < plan.size(); ++range)
        for (const ParameterPart& part : plan.cuts().parts(range))
            GYM_CHECK(check_zeros(plan, buffers, part));
    const auto update = outer.at(out.update.begin, out.update.size);
    if (plan.has_update()) begin_update(train, true, update);
    const auto part_bytes = [&](const ParameterPart& part) {
        return bytes_of(plan, buffers, part);
    };
    GYM_TRY(const auto moved, move_all(prepared, deltas, part_bytes, update));
    GYM_TRY(out.roots, combine_ranges(train, plan, moved));
    out.records.push_back(record_of(out.roots, deltas, groups));
    out.records_root = records_root(out.records);
    out.flops = program::flops_per_step(out.program);
    return out;
}

Result<RangeRoots> run_range(const RangeInputs& inputs, std::size_t range, RangeBytes& bytes,
                             const EngineOptions& options) {
    const RangePlan& plan = inputs.plan;
    if (range >= plan.size())
        return fail(ErrorCode::kInvalidArgument, "no range " + std::to_string(range) +
                                                     ", there are " + std::to_string(plan.size()));
    GYM_TRY(const kernels::Context context, make_context(options_for(inputs.deltas, options)));
    GYM_TRY(const OuterStep step,
            OuterStep::of(context.isa(), inputs.train, inputs.deltas, inputs.groups));
    const RangeChunks chunks = plan.chunks(range);
    GYM_CHECK(check_bytes(chunks, bytes));
    bytes.update.resize(chunks.update.count * kChunkBytes);
    if (chunks.update.count > 0)
        begin_update(inputs.train, plan.cuts().update_chunks(range).first == 0, bytes.update);
    const RangeBuffers buffers{{bytes.base, chunks.base.first * kChunkBytes},
                               {bytes.momentum, chunks.momentum.first * kChunkBytes},
                               {bytes.residual, chunks.residual.first * kChunkBytes},
                               {bytes.update, chunks.update.first * kChunkBytes}};
    std::vector<PartBytes> parts;
    std::vector<Block> blocks;
    for (const ParameterPart& part : plan.cuts().parts(range)) {
        GYM_CHECK(check_zeros(plan, buffers, part));
        add_blocks(part, parts.emplace_back(bytes_of(plan, buffers, part)), blocks);
    }
    GYM_CHECK(
        on_all_threads(context, inputs.deltas, blocks.size(), [&](OuterDesk& desk, std::size_t i) {
            return step.run(blocks[i].elements, blocks[i].bytes, desk);
        }));
    return roots_of(plan, range, parts, bytes.update,
                    static_cast<unsigned>(context.pool().threads()));
}

}  // namespace gym::engine
