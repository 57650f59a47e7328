#include "state_file.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <vector>

#include "gym/commit/dtype.hpp"
#include "gym/engine/state_index.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using blob::BlobReader;

constexpr std::uint64_t kAlignment = 8;

/// Where a tensor lies in the state's bytes.
struct Entry {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

Result<std::vector<Entry>> entries_of(const engine::StateIndex& state) {
    std::vector<Entry> out;
    for (std::size_t i = 0; i < state.tensors(); ++i) {
        const engine::TensorLayout& tensor = state.layout()[i];
        if (tensor.dtype != commit::DType::kF32)
            return fail(ErrorCode::kMalformed, "tensor '" + tensor.name + "' is not f32");
        if (state.tensor_bytes(i) == 0)
            return fail(ErrorCode::kMalformed, "tensor '" + tensor.name + "' is empty");
        out.push_back({tensor.name, tensor.dims, state.begin(i), state.tensor_bytes(i)});
    }
    return out;
}

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
    const auto index = engine::StateIndex::read(*state);
    if (!index.ok()) return index.error().in("the stored bytes");
    GYM_TRY(auto entries, entries_of(*index));
    Bytes header = header_of(entries, metadata);
    return std::shared_ptr<const BlobReader>(std::make_shared<SafetensorsReader>(
        std::move(state), std::move(header), std::move(entries)));
}

}  // namespace gym::api
