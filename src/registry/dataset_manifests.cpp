#include "gym/registry/dataset_manifests.hpp"

namespace gym::registry {

Result<AddedManifest> add_dataset_manifest(db::Transaction& tx, const DatasetManifest& given) {
    GYM_TRY(const db::Rows inserted,
            tx.exec("INSERT INTO registry.dataset_manifest (dataset, root, blob, bytes, "
                    "added_at_ms) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (dataset) DO NOTHING",
                    {given.dataset, given.root, given.blob, given.bytes, given.added_at_ms}));
    if (inserted.affected() == 1) return AddedManifest{given, true};
    GYM_TRY(const auto stored, find_dataset_manifest(tx, given.dataset));
    if (stored && stored->blob == given.blob) return AddedManifest{*stored, false};
    return fail(ErrorCode::kConflict, "dataset " + given.dataset.hex() + " has manifest " +
                                          (stored ? stored->root.hex() : "") +
                                          " already: it never changes");
}

Result<std::optional<DatasetManifest>> find_dataset_manifest(db::Transaction& tx,
                                                             const Digest& dataset) {
    GYM_TRY(const auto row, tx.exec_optional("SELECT root, blob, bytes, added_at_ms FROM "
                                             "registry.dataset_manifest WHERE dataset = $1",
                                             {dataset}));
    if (!row) return std::optional<DatasetManifest>();
    return std::optional(DatasetManifest{dataset, row->get<Digest>("root"),
                                         row->get<Digest>("blob"), row->get<std::uint64_t>("bytes"),
                                         row->get<UnixMs>("added_at_ms")});
}

}  // namespace gym::registry
