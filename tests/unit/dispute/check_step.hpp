#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/dispute/step_trace.hpp"

namespace gym::dispute::testing {

inline Status expect_root(const char* what, const Digest& expected, const Digest& found) {
    if (expected == found) return {};
    return fail(ErrorCode::kMismatch,
                std::string(what) + " has root " + found.hex() + ", expected " + expected.hex());
}

/// A record's field against the one-element leaf that it is.
inline Status check_bits(const char* field, const TraceProgram& trace,
                         std::span<const Digest> leaf_roots, std::uint32_t leaf,
                         std::uint32_t bits) {
    std::uint8_t bytes[sizeof bits];
    std::memcpy(bytes, &bits, sizeof bits);
    return expect_root(field, leaf_roots[leaf],
                       tensor_digest(trace.leaves[leaf].shape, commit::chunk_tree_root(bytes)));
}

inline Status check_gradient(const TraceProgram& trace, std::span<const Digest> leaf_roots,
                             const Digest& gradient_root) {
    std::vector<Digest> roots;
    roots.reserve(trace.gradients.size());
    for (const std::uint32_t leaf : trace.gradients)
        roots.push_back(leaf_roots[leaf]);
    return expect_root("gradient_root", commit::merkle_root(roots), gradient_root);
}

/// The relations between a step's record, its trace leaves and the roots of the states around it,
/// as the contracts' rules check it piece by piece.
/// @errors kMismatch naming the field that is not what the trace program says.
inline Status check_step(const TraceProgram& trace, std::span<const Digest> before_roots,
                         std::span<const Digest> leaf_roots, const engine::StepRecord& record,
                         const Digest& state_root_after) {
    const TraceHeader& h = trace.header;
    if (leaf_roots.size() != h.leaves || before_roots.size() != h.state_slots ||
        h.loss == kNoLeaf || h.grad_norm == kNoLeaf)
        return fail(ErrorCode::kMismatch, "not a step of this train program");
    for (std::uint32_t i = 0; i < h.input_leaves; ++i)
        if (trace.leaves[i].kind == LeafRecord::Kind::kBatch)
            GYM_CHECK(expect_root("batch_root", leaf_roots[i], record.batch_root));
    GYM_CHECK(check_bits("loss", trace, leaf_roots, h.loss, record.loss_bits));
    GYM_CHECK(check_bits("grad_norm", trace, leaf_roots, h.grad_norm, record.grad_norm_bits));
    if (h.skipped == kNoLeaf) {
        if (record.skipped) return fail(ErrorCode::kMismatch, "skipped: the program skips no step");
    } else {
        const auto bits = std::bit_cast<std::uint32_t>(record.skipped ? 1.0F : 0.0F);
        GYM_CHECK(check_bits("skipped", trace, leaf_roots, h.skipped, bits));
    }
    if (record.gradient_root) GYM_CHECK(check_gradient(trace, leaf_roots, *record.gradient_root));
    if (record.state_root)
        GYM_CHECK(expect_root("state_root", state_root_after, *record.state_root));
    return expect_root("the state after the step",
                       commit::merkle_root(next_state_roots(trace, before_roots, leaf_roots)),
                       state_root_after);
}

}  // namespace gym::dispute::testing
