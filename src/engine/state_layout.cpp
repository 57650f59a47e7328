#include "gym/engine/state_layout.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
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
    for (const TensorLayout& tensor : layout)
        encode_tensor_header(encoder, tensor.name, tensor.dtype, tensor.dims);
    return encoder.take();
}

Result<StateLayout> decode_layout(ByteView bytes) {
    commit::Decoder decoder(bytes);
    GYM_TRY(const std::uint32_t count, decoder.count(kStateTensorsMax));
    StateLayout layout;
    for (std::uint32_t i = 0; i < count; ++i) {
        GYM_TRY(StateTensor tensor, decode_tensor_header(decoder));
        layout.push_back({std::move(tensor.name), tensor.dtype, std::move(tensor.dims)});
    }
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

/// A state is a head (magic and count), and for each tensor a header and its bytes. Heads and
/// headers are collected in `pending` until they are whole; bytes are only hashed and looked at.
struct StateScanner::Impl {
    enum class Part : std::uint8_t { kHead, kHeader, kBytes, kEnd };

    Part part = Part::kHead;
    Bytes pending;
    std::uint64_t at = 0;            // bytes that were taken
    std::uint32_t tensors_left = 0;  // that have no header yet
    std::uint64_t bytes_left = 0;    // of the tensor under way
    std::uint64_t size_bytes = 0;    // of all tensors so far
    commit::ChunkTreeHasher hasher;
    NotFinite not_finite;
    std::uint64_t element = 0;
    std::uint32_t bits = 0;  // of an element that a piece ended in
    unsigned bits_bytes = 0;
    std::vector<Digest> roots;
    StateLayout layout;

    [[nodiscard]] Error in_place(const Error& error) const {
        return fail(error.code, "the state, byte " + std::to_string(at - pending.size()) + ": " +
                                    error.message);
    }

    /// Bytes that are needed at least before `pending` can be read.
    [[nodiscard]] std::size_t needed() const {
        if (part == Part::kHead) return kStateHeadBytes;
        return tensor_header_bytes(pending);
    }

    Status take_pending(ByteView& input) {
        while (pending.size() < needed()) {
            if (input.empty()) return {};
            const std::size_t size = std::min(input.size(), needed() - pending.size());
            pending.insert(pending.end(), input.begin(),
                           input.begin() + static_cast<std::ptrdiff_t>(size));
            input = input.subspan(size);
            at += size;
        }
        const Status read = part == Part::kHead ? read_head() : read_header();
        if (!read.ok()) return in_place(read.error());
        pending.clear();
        return {};
    }

    Status read_head() {
        GYM_TRY(tensors_left, decode_state_head(pending));
        part = tensors_left == 0 ? Part::kEnd : Part::kHeader;
        return {};
    }

    Status read_header() {
        commit::Decoder decoder(pending);
        GYM_TRY(StateTensor tensor, decode_tensor_header(decoder));
        GYM_TRY(bytes_left, tensor_size_bytes(tensor.dtype, tensor.dims));
        size_bytes += bytes_left;
        if (size_bytes > kStateBytesMax)
            return fail(ErrorCode::kOutOfRange, "a state of more than 2^40 bytes");
        layout.push_back({std::move(tensor.name), tensor.dtype, std::move(tensor.dims)});
        --tensors_left;
        hasher = {};
        not_finite = {};
        element = 0;
        bits = 0;
        bits_bytes = 0;
        part = Part::kBytes;
        return bytes_left == 0 ? end_tensor() : Status();
    }

    Status take_bytes(ByteView& input) {
        const std::size_t size =
            static_cast<std::size_t>(std::min<std::uint64_t>(input.size(), bytes_left));
        const ByteView taken = input.first(size);
        hasher.update(taken);
        if (layout.back().dtype == commit::DType::kF32) look_at(taken);
        input = input.subspan(size);
        at += size;
        bytes_left -= size;
        return bytes_left == 0 ? end_tensor() : Status();
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

    Status end_tensor() {
        const TensorLayout& tensor = layout.back();
        if (not_finite.count != 0)
            return fail(ErrorCode::kInvalidArgument, text_of(tensor.name, not_finite));
        roots.push_back(commit::tensor_digest(tensor.dtype, tensor.dims, hasher.root()));
        part = tensors_left == 0 ? Part::kEnd : Part::kHeader;
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
        GYM_CHECK(impl_->part == Impl::Part::kBytes ? impl_->take_bytes(part)
                                                    : impl_->take_pending(part));
    }
    return {};
}

Result<StateSummary> StateScanner::finish() && {
    if (impl_->part != Impl::Part::kEnd)
        return fail(ErrorCode::kMalformed, "the state is cut at byte " + std::to_string(impl_->at) +
                                               ", within tensor " +
                                               std::to_string(impl_->layout.size()));
    return StateSummary{commit::merkle_root(impl_->roots), std::move(impl_->layout)};
}

}  // namespace gym::engine
