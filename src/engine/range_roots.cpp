#include "gym/engine/range_roots.hpp"

#include <initializer_list>
#include <string>
#include <utility>

#include "gym/commit/tensor_root.hpp"

namespace gym::engine {
namespace {

using commit::TreePart;

bool is_of(const TreePart& part, const ChunkSpan& span) {
    return part.first == span.first && part.count == span.count;
}

/// Whether the range has what its parts say, no more and no less.
bool fits(const RangePlan& plan, std::size_t range, const RangeRoots& roots) {
    const std::vector<ParameterPart> parts = plan.cuts().parts(range);
    const std::size_t residuals = plan.has_update() ? parts.size() : 0;
    if (roots.base.size() != parts.size() || roots.momentum.size() != parts.size() ||
        roots.residual.size() != residuals)
        return false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const ChunkSpan span = chunks_of(parts[i]);
        if (!is_of(roots.base[i], span) || !is_of(roots.momentum[i], span)) return false;
        if (plan.has_update() && !is_of(roots.residual[i], span)) return false;
    }
    const RangeChunks runs = plan.chunks(range);
    return is_of(roots.update,
                 plan.has_update() ? plan.cuts().update_chunks(range) : ChunkSpan()) &&
           is_of(roots.base_run, runs.base) && is_of(roots.momentum_run, runs.momentum) &&
           is_of(roots.residual_run, runs.residual) && is_of(roots.update_run, runs.update);
}

/// The parts of each tensor, in order.
struct Trees {
    explicit Trees(std::size_t parameters)
        : base(parameters), momentum(parameters), residual(parameters) {}
    std::vector<std::vector<TreePart>> base, momentum, residual;
    std::vector<TreePart> update;
};

void add(const ParameterRanges& ranges, std::size_t range, const RangeRoots& roots, Trees& trees) {
    const std::vector<ParameterPart> parts = ranges.parts(range);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        trees.base[parts[i].parameter].push_back(roots.base[i]);
        trees.momentum[parts[i].parameter].push_back(roots.momentum[i]);
        if (!roots.residual.empty())
            trees.residual[parts[i].parameter].push_back(roots.residual[i]);
    }
    if (roots.update.count > 0) trees.update.push_back(roots.update);
}

/// The root of a state's blob: its head, and then the runs of all ranges, one kind of tensor behind
/// the other.
Result<Digest> blob_root(const StateIndex& state, std::span<const RangeRoots> roots,
                         std::initializer_list<TreePart RangeRoots::*> kinds) {
    std::vector<TreePart> parts{commit::tree_part(commit::chunk_leaves(state.encode()), 0)};
    for (const auto kind : kinds)
        for (const RangeRoots& range : roots)
            if ((range.*kind).count > 0) parts.push_back(range.*kind);
    const std::uint64_t size = state.size_bytes();
    GYM_TRY(const Digest tree, commit::root_of_parts(parts, size / commit::kChunkBytes));
    return commit::tensor_digest(commit::DType::kU8, {&size, 1}, tree);
}

/// Tensor roots of f32 tensors that are like the program's parameters.
Status add_tensors(const program::Program& train, const ParameterRanges& ranges,
                   const std::vector<std::vector<TreePart>>& trees, std::vector<Digest>& out) {
    const auto params = train.slots_of(program::SlotKind::kParam);
    for (std::size_t i = 0; i < params.size(); ++i) {
        const program::Slot& slot = train.slot(params[i]);
        const std::vector<std::uint64_t> dims(slot.dims.begin(), slot.dims.end());
        GYM_TRY(const Digest tree, commit::root_of_parts(trees[i], ranges.tensor_chunks(i)));
        out.push_back(commit::tensor_digest(slot.dtype, dims, tree));
    }
    return {};
}

}  // namespace

Result<AggregateRoots> combine_ranges(const program::Program& train, const RangePlan& plan,
                                      std::span<const RangeRoots> roots) {
    const ParameterRanges& ranges = plan.cuts();
    if (roots.size() != ranges.size())
        return fail(ErrorCode::kShapeMismatch, "the results of " + std::to_string(roots.size()) +
                                                   " ranges, there are " +
                                                   std::to_string(ranges.size()));
    Trees trees(plan.parameters());
    for (std::size_t i = 0; i < roots.size(); ++i) {
        if (!fits(plan, i, roots[i]))
            return fail(ErrorCode::kShapeMismatch,
                        "the results of range " + std::to_string(i) + " are not of its parts");
        add(ranges, i, roots[i], trees);
    }
    std::vector<Digest> base, momentum;
    GYM_CHECK(add_tensors(train, ranges, trees.base, base));
    GYM_CHECK(add_tensors(train, ranges, trees.momentum, momentum));
    if (plan.has_update()) {
        GYM_CHECK(add_tensors(train, ranges, trees.residual, momentum));
        const std::uint64_t size = plan.outer().tensor_bytes(plan.outer().tensors() - 1);
        GYM_TRY(const Digest tree, commit::root_of_parts(trees.update, ranges.update_chunks()));
        momentum.push_back(commit::tensor_digest(commit::DType::kU8, {&size, 1}, tree));
    }
    AggregateRoots out;
    out.base = commit::merkle_root(base);
    out.momentum = commit::merkle_root(momentum);
    base.insert(base.end(), momentum.begin(), momentum.end());
    out.state = commit::merkle_root(base);
    GYM_TRY(out.base_blob, blob_root(plan.base(), roots, {&RangeRoots::base_run}));
    GYM_TRY(out.momentum_blob, blob_root(plan.outer(), roots,
                                         {&RangeRoots::momentum_run, &RangeRoots::residual_run,
                                          &RangeRoots::update_run}));
    return out;
}

}  // namespace gym::engine
