#include "gym/registry/model_names.hpp"

#include <algorithm>

#include "access_rows.hpp"
#include "gym/common/memory.hpp"
#include "name_rows.hpp"

namespace gym::registry {
namespace {

constexpr std::uint32_t kModelListMax = 1000;
/// Names the lock of all model names; any number that nothing else locks.
constexpr std::int64_t kModelLock = 0x67796d2e6d6f646c;  // "gym.modl"

/// Parameters $1 and $2: the viewer. Follows a SELECT of the layout.
constexpr std::string_view kModelColumns =
    "v.name, v.version, n.owner, v.state_root, v.state_blob, v.state_bytes, v.program_root, "
    "v.program_blob, v.program_bytes, v.tokenizer, "
    "v.tokenizer_blob, v.licence, v.job_id, v.round, v.visibility, (SELECT string_agg(a, "
    "''::bytea ORDER BY a) FROM unnest(v.allowed::bytea[]) a) AS allowed, v.registered_at_ms "
    "FROM registry.model_version v JOIN registry.model_name n ON n.name = v.name "
    "WHERE registry.may_see($1::boolean, $2::bytea, n.owner, v.visibility, v.allowed) ";

/// One model.
std::string select_model() {
    return "SELECT v.state_layout, " + std::string(kModelColumns);
}
/// Any number of them, without their layouts: one has up to megabytes.
std::string select_models() {
    return "SELECT ''::bytea AS state_layout, " + std::string(kModelColumns);
}

ModelVersion to_model(const db::Row& row) {
    ModelVersion out;
    out.name = row.get<std::string>("name");
    out.version = row.get<std::uint32_t>("version");
    out.owner = row.get<Address>("owner");
    out.state = {row.get<Digest>("state_root"), row.get<Digest>("state_blob"),
                 row.get<std::uint64_t>("state_bytes")};
    out.state_layout = row.get<Bytes>("state_layout");
    out.program = {row.get<Digest>("program_root"), row.get<Digest>("program_blob"),
                   row.get<std::uint64_t>("program_bytes")};
    out.tokenizer = row.get<std::optional<Digest>>("tokenizer");
    out.tokenizer_blob = row.get<std::optional<Digest>>("tokenizer_blob");
    out.licence = row.get<std::string>("licence");
    out.job = row.get<std::optional<Digest>>("job_id");
    out.round = row.get<std::optional<std::uint64_t>>("round");
    // The schema allows no other names.
    out.access.visibility =
        parse_visibility(row.get<std::string>("visibility")).value_or(Visibility::kPrivate);
    out.access.allowed = split_addresses(row.get<std::optional<Bytes>>("allowed"));
    out.registered_at_ms = row.get<UnixMs>("registered_at_ms");
    return out;
}

Result<std::optional<ModelVersion>> newest_model(db::Transaction& tx, const std::string& name,
                                                 const Viewer& viewer) {
    GYM_TRY(const auto row,
            tx.exec_optional(select_model() + "AND v.name = $3 ORDER BY v.version DESC LIMIT 1",
                             {viewer.sees_all(), viewer.address(), name}));
    if (!row) return std::optional<ModelVersion>();
    return std::optional(to_model(*row));
}

Status insert_version(db::Transaction& tx, const ModelVersion& model) {
    GYM_CHECK(
        tx.exec("INSERT INTO registry.model_version (name, version, state_root, state_blob, "
                "state_bytes, state_layout, program_root, program_blob, program_bytes, tokenizer, "
                "tokenizer_blob, licence, job_id, round, visibility, allowed, registered_at_ms) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
                "$16::registry.address[], $17)",
                {model.name, model.version, model.state.root, model.state.blob, model.state.bytes,
                 model.state_layout, model.program.root, model.program.blob, model.program.bytes,
                 model.tokenizer, model.tokenizer_blob, model.licence, model.job, model.round,
                 to_string(model.access.visibility), db::Param::array(model.access.allowed),
                 model.registered_at_ms}));
    return {};
}

/// Under the lock of model names.
Status check_quota(db::Transaction& tx, const ModelVersion& model, const ModelQuota& quota) {
    GYM_TRY(const db::Row used,
            tx.exec_one("SELECT count(*) AS versions, coalesce((SELECT sum(bytes) FROM (SELECT "
                        "DISTINCT u.state_blob, u.state_bytes AS bytes FROM registry.model_version "
                        "u JOIN registry.model_name m ON m.name = u.name WHERE m.owner = $1 AND "
                        "u.job_id IS NULL AND u.state_blob <> $2) blobs), 0)::bigint AS bytes "
                        "FROM registry.model_version v JOIN registry.model_name n ON n.name = "
                        "v.name WHERE n.owner = $1",
                        {model.owner, model.state.blob}));
    const auto versions = used.get<std::uint64_t>("versions");
    if (versions >= quota.versions_max)
        return fail(ErrorCode::kOutOfRange, "you have registered " + std::to_string(versions) +
                                                " versions of models, and may register " +
                                                std::to_string(quota.versions_max) +
                                                whom_to_ask(NameKind::kModel));
    if (model.job) return {};  // the network has its weights anyway
    const auto bytes = used.get<std::uint64_t>("bytes");
    if (bytes <= quota.bytes_max && model.state.bytes <= quota.bytes_max - bytes) return {};
    return fail(ErrorCode::kOutOfRange, "the weights of your registered models have " +
                                            memory_text(bytes) + " together, these have " +
                                            memory_text(model.state.bytes) +
                                            ", and they may have " + memory_text(quota.bytes_max) +
                                            whom_to_ask(NameKind::kModel));
}

bool same_weights(const ModelVersion& a, const ModelVersion& b) {
    return a.state.root == b.state.root && a.program.root == b.program.root &&
           a.tokenizer == b.tokenizer && a.tokenizer_blob == b.tokenizer_blob &&
           a.licence == b.licence;
}

}  // namespace

Result<ModelReference> parse_model_reference(std::string_view text) {
    return parse_name_reference(text, "model");
}

Result<NamedModel> name_model(db::Transaction& tx, const ModelReference& reference,
                              const ModelVersion& model, const ModelQuota& quota) {
    GYM_CHECK(tx.exec("SELECT pg_advisory_xact_lock($1)", {kModelLock}));
    GYM_CHECK(take_name(tx, NameKind::kModel, reference.name,
                        {model.owner, model.registered_at_ms, quota.names_max}));
    GYM_TRY(const auto last, newest_model(tx, reference.name, Viewer::service()));
    if (last && same_weights(*last, model) &&
        reference.version.value_or(last->version) == last->version) {
        if (last->access == model.access) return NamedModel{*last, false};
        return fail(ErrorCode::kConflict, reference.name + "@" + std::to_string(last->version) +
                                              " has the same weights and is " +
                                              std::string(to_string(last->access.visibility)) +
                                              ": `gym model visibility` changes that");
    }
    GYM_TRY(const std::uint32_t next,
            next_version(reference, last ? std::optional(last->version) : std::nullopt));
    GYM_CHECK(check_quota(tx, model, quota));
    ModelVersion stored = model;
    stored.name = reference.name;
    stored.version = next;
    GYM_CHECK(insert_version(tx, stored));
    return NamedModel{std::move(stored), true};
}

Result<ModelVersion> get_model_version(db::Transaction& tx, const ModelReference& reference,
                                       const Viewer& viewer) {
    if (!reference.version) {
        GYM_TRY(const auto found, newest_model(tx, reference.name, viewer));
        if (found) return *found;
        return fail(ErrorCode::kNotFound, "no model has the name " + reference.name);
    }
    GYM_TRY(const auto row, tx.exec_optional(select_model() + "AND v.name = $3 AND v.version = $4",
                                             {viewer.sees_all(), viewer.address(), reference.name,
                                              *reference.version}));
    if (row) return to_model(*row);
    return fail(ErrorCode::kNotFound, "there is no model " + to_string(reference));
}

Result<std::vector<ModelVersion>> model_versions(db::Transaction& tx, const std::string& name,
                                                 const Viewer& viewer) {
    GYM_TRY(const db::Rows rows,
            tx.exec(select_models() + "AND v.name = $3 ORDER BY v.version DESC LIMIT 1000",
                    {viewer.sees_all(), viewer.address(), name}));
    if (rows.size() == 0) return fail(ErrorCode::kNotFound, "no model has the name " + name);
    std::vector<ModelVersion> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(to_model(row));
    return out;
}

Result<std::optional<ModelVersion>> find_model_of_state(db::Transaction& tx, const Digest& state,
                                                        const Viewer& viewer) {
    GYM_TRY(const auto row,
            tx.exec_optional(select_model() +
                                 "AND v.state_root = $3 ORDER BY v.registered_at_ms, v.name, "
                                 "v.version LIMIT 1",
                             {viewer.sees_all(), viewer.address(), state}));
    if (!row) return std::optional<ModelVersion>();
    return std::optional(to_model(*row));
}

Result<std::vector<ModelVersion>> list_models(db::Transaction& tx, const ModelFilter& filter) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT * FROM (SELECT DISTINCT ON (m.name) m.* FROM (" + select_models() +
                        "AND ($3::bytea IS NULL OR n.owner = $3::bytea)) m "
                        "ORDER BY m.name, m.version DESC) newest "
                        "ORDER BY registered_at_ms DESC, name LIMIT $4 OFFSET $5",
                    {filter.viewer.sees_all(), filter.viewer.address(), filter.owner,
                     std::min(filter.limit, kModelListMax), filter.offset}));
    std::vector<ModelVersion> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(to_model(row));
    return out;
}

Status set_model_access(db::Transaction& tx, const ModelReference& reference, const Address& owner,
                        const Access& access) {
    GYM_TRY(const ModelVersion stored, get_model_version(tx, reference, Viewer::account(owner)));
    if (stored.owner != owner)
        return fail(ErrorCode::kPermissionDenied,
                    "the model " + stored.name + " belongs to " + stored.owner.hex());
    GYM_CHECK(check_visibility(stored.licence, access.visibility));
    GYM_CHECK(
        tx.exec("UPDATE registry.model_version SET visibility = $3, allowed = "
                "$4::registry.address[] WHERE name = $1 AND version = $2",
                {stored.name, stored.version, to_string(access.visibility),
                 db::Param::array(access.allowed)}));
    return {};
}

}  // namespace gym::registry
