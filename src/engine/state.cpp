#include "gym/engine/state.hpp"

#include <algorithm>

#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "state_codec.hpp"

namespace gym::engine {
namespace {

constexpr std::string_view kStateMagic = "GYMSTAT1";
static_assert(kStateHeadBytes == kStateMagic.size() + sizeof(std::uint32_t));

Result<StateTensor> decode_tensor(commit::Decoder& decoder) {
    GYM_TRY(StateTensor tensor, decode_tensor_header(decoder));
    // The size is checked against the input before anything is allocated.
    GYM_TRY(const std::uint64_t size, tensor_size_bytes(tensor.dtype, tensor.dims));
    GYM_TRY(const ByteView content, decoder.raw(size));
    tensor.bytes.assign(content.begin(), content.end());
    return tensor;
}

}  // namespace

Result<std::uint64_t> tensor_size_bytes(commit::DType dtype, std::span<const std::uint64_t> dims) {
    std::uint64_t size = commit::size_bytes(dtype);
    for (const std::uint64_t dim : dims) {
        if (dim > kStateBytesMax || (dim != 0 && size > kStateBytesMax / dim))
            return fail(ErrorCode::kOutOfRange, "a tensor of more than 2^40 bytes");
        size *= dim;
    }
    return size;
}

void encode_tensor_header(commit::Encoder& encoder, const std::string& name, commit::DType dtype,
                          std::span<const std::uint64_t> dims) {
    encoder.string(name).u8(static_cast<std::uint8_t>(dtype));
    encoder.u8(static_cast<std::uint8_t>(dims.size()));
    for (const std::uint64_t dim : dims)
        encoder.u64(dim);
}

Result<StateTensor> decode_tensor_header(commit::Decoder& decoder) {
    StateTensor tensor;
    GYM_TRY(tensor.name, decoder.string(kTensorNameBytesMax));
    GYM_TRY(const std::uint8_t dtype_code, decoder.u8());
    GYM_TRY(tensor.dtype, commit::dtype_from(dtype_code));
    GYM_TRY(const std::uint8_t rank, decoder.u8());
    if (rank > commit::kRankMax)
        return fail(ErrorCode::kOutOfRange, "tensor '" + tensor.name + "' has rank " +
                                                std::to_string(rank) + ", at most 8 is allowed");
    for (std::uint8_t i = 0; i < rank; ++i) {
        GYM_TRY(const std::uint64_t dim, decoder.u64());
        tensor.dims.push_back(dim);
    }
    return tensor;
}

std::size_t tensor_header_bytes(ByteView begin) {
    std::size_t size = sizeof(std::uint32_t);  // the name's length
    if (begin.size() < size) return size;
    std::size_t name = 0;
    for (std::size_t i = 0; i < size; ++i)
        name = name << 8 | begin[i];
    // A longer name is refused: its header need not be whole.
    if (name > kTensorNameBytesMax) return size;
    size += name + 2;  // dtype and rank
    if (begin.size() < size) return size;
    const std::size_t rank = begin[size - 1];
    return rank > commit::kRankMax ? size : size + rank * sizeof(std::uint64_t);
}

Result<std::uint32_t> decode_state_head(ByteView head) {
    commit::Decoder decoder(head);
    GYM_TRY(const ByteView magic, decoder.raw(kStateMagic.size()));
    if (!std::ranges::equal(magic, as_bytes(kStateMagic)))
        return fail(ErrorCode::kMalformed, "these bytes are not a state");
    return decoder.count(kStateTensorsMax);
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
    GYM_ASSERT(state.tensors.size() <= kStateTensorsMax, "tensor count");
    commit::Encoder head;
    head.raw(as_bytes(kStateMagic)).u32(static_cast<std::uint32_t>(state.tensors.size()));
    std::vector<Bytes> headers;
    std::uint64_t size = head.view().size() + state.size_bytes();
    for (const StateTensor& tensor : state.tensors) {
        commit::Encoder header;
        encode_tensor_header(header, tensor.name, tensor.dtype, tensor.dims);
        size += headers.emplace_back(header.take()).size();
    }
    // States are large: one that grows would take twice its bytes meanwhile.
    Bytes out = head.take();
    out.reserve(size);
    for (std::size_t i = 0; i < headers.size(); ++i) {
        out.insert(out.end(), headers[i].begin(), headers[i].end());
        const Bytes& content = state.tensors[i].bytes;
        out.insert(out.end(), content.begin(), content.end());
    }
    return out;
}

Result<State> decode_state(ByteView bytes) {
    if (bytes.size() > kStateBytesMax)
        return fail(ErrorCode::kOutOfRange, "a state of more than 2^40 bytes");
    commit::Decoder decoder(bytes);
    GYM_TRY(const ByteView head, decoder.raw(kStateHeadBytes));
    GYM_TRY(const std::uint32_t count, decode_state_head(head));
    State state;
    for (std::uint32_t i = 0; i < count; ++i) {
        GYM_TRY(auto tensor, decode_tensor(decoder));
        state.tensors.push_back(std::move(tensor));
    }
    GYM_CHECK(decoder.expect_end());
    return state;
}

}  // namespace gym::engine
