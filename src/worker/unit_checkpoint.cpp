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
#include "gym/vault/sealed_file.hpp"

namespace gym::worker {
namespace {

constexpr std::uint16_t kFormat = 1;
constexpr std::uint32_t kHeaderBytesMax = 256U << 20;
constexpr std::string_view kSuffix = ".checkpoint";

struct Header {
    Digest state_blob;  // root over the state's bytes, names of tensors included
    std::vector<engine::StepRecord> records;
};

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
    GYM_TRY(out.state_blob, in.digest());
    GYM_TRY(const ByteView records, in.bytes(kHeaderBytesMax));
    GYM_TRY(out.records, engine::decode_records(records));
    GYM_CHECK(in.expect_end());
    return out;
}

/// Everything of a checkpoint file before the state's bytes, whose blob root is `state_blob`.
Bytes encode_checkpoint_header(const CheckpointKey& key, const Digest& state_blob,
                               std::span<const engine::StepRecord> records) {
    commit::Encoder header;
    header.u16(kFormat).fixed(key.unit).fixed(digest_of(key.spec)).fixed(state_blob);
    header.bytes(engine::encode_records(records));
    commit::Encoder out;
    out.bytes(header.view()).fixed(commit::sha256(header.view()));
    return out.take();
}

}  // namespace

Digest digest_of(const engine::UnitSpec& spec) {
    commit::Encoder out;
    out.fixed(spec.job_seed).u64(spec.round).u32(spec.slot).u32(spec.steps);
    out.u32(spec.checkpoint_every).fixed(spec.program_root).fixed(spec.dataset_root);
    out.fixed(spec.base_state_root);
    return commit::sha256(out.view());
}

Result<engine::UnitPosition> decode_checkpoint(const CheckpointKey& key, ByteView content,
                                               unsigned threads) {
    commit::Decoder in(content);
    GYM_TRY(const ByteView header_bytes, in.bytes(kHeaderBytesMax));
    GYM_TRY(const Digest checksum, in.digest());
    if (commit::sha256(header_bytes) != checksum)
        return fail(ErrorCode::kMalformed, "its header was altered");
    GYM_TRY(Header header, decode_header(key, header_bytes));
    const std::size_t state_begins = 4 + header_bytes.size() + Digest::kSize;
    const ByteView state_bytes = content.subspan(state_begins);
    const Digest actual = blob::blob_root(state_bytes, threads);
    if (actual != header.state_blob)
        return fail(ErrorCode::kMismatch, "its state hashes to " + actual.hex() + ", " +
                                              header.state_blob.hex() + " was saved");
    GYM_TRY(engine::State state, engine::decode_state(state_bytes));
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
    const auto bytes = read(key.unit);
    if (!bytes.ok() && bytes.error().code == ErrorCode::kNotFound) return std::nullopt;
    auto position = bytes.ok() ? decode_checkpoint(key, *bytes, threads) : bytes.error();
    if (position.ok()) return std::move(*position);
    spdlog::warn("the unit begins again: its checkpoint {} cannot be used: {}", path.string(),
                 position.error().message);
    remove(key.unit);
    return std::nullopt;
}

Status CheckpointStore::save(const CheckpointKey& key, const engine::State& state,
                             std::span<const engine::StepRecord> records, unsigned threads) {
    const Bytes content = engine::encode_state(state);
    const Bytes header = encode_checkpoint_header(key, blob::blob_root(content, threads), records);
    const std::array<ByteView, 2> parts{header, content};
    GYM_CHECK(write(key.unit, parts));
    keep_newest();
    return {};
}

Result<Bytes> CheckpointStore::read(const Digest& unit) const {
    if (!key_) return read_file(path_of(unit));
    GYM_TRY(const auto reader, vault::open_sealed(path_of(unit), *key_, unit));
    Bytes out(reader->size());
    GYM_CHECK(reader->read(0, out));
    return out;
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
                               std::chrono::milliseconds every, std::stop_token stop,
                               unsigned threads)
    : store_(store),
      key_(key),
      stop_(std::move(stop)),
      threads_(threads),
      pace_(every, SteadyClock::now()) {}

void CheckpointPlan::after_step(const engine::Trainer& trainer,
                                std::span<const engine::StepRecord> records) {
    // The last step's position is of no use: the result follows at once.
    if (records.size() >= key_.spec.steps) return;
    const auto start = SteadyClock::now();
    if (!pace_.due(start) && !stop_.stop_requested()) return;
    const auto state = trainer.state();
    const Status saved =
        state.ok() ? store_.save(key_, **state, records, threads_) : Status(state.error());
    pace_.saved(start, SteadyClock::now());
    if (!saved.ok() && !refused_)
        spdlog::warn("the unit's progress is not saved: {}", saved.error().message);
    refused_ = !saved.ok();
}

}  // namespace gym::worker
