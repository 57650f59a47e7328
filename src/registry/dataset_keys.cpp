#include <algorithm>

#include "gym/registry/datasets.hpp"

// The band keys of registered datasets. Keys are 64 bits without a sign, bigint has one: the same
// bits.
namespace gym::registry {
namespace {

db::Param key_array(std::span<const std::uint64_t> keys) {
    std::vector<std::int64_t> as_signed;
    as_signed.reserve(keys.size());
    for (const std::uint64_t key : keys)
        as_signed.push_back(static_cast<std::int64_t>(key));
    return db::Param::array(as_signed);
}

}  // namespace

Result<std::vector<KnownKey>> known_keys(db::Transaction& tx, std::span<const std::uint64_t> keys) {
    if (keys.size() > kDatasetKeysMax)
        return fail(ErrorCode::kOutOfRange, std::to_string(keys.size()) +
                                                " keys at once, at most " +
                                                std::to_string(kDatasetKeysMax));
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT key, dataset FROM registry.dataset_key WHERE key = ANY($1::bigint[])",
                    {key_array(keys)}));
    std::vector<KnownKey> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back({static_cast<std::uint64_t>(row.get<std::int64_t>("key")),
                       row.get<std::uint64_t>("dataset")});
    return out;
}

Status add_keys(db::Transaction& tx, std::span<const std::uint64_t> keys, std::uint64_t dataset) {
    for (std::size_t first = 0; first < keys.size(); first += kDatasetKeysMax) {
        const auto batch = keys.subspan(first, std::min(kDatasetKeysMax, keys.size() - first));
        GYM_CHECK(
            tx.exec("INSERT INTO registry.dataset_key (key, dataset) "
                    "SELECT key, $2 FROM unnest($1::bigint[]) AS key "
                    "ON CONFLICT (key) DO NOTHING",
                    {key_array(batch), dataset}));
    }
    return {};
}

Result<std::uint32_t> sample_level_max(db::Transaction& tx) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT coalesce(max(sketch_level), 0) FROM registry.dataset"));
    return row.get<std::uint32_t>(0);
}

Result<Digest> dataset_root(db::Transaction& tx, std::uint64_t number) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT root FROM registry.dataset WHERE number = $1", {number}));
    if (!row)
        return fail(ErrorCode::kNotFound, "there is no dataset number " + std::to_string(number));
    return row->get<Digest>(0);
}

}  // namespace gym::registry
