#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/outer_state.hpp"
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

/// What a tile needs of all deltas; one a thread.
struct Tile {
    explicit Tile(std::size_t deltas) : codes(deltas), rows(deltas * kTile) {}
    std::vector<const std::uint8_t*> codes;  ///< of each delta a row of codec 1
    std::vector<float> rows;                 ///< of each delta kTile elements
    std::array<float, kTile> sums{}, base{}, momentum{}, residual{};
};

/// What the step of one parameter changes. Without an update, residual and update are empty.
struct Moved {
    Bytes& base;
    Bytes& momentum;
    std::span<std::uint8_t> residual;
    std::span<std::uint8_t> update;  ///< the whole update
    std::uint64_t row = 0;           ///< the parameter's first row in it
};

/// The aggregate program's ops (program::aggregate_program()) on some elements at a time: with
/// hundreds of deltas their elements would take many times the model's memory.
class OuterStep {
  public:
    OuterStep(const kernels::Context& context, std::span<const Delta> deltas,
              const program::DeltaGroups& groups, const program::OuterRates& rates)
        : context_(context), deltas_(deltas) {
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

    /// Makes the parameter, and what the outer state has of it, those after the step.
    void run(std::size_t parameter, const Moved& moved) const {
        const std::uint64_t elements = moved.base.size() / sizeof(float);
        const std::uint64_t tiles = (elements + kTile - 1) / kTile;
        context_.pool().parallel_for(
            static_cast<std::int64_t>(tiles), 1, [&](kernels::LoopChunk chunk) {
                Tile tile(deltas_.size());
                for (auto t = static_cast<std::uint64_t>(chunk.begin);
                     t < static_cast<std::uint64_t>(chunk.end); ++t) {
                    const std::uint64_t first = t * kTile;
                    const std::uint64_t count = std::min(kTile, elements - first);
                    sum(parameter, first, count, tile);
                    step(first, count, tile, moved);
                }
            });
    }

  private:
    void sum(std::size_t parameter, std::uint64_t first, std::uint64_t count, Tile& tile) const {
        if (!sum_codes(parameter, first, count, tile)) sum_elements(parameter, first, count, tile);
    }
    /// Rows of codec 1 without decoding them. @return false where that is not possible.
    bool sum_codes(std::size_t parameter, std::uint64_t first, std::uint64_t count,
                   Tile& tile) const {
        if (!is_dense_ || is_withdrawing_) return false;
        for (std::uint64_t i = 0; i < count; i += codec::kRowElements) {
            for (std::size_t k = 0; k < deltas_.size(); ++k)
                tile.codes[k] = deltas_[k].dense_row(parameter, (first + i) / codec::kRowElements);
            const kernels::DenseRows rows{tile.codes.data(),
                                          static_cast<std::int32_t>(deltas_.size()),
                                          static_cast<std::int32_t>(doubled_)};
            if (!kernels::sum_dense_rows(context_.isa(), rows, tile.sums.data() + i)) return false;
        }
        return true;
    }
    void sum_elements(std::size_t parameter, std::uint64_t first, std::uint64_t count,
                      Tile& tile) const {
        for (std::size_t k = 0; k < deltas_.size(); ++k) {
            const std::span<float> row(tile.rows.data() + k * kTile, count);
            deltas_[k].read(parameter, first, row);
            if (factors_.empty() || factors_[k] == 1.0F) continue;
            for (float& value : row)
                value = kernels::f32::mul(value, factors_[k]);
        }
        kernels::column_sums(context_.isa(), tile.rows.data(),
                             static_cast<std::int64_t>(deltas_.size()), kTile,
                             {0, static_cast<std::int64_t>(count)}, tile.sums.data());
    }
    void step(std::uint64_t first, std::uint64_t count, Tile& tile, const Moved& moved) const {
        const std::size_t at = first * sizeof(float), size = count * sizeof(float);
        std::memcpy(tile.base.data(), moved.base.data() + at, size);
        std::memcpy(tile.momentum.data(), moved.momentum.data() + at, size);
        if (moved.update.empty()) {
            step_of(tile.base, tile.momentum, tile.sums, count);
        } else {
            std::memcpy(tile.residual.data(), moved.residual.data() + at, size);
            step_of(tile.residual, tile.momentum, tile.sums, count);
            publish_rows(context_.isa(), {tile.residual.data(), count}, {tile.base.data(), count},
                         moved.update, moved.row + first / codec::kRowElements);
            std::memcpy(moved.residual.data() + at, tile.residual.data(), size);
        }
        std::memcpy(moved.base.data() + at, tile.base.data(), size);
        std::memcpy(moved.momentum.data() + at, tile.momentum.data(), size);
    }
    /// @param target the base or, of a program with an update, the residual, which becomes u.
    void step_of(std::array<float, kTile>& target, std::array<float, kTile>& momentum,
                 const std::array<float, kTile>& sums, std::uint64_t count) const {
        kernels::outer_step(context_.isa(), sums.data(), rates_, static_cast<std::int64_t>(count),
                            target.data(), momentum.data());
    }

    const kernels::Context& context_;
    std::span<const Delta> deltas_;
    std::vector<float> factors_;  ///< of each delta; empty: all count once
    std::ptrdiff_t doubled_ = 0;  ///< of them, the first ones, count twice
    bool is_withdrawing_ = false, is_dense_ = false;
    kernels::OuterRates rates_{};
};

/// Runs the step over all parameters of the base, in place.
void move_all(const OuterStep& step, State& base, State& outer) {
    const std::size_t params = base.tensors.size();
    const bool has_update = outer.tensors.size() > params;
    std::uint64_t row = 1;
    for (std::size_t i = 0; i < params; ++i) {
        Moved moved{base.tensors[i].bytes, outer.tensors[i].bytes, {}, {}, row};
        if (has_update) {
            moved.residual = outer.tensors[params + i].bytes;
            moved.update = outer.tensors.back().bytes;
        }
        step.run(i, moved);
        row += codec::rows_of(base.tensors[i].bytes.size() / sizeof(float));
    }
}

Digest batch_root(std::span<const Delta> deltas, const program::DeltaGroups& groups) {
    std::vector<Digest> roots;
    for (const Delta& delta : deltas)
        roots.push_back(delta.root());
    return included_root(roots.size(), groups, commit::merkle_root(roots));
}

std::vector<Digest> roots_of(const State& state, unsigned threads) {
    std::vector<commit::TensorView> tensors;
    for (const StateTensor& tensor : state.tensors)
        tensors.push_back({tensor.dtype, tensor.dims, tensor.bytes});
    return commit::tensor_roots(tensors, threads);
}

/// The step's record, and the roots that it is about.
void commit_to(std::span<const Delta> deltas, const program::DeltaGroups& groups, unsigned threads,
               AggregateResult& result) {
    std::vector<Digest> base = roots_of(result.base, threads);
    const std::vector<Digest> momentum = roots_of(result.momentum, threads);
    result.base_root = commit::merkle_root(base);
    result.momentum_root = commit::merkle_root(momentum);
    base.insert(base.end(), momentum.begin(), momentum.end());
    StepRecord record;
    record.batch_root = batch_root(deltas, groups);
    record.state_root = commit::merkle_root(base);
    result.records.push_back(record);
    result.records_root = records_root(result.records);
}

}  // namespace

Result<AggregateResult> run_aggregate(const Program& train, const State& base,
                                      const State& momentum, std::span<const Delta> deltas,
                                      const program::DeltaGroups& groups,
                                      const EngineOptions& options, std::uint64_t elements_max) {
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
    GYM_TRY(Program aggregate, program::aggregate_program(train, count, groups, elements_max));
    GYM_TRY(const program::OuterRates rates, program::outer_rates(train));
    GYM_TRY(const kernels::Context context, make_context(options));
    AggregateResult result{std::move(aggregate), base, {}, {}, {}, {}, {}, 0};
    GYM_TRY(result.momentum, outer_state_before_step(train, base, momentum));
    move_all(OuterStep(context, deltas, groups, rates), result.base, result.momentum);
    commit_to(deltas, groups, options.threads, result);
    result.flops = program::flops_per_step(result.program);
    return result;
}

}  // namespace gym::engine
