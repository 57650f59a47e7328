#include "gym/registry/datasets.hpp"

#include <algorithm>

namespace gym::registry {
namespace {

constexpr std::uint32_t kDatasetListMax = 1000;
/// Names the lock of all registrations; any number that nothing else locks.
constexpr std::int64_t kRegistrationLock = 0x67796d5f64617461;  // "gym_data"

constexpr std::string_view kDatasetColumns =
    "SELECT d.root, d.blob, d.owner, d.name, d.licence, d.tokens, d.vocabulary, d.tokenizer, "
    "t.price, d.novelty_ppm, d.usefulness_ppm, t.quality, d.parts, d.sketch_level, "
    "d.sketch_chunks, d.compared_tokens, d.nearest, d.nearest_ppm, d.number, d.registered_at_ms, "
    "m.evaluation, m.state_root, m.before_bits, m.after_bits, m.baseline_bits, m.measured_at_ms "
    "FROM registry.dataset d CROSS JOIN LATERAL registry.data_terms(d.root) t "
    "LEFT JOIN registry.measurement m ON m.dataset = d.root ";

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
            "parts) "
            "VALUES ((SELECT coalesce(max(number), 0) + 1 FROM registry.dataset), $1, $2, $3, "
            "$4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) "
            "ON CONFLICT (root) DO NOTHING",
            {dataset.root, dataset.blob, dataset.owner, dataset.name, dataset.licence,
             dataset.tokens, dataset.vocabulary, dataset.price_wei_per_mtoken, dataset.novelty_ppm,
             dataset.usefulness_ppm, sample ? Number(sample->level) : Number(),
             sample ? Number(sample->chunks) : Number(),
             sample ? Number(sample->compared_tokens) : Number(),
             nearest ? std::optional<Digest>(nearest->root) : std::optional<Digest>(),
             nearest ? Number(nearest->ppm) : Number(), dataset.registered_at_ms, dataset.tokenizer,
             dataset.parts.size()}));
    if (inserted.affected() == 1) return true;
    GYM_TRY(const Dataset stored, get_dataset(tx, dataset.root));
    GYM_CHECK(check_same_offer(stored, dataset));
    return false;
}

Status check_same_offer(const Dataset& stored, const Dataset& offered) {
    const std::string which = "dataset " + stored.root.hex() + " is registered already ";
    if (stored.owner != offered.owner || stored.blob != offered.blob)
        return fail(ErrorCode::kConflict, which + "by " + stored.owner.hex());
    if (stored.licence != offered.licence ||
        stored.price_wei_per_mtoken != offered.price_wei_per_mtoken)
        return fail(ErrorCode::kConflict,
                    which + "under " + stored.licence + " for " +
                        stored.price_wei_per_mtoken.to_tokens() +
                        " GYM per million tokens of text: neither changes afterwards");
    return {};
}

Result<std::optional<Dataset>> find_dataset(db::Transaction& tx, const Digest& root) {
    GYM_TRY(const auto row,
            tx.exec_optional(std::string(kDatasetColumns) + "WHERE d.root = $1", {root}));
    if (!row) return std::optional<Dataset>();
    std::vector<Dataset> out{to_dataset(*row)};
    if (row->get<std::uint32_t>("parts") > 0) GYM_CHECK(load_parts(tx, out));
    return std::optional(std::move(out.front()));
}

Result<Dataset> get_dataset(db::Transaction& tx, const Digest& root) {
    GYM_TRY(auto found, find_dataset(tx, root));
    if (found) return *std::move(found);
    return fail(ErrorCode::kNotFound, "dataset " + root.hex() + " is not registered");
}

Result<std::vector<Dataset>> list_datasets(db::Transaction& tx, const DatasetFilter& filter) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kDatasetColumns) + "WHERE $1::bytea IS NULL OR d.owner = $1::bytea "
                                                   "ORDER BY d.number DESC LIMIT $2 OFFSET $3",
                    {filter.owner, std::min(filter.limit, kDatasetListMax), filter.offset}));
    std::vector<Dataset> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(to_dataset(row));
    GYM_CHECK(load_parts(tx, out));
    return out;
}

}  // namespace gym::registry
