#include "gym/engine/range_plan.hpp"

#include <algorithm>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/engine/outer_state.hpp"

namespace gym::engine {
namespace {

using commit::kChunkBytes;

/// Of the tensors of a state that are like the program's parameters, the parts' chunks.
/// @param first the tensor that is like the first parameter.
ChunkSpan run_of(const StateIndex& state, std::size_t first,
                 const std::vector<ParameterPart>& parts) {
    const auto tensor_chunk = [&](const ParameterPart& part) {
        return state.begin(first + part.parameter) / kChunkBytes;
    };
    const ChunkSpan head = chunks_of(parts.front()), tail = chunks_of(parts.back());
    const std::uint64_t begin = tensor_chunk(parts.front()) + head.first;
    return {begin, tensor_chunk(parts.back()) + tail.first + tail.count - begin};
}

}  // namespace

Result<RangePlan> RangePlan::of(const program::Program& train, std::uint64_t count) {
    GYM_TRY(StateIndex base, StateIndex::of(parameter_layout(train)));
    GYM_TRY(StateLayout layout, outer_layout(train));
    GYM_TRY(StateIndex outer, StateIndex::of(std::move(layout)));
    GYM_TRY(DeltaLayout delta, DeltaLayout::of(train));
    return RangePlan(ParameterRanges::of(train, count), std::move(base), std::move(outer),
                     std::move(delta));
}

RangeChunks RangePlan::chunks(std::size_t range) const {
    const std::vector<ParameterPart> parts = cuts_.parts(range);
    if (parts.empty()) return {};
    RangeChunks out;
    out.base = run_of(base_, 0, parts);
    out.momentum = run_of(outer_, 0, parts);
    if (!has_update()) return out;
    out.residual = run_of(outer_, parameters(), parts);
    out.update = cuts_.update_chunks(range);
    out.update.first += outer_.begin(outer_.tensors() - 1) / kChunkBytes;
    return out;
}

DeltaSpan RangePlan::delta_bytes(std::size_t range) const {
    const std::vector<ParameterPart> parts = cuts_.parts(range);
    if (parts.empty()) return {};
    const DeltaSpan first = delta_.span_of(parts.front()), last = delta_.span_of(parts.back());
    const std::uint64_t begin = first.begin / kChunkBytes * kChunkBytes;
    const std::uint64_t end =
        (last.begin + last.size + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
    return {begin, std::min(end, delta_.size_bytes()) - begin};
}

}  // namespace gym::engine
