#include "state_file.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>
#include <vector>

#include "gym/commit/codec.hpp"
#include "gym/commit/dtype.hpp"
#include "gym/commit/tensor_root.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using blob::BlobReader;

constexpr std::string_view kMagic = "GYMSTAT1";
constexpr std::uint32_t kTensorsMax = 1U << 16;
constexpr std::uint32_t kNameBytesMax = 256;
constexpr std::uint64_t kAlignment = 8;

/// Where a tensor lies in the state's bytes.
struct Entry {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Reads a state from its front, without the tensors' contents.
class Index {
  public:
    explicit Index(const BlobReader& state) : state_(state) {}

    Result<std::vector<Entry>> read() {
        GYM_TRY(const Bytes head, take(kMagic.size() + sizeof(std::uint32_t)));
        commit::Decoder in(head);
        GYM_TRY(const ByteView magic, in.raw(kMagic.size()));
        if (!std::ranges::equal(magic, as_bytes(kMagic)))
            return fail(ErrorCode::kMalformed, "the stored bytes are not a state");
        GYM_TRY(const std::uint32_t count, in.count(kTensorsMax));
        std::vector<Entry> entries;
        for (std::uint32_t i = 0; i < count; ++i) {
            GYM_TRY(Entry entry, next());
            entries.push_back(std::move(entry));
        }
        if (at_ != state_.size())
            return fail(ErrorCode::kMalformed, "the stored state has bytes behind its tensors");
        return entries;
    }

  private:
    Result<Entry> next() {
        Entry entry;
        GYM_TRY(const Bytes length, take(sizeof(std::uint32_t)));
        GYM_TRY(const std::uint32_t name_bytes, commit::Decoder(length).count(kNameBytesMax));
        GYM_TRY(const Bytes name, take(name_bytes));
        entry.name.assign(name.begin(), name.end());
        GYM_TRY(const Bytes kind, take(2));
        GYM_TRY(const commit::DType dtype, commit::dtype_from(kind[0]));
        if (dtype != commit::DType::kF32 || kind[1] > commit::kRankMax)
            return fail(ErrorCode::kMalformed,
                        "tensor '" + entry.name + "' of the state is not f32 of rank 8 or less");
        GYM_TRY(const Bytes dims, take(kind[1] * sizeof(std::uint64_t)));
        commit::Decoder in(dims);
        entry.size = sizeof(float);
        for (std::uint8_t i = 0; i < kind[1]; ++i) {
            GYM_TRY(const std::uint64_t dim, in.u64());
            if (dim == 0 || entry.size > state_.size() / dim) return too_large(entry);
            entry.size *= dim;
            entry.dims.push_back(dim);
        }
        entry.offset = at_;
        if (entry.size > state_.size() - at_) return too_large(entry);
        at_ += entry.size;
        return entry;
    }
    static Error too_large(const Entry& entry) {
        return fail(ErrorCode::kMalformed,
                    "tensor '" + entry.name + "' is empty or larger than the stored state");
    }
    Result<Bytes> take(std::uint64_t size) {
        if (size > state_.size() - at_)
            return fail(ErrorCode::kMalformed, "the stored state is cut");
        Bytes bytes(size);
        GYM_CHECK(state_.read(at_, bytes));
        at_ += size;
        return bytes;
    }

    const BlobReader& state_;
    std::uint64_t at_ = 0;
};

/// Everything of the file in front of the tensors.
Bytes header_of(const std::vector<Entry>& entries,
                const std::map<std::string, std::string>& metadata) {
    json::object header;
    json::object& about = header["__metadata__"].emplace_object();
    for (const auto& [key, value] : metadata)
        about[key] = value;
    std::uint64_t at = 0;
    for (const Entry& entry : entries) {
        header[entry.name] = {{"dtype", "F32"},
                              {"shape", json::array(entry.dims.begin(), entry.dims.end())},
                              {"data_offsets", json::array{at, at + entry.size}}};
        at += entry.size;
    }
    std::string text = json::serialize(header);
    text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
    Bytes bytes(sizeof(std::uint64_t));
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(text.size() >> (8 * i));
    bytes.insert(bytes.end(), text.begin(), text.end());
    return bytes;
}

class SafetensorsReader final : public BlobReader {
  public:
    SafetensorsReader(std::shared_ptr<const BlobReader> state, Bytes header,
                      std::vector<Entry> entries)
        : state_(std::move(state)), header_(std::move(header)), entries_(std::move(entries)) {
        std::uint64_t at = header_.size();
        for (const Entry& entry : entries_) {
            begins_.push_back(at);
            at += entry.size;
        }
        size_ = at;
    }

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        if (offset < header_.size()) {
            const std::size_t part = std::min<std::uint64_t>(header_.size() - offset, out.size());
            std::copy_n(header_.begin() + static_cast<std::ptrdiff_t>(offset), part, out.begin());
            out = out.subspan(part);
            offset += part;
        }
        while (!out.empty()) {
            // The tensor that holds `offset`: the last that does not begin behind it.
            const auto behind = std::ranges::upper_bound(begins_, offset);
            const std::size_t i = static_cast<std::size_t>(behind - begins_.begin()) - 1;
            const std::uint64_t inside = offset - begins_[i];
            const std::size_t part = std::min<std::uint64_t>(entries_[i].size - inside, out.size());
            GYM_CHECK(state_->read(entries_[i].offset + inside, out.first(part)));
            out = out.subspan(part);
            offset += part;
        }
        return {};
    }

  private:
    const std::shared_ptr<const BlobReader> state_;
    const Bytes header_;
    const std::vector<Entry> entries_;
    std::vector<std::uint64_t> begins_;  // of each tensor in the file
    std::uint64_t size_ = 0;
};

}  // namespace

Result<std::shared_ptr<const BlobReader>> state_as_safetensors(
    std::shared_ptr<const BlobReader> state, const std::map<std::string, std::string>& metadata) {
    GYM_TRY(auto entries, Index(*state).read());
    Bytes header = header_of(entries, metadata);
    return std::shared_ptr<const BlobReader>(std::make_shared<SafetensorsReader>(
        std::move(state), std::move(header), std::move(entries)));
}

}  // namespace gym::api
