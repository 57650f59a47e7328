#include "gym/registry/dataset_quota.hpp"

#include <string>

#include "gym/common/memory.hpp"
#include "name_rows.hpp"

namespace gym::registry {
namespace {

constexpr std::uint32_t kShortTokenVocabularyMax = 1U << 16;
constexpr std::uint64_t kShortTokenBytes = 2, kLongTokenBytes = 4;

}  // namespace

std::uint64_t bytes_per_token(const Dataset& dataset) {
    return dataset.vocabulary <= kShortTokenVocabularyMax ? kShortTokenBytes : kLongTokenBytes;
}

Status check_dataset_quota(db::Transaction& tx, const Dataset& dataset, const DatasetQuota& quota) {
    GYM_TRY(
        const db::Row used,
        tx.exec_one("SELECT count(*) AS datasets, coalesce(sum(tokens * CASE WHEN vocabulary "
                    "<= $2 THEN $3::bigint ELSE $4::bigint END), 0)::bigint AS bytes "
                    "FROM registry.dataset WHERE owner = $1",
                    {dataset.owner, kShortTokenVocabularyMax, kShortTokenBytes, kLongTokenBytes}));
    const auto datasets = used.get<std::uint64_t>("datasets");
    if (datasets >= quota.datasets_max)
        return fail(ErrorCode::kOutOfRange, "you have registered " + std::to_string(datasets) +
                                                " datasets, mixes included; "
                                                "at most " +
                                                std::to_string(quota.datasets_max) +
                                                " are allowed" + whom_to_ask(NameKind::kDataset));
    const auto bytes = used.get<std::uint64_t>("bytes");
    const std::uint64_t wanted = dataset.tokens * bytes_per_token(dataset);
    if (bytes <= quota.bytes_max && wanted <= quota.bytes_max - bytes) return {};
    return fail(ErrorCode::kOutOfRange, "your registered datasets may have " +
                                            memory_text(quota.bytes_max) + " together; they have " +
                                            memory_text(bytes) + ", and this one has " +
                                            memory_text(wanted) + whom_to_ask(NameKind::kDataset));
}

}  // namespace gym::registry
