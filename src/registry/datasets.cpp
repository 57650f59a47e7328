#include "gym/registry/datasets.hpp"

namespace gym::registry {
namespace {

constexpr std::string_view kColumns =
    "SELECT root, blob, owner, name, tokens, vocabulary, price_wei_per_mtoken, quality_ppm, "
    "registered_at_ms FROM registry.dataset ";

Dataset to_dataset(const db::Row& row) {
    Dataset out;
    out.root = row.get<Digest>("root");
    out.blob = row.get<Digest>("blob");
    out.owner = row.get<Address>("owner");
    out.name = row.get<std::string>("name");
    out.tokens = row.get<std::uint64_t>("tokens");
    out.vocabulary = row.get<std::uint32_t>("vocabulary");
    out.price_wei_per_mtoken = row.get<Amount>("price_wei_per_mtoken");
    out.quality_ppm = row.get<std::uint32_t>("quality_ppm");
    out.registered_at_ms = row.get<UnixMs>("registered_at_ms");
    return out;
}

}  // namespace

Result<bool> register_dataset(db::Transaction& tx, const Dataset& dataset) {
    GYM_TRY(const db::Rows inserted,
            tx.exec("INSERT INTO registry.dataset (root, blob, owner, name, tokens, vocabulary, "
                    "price_wei_per_mtoken, quality_ppm, registered_at_ms) "
                    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (root) DO NOTHING",
                    {dataset.root, dataset.blob, dataset.owner, dataset.name, dataset.tokens,
                     dataset.vocabulary, dataset.price_wei_per_mtoken, dataset.quality_ppm,
                     dataset.registered_at_ms}));
    if (inserted.affected() == 1) return true;
    GYM_TRY(const Dataset stored, get_dataset(tx, dataset.root));
    if (stored.owner != dataset.owner || stored.blob != dataset.blob)
        return fail(ErrorCode::kConflict, "dataset " + dataset.root.hex() +
                                              " is registered already by " + stored.owner.hex());
    return false;
}

Result<Dataset> get_dataset(db::Transaction& tx, const Digest& root) {
    GYM_TRY(const auto row, tx.exec_optional(std::string(kColumns) + "WHERE root = $1", {root}));
    if (!row) return fail(ErrorCode::kNotFound, "dataset " + root.hex() + " is not registered");
    return to_dataset(*row);
}

Result<std::vector<Dataset>> list_datasets(db::Transaction& tx) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kColumns) + "ORDER BY registered_at_ms DESC, root LIMIT 1000"));
    std::vector<Dataset> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(to_dataset(row));
    return out;
}

}  // namespace gym::registry
