#include "gym/blob/verified_blob.hpp"
#include "gym/common/clock.hpp"
#include "gym/registry/dataset_names.hpp"
#include "postgres_calls.hpp"

namespace gym::api {

Result<registry::AddedTokenizer> PostgresBackend::add_dataset_tokenizer(const Digest& dataset,
                                                                        ByteView files) {
    const registry::DatasetTokenizer given{dataset, blob::blob_root(files), files.size(),
                                           clock_.now_ms()};
    const auto store = [&](db::Transaction& tx) {
        return registry::add_dataset_tokenizer(tx, given);
    };
    GYM_CHECK(calls::rehearse(database_, options_, store));
    // Before the row that promises the bytes.
    GYM_CHECK(blobs_.put(files));
    return calls::write(database_, options_, store);
}

Result<std::optional<registry::DatasetTokenizer>> PostgresBackend::dataset_tokenizer(
    const Digest& dataset) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::find_dataset_tokenizer(tx, dataset);
    });
}

Result<registry::NamedDataset> PostgresBackend::name_dataset(
    const Address& owner, const registry::DatasetReference& reference, const Digest& root) {
    const UnixMs now_ms = clock_.now_ms();
    return calls::write(database_, options_, [&](db::Transaction& tx) {
        return registry::name_dataset(tx, reference, root, owner, now_ms,
                                      options_.dataset_quota.names_max);
    });
}

Result<registry::DatasetVersion> PostgresBackend::dataset_version(
    const registry::DatasetReference& reference, const registry::Viewer& viewer) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::get_dataset_version(tx, reference, viewer);
    });
}

Result<std::vector<registry::DatasetVersion>> PostgresBackend::dataset_versions(
    const std::string& name, const registry::Viewer& viewer) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::dataset_versions(tx, name, viewer);
    });
}

Result<registry::Dataset> PostgresBackend::set_dataset_access(const Address& owner,
                                                              const Digest& root,
                                                              const registry::Access& access) {
    return calls::write(database_, options_, [&](db::Transaction& tx) -> Result<registry::Dataset> {
        GYM_CHECK(registry::set_dataset_access(tx, root, owner, access));
        return registry::get_dataset(tx, root, registry::Viewer::account(owner));
    });
}

Result<registry::Job> PostgresBackend::set_job_access(const Address& owner, const Digest& id,
                                                      const registry::Access& access) {
    return calls::write(database_, options_, [&](db::Transaction& tx) -> Result<registry::Job> {
        GYM_CHECK(registry::set_job_access(tx, id, owner, access));
        return registry::get_job(tx, id);
    });
}

}  // namespace gym::api
