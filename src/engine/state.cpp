#include "gym/engine/state.hpp"

#include <algorithm>
#include <string>

#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/state_index.hpp"
#include "state_codec.hpp"

namespace gym::engine {

Result<std::uint64_t> tensor_size_bytes(commit::DType dtype, std::span<const std::uint64_t> dims) {
    std::uint64_t size = commit::size_bytes(dtype);
    for (const std::uint64_t dim : dims) {
        if (dim > kStateBytesMax || (dim != 0 && size > kStateBytesMax / dim))
            return fail(ErrorCode::kOutOfRange, "a tensor of more than 2^40 bytes");
        size *= dim;
    }
    return size;
}

const StateTensor* State::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(tensors, name, &StateTensor::name);
    return found == tensors.end() ? nullptr : &*found;
}

std::uint64_t State::size_bytes() const noexcept {
    std::uint64_t total = 0;
    for (const StateTensor& tensor : tensors)
        total += tensor.bytes.size();
    return total;
}

Digest state_root(const State& state, unsigned threads) {
    std::vector<commit::TensorView> tensors;
    tensors.reserve(state.tensors.size());
    for (const StateTensor& tensor : state.tensors)
        tensors.push_back({tensor.dtype, tensor.dims, tensor.bytes});
    return commit::merkle_root(commit::tensor_roots(tensors, threads));
}

Bytes encode_state(const State& state) {
    const auto index = StateIndex::of(layout_of(state));
    GYM_ASSERT(index.ok(), "a state has a bound");
    Bytes out = index->encode();
    // States are large: one that grows would take twice its bytes meanwhile.
    out.reserve(index->size_bytes());
    for (std::size_t i = 0; i < index->tensors(); ++i) {
        const Bytes& content = state.tensors[i].bytes;
        GYM_ASSERT(content.size() == index->tensor_bytes(i), "tensor bytes do not fit its dims");
        out.insert(out.end(), content.begin(), content.end());
        out.resize(index->end(i));
    }
    return out;
}

Result<State> decode_state(ByteView bytes) {
    // The size is checked against the head before anything is allocated.
    GYM_TRY(const StateIndex index, StateIndex::of_state(bytes));
    State state;
    for (std::size_t i = 0; i < index.tensors(); ++i) {
        const ByteView padded = bytes.subspan(index.begin(i), index.end(i) - index.begin(i));
        const ByteView content = padded.first(index.tensor_bytes(i));
        const TensorLayout& tensor = index.layout()[i];
        if (!is_all_zeros(padded.subspan(content.size())))
            return fail(ErrorCode::kMalformed,
                        "a byte behind tensor '" + tensor.name + "' of a state is not 0");
        state.tensors.push_back(
            {tensor.name, tensor.dtype, tensor.dims, Bytes(content.begin(), content.end())});
    }
    return state;
}

}  // namespace gym::engine
