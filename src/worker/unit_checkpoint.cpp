#include "gym/worker/unit_checkpoint.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "gym/blob/blob_store.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/vault/sealed_file.hpp"

namespace gym::worker {
namespace {

constexpr std::uint16_t kFormat = 2;
constexpr std::uint32_t kHeaderBytesMax = 256U << 20;
constexpr std::string_view kSuffix = ".checkpoint";

struct Header {
    Digest state_head;  // SHA-256 of the head of the encoded state, which has the tensors' names
    Digest state_root;  // as it was hashed where the state is trained
    std::vector<engine::StepRecord> records;
};

class BytesInMemory final : public blob::BlobReader {
  public:
    explicit BytesInMemory(Bytes bytes) : bytes_(std::move(bytes)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        std::ranges::copy(ByteView(bytes_).subspan(offset, out.size()), out.begin());
        return {};
    }

  private:
    const Bytes bytes_;
};

/// The bytes of `file` from `begin` on.
class Behind final : public blob::BlobReader {
  public:
    /// @pre begin <= file.size()
    Behind(const blob::BlobReader& file, std::uint64_t begin) : file_(file), begin_(begin) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return file_.size() - begin_; }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        return file_.read(begin_ + offset, out);
    }

  private:
    const blob::BlobReader& file_;
    const std::uint64_t begin_;
};

Result<Bytes> read_at(const blob::BlobReader& file, std::uint64_t offset, std::uint64_t count) {
    if (offset > file.size() || count > file.size() - offset)
        return fail(ErrorCode::kMalformed, "it is cut within its header");
    Bytes out(count);
    GYM_CHECK(file.read(offset, out));
    return out;
}

Result<Header> decode_header(const CheckpointKey& key, ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat)
        return fail(ErrorCode::kMalformed, "checkpoint format " + std::to_string(format));
    GYM_TRY(const Digest unit, in.digest());
    GYM_TRY(const Digest spec, in.digest());
    if (unit != key.unit || spec != digest_of(key.spec))
        return fail(ErrorCode::kMismatch, "it is of another unit");
    Header out;
    GYM_TRY(out.state_head, in.digest());
    GYM_TRY(out.state_root, in.digest());
    GYM_TRY(const ByteView records, in.bytes(kHeaderBytesMax));
    GYM_TRY(out.records, engine::decode_records(records));
    GYM_CHECK(in.expect_end());
    return out;
}

/// Everything of a checkpoint file before the state's bytes.
Bytes encode_checkpoint_header(const CheckpointKey& key, ByteView state_head,
                               const Digest& state_root,
                               std::span<const engine::StepRecord> records) {
    commit::Encoder header;
    header.u16(kFormat).fixed(key.unit).fixed(digest_of(key.spec));
    header.fixed(commit::sha256(state_head)).fixed(state_root);
    header.bytes(engine::encode_records(records));
    commit::Encoder out;
    out.bytes(header.view()).fixed(commit::sha256(header.view()));
    return out.take();
}

/// Tensor by tensor: a state is in memory once. @param file from the state on.
Result<engine::State> read_state(const blob::BlobReader& file, const Digest& head_sha256) {
    GYM_TRY(const engine::StateIndex index, engine::StateIndex::read(file));
    GYM_TRY(const Bytes head, read_at(file, 0, index.head_bytes()));
    if (commit::sha256(head) != head_sha256)
        return fail(ErrorCode::kMismatch, "the names of its tensors were altered");
    engine::State out;
    out.tensors.reserve(index.tensors());
    for (std::size_t i = 0; i < index.tensors(); ++i) {
        const engine::TensorLayout& tensor = index.layout()[i];
        const std::uint64_t end = index.begin(i) + index.tensor_bytes(i);
        GYM_TRY(Bytes content, read_at(file, index.begin(i), index.tensor_bytes(i)));
        GYM_TRY(const Bytes behind, read_at(file, end, index.end(i) - end));
        if (std::ranges::any_of(behind, [](std::uint8_t byte) { return byte != 0; }))
            return fail(ErrorCode::kMalformed, "a byte behind a tensor is not 0");
        out.tensors.push_back({tensor.name, tensor.dtype, tensor.dims, std::move(content)});
    }
    return out;
}

}  // namespace

Digest digest_of(const engine::UnitSpec& spec) {
    commit::Encoder out;
    out.fixed(spec.job_seed).u64(spec.round).u32(spec.slot).u32(spec.steps);
    out.u32(spec.checkpoint_every).fixed(spec.program_root).fixed(spec.dataset_root);
    out.fixed(spec.base_state_root);
    return commit::sha256(out.view());
}

Result<engine::UnitPosition> decode_checkpoint(const CheckpointKey& key,
                                               const blob::BlobReader& file, unsigned threads) {
    constexpr std::uint64_t kLengthBytes = sizeof(std::uint32_t);
    GYM_TRY(const Bytes length_bytes, read_at(file, 0, kLengthBytes));
    GYM_TRY(const std::uint32_t length, commit::Decoder(length_bytes).u32());
    if (length > kHeaderBytesMax) return fail(ErrorCode::kMalformed, "its header is too long");
    GYM_TRY(const Bytes header_bytes, read_at(file, kLengthBytes, length));
    GYM_TRY(const Bytes checksum, read_at(file, kLengthBytes + length, Digest::kSize));
    if (!std::ranges::equal(commit::sha256(header_bytes).view(), checksum))
        return fail(ErrorCode::kMalformed, "its header was altered");
    GYM_TRY(Header header, decode_header(key, header_bytes));
    const Behind state_bytes(file, kLengthBytes + length + Digest::kSize);
    GYM_TRY(engine::State state, read_state(state_bytes, header.state_head));
    const Digest actual = engine::state_root(state, threads);
    if (actual != header.state_root)
        return fail(ErrorCode::kMismatch, "its state has root " + actual.hex() + ", " +
                                              header.state_root.hex() + " was trained");
    return engine::UnitPosition{std::move(state), std::move(header.records)};
}

Result<CheckpointStore> CheckpointStore::open(const std::filesystem::path& directory,
                                              const vault::StoreKey* key) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    std::vector<std::filesystem::path> half_written;
    for (const auto& file : std::filesystem::directory_iterator(directory, code))
        if (file.path().filename().string().starts_with(".")) half_written.push_back(file.path());
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    for (const auto& path : half_written)
        std::filesystem::remove(path, code);
    return CheckpointStore(
        directory, key != nullptr ? std::optional(key->clone()) : std::optional<vault::StoreKey>());
}

std::filesystem::path CheckpointStore::path_of(const Digest& unit) const {
    return directory_ / (to_hex(unit.view()) + std::string(kSuffix));
}

std::optional<engine::UnitPosition> CheckpointStore::load(const CheckpointKey& key,
                                                          unsigned threads) {
    const std::filesystem::path path = path_of(key.unit);
    const auto file = open_file(key.unit);
    if (!file.ok() && file.error().code == ErrorCode::kNotFound) return std::nullopt;
    auto position = file.ok() ? decode_checkpoint(key, **file, threads) : file.error();
    if (position.ok()) return std::move(*position);
    spdlog::warn("the unit begins again: its checkpoint {} cannot be used: {}", path.string(),
                 position.error().message);
    remove(key.unit);
    return std::nullopt;
}

/// The parts of engine::encode_state(), which is not made: it would be the state once more.
Status CheckpointStore::save(const CheckpointKey& key, const engine::State& state,
                             const Digest& state_root,
                             std::span<const engine::StepRecord> records) {
    static constexpr std::array<std::uint8_t, commit::kChunkBytes> kZeros{};
    GYM_TRY(const engine::StateIndex index, engine::StateIndex::of(engine::layout_of(state)));
    const Bytes head = index.encode();
    const Bytes header = encode_checkpoint_header(key, head, state_root, records);
    std::vector<ByteView> parts{header, head};
    for (std::size_t i = 0; i < index.tensors(); ++i) {
        const Bytes& content = state.tensors[i].bytes;
        parts.emplace_back(content);
        parts.push_back(ByteView(kZeros).first(index.end(i) - index.begin(i) - content.size()));
    }
    GYM_CHECK(write(key.unit, parts));
    keep_newest();
    return {};
}

Result<std::unique_ptr<const blob::BlobReader>> CheckpointStore::open_file(
    const Digest& unit) const {
    if (key_) return vault::open_sealed(path_of(unit), *key_, unit);
    GYM_TRY(Bytes bytes, read_file(path_of(unit)));
    return std::unique_ptr<const blob::BlobReader>(
        std::make_unique<BytesInMemory>(std::move(bytes)));
}

Status CheckpointStore::write(const Digest& unit, std::span<const ByteView> parts) const {
    const std::filesystem::path path = path_of(unit);
    if (!key_) return write_file_atomic(path, parts, 0600);
    std::uint64_t size_bytes = 0;
    for (const ByteView part : parts)
        size_bytes += part.size();
    // open() removes what a killed process leaves of it.
    const std::filesystem::path half_written = directory_ / ("." + path.filename().string());
    GYM_TRY(auto file, vault::SealWriter::create(half_written, *key_, unit, size_bytes));
    for (const ByteView part : parts)
        GYM_CHECK(file.append(part));
    GYM_CHECK(file.finish());
    std::error_code code;
    std::filesystem::rename(half_written, path, code);
    if (code) return fail(ErrorCode::kIo, path.string() + ": " + code.message());
    return {};
}

void CheckpointStore::remove(const Digest& unit) {
    std::error_code ignored;
    std::filesystem::remove(path_of(unit), ignored);
}

void CheckpointStore::keep_newest() {
    using Entry = std::pair<std::filesystem::file_time_type, std::filesystem::path>;
    std::vector<Entry> files;
    std::error_code code;
    for (const auto& file : std::filesystem::directory_iterator(directory_, code))
        if (file.path().extension() == kSuffix)
            files.emplace_back(file.last_write_time(code), file.path());
    if (files.size() <= kFilesMax) return;
    std::ranges::sort(files, std::ranges::greater());
    for (std::size_t i = kFilesMax; i < files.size(); ++i)
        std::filesystem::remove(files[i].second, code);
}

CheckpointPlan::CheckpointPlan(CheckpointStore& store, const CheckpointKey& key,
                               std::chrono::milliseconds every, std::stop_token stop)
    : store_(store), key_(key), stop_(std::move(stop)), pace_(every, SteadyClock::now()) {}

void CheckpointPlan::after_step(const engine::Trainer& trainer,
                                std::span<const engine::StepRecord> records) {
    // The last step's position is of no use: the result follows at once.
    if (records.size() >= key_.spec.steps) return;
    const auto start = SteadyClock::now();
    if (!pace_.due(start) && !stop_.stop_requested()) return;
    const Status saved = save(trainer, records);
    pace_.saved(start, SteadyClock::now());
    if (!saved.ok() && !refused_)
        spdlog::warn("the unit's progress is not saved: {}", saved.error().message);
    refused_ = !saved.ok();
}

Status CheckpointPlan::save(const engine::Trainer& trainer,
                            std::span<const engine::StepRecord> records) {
    GYM_TRY(const engine::State* const state, trainer.state());
    std::optional<Digest> root = records.back().state_root;
    if (!root) {
        GYM_TRY(root, trainer.state_root());
    }
    return store_.save(key_, *state, *root, records);
}

}  // namespace gym::worker
