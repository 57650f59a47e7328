#include "gym/registry/datasets.hpp"

#include <algorithm>

#include "access_rows.hpp"

namespace gym::registry {
namespace {

constexpr std::uint32_t kDatasetListMax = 1000;
/// Names the lock of all registrations; any number that nothing else locks.
constexpr std::int64_t kRegistrationLock = 0x67796d5f64617461;  // "gym_data"

/// Parameters $1 and $2 of every statement: the viewer (viewer_params()).
constexpr std::string_view kDatasetColumns =
    "SELECT d.root, d.blob, d.owner, d.name, d.licence, d.tokens, d.vocabulary, d.tokenizer, "
    "t.price, d.novelty_ppm, d.usefulness_ppm, t.quality, d.parts, d.sketch_level, "
    "d.sketch_chunks, d.compared_tokens, n.root AS nearest, d.nearest_ppm, d.number, "
    "d.registered_at_ms, d.visibility, (SELECT string_agg(a, ''::bytea ORDER BY a) FROM "
    "unnest(d.allowed::bytea[]) a) AS allowed, "
    "f.root AS manifest, m.evaluation, m.state_root, m.before_bits, m.after_bits, m.baseline_bits, "
    "m.measured_at_ms "
    "FROM registry.dataset d CROSS JOIN LATERAL registry.data_terms(d.root) t "
    "LEFT JOIN registry.measurement m ON m.dataset = d.root "
    "LEFT JOIN registry.dataset_manifest f ON f.dataset = d.root "
    "LEFT JOIN registry.dataset n ON n.root = d.nearest AND registry.may_see($1::boolean, "
    "$2::bytea, n.owner, n.visibility, n.allowed) "
    "WHERE registry.may_see($1::boolean, $2::bytea, d.owner, d.visibility, d.allowed) "
    "AND (d.parts = 0 OR registry.may_see_parts($1::boolean, $2::bytea, d.root)) ";

std::optional<DatasetMeasurement> to_measurement(const db::Row& row) {
    if (row.is_null("evaluation")) return std::nullopt;
    return DatasetMeasurement{
        row.get<Digest>("evaluation"),           row.get<Digest>("state_root"),
        row.get<std::uint32_t>("before_bits"),   row.get<std::uint32_t>("after_bits"),
        row.get<std::uint32_t>("baseline_bits"), row.get<UnixMs>("measured_at_ms")};
}

Dataset to_dataset(const db::Row& row) {
    Dataset out;
    out.root = row.get<Digest>("root");
    out.blob = row.get<Digest>("blob");
    out.owner = row.get<Address>("owner");
    out.name = row.get<std::string>("name");
    out.licence = row.get<std::string>("licence");
    out.tokens = row.get<std::uint64_t>("tokens");
    out.vocabulary = row.get<std::uint32_t>("vocabulary");
    if (!row.is_null("tokenizer")) out.tokenizer = row.get<Digest>("tokenizer");
    if (!row.is_null("manifest")) out.manifest = row.get<Digest>("manifest");
    out.price_wei_per_mtoken = row.get<Amount>("price");
    out.novelty_ppm = row.get<std::uint32_t>("novelty_ppm");
    out.usefulness_ppm = row.get<std::uint32_t>("usefulness_ppm");
    out.quality_ppm = row.get<std::uint32_t>("quality");
    if (!row.is_null("sketch_level"))
        out.sample = DatasetSample{row.get<std::uint32_t>("sketch_level"),
                                   row.get<std::uint32_t>("sketch_chunks"),
                                   row.get<std::uint64_t>("compared_tokens")};
    if (!row.is_null("nearest"))
        out.nearest =
            NearestDataset{row.get<Digest>("nearest"), row.get<std::uint32_t>("nearest_ppm")};
    // The schema allows no other names.
    out.access.visibility =
        parse_visibility(row.get<std::string>("visibility")).value_or(Visibility::kPrivate);
    out.access.allowed = split_addresses(row.get<std::optional<Bytes>>("allowed"));
    out.measurement = to_measurement(row);
    out.number = row.get<std::uint64_t>("number");
    out.registered_at_ms = row.get<UnixMs>("registered_at_ms");
    return out;
}

}  // namespace

Amount dataset_price_max() {
    return Amount(1'000'000'000'000'000).mul_div(Amount(1'000'000'000'000'000), Amount(1)).value();
}

Status lock_registrations(db::Transaction& tx) {
    GYM_CHECK(tx.exec("SELECT pg_advisory_xact_lock($1)", {kRegistrationLock}));
    return {};
}

Result<bool> register_dataset(db::Transaction& tx, const Dataset& dataset) {
    GYM_CHECK(lock_registrations(tx));
    const auto& sample = dataset.sample;
    const auto& nearest = dataset.nearest;
    using Number = std::optional<std::uint64_t>;
    GYM_TRY(
        const db::Rows inserted,
        tx.exec(
            "INSERT INTO registry.dataset (number, root, blob, owner, name, licence, tokens, "
            "vocabulary, price_wei_per_mtoken, novelty_ppm, usefulness_ppm, sketch_level, "
            "sketch_chunks, compared_tokens, nearest, nearest_ppm, registered_at_ms, tokenizer, "
            "visibility, allowed, parts) "
            "VALUES ((SELECT coalesce(max(number), 0) + 1 FROM registry.dataset), $1, $2, $3, "
            "$4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, "
            "$19::registry.address[], $20) "
            "ON CONFLICT (root) DO NOTHING",
            {dataset.root,
             dataset.blob,
             dataset.owner,
             dataset.name,
             dataset.licence,
             dataset.tokens,
             dataset.vocabulary,
             dataset.price_wei_per_mtoken,
             dataset.novelty_ppm,
             dataset.usefulness_ppm,
             sample ? Number(sample->level) : Number(),
             sample ? Number(sample->chunks) : Number(),
             sample ? Number(sample->compared_tokens) : Number(),
             nearest ? std::optional<Digest>(nearest->root) : std::optional<Digest>(),
             nearest ? Number(nearest->ppm) : Number(),
             dataset.registered_at_ms,
             dataset.tokenizer,
             to_string(dataset.access.visibility),
             db::Param::array(dataset.access.allowed),
             dataset.parts.size()}));
    if (inserted.affected() == 1) return true;
    GYM_TRY(const Dataset stored, get_dataset(tx, dataset.root));
    GYM_CHECK(check_same_offer(stored, dataset));
    return false;
}

Status check_same_offer(const Dataset& stored, const Dataset& offered) {
    const std::string which = "dataset " + stored.root.hex() + " is registered already ";
    if (stored.owner != offered.owner || stored.blob != offered.blob) {
        const bool seen = Viewer::account(offered.owner).may_see(stored.access, stored.owner);
        return fail(ErrorCode::kConflict,
                    which + "by " + (seen ? stored.owner.hex() : "another account"));
    }
    if (stored.licence != offered.licence ||
        stored.price_wei_per_mtoken != offered.price_wei_per_mtoken)
        return fail(ErrorCode::kConflict,
                    which + "under " + stored.licence + " for " +
                        stored.price_wei_per_mtoken.to_tokens() +
                        " GYM per million tokens of text: neither changes afterwards");
    return {};
}

Result<std::optional<Dataset>> find_dataset(db::Transaction& tx, const Digest& root,
                                            const Viewer& viewer) {
    GYM_TRY(const auto row, tx.exec_optional(std::string(kDatasetColumns) + "AND d.root = $3",
                                             {viewer.sees_all(), viewer.address(), root}));
    if (!row) return std::optional<Dataset>();
    std::vector<Dataset> out{to_dataset(*row)};
    if (row->get<std::uint32_t>("parts") > 0) GYM_CHECK(load_parts(tx, out));
    return std::optional(std::move(out.front()));
}

Result<Dataset> get_dataset(db::Transaction& tx, const Digest& root, const Viewer& viewer) {
    GYM_TRY(auto found, find_dataset(tx, root, viewer));
    if (found) return *std::move(found);
    return fail(ErrorCode::kNotFound, "dataset " + root.hex() + " is not registered");
}

Status set_dataset_access(db::Transaction& tx, const Digest& root, const Address& owner,
                          const Access& access) {
    GYM_TRY(const Dataset stored, get_dataset(tx, root, Viewer::account(owner)));
    if (stored.owner != owner)
        return fail(ErrorCode::kPermissionDenied,
                    "dataset " + root.hex() + " belongs to " + stored.owner.hex());
    if (!stored.parts.empty())
        return fail(ErrorCode::kConflict, "dataset " + root.hex() +
                                              " is a mix: those see it who may see all of its "
                                              "parts");
    GYM_CHECK(check_visibility(stored.licence, access.visibility));
    GYM_CHECK(
        tx.exec("UPDATE registry.dataset SET visibility = $2, allowed = $3::registry.address[] "
                "WHERE root = $1",
                {root, to_string(access.visibility), db::Param::array(access.allowed)}));
    return {};
}

Result<std::vector<Dataset>> list_datasets(db::Transaction& tx, const DatasetFilter& filter) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kDatasetColumns) + "AND ($3::bytea IS NULL OR d.owner = $3::bytea) "
                                                   "ORDER BY d.number DESC LIMIT $4 OFFSET $5",
                    {filter.viewer.sees_all(), filter.viewer.address(), filter.owner,
                     std::min(filter.limit, kDatasetListMax), filter.offset}));
    std::vector<Dataset> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(to_dataset(row));
    GYM_CHECK(load_parts(tx, out));
    return out;
}

}  // namespace gym::registry
