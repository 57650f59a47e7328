#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/db/database.hpp"
#include "gym/rewards/accounting.hpp"
#include "gym/rewards/settlement_chain.hpp"

namespace gym::rewards {

/// The finished rounds whose credits an epoch cannot pay, as two columns.
struct LeftOut {
    std::vector<Digest> jobs;
    std::vector<std::uint64_t> rounds;

    /// The columns as parameters of `unnest($1::bytea[], $2::bigint[])`.
    [[nodiscard]] std::vector<db::Param> params() const;
};

struct EpochRounds {
    bool pays = false;  ///< a round with credits is among those that are not left out
    LeftOut left_out;
};

/// Whether a credit of a finished round waits for an epoch.
Result<bool> any_credit_waits(db::Transaction& transaction);

/// Goes through the finished rounds that have unpaid credits, oldest first, and takes each one that
/// still fits: contract limits are on sums, so one owner's large round would otherwise hold up the
/// pay of everybody. Notes in rewards.finished_round.held why a round fits no epoch at all.
Result<EpochRounds> choose_rounds(db::Transaction& transaction, const RewardsConfig& config,
                                  const PayoutLimits& limits);

}  // namespace gym::rewards
