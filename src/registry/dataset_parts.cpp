#include "gym/registry/dataset_parts.hpp"

#include <algorithm>
#include <map>

#include "gym/registry/dataset_manifests.hpp"
#include "gym/registry/datasets.hpp"

namespace gym::registry {
namespace {

Result<Amount> product(const Amount& a, std::uint64_t b) {
    return a.mul_div(Amount(b), Amount(1));
}

/// a / b, rounded up. @pre b is above 0.
Result<Amount> quotient_up(const Amount& a, const Amount& b) {
    GYM_TRY(const Amount down, a.mul_div(Amount(1), b));
    GYM_TRY(const Amount rest, a.mul_mod(Amount(1), b));
    return rest.is_zero() ? Result<Amount>(down) : down.plus(Amount(1));
}

Status insert_parts(db::Transaction& tx, const Dataset& mix) {
    for (std::size_t i = 0; i < mix.parts.size(); ++i) {
        const DatasetPart& part = mix.parts[i];
        GYM_CHECK(
            tx.exec("INSERT INTO registry.dataset_part (mix, position, part, tokens, "
                    "weight_ppm) VALUES ($1, $2, $3, $4, $5)",
                    {mix.root, i, part.root, part.tokens, part.weight_ppm}));
    }
    return {};
}

/// Whether both are made of the same datasets, by the same numbers of tokens.
bool same_parts(const std::vector<DatasetPart>& a, const std::vector<DatasetPart>& b) {
    return std::ranges::equal(a, b, [](const DatasetPart& x, const DatasetPart& y) {
        return x.root == y.root && x.tokens == y.tokens;
    });
}

Error not_this_mix(const Dataset& stored, const Address& maker) {
    const bool seen = Viewer::account(maker).may_see(stored.access, stored.owner);
    return fail(ErrorCode::kConflict,
                "the mix has the tokens of dataset " + stored.root.hex() +
                    (seen ? " (" + stored.name + "), which " + stored.owner.hex()
                          : std::string(", which another account")) +
                    " registered " +
                    (stored.parts.empty() ? "as its own: a job can name that one"
                                          : "as a mix of other parts") +
                    "; other weights or --tokens give another mix");
}

}  // namespace

Result<MixTerms> mix_terms(std::span<const DatasetPart> parts) {
    Amount tokens, cost, worth, weighted;
    for (const DatasetPart& part : parts) {
        GYM_TRY(const Amount part_cost, product(part.price_wei_per_mtoken, part.tokens));
        GYM_TRY(const Amount part_worth, product(part_cost, part.quality_ppm));
        GYM_TRY(const Amount part_weighted, product(Amount(part.tokens), part.quality_ppm));
        GYM_TRY(tokens, tokens.plus(Amount(part.tokens)));
        GYM_TRY(cost, cost.plus(part_cost));
        GYM_TRY(worth, worth.plus(part_worth));
        GYM_TRY(weighted, weighted.plus(part_weighted));
    }
    if (tokens.is_zero()) return fail(ErrorCode::kInvalidArgument, "a mix of no tokens");
    MixTerms out;
    GYM_TRY(out.price_wei_per_mtoken, quotient_up(cost, tokens));
    GYM_TRY(const Amount quality,
            cost.is_zero() ? weighted.mul_div(Amount(1), tokens) : quotient_up(worth, cost));
    GYM_TRY(const std::uint64_t ppm, quality.to_u64());
    out.quality_ppm = static_cast<std::uint32_t>(ppm);
    return out;
}

Result<bool> register_mix(db::Transaction& tx, const Dataset& mix, const MixRecord& record) {
    GYM_CHECK(lock_registrations(tx));
    GYM_TRY(const auto before, find_dataset(tx, mix.root));
    if (before && !same_parts(before->parts, mix.parts)) return not_this_mix(*before, mix.owner);
    if (!before) {
        GYM_CHECK(register_dataset(tx, mix));
        GYM_CHECK(insert_parts(tx, mix));
        // Of one tokenizer, as all parts are; the files of any of them do.
        GYM_CHECK(tx.exec(
            "INSERT INTO registry.dataset_tokenizer (dataset, blob, bytes, "
            "added_at_ms) SELECT $1::bytea, t.blob, t.bytes, $2::bigint FROM registry.dataset_part "
            "p JOIN registry.dataset_tokenizer t ON t.dataset = p.part "
            "WHERE p.mix = $1::bytea ORDER BY p.position LIMIT 1",
            {mix.root, record.made_at_ms}));
        GYM_CHECK(add_dataset_manifest(tx, {mix.root, record.manifest_root, record.manifest_blob,
                                            record.manifest_bytes, record.made_at_ms}));
    }
    GYM_CHECK(tx.exec(
        "INSERT INTO registry.mix_recipe (recipe, mix, manifest_root, manifest_blob, "
        "made_at_ms) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (recipe) DO NOTHING",
        {record.recipe, mix.root, record.manifest_root, record.manifest_blob, record.made_at_ms}));
    return !before;
}

Result<std::optional<Digest>> find_mix(db::Transaction& tx, const Digest& recipe) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT mix FROM registry.mix_recipe WHERE recipe = $1", {recipe}));
    return row ? std::optional(row->get<Digest>(0)) : std::optional<Digest>();
}

Status load_parts(db::Transaction& tx, std::span<Dataset> datasets) {
    std::vector<Digest> roots;
    roots.reserve(datasets.size());
    for (const Dataset& dataset : datasets)
        roots.push_back(dataset.root);
    GYM_TRY(
        const db::Rows rows,
        tx.exec(
            "SELECT p.mix, p.part, p.tokens, p.weight_ppm, d.owner, d.name, d.licence, "
            "d.price_wei_per_mtoken, d.quality_ppm, d.visibility FROM registry.dataset_part p JOIN "
            "registry.dataset d ON d.root = p.part WHERE p.mix = ANY($1::bytea[]) "
            "ORDER BY p.mix, p.position",
            {db::Param::array(roots)}));
    std::map<Digest, std::vector<DatasetPart>> parts;
    std::map<Digest, Visibility> least;
    for (const db::Row row : rows) {
        // The schema allows no other names.
        const auto visibility =
            parse_visibility(row.get<std::string>("visibility")).value_or(Visibility::kPrivate);
        auto& of_mix = least.try_emplace(row.get<Digest>("mix"), visibility).first->second;
        of_mix = std::max(of_mix, visibility);
        parts[row.get<Digest>("mix")].push_back(
            {.root = row.get<Digest>("part"),
             .tokens = row.get<std::uint64_t>("tokens"),
             .weight_ppm = row.get<std::uint64_t>("weight_ppm"),
             .owner = row.get<Address>("owner"),
             .name = row.get<std::string>("name"),
             .licence = row.get<std::string>("licence"),
             .price_wei_per_mtoken = row.get<Amount>("price_wei_per_mtoken"),
             .quality_ppm = row.get<std::uint32_t>("quality_ppm")});
    }
    for (Dataset& dataset : datasets)
        if (const auto found = parts.find(dataset.root); found != parts.end()) {
            dataset.parts = found->second;
            dataset.access = {least.at(dataset.root), {}};
        }
    return {};
}

Result<std::vector<JobDataPart>> job_data(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT dataset, owner, part_tokens, mix_tokens, price_wei_per_mtoken, "
                    "quality_ppm, weight_before FROM registry.job_data WHERE job_id = $1 "
                    "ORDER BY position",
                    {job_id}));
    std::vector<JobDataPart> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back({.dataset = row.get<Digest>("dataset"),
                       .owner = row.get<Address>("owner"),
                       .part_tokens = row.get<std::uint64_t>("part_tokens"),
                       .mix_tokens = row.get<std::uint64_t>("mix_tokens"),
                       .price_wei_per_mtoken = row.get<Amount>("price_wei_per_mtoken"),
                       .quality_ppm = row.get<std::uint32_t>("quality_ppm"),
                       .weight_before = row.get<Amount>("weight_before")});
    return out;
}

}  // namespace gym::registry
