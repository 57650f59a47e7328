#include "outer_step.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/commit/tree_part.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/f32.h"
#include "gym/program/aggregate_parts.hpp"
#include "gym/program/train_program.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

constexpr std::uint64_t kTile = kOuterTile;
/// Of the windows on stored deltas of all threads together.
constexpr std::uint64_t kWindowsBytesMax = std::uint64_t{1} << 30;

Status check_deltas(const program::Program& train, std::span<const Delta> deltas,
                    const program::DeltaGroups& groups) {
    if (deltas.empty() || deltas.size() > program::kDeltasMax)
        return fail(ErrorCode::kInvalidArgument,
                    "the outer step needs 1 to " + std::to_string(program::kDeltasMax) + " deltas");
    if (!program::are_legal(groups, deltas.size()))
        return fail(ErrorCode::kInvalidArgument,
                    "of " + std::to_string(deltas.size()) + " deltas, " +
                        std::to_string(groups.held) + " cannot be of the round before and " +
                        std::to_string(groups.withdrawn) + " withdrawn");
    for (const Delta& delta : deltas)
        GYM_CHECK(check_fits(train, delta));
    return {};
}

}  // namespace

Result<OuterStep> OuterStep::of(kernels::Isa isa, const program::Program& train,
                                std::span<const Delta> deltas, const program::DeltaGroups& groups) {
    if (train.find_output(program::kLossOutput) == program::kNoSlot)
        return fail(ErrorCode::kInvalidArgument,
                    "the outer step is derived from the train program, and this one has no loss");
    GYM_CHECK(check_deltas(train, deltas, groups));
    GYM_TRY(const program::OuterRates rates, program::outer_rates(train));
    return OuterStep(isa, deltas, groups, {1, rates.momentum, rates.learning_rate});
}

OuterStep::OuterStep(kernels::Isa isa, std::span<const Delta> deltas,
                     const program::DeltaGroups& groups, const kernels::OuterRates& rates)
    : isa_(isa), deltas_(deltas), is_withdrawing_(groups.withdrawn > 0), rates_(rates) {
    program::DeltaWeights weights =
        program::weights_of(groups, static_cast<std::uint32_t>(deltas.size()));
    factors_ = std::move(weights.factors);
    rates_.divisor = weights.divisor;
    doubled_ = std::ranges::count(factors_, 2.0F);
    is_dense_ = std::ranges::all_of(
        deltas, [](const Delta& delta) { return delta.codec() == program::DeltaCodec::kDense; });
}

Status OuterStep::run(const ParameterPart& part, const PartBytes& bytes, OuterDesk& desk) const {
    for (std::uint64_t done = 0; done < part.count;) {
        ParameterPart block{part.parameter, part.first + done, part.count - done};
        for (const Delta& delta : deltas_)
            block.count = std::min(block.count, shown_together(delta, block));
        GYM_CHECK(show(block, desk));
        for (std::uint64_t i = 0; i < block.count; i += kTile) {
            const std::uint64_t count = std::min(kTile, block.count - i);
            sum(block, i, count, desk);
            step(done + i, count, desk, bytes);
        }
        done += block.count;
    }
    return {};
}

Status OuterStep::show(const ParameterPart& block, OuterDesk& desk) const {
    for (std::size_t k = 0; k < deltas_.size(); ++k) {
        GYM_CHECK(desk.windows[k].show(block));
        if (is_dense_)
            desk.block[k] = deltas_[k].layout().dense_row(desk.windows[k].bytes(), block.parameter,
                                                          block.first / codec::kRowElements);
    }
    return {};
}

/// @param skip elements of the block before those that are summed.
void OuterStep::sum(const ParameterPart& block, std::uint64_t skip, std::uint64_t count,
                    OuterDesk& desk) const {
    if (!sum_codes(block, skip, count, desk)) sum_elements(block, skip, count, desk);
}

/// Rows of codec 1 without decoding them. @return false where that is not possible.
bool OuterStep::sum_codes(const ParameterPart& block, std::uint64_t skip, std::uint64_t count,
                          OuterDesk& desk) const {
    if (!is_dense_ || is_withdrawing_) return false;
    const DeltaLayout& layout = deltas_.front().layout();
    const std::uint64_t begin = layout.span_of(block).begin;
    for (std::uint64_t i = 0; i < count; i += codec::kRowElements) {
        const ParameterPart row{block.parameter, block.first + skip + i, 1};
        const std::uint64_t offset = layout.span_of(row).begin - begin;
        for (std::size_t k = 0; k < deltas_.size(); ++k)
            desk.codes[k] = desk.block[k] + offset;
        const kernels::DenseRows rows{desk.codes.data(), static_cast<std::int32_t>(deltas_.size()),
                                      static_cast<std::int32_t>(doubled_)};
        if (!kernels::sum_dense_rows(isa_, rows, desk.sums.data() + i)) return false;
    }
    return true;
}

void OuterStep::sum_elements(const ParameterPart& block, std::uint64_t skip, std::uint64_t count,
                             OuterDesk& desk) const {
    for (std::size_t k = 0; k < deltas_.size(); ++k) {
        const std::span<float> row(desk.rows.data() + k * kTile, count);
        deltas_[k].layout().read(desk.windows[k].bytes(), block.parameter, block.first + skip, row);
        if (factors_.empty() || factors_[k] == 1.0F) continue;
        for (float& value : row)
            value = kernels::f32::mul(value, factors_[k]);
    }
    kernels::column_sums(isa_, desk.rows.data(), static_cast<std::int64_t>(deltas_.size()), kTile,
                         {0, static_cast<std::int64_t>(count)}, desk.sums.data());
}

/// @param first element of the part.
void OuterStep::step(std::uint64_t first, std::uint64_t count, OuterDesk& desk,
                     const PartBytes& bytes) const {
    const std::size_t at = first * sizeof(float), size = count * sizeof(float);
    std::memcpy(desk.base.data(), bytes.base.data() + at, size);
    std::memcpy(desk.momentum.data(), bytes.momentum.data() + at, size);
    if (bytes.update.empty()) {
        step_of(desk.base, count, desk);
    } else {
        std::memcpy(desk.residual.data(), bytes.residual.data() + at, size);
        step_of(desk.residual, count, desk);
        publish_rows(isa_, {desk.residual.data(), count}, {desk.base.data(), count}, bytes.update,
                     bytes.row + first / codec::kRowElements);
        std::memcpy(bytes.residual.data() + at, desk.residual.data(), size);
    }
    std::memcpy(bytes.base.data() + at, desk.base.data(), size);
    std::memcpy(bytes.momentum.data() + at, desk.momentum.data(), size);
}

/// @param target the base or, of a program with an update, the residual, which becomes u.
void OuterStep::step_of(std::array<float, kOuterTile>& target, std::uint64_t count,
                        OuterDesk& desk) const {
    kernels::outer_step(isa_, desk.sums.data(), rates_, static_cast<std::int64_t>(count),
                        target.data(), desk.momentum.data());
}

unsigned outer_threads(std::span<const Delta> deltas, unsigned threads) {
    const auto stored =
        std::ranges::count_if(deltas, [](const Delta& delta) { return delta.stored() != nullptr; });
    if (stored == 0 || threads == 0) return threads;
    const std::uint64_t fit =
        kWindowsBytesMax / (static_cast<std::uint64_t>(stored) * 2 * kDeltaReadBytes);
    return static_cast<unsigned>(std::clamp<std::uint64_t>(fit, 1, threads));
}

PartBytes bytes_of(const RangePlan& plan, const RangeBuffers& buffers, const ParameterPart& part) {
    const std::uint64_t at = part.first * sizeof(float), size = part.count * sizeof(float);
    const StateIndex& outer = plan.outer();
    PartBytes out;
    out.base = buffers.base.at(plan.base().begin(part.parameter) + at, size);
    out.momentum = buffers.momentum.at(outer.begin(part.parameter) + at, size);
    if (!plan.has_update()) return out;
    out.residual = buffers.residual.at(outer.begin(plan.parameters() + part.parameter) + at, size);
    const std::uint64_t first =
        plan.cuts().first_row(part.parameter) + part.first / codec::kRowElements;
    const std::uint64_t chunk = first / codec::kRowsOfChunk;
    out.row = first % codec::kRowsOfChunk;
    const std::uint64_t last = out.row + codec::rows_of(part.count) - 1;
    out.update =
        buffers.update.at(outer.begin(outer.tensors() - 1) + chunk * codec::kChunkOfRowsBytes,
                          codec::row_begin(last) + codec::kRowBytes);
    return out;
}

namespace {

/// The leaves of a range's tensors of one kind, one behind the other.
class RunLeaves {
  public:
    /// @return the part of the tensor's own tree. @param first its first leaf there.
    commit::TreePart add(ByteView bytes, std::uint64_t first, unsigned threads) {
        const std::vector<Digest> leaves = commit::chunk_leaves(bytes, threads);
        leaves_.insert(leaves_.end(), leaves.begin(), leaves.end());
        return commit::tree_part(leaves, first);
    }
    [[nodiscard]] commit::TreePart part(const ChunkSpan& run) const {
        GYM_ASSERT(leaves_.size() == run.count, "the leaves are those of the run");
        return commit::tree_part(leaves_, run.first);
    }

  private:
    std::vector<Digest> leaves_;
};

}  // namespace

RangeRoots roots_of(const RangePlan& plan, std::size_t range, std::span<const PartBytes> parts,
                    ByteView update, unsigned threads) {
    const std::vector<ParameterPart> elements = plan.cuts().parts(range);
    GYM_ASSERT(parts.size() == elements.size(), "the bytes of each part");
    RangeRoots out;
    RunLeaves base, momentum, residual, rows;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::uint64_t first = chunks_of(elements[i]).first;
        out.base.push_back(base.add(parts[i].base, first, threads));
        out.momentum.push_back(momentum.add(parts[i].momentum, first, threads));
        if (plan.has_update())
            out.residual.push_back(residual.add(parts[i].residual, first, threads));
    }
    const RangeChunks runs = plan.chunks(range);
    if (plan.has_update())
        out.update = rows.add(update, plan.cuts().update_chunks(range).first, threads);
    out.base_run = base.part(runs.base);
    out.momentum_run = momentum.part(runs.momentum);
    out.residual_run = residual.part(runs.residual);
    out.update_run = rows.part(runs.update);
    return out;
}

}  // namespace gym::engine
