#include "gym/registry/dataset_names.hpp"

#include <algorithm>

#include "name_rows.hpp"

namespace gym::registry {
namespace {

/// Parameters $2 and $3: the viewer, to whom versions that it may not see do not exist.
constexpr std::string_view kVersionColumns =
    "SELECT v.name, v.version, v.root, n.owner, v.registered_at_ms "
    "FROM registry.dataset_version v JOIN registry.dataset_name n ON n.name = v.name "
    "JOIN registry.dataset d ON d.root = v.root "
    "WHERE v.name = $1 AND registry.may_see($2::boolean, $3::bytea, d.owner, d.visibility, "
    "d.allowed) AND (d.parts = 0 OR registry.may_see_parts($2::boolean, $3::bytea, d.root)) ";

DatasetVersion to_version(const db::Row& row) {
    return {row.get<std::string>("name"), row.get<std::uint32_t>("version"),
            row.get<Digest>("root"), row.get<Address>("owner"),
            row.get<UnixMs>("registered_at_ms")};
}

Result<std::optional<DatasetVersion>> newest(db::Transaction& tx, const std::string& name,
                                             const Viewer& viewer) {
    GYM_TRY(const auto row,
            tx.exec_optional(std::string(kVersionColumns) + "ORDER BY v.version DESC LIMIT 1",
                             {name, viewer.sees_all(), viewer.address()}));
    if (!row) return std::optional<DatasetVersion>();
    return std::optional(to_version(*row));
}

}  // namespace

Result<DatasetReference> parse_dataset_reference(std::string_view text) {
    return parse_name_reference(text, "dataset");
}

Result<NamedDataset> name_dataset(db::Transaction& tx, const DatasetReference& reference,
                                  const Digest& root, const Address& owner, UnixMs now_ms,
                                  std::uint32_t names_max) {
    GYM_CHECK(lock_registrations(tx));
    // The name first: what it refuses shows before the dataset is registered.
    GYM_CHECK(take_name(tx, NameKind::kDataset, reference.name, {owner, now_ms, names_max}));
    GYM_TRY(const auto last, newest(tx, reference.name, Viewer::service()));
    if (last && last->root == root && reference.version.value_or(last->version) == last->version)
        return NamedDataset{*last, false};
    GYM_TRY(const std::uint32_t next,
            next_version(reference, last ? std::optional(last->version) : std::nullopt));
    GYM_TRY(const Dataset dataset, get_dataset(tx, root, Viewer::account(owner)));
    if (dataset.owner != owner)
        return fail(ErrorCode::kPermissionDenied,
                    "dataset " + root.hex() + " belongs to " + dataset.owner.hex());
    GYM_CHECK(
        tx.exec("INSERT INTO registry.dataset_version (name, version, root, "
                "registered_at_ms) VALUES ($1, $2, $3, $4)",
                {reference.name, next, root, now_ms}));
    return NamedDataset{{reference.name, next, root, owner, now_ms}, true};
}

Result<DatasetVersion> get_dataset_version(db::Transaction& tx, const DatasetReference& reference,
                                           const Viewer& viewer) {
    if (!reference.version) {
        GYM_TRY(const auto found, newest(tx, reference.name, viewer));
        if (found) return *found;
        return fail(ErrorCode::kNotFound, "no dataset has the name " + reference.name);
    }
    GYM_TRY(const auto row, tx.exec_optional(std::string(kVersionColumns) + "AND v.version = $4",
                                             {reference.name, viewer.sees_all(), viewer.address(),
                                              *reference.version}));
    if (row) return to_version(*row);
    return fail(ErrorCode::kNotFound,
                "there is no dataset " + reference.name + "@" + std::to_string(*reference.version));
}

Status add_names(db::Transaction& tx, std::span<Dataset> datasets) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(datasets.size());
    for (Dataset& dataset : datasets) {
        dataset.names.clear();
        numbers.push_back(static_cast<std::int64_t>(dataset.number));
    }
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT d.number, v.name, v.version FROM registry.dataset d "
                    "CROSS JOIN LATERAL (SELECT name, version, registered_at_ms "
                    "FROM registry.dataset_version WHERE root = d.root "
                    "ORDER BY registered_at_ms DESC, name, version DESC LIMIT $2) v "
                    "WHERE d.number = ANY($1::bigint[]) "
                    "ORDER BY v.registered_at_ms DESC, v.name, v.version DESC",
                    {db::Param::array(numbers), kDatasetNamesMax}));
    for (const db::Row row : rows) {
        const auto found =
            std::ranges::find(datasets, row.get<std::uint64_t>("number"), &Dataset::number);
        if (found == datasets.end()) continue;
        found->names.push_back(row.get<std::string>("name") + "@" +
                               std::to_string(row.get<std::uint32_t>("version")));
    }
    return {};
}

Result<std::vector<DatasetVersion>> dataset_versions(db::Transaction& tx, const std::string& name,
                                                     const Viewer& viewer) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kVersionColumns) + "ORDER BY v.version DESC LIMIT 1000",
                    {name, viewer.sees_all(), viewer.address()}));
    if (rows.size() == 0) return fail(ErrorCode::kNotFound, "no dataset has the name " + name);
    std::vector<DatasetVersion> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(to_version(row));
    return out;
}

}  // namespace gym::registry
