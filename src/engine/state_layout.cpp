#include "gym/engine/state_layout.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/program/program.hpp"
#include "state_codec.hpp"

namespace gym::engine {
namespace {

constexpr std::size_t kPlacesMax = 500;  // of a message about weights that do not fit
constexpr std::size_t kMessageBytesMax = std::size_t{1} << 16;

/// Of a tensor's f32: how many are NaN or infinite, and where the first of them is.
struct NotFinite {
    std::uint64_t count = 0;
    std::uint64_t first = 0;  ///< element

    void look(std::uint32_t bits, std::uint64_t element) {
        if ((bits & 0x7F800000U) != 0x7F800000U) return;
        if (count++ == 0) first = element;
    }
};

std::string text_of(const std::string& name, const NotFinite& found) {
    return "tensor '" + name + "' has " + std::to_string(found.count) +
           (found.count == 1 ? " value that is" : " values that are") +
           " NaN or infinite, the first of them element " + std::to_string(found.first);
}

std::string shape_text(const TensorLayout& tensor) {
    return engine::shape_text(commit::to_string(tensor.dtype), tensor.dims);
}

}  // namespace

StateLayout layout_of(const State& state) {
    StateLayout layout;
    layout.reserve(state.tensors.size());
    for (const StateTensor& tensor : state.tensors)
        layout.push_back({tensor.name, tensor.dtype, tensor.dims});
    return layout;
}

StateLayout parameter_layout(const program::Program& program) {
    StateLayout layout;
    for (const program::SlotId id : program.slots_of(program::SlotKind::kParam)) {
        const program::Slot& slot = program.slot(id);
        layout.push_back({slot.name, slot.dtype, {slot.dims.begin(), slot.dims.end()}});
    }
    return layout;
}

Bytes encode_layout(const StateLayout& layout) {
    commit::Encoder encoder;
    encoder.u32(static_cast<std::uint32_t>(layout.size()));
    for (const TensorLayout& tensor : layout) {
        encoder.string(tensor.name).u8(static_cast<std::uint8_t>(tensor.dtype));
        encoder.u8(static_cast<std::uint8_t>(tensor.dims.size()));
        for (const std::uint64_t dim : tensor.dims)
            encoder.u64(dim);
    }
    return encoder.take();
}

Result<StateLayout> decode_tensor_headers(commit::Decoder& decoder) {
    GYM_TRY(const std::uint32_t count, decoder.count(kStateTensorsMax));
    StateLayout layout;
    for (std::uint32_t i = 0; i < count; ++i) {
        TensorLayout& tensor = layout.emplace_back();
        GYM_TRY(tensor.name, decoder.string(kTensorNameBytesMax));
        GYM_TRY(const std::uint8_t dtype_code, decoder.u8());
        GYM_TRY(tensor.dtype, commit::dtype_from(dtype_code));
        GYM_TRY(const std::uint8_t rank, decoder.u8());
        if (rank > commit::kRankMax)
            return fail(ErrorCode::kOutOfRange, "tensor '" + tensor.name + "' has rank " +
                                                    std::to_string(rank) +
                                                    ", at most 8 is allowed");
        for (std::uint8_t k = 0; k < rank; ++k) {
            GYM_TRY(const std::uint64_t dim, decoder.u64());
            tensor.dims.push_back(dim);
        }
    }
    return layout;
}

Result<StateLayout> decode_layout(ByteView bytes) {
    commit::Decoder decoder(bytes);
    GYM_TRY(StateLayout layout, decode_tensor_headers(decoder));
    GYM_CHECK(decoder.expect_end());
    return layout;
}

std::string shape_text(std::string_view dtype, const std::vector<std::uint64_t>& dims) {
    std::string text = std::string(dtype) + " [";
    for (std::size_t i = 0; i < dims.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
    return text + "]";
}

void Differences::add(ErrorCode code, std::string text) {
    found_.emplace_back(code, std::move(text));
}

void Differences::missing(std::string_view name, const std::string& needed) {
    add(ErrorCode::kNotFound, "no tensor '" + std::string(name) + "' " + needed);
}

void Differences::reshaped(std::string_view name, const std::string& found,
                           const std::string& needed) {
    add(ErrorCode::kShapeMismatch,
        "tensor '" + std::string(name) + "' is " + found + ", the program needs " + needed);
}

void Differences::extra(std::string_view name, const std::string& found) {
    add(ErrorCode::kMalformed, "no place for tensor '" + std::string(name) + "' " + found);
}

Status Differences::status() const {
    if (found_.empty()) return {};
    const ErrorCode first = found_.front().first;
    const bool alike =
        std::ranges::all_of(found_, [&](const auto& one) { return one.first == first; });
    std::string text = "the weights do not fit the program";
    if (found_.size() > 1) text += " in " + std::to_string(found_.size()) + " places";
    std::size_t shown = 0;
    for (; shown < found_.size() && shown < kPlacesMax; ++shown)
        text += (shown == 0 ? ": " : "; ") + found_[shown].second;
    if (shown < found_.size()) text += "; and " + std::to_string(found_.size() - shown) + " more";
    return fail(alike ? first : ErrorCode::kShapeMismatch, std::move(text));
}

Status check_layout(const StateLayout& needed, const StateLayout& given) {
    std::map<std::string_view, const TensorLayout*> left;
    for (const TensorLayout& tensor : given) {
        if (!left.emplace(tensor.name, &tensor).second)
            return fail(ErrorCode::kMalformed, "two tensors are called '" + tensor.name + "'");
    }
    Differences differences;
    for (const TensorLayout& wanted : needed) {
        const auto found = left.find(wanted.name);
        if (found == left.end()) {
            differences.missing(wanted.name, shape_text(wanted));
            continue;
        }
        if (*found->second != wanted)
            differences.reshaped(wanted.name, shape_text(*found->second), shape_text(wanted));
        left.erase(found);
    }
    for (const TensorLayout& tensor : given)
        if (left.contains(tensor.name)) differences.extra(tensor.name, shape_text(tensor));
    GYM_CHECK(differences.status());
    if (needed == given) return {};
    return fail(ErrorCode::kShapeMismatch,
                "the weights have the program's tensors in another order");
}

Status check_finite(const State& state) {
    std::string text;
    for (const StateTensor& tensor : state.tensors) {
        if (tensor.dtype != commit::DType::kF32) continue;
        NotFinite found;
        for (std::uint64_t i = 0; i < tensor.bytes.size() / sizeof(std::uint32_t); ++i) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, tensor.bytes.data() + i * sizeof bits, sizeof bits);
            found.look(bits, i);
        }
        if (found.count != 0 && text.size() < kMessageBytesMax)
            text += (text.empty() ? "" : "; ") + text_of(tensor.name, found);
    }
    if (text.empty()) return {};
    return fail(ErrorCode::kInvalidArgument, std::move(text));
}

/// A state is a head, and then each tensor's bytes and the zeros behind them. The head is collected
/// in `head` until it is whole; the rest is only hashed and looked at.
struct StateScanner::Impl {
    enum class Part : std::uint8_t { kHead, kBytes, kZeros, kEnd };

    Part part = Part::kHead;
    Bytes head;
    std::uint64_t head_bytes = StateIndex::kBeginBytes;  // that are needed before it is read on
    std::optional<StateIndex> index;                     // once the head is whole
    std::uint64_t at = 0;                                // bytes that were taken
    std::size_t tensor = 0;                              // the one under way
    commit::ChunkTreeHasher hasher;
    NotFinite not_finite;
    std::uint64_t element = 0;
    std::uint32_t bits = 0;  // of an element that a piece ended in
    unsigned bits_bytes = 0;
    std::vector<Digest> roots;

    Status take(ByteView& input) {
        if (part == Part::kHead) return take_head(input);
        return part == Part::kBytes ? take_bytes(input) : take_zeros(input);
    }

    /// The next bytes, at most up to byte `end` of the state.
    ByteView take_until(std::uint64_t end, ByteView& input) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(input.size(), end - at));
        const ByteView taken = input.first(size);
        input = input.subspan(size);
        at += size;
        return taken;
    }

    Status take_head(ByteView& input) {
        const ByteView taken = take_until(head_bytes, input);
        head.insert(head.end(), taken.begin(), taken.end());
        if (at < head_bytes) return {};
        if (at == StateIndex::kBeginBytes) {
            GYM_TRY(head_bytes, StateIndex::head_bytes_of(head));
            return {};
        }
        GYM_TRY(index, StateIndex::decode(head));
        head = {};
        begin_tensor();
        return go_on();
    }

    void begin_tensor() {
        hasher = {};
        not_finite = {};
        element = 0;
        bits = 0;
        bits_bytes = 0;
        part = tensor == index->tensors() ? Part::kEnd : Part::kBytes;
    }

    /// From one part to the next, of which some have no bytes.
    Status go_on() {
        for (;;) {
            if (part == Part::kBytes && at == bytes_end()) {
                GYM_CHECK(end_bytes());
            } else if (part == Part::kZeros && at == index->end(tensor)) {
                ++tensor;
                begin_tensor();
            } else {
                return {};
            }
        }
    }

    [[nodiscard]] std::uint64_t bytes_end() const {
        return index->begin(tensor) + index->tensor_bytes(tensor);
    }

    Status take_bytes(ByteView& input) {
        const ByteView taken = take_until(bytes_end(), input);
        hasher.update(taken);
        if (index->layout()[tensor].dtype == commit::DType::kF32) look_at(taken);
        return go_on();
    }

    Status take_zeros(ByteView& input) {
        if (!is_all_zeros(take_until(index->end(tensor), input)))
            return fail(ErrorCode::kMalformed, "a byte behind tensor '" +
                                                   index->layout()[tensor].name +
                                                   "' of the state is not 0");
        return go_on();
    }

    void look_at(ByteView taken) {
        while (!taken.empty()) {
            if (bits_bytes == 0) {  // whole elements, the bulk of every piece
                for (; taken.size() >= sizeof bits; taken = taken.subspan(sizeof bits)) {
                    std::uint32_t whole = 0;
                    std::memcpy(&whole, taken.data(), sizeof whole);
                    not_finite.look(whole, element++);
                }
                if (taken.empty()) return;
            }
            bits |= static_cast<std::uint32_t>(taken.front()) << (8 * bits_bytes);
            taken = taken.subspan(1);
            if (++bits_bytes < sizeof bits) continue;
            not_finite.look(bits, element++);
            bits = 0;
            bits_bytes = 0;
        }
    }

    Status end_bytes() {
        const TensorLayout& ended = index->layout()[tensor];
        if (not_finite.count != 0)
            return fail(ErrorCode::kInvalidArgument, text_of(ended.name, not_finite));
        roots.push_back(commit::tensor_digest(ended.dtype, ended.dims, hasher.root()));
        part = Part::kZeros;
        return {};
    }
};

StateScanner::StateScanner() : impl_(std::make_unique<Impl>()) {}
StateScanner::~StateScanner() = default;
StateScanner::StateScanner(StateScanner&&) noexcept = default;
StateScanner& StateScanner::operator=(StateScanner&&) noexcept = default;

Status StateScanner::append(ByteView part) {
    while (!part.empty()) {
        if (impl_->part == Impl::Part::kEnd)
            return fail(
                ErrorCode::kMalformed,
                "the state ends at byte " + std::to_string(impl_->at) + ", and more bytes follow");
        GYM_CHECK(impl_->take(part));
    }
    return {};
}

Result<StateSummary> StateScanner::finish() && {
    if (impl_->part != Impl::Part::kEnd)
        return fail(ErrorCode::kMalformed,
                    "the state is cut at byte " + std::to_string(impl_->at) +
                        (impl_->index ? ", within tensor " + std::to_string(impl_->tensor + 1)
                                      : ", within its head"));
    return StateSummary{commit::merkle_root(impl_->roots), impl_->index->layout()};
}

}  // namespace gym::engine
