#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gym/commit/dtype.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::program {
class Program;
}

namespace gym::engine {

/// More than a program that any machine runs can have: what bounds a state is the memory there is.
inline constexpr std::uint64_t kStateBytesMax = std::uint64_t{1} << 40;

/// One named tensor: row-major, little-endian elements.
struct StateTensor {
    std::string name;
    commit::DType dtype = commit::DType::kF32;
    std::vector<std::uint64_t> dims;
    Bytes bytes;

    friend bool operator==(const StateTensor&, const StateTensor&) = default;
};

/// Tensors in the program's slot order. Three states occur in a job:
/// - base state: the parameters alone (what a round starts from; its root is in the round record);
/// - training state: parameters and inner optimizer state (what a step maps to the next);
/// - momentum: the outer optimizer's tensors, one per parameter, public like the base state.
struct State {
    std::vector<StateTensor> tensors;

    [[nodiscard]] const StateTensor* find(std::string_view name) const noexcept;
    [[nodiscard]] std::uint64_t size_bytes() const noexcept;
    friend bool operator==(const State&, const State&) = default;
};

/// Merkle root over the tensor roots (commit::tensor_root) in order. Names are not part of it: they
/// follow from the program whose root stands beside every state root.
[[nodiscard]] Digest state_root(const State& state, unsigned threads = 1);

/// Canonical blob of a state: one byte string per state, and `decode` accepts only that one.
[[nodiscard]] Bytes encode_state(const State& state);
/// @errors kMalformed for truncated, altered-in-form or over-long bytes; kOutOfRange beyond the
/// bounds (at most 2^16 tensors, rank 8, kStateBytesMax in all).
[[nodiscard]] Result<State> decode_state(ByteView bytes);

/// Training state at step 0: parameters drawn as the program's slots say, from Philox keyed by
/// `job_seed`; optimizer state at its initial values.
[[nodiscard]] Result<State> initial_state(const program::Program& train, const Digest& job_seed);

/// The parameters of a training state, in slot order: a base state.
/// @errors kShapeMismatch if `state` does not fit `train`.
[[nodiscard]] Result<State> base_of(const program::Program& train, const State& state);

/// The training state that starts a unit: `base`'s parameters and fresh optimizer state.
/// @errors kShapeMismatch if `base` does not have exactly the program's parameters.
[[nodiscard]] Result<State> with_fresh_optimizer(const program::Program& train, const State& base);

}  // namespace gym::engine
