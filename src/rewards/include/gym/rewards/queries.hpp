#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/rewards/epoch_file.hpp"

// Read-only questions about rewards, for the API and the command line.
namespace gym::rewards {

/// The credit with this id, or the compute credit of the unit with this id (0x...). @errors
/// kNotFound, kMalformed.
Result<Receipt> explain(db::Transaction& transaction, std::string_view id);
/// An earner's credits, newest first, at most `limit` (1,000).
Result<std::vector<Receipt>> list_receipts(db::Transaction& transaction, const Address& earner,
                                           std::uint32_t limit = 100);

/// All credits of a unit (compute, data, verification) in the order of their booking.
Result<std::vector<Receipt>> unit_receipts(db::Transaction& transaction, const Digest& unit);

/// The credits of one kind that a job's escrow pays.
struct KindTotal {
    CreditKind kind = CreditKind::kCompute;
    std::uint64_t credits = 0;  ///< posted
    Amount posted;
    Amount pending;   ///< of units that are not final
    Amount unfunded;  ///< waiting for a larger budget
};
/// One total for every kind that the job has credits of. Emission is not among them: the job does
/// not pay it. The posted amounts add up to what the job's escrow has paid.
Result<std::vector<KindTotal>> job_totals(db::Transaction& transaction, const Digest& job_id);

/// The fee that jobs pay on top of their credits as of now.
struct PublishedFee {
    std::uint32_t fee_ppm = 0;
    std::uint32_t burned_ppm = 0;  ///< of the fee
    UnixMs changed_at_ms = 0;
    /// Absent if an older gym-rewards published the fee.
    std::optional<std::uint32_t> verification_premium_ppm = {};
    std::optional<std::uint32_t> uptime_bonus_max_ppm = {};
};
/// @errors kNotFound until gym-rewards has published it.
Result<PublishedFee> published_fee(db::Transaction& transaction);

struct EarnerSummary {
    Amount pending;  ///< units committed, not final
    Amount earned;   ///< final, before the epoch's close
    Amount payable;  ///< cumulative: the sum of all payouts that roots allowed
    Amount claimed;  ///< paid out on chain (finalized)
};
Result<EarnerSummary> summary(db::Transaction& transaction, const std::string& asset,
                              const Address& earner);

struct PayoutEpoch {
    std::uint64_t epoch = 0;
    EpochState state = EpochState::kClosed;
    Digest root;
    Digest file_root;
    Amount total_cumulative;
    std::string problem;  ///< why it makes no progress; empty if it does
};
/// Newest first.
Result<std::vector<PayoutEpoch>> list_epochs(db::Transaction& transaction,
                                             std::uint32_t limit = 100);
/// The published file of an epoch. @errors kNotFound.
Result<std::string> epoch_file(db::Transaction& transaction, std::uint64_t epoch);

}  // namespace gym::rewards
