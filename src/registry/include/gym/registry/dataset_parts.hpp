#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"

/// Mixes: datasets that gym-api made of registered ones (docs/DATA.md, "Mixing"). A mix's price and
/// quality are those of its parts, and its parts' providers are paid.
namespace gym::registry {

struct Dataset;

/// A registered dataset in a mix.
struct DatasetPart {
    Digest root;
    std::uint64_t tokens = 0;      ///< of the mix that are its own; above 0
    std::uint64_t weight_ppm = 0;  ///< as it was asked for: a share of the sum of all
    // Of the part's record; registration ignores these.
    Address owner;
    std::string name;
    std::string licence;
    Amount price_wei_per_mtoken;
    std::uint32_t quality_ppm = 0;

    friend bool operator==(const DatasetPart&, const DatasetPart&) = default;
};

struct MixTerms {
    Amount price_wei_per_mtoken;
    std::uint32_t quality_ppm = 0;
    friend bool operator==(const MixTerms&, const MixTerms&) = default;
};
/// Price and quality of a mix's tokens: the means of its parts by their tokens, of the quality by
/// what these cost. Both are rounded up, so that price * quality is never below what the parts are
/// paid; the quality of free parts, for which nobody is paid, is rounded down. The schema's
/// registry.data_terms() is the same function.
/// @errors kInvalidArgument for no tokens; kOutOfRange.
[[nodiscard]] Result<MixTerms> mix_terms(std::span<const DatasetPart> parts);

/// A dataset made of others, and by what rule.
struct MixRecord {
    Digest recipe;  ///< of its parts, weights and wanted tokens
    Digest manifest_root;
    Digest manifest_blob;
    std::uint64_t manifest_bytes = 0;
    UnixMs made_at_ms = 0;
};

/// Registers a mix: `mix.parts` has root, tokens and weight of each part. A mix that is there with
/// the same parts is kept as it is, whoever asked for it, and remembers the recipe as well.
/// @return whether it is new. @errors kConflict if its tokens are registered as a dataset that is
/// not this mix; kNotFound for a part; those of register_dataset().
Result<bool> register_mix(db::Transaction& tx, const Dataset& mix, const MixRecord& record);
/// The mix of a recipe, if it was made.
Result<std::optional<Digest>> find_mix(db::Transaction& tx, const Digest& recipe);

/// Fills in the parts of those of `datasets` that are mixes, and as their visibility the least of
/// their parts'.
Status load_parts(db::Transaction& tx, std::span<Dataset> datasets);

/// A provider of a job's data and the terms that were fixed when the job was submitted.
struct JobDataPart {
    Digest dataset;
    Address owner;
    std::uint64_t part_tokens = 0;  ///< of the mix
    std::uint64_t mix_tokens = 0;   ///< of all parts
    Amount price_wei_per_mtoken;
    std::uint32_t quality_ppm = 0;
    Amount weight_before;  ///< part_tokens * price * quality of the parts before it

    friend bool operator==(const JobDataPart&, const JobDataPart&) = default;
};
/// In the mix's order. Empty: the job's dataset is no mix, and its owner is the only provider.
Result<std::vector<JobDataPart>> job_data(db::Transaction& tx, const Digest& job_id);

}  // namespace gym::registry
