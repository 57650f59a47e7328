#include "gym/engine/state_index.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "gym/commit/codec.hpp"
#include "state_codec.hpp"

namespace gym::engine {
namespace {

constexpr std::string_view kMagic = "GYMSTAT2";
static_assert(StateIndex::kBeginBytes == kMagic.size() + sizeof(std::uint32_t));

/// Of one tensor in a head: the name with its length, dtype, rank, dims.
constexpr std::uint64_t kTensorHeaderBytesMax =
    sizeof(std::uint32_t) + kTensorNameBytesMax + 2 + commit::kRankMax * sizeof(std::uint64_t);
constexpr std::uint64_t kHeadBytesMax =
    StateIndex::kBeginBytes + sizeof(std::uint32_t) + kStateTensorsMax * kTensorHeaderBytesMax;

Error other_size(const StateIndex& index, std::uint64_t size_bytes) {
    return fail(ErrorCode::kMalformed, "a state of " + std::to_string(size_bytes) +
                                           " bytes, its head says " +
                                           std::to_string(index.size_bytes()));
}

}  // namespace

bool begins_as_state(ByteView bytes) {
    return bytes.size() >= kMagic.size() &&
           std::ranges::equal(bytes.first(kMagic.size()), as_bytes(kMagic));
}

Result<StateIndex> StateIndex::of(StateLayout layout) {
    if (layout.size() > kStateTensorsMax)
        return fail(ErrorCode::kOutOfRange, "a state of more than 2^16 tensors");
    StateIndex out;
    out.layout_ = std::move(layout);
    std::uint64_t at = whole_chunks(kBeginBytes + encode_layout(out.layout_).size());
    out.begins_.push_back(at);
    for (const TensorLayout& tensor : out.layout_) {
        GYM_TRY(const std::uint64_t size, tensor_size_bytes(tensor.dtype, tensor.dims));
        at += whole_chunks(size);
        if (at > kStateBytesMax)
            return fail(ErrorCode::kOutOfRange, "a state of more than 2^40 bytes");
        out.sizes_.push_back(size);
        out.begins_.push_back(at);
    }
    return out;
}

Result<std::uint64_t> StateIndex::head_bytes_of(ByteView begin) {
    commit::Decoder decoder(begin);
    GYM_TRY(const ByteView magic, decoder.raw(kMagic.size()));
    if (!begins_as_state(magic)) return fail(ErrorCode::kMalformed, "these bytes are not a state");
    GYM_TRY(const std::uint32_t chunks, decoder.u32());
    const std::uint64_t size = std::uint64_t{chunks} * commit::kChunkBytes;
    if (size == 0 || size > whole_chunks(kHeadBytesMax))
        return fail(ErrorCode::kMalformed,
                    "the head of a state does not have " + std::to_string(chunks) + " chunks");
    return size;
}

Result<StateIndex> StateIndex::decode(ByteView head) {
    GYM_TRY(const std::uint64_t size,
            head_bytes_of(head.first(std::min(head.size(), kBeginBytes))));
    if (size != head.size())
        return fail(ErrorCode::kMalformed, "a head of " + std::to_string(head.size()) +
                                               " bytes says that it has " + std::to_string(size));
    commit::Decoder decoder(head.subspan(kBeginBytes));
    GYM_TRY(StateLayout layout, decode_tensor_headers(decoder));
    if (!is_all_zeros(head.subspan(kBeginBytes + decoder.offset())))
        return fail(ErrorCode::kMalformed, "a byte behind the names of a state is not 0");
    GYM_TRY(StateIndex out, of(std::move(layout)));
    if (out.head_bytes() == size) return out;
    return fail(ErrorCode::kMalformed, "the head of a state is longer than it has to be");
}

Result<StateIndex> StateIndex::read(const blob::BlobReader& state) {
    Bytes head(std::min<std::uint64_t>(state.size(), kBeginBytes));
    GYM_CHECK(state.read(0, head));
    GYM_TRY(const std::uint64_t size, head_bytes_of(head));
    if (size > state.size()) return fail(ErrorCode::kMalformed, "the state is cut within its head");
    head.resize(size);
    GYM_CHECK(state.read(0, head));
    GYM_TRY(StateIndex out, decode(head));
    if (out.size_bytes() == state.size()) return out;
    return other_size(out, state.size());
}

Result<StateIndex> StateIndex::decode_in_front_of(ByteView state) {
    GYM_TRY(const std::uint64_t size,
            head_bytes_of(state.first(std::min(state.size(), kBeginBytes))));
    return decode(state.first(std::min<std::uint64_t>(state.size(), size)));
}

Result<StateIndex> StateIndex::of_state(ByteView state) {
    GYM_TRY(StateIndex out, decode_in_front_of(state));
    if (out.size_bytes() == state.size()) return out;
    return other_size(out, state.size());
}

Bytes StateIndex::encode() const {
    commit::Encoder head;
    head.raw(as_bytes(kMagic))
        .u32(static_cast<std::uint32_t>(head_bytes() / commit::kChunkBytes))
        .raw(encode_layout(layout_));
    Bytes out = head.take();
    out.resize(head_bytes());
    return out;
}

Status StateIndex::check(ByteView state) const {
    const Bytes head = encode();
    if (state.size() == size_bytes() && std::ranges::equal(state.first(head.size()), head))
        return {};
    GYM_TRY(const StateIndex given, decode_in_front_of(state));
    GYM_CHECK(check_layout(layout_, given.layout_));
    return other_size(given, state.size());
}

}  // namespace gym::engine
