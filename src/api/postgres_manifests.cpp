#include <algorithm>
#include <memory>

#include "gym/common/memory.hpp"
#include "gym/data/manifest.hpp"
#include "gym/registry/dataset_manifests.hpp"
#include "postgres_calls.hpp"

namespace gym::api {
namespace {

/// An uploaded file from its beginning to its end.
class BlobSource final : public data::ByteSource {
  public:
    explicit BlobSource(const blob::BlobReader& blob) : blob_(blob) {}
    Result<std::size_t> read(std::span<std::uint8_t> out) override {
        const auto size =
            static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), blob_.size() - at_));
        GYM_CHECK(blob_.read(at_, out.first(size)));
        at_ += size;
        return size;
    }

  private:
    const blob::BlobReader& blob_;
    std::uint64_t at_ = 0;
};

/// The root of a manifest of exactly this dataset. @errors kMalformed, kMismatch, kIo.
Result<Digest> manifest_root(const blob::BlobReader& file, const registry::Dataset& dataset) {
    GYM_TRY(auto reader,
            data::ManifestReader::read(std::make_unique<BlobSource>(file), "the manifest"));
    data::ManifestDocument document;
    for (bool more = true; more;) {
        GYM_TRY(more, reader.next(document));
    }
    const data::ManifestEnd& end = reader.whole().end;
    if (end.dataset_root == dataset.root && end.tokens == dataset.tokens)
        return reader.whole().root;
    return fail(ErrorCode::kMismatch, "the manifest is of dataset " + end.dataset_root.hex() +
                                          " with " + std::to_string(end.tokens) +
                                          " tokens, not of " + dataset.root.hex() + " with " +
                                          std::to_string(dataset.tokens));
}

}  // namespace

Result<registry::AddedManifest> PostgresBackend::add_dataset_manifest(
    const registry::Dataset& dataset, const Digest& upload) {
    const auto turn = reading_->take(dataset.owner, clock_.now_ms());
    if (!turn)
        return fail(ErrorCode::kUnavailable, "another uploaded file is being read; ask again");
    GYM_TRY(const auto file, open_upload(dataset.owner, upload));
    if (file->size() > options_.dataset_bytes_max)
        return fail(ErrorCode::kOutOfRange, "a manifest of " + memory_text(file->size()) +
                                                "; this network takes at most " +
                                                memory_text(options_.dataset_bytes_max));
    registry::DatasetManifest given{.dataset = dataset.root, .root = {}, .blob = upload};
    GYM_TRY(given.root, manifest_root(*file, dataset));
    given.bytes = file->size();
    given.added_at_ms = clock_.now_ms();
    const auto store = [&](db::Transaction& tx) {
        return registry::add_dataset_manifest(tx, given);
    };
    GYM_CHECK(calls::rehearse(database_, options_, store));
    // Before the row that promises the bytes.
    GYM_CHECK(blobs_.adopt(upload, *file));
    return calls::write(database_, options_, store);
}

Result<std::optional<registry::DatasetManifest>> PostgresBackend::dataset_manifest(
    const Digest& dataset) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::find_dataset_manifest(tx, dataset);
    });
}

}  // namespace gym::api
