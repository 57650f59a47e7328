#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "delta_window.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/engine/parameter_ranges.hpp"
#include "gym/engine/range_roots.hpp"
#include "gym/engine/unit.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/vector_ops.hpp"
#include "gym/program/aggregate_parts.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"
#include "make_context.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::Program;
using program::SlotKind;

/// Elements of all deltas that are summed together: few enough to stay in a cache, and whole rows.
constexpr std::uint64_t kTile = 512;
static_assert(kTile % codec::kRowElements == 0);

/// Elements of a range where nobody says how many ranges there are: few enough for all threads to
/// have one, and many times what is read of a stored delta at a time.
constexpr std::uint64_t kRangeElementsMax = std::uint64_t{1} << 22;
constexpr std::uint64_t kRangeElementsMin = std::uint64_t{1} << 16;
constexpr std::uint64_t kRangesPerThread = 4;
/// Of the windows on stored deltas of all threads together.
constexpr std::uint64_t kWindowsBytesMax = std::uint64_t{1} << 30;

/// What a thread needs of all deltas.
struct Desk {
    explicit Desk(std::span<const Delta> deltas)
        : windows(deltas.begin(), deltas.end()),
          block(deltas.size()),
          codes(deltas.size()),
          rows(deltas.size() * kTile) {}
    std::vector<DeltaWindow> windows;
    std::vector<const std::uint8_t*> block;  ///< the first row of codec 1 that each window shows
    std::vector<const std::uint8_t*> codes;  ///< of each delta a row of codec 1
    std::vector<float> rows;                 ///< of each delta kTile elements
    std::array<float, kTile> sums{}, base{}, momentum{}, residual{};
};

/// What the step of one parameter changes. Without an update, residual and update are empty.
struct Moved {
    std::span<std::uint8_t> base;
    std::span<std::uint8_t> momentum;
    std::span<std::uint8_t> residual;
    std::span<std::uint8_t> update;  ///< the whole update
    std::uint64_t row = 0;           ///< the parameter's first row in it
};

/// The aggregate program's ops (program::aggregate_program()) on some elements at a time: with
/// hundreds of deltas their elements would take many times the model's memory.
class OuterStep {
  public:
    OuterStep(kernels::Isa isa, std::span<const Delta> deltas, const program::DeltaGroups& groups,
              const program::OuterRates& rates)
        : isa_(isa), deltas_(deltas) {
        const program::DeltaWeights weights =
            program::weights_of(groups, static_cast<std::uint32_t>(deltas.size()));
        factors_ = weights.factors;
        is_withdrawing_ = groups.withdrawn > 0;
        doubled_ = std::ranges::count(factors_, 2.0F);
        is_dense_ = std::ranges::all_of(deltas, [](const Delta& delta) {
            return delta.codec() == program::DeltaCodec::kDense;
        });
        rates_ = {weights.divisor, rates.momentum, rates.learning_rate};
    }

    /// Makes the elements of a part, and what the outer state has of them, those after the step.
    /// @pre The part begins with a row. @errors of the stores that deltas are in.
    Status run(const ParameterPart& part, const Moved& moved, Desk& desk) const {
        for (std::uint64_t done = 0; done < part.count;) {
            ParameterPart block{part.parameter, part.first + done, part.count - done};
            for (const Delta& delta : deltas_)
                block.count = std::min(block.count, shown_together(delta, block));
            GYM_CHECK(show(block, desk));
            for (std::uint64_t i = 0; i < block.count; i += kTile) {
                const std::uint64_t count = std::min(kTile, block.count - i);
                sum(block, i, count, desk);
                step(block.first + i, count, desk, moved);
            }
            done += block.count;
        }
        return {};
    }

  private:
    Status show(const ParameterPart& block, Desk& desk) const {
        for (std::size_t k = 0; k < deltas_.size(); ++k) {
            GYM_CHECK(desk.windows[k].show(block));
            if (is_dense_)
                desk.block[k] = deltas_[k].layout().dense_row(
                    desk.windows[k].bytes(), block.parameter, block.first / codec::kRowElements);
        }
        return {};
    }
    /// @param skip elements of the block before those that are summed.
    void sum(const ParameterPart& block, std::uint64_t skip, std::uint64_t count,
             Desk& desk) const {
        if (!sum_codes(block, skip, count, desk)) sum_elements(block, skip, count, desk);
    }
    /// Rows of codec 1 without decoding them. @return false where that is not possible.
    bool sum_codes(const ParameterPart& block, std::uint64_t skip, std::uint64_t count,
                   Desk& desk) const {
        if (!is_dense_ || is_withdrawing_) return false;
        const DeltaLayout& layout = deltas_.front().layout();
        const std::uint64_t begin = layout.span_of(block).begin;
        for (std::uint64_t i = 0; i < count; i += codec::kRowElements) {
            const ParameterPart row{block.parameter, block.first + skip + i, 1};
            const std::uint64_t offset = layout.span_of(row).begin - begin;
            for (std::size_t k = 0; k < deltas_.size(); ++k)
                desk.codes[k] = desk.block[k] + offset;
            const kernels::DenseRows rows{desk.codes.data(),
                                          static_cast<std::int32_t>(deltas_.size()),
                                          static_cast<std::int32_t>(doubled_)};
            if (!kernels::sum_dense_rows(isa_, rows, desk.sums.data() + i)) return false;
        }
        return true;
    }
    void sum_elements(const ParameterPart& block, std::uint64_t skip, std::uint64_t count,
                      Desk& desk) const {
        for (std::size_t k = 0; k < deltas_.size(); ++k) {
            const std::span<float> row(desk.rows.data() + k * kTile, count);
            deltas_[k].layout().read(desk.windows[k].bytes(), block.parameter, block.first + skip,
                                     row);
            if (factors_.empty() || factors_[k] == 1.0F) continue;
            for (float& value : row)
                value = kernels::f32::mul(value, factors_[k]);
        }
        kernels::column_sums(isa_, desk.rows.data(), static_cast<std::int64_t>(deltas_.size()),
                             kTile, {0, static_cast<std::int64_t>(count)}, desk.sums.data());
    }
    void step(std::uint64_t first, std::uint64_t count, Desk& desk, const Moved& moved) const {
        const std::size_t at = first * sizeof(float), size = count * sizeof(float);
        std::memcpy(desk.base.data(), moved.base.data() + at, size);
        std::memcpy(desk.momentum.data(), moved.momentum.data() + at, size);
        if (moved.update.empty()) {
            step_of(desk.base, desk.momentum, desk.sums, count);
        } else {
            std::memcpy(desk.residual.data(), moved.residual.data() + at, size);
            step_of(desk.residual, desk.momentum, desk.sums, count);
            publish_rows(isa_, {desk.residual.data(), count}, {desk.base.data(), count},
                         moved.update, moved.row + first / codec::kRowElements);
            std::memcpy(moved.residual.data() + at, desk.residual.data(), size);
        }
        std::memcpy(moved.base.data() + at, desk.base.data(), size);
        std::memcpy(moved.momentum.data() + at, desk.momentum.data(), size);
    }
    /// @param target the base or, of a program with an update, the residual, which becomes u.
    void step_of(std::array<float, kTile>& target, std::array<float, kTile>& momentum,
                 const std::array<float, kTile>& sums, std::uint64_t count) const {
        kernels::outer_step(isa_, sums.data(), rates_, static_cast<std::int64_t>(count),
                            target.data(), momentum.data());
    }

    kernels::Isa isa_;
    std::span<const Delta> deltas_;
    std::vector<float> factors_;  ///< of each delta; empty: all count once
    std::ptrdiff_t doubled_ = 0;  ///< of them, the first ones, count twice
    bool is_withdrawing_ = false, is_dense_ = false;
    kernels::OuterRates rates_{};
};

/// A base and an outer state whose ranges are moved, each once, by any number of threads: no two
/// ranges have a byte in common.
class MovedStates {
  public:
    MovedStates(const ParameterRanges& ranges, State& base, State& outer) : ranges_(ranges) {
        const std::size_t params = base.tensors.size();
        const bool has_update = outer.tensors.size() > params;
        for (std::size_t i = 0; i < params; ++i) {
            Moved moved{base.tensors[i].bytes, outer.tensors[i].bytes, {}, {}, ranges.first_row(i)};
            if (has_update) {
                moved.residual = outer.tensors[params + i].bytes;
                moved.update = outer.tensors.back().bytes;
            }
            parameters_.push_back(moved);
        }
        if (has_update) update_ = outer.tensors.back().bytes;
    }

    /// The step over a range, and what its results hash to.
    Result<RangeRoots> run(const OuterStep& step, std::size_t range, Desk& desk) const {
        RangeRoots out;
        for (const ParameterPart& part : ranges_.parts(range)) {
            const Moved& moved = parameters_[part.parameter];
            GYM_CHECK(step.run(part, moved, desk));
            const ChunkSpan span = chunks_of(part);
            out.base.push_back(part_of(moved.base, span));
            out.momentum.push_back(part_of(moved.momentum, span));
            if (!update_.empty()) out.residual.push_back(part_of(moved.residual, span));
        }
        if (!update_.empty()) out.update = part_of(update_, ranges_.update_chunks(range));
        return out;
    }

  private:
    static commit::TreePart part_of(ByteView tensor, const ChunkSpan& span) {
        const std::uint64_t begin =
            std::min<std::uint64_t>(span.first * commit::kChunkBytes, tensor.size());
        const std::uint64_t size =
            std::min<std::uint64_t>(span.count * commit::kChunkBytes, tensor.size() - begin);
        return commit::tree_part(commit::chunk_leaves(tensor.subspan(begin, size)), span.first);
    }

    const ParameterRanges& ranges_;
    std::vector<Moved> parameters_;
    ByteView update_;
};

/// As many as asked for; else by the number of elements.
std::uint64_t count_ranges(const Program& train, RangeCount ranges, unsigned threads) {
    if (ranges != RangeCount::kAny) return static_cast<std::uint64_t>(ranges);
    const std::uint64_t elements = program::parameter_count(train);
    const std::uint64_t shared = std::min(kRangesPerThread * threads, elements / kRangeElementsMin);
    return std::max<std::uint64_t>({elements / kRangeElementsMax, shared, 1});
}

/// So many that their windows take no more than kWindowsBytesMax.
unsigned count_threads(std::span<const Delta> deltas, unsigned threads) {
    const auto stored =
        std::ranges::count_if(deltas, [](const Delta& delta) { return delta.stored() != nullptr; });
    if (stored == 0) return threads;
    const std::uint64_t fit =
        kWindowsBytesMax / (static_cast<std::uint64_t>(stored) * 2 * kDeltaReadBytes);
    return static_cast<unsigned>(std::clamp<std::uint64_t>(fit, 1, threads));
}

/// Runs the step over all ranges, in place. @return what each hashes to.
Result<std::vector<RangeRoots>> move_all(const kernels::Context& context, const OuterStep& step,
                                         std::span<const Delta> deltas,
                                         const ParameterRanges& ranges, State& base, State& outer) {
    const MovedStates states(ranges, base, outer);
    std::vector<Desk> desks(static_cast<std::size_t>(context.pool().threads()), Desk(deltas));
    std::vector<RangeRoots> roots(ranges.size());
    std::vector<Status> statuses(ranges.size());
    std::atomic<bool> failed = false;
    context.pool().parallel_for_dynamic(
        static_cast<std::int64_t>(ranges.size()), 1, [&](kernels::LoopChunk chunk) {
            Desk& desk = desks[static_cast<std::size_t>(chunk.thread)];
            for (auto i = static_cast<std::size_t>(chunk.begin);
                 i < static_cast<std::size_t>(chunk.end) && !failed; ++i) {
                auto done = states.run(step, i, desk);
                if (done.ok()) {
                    roots[i] = std::move(*done);
                } else {
                    statuses[i] = done.error();
                    failed = true;
                }
            }
        });
    for (const Status& status : statuses)
        GYM_CHECK(status);
    return roots;
}

Digest batch_root(std::span<const Delta> deltas, const program::DeltaGroups& groups) {
    std::vector<Digest> roots;
    for (const Delta& delta : deltas)
        roots.push_back(delta.root());
    return included_root(roots.size(), groups, commit::merkle_root(roots));
}

/// The step's record, and the roots that it is about.
void commit_to(const AggregateRoots& roots, const Digest& batch_root, AggregateResult& result) {
    result.base_root = roots.base;
    result.momentum_root = roots.momentum;
    StepRecord record;
    record.batch_root = batch_root;
    record.state_root = roots.state;
    result.records.push_back(record);
    result.records_root = records_root(result.records);
}

}  // namespace

Result<AggregateResult> run_aggregate(const Program& train, State base, State momentum,
                                      std::span<const Delta> deltas,
                                      const program::DeltaGroups& groups,
                                      const EngineOptions& options, std::uint64_t elements_max,
                                      RangeCount ranges) {
    if (deltas.empty() || deltas.size() > program::kDeltasMax)
        return fail(ErrorCode::kInvalidArgument,
                    "the outer step needs 1 to " + std::to_string(program::kDeltasMax) + " deltas");
    if (train.find_output(program::kLossOutput) == program::kNoSlot)
        return fail(ErrorCode::kInvalidArgument,
                    "the outer step is derived from the train program, and this one has no loss");
    const auto params = train.slots_of(SlotKind::kParam);
    GYM_CHECK(check_state(train, params, base));
    for (const Delta& delta : deltas)
        GYM_CHECK(check_fits(base, delta));
    const auto count = static_cast<std::uint32_t>(deltas.size());
    GYM_TRY(Program aggregate, program::aggregate_program(train, count, groups, elements_max));
    GYM_TRY(const program::OuterRates rates, program::outer_rates(train));
    EngineOptions used = options;
    used.threads = count_threads(deltas, options.threads);
    GYM_TRY(const kernels::Context context, make_context(used));
    AggregateResult result{std::move(aggregate), std::move(base), {}, {}, {}, {}, {}, 0};
    GYM_TRY(result.momentum, outer_state_before_step(train, result.base, std::move(momentum)));
    const auto cut = ParameterRanges::of(train, count_ranges(train, ranges, used.threads));
    const OuterStep step(context.isa(), deltas, groups, rates);
    GYM_TRY(const auto moved, move_all(context, step, deltas, cut, result.base, result.momentum));
    GYM_TRY(const AggregateRoots roots, combine_ranges(train, cut, moved));
    commit_to(roots, batch_root(deltas, groups), result);
    result.flops = program::flops_per_step(result.program);
    return result;
}

}  // namespace gym::engine
