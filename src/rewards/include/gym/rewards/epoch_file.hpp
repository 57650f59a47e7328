#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/ledger/seal.hpp"
#include "gym/payouts/payout_tree.hpp"
#include "gym/rewards/credit.hpp"

namespace gym::rewards {

using payouts::Payout;
using payouts::PayoutDomain;
using payouts::PayoutTree;

/// Challenges that were issued from `from_ms` on and whose deadlines were before `to_ms`.
struct UptimeSpan {
    UnixMs from_ms = 0;
    UnixMs to_ms = 0;
    friend bool operator==(const UptimeSpan&, const UptimeSpan&) = default;
};

/// How far a closed epoch is on its way to the chain.
enum class EpochState {
    kClosed,     ///< its file is made
    kReleased,   ///< the job owners' tokens are with the distributor
    kSubmitted,  ///< its root is on chain and pays from `active_at` on
    kDisabled,   ///< its root was disabled on chain; the next epoch pays
};
[[nodiscard]] std::string_view to_string(EpochState state) noexcept;
/// @errors kMalformed.
[[nodiscard]] Result<EpochState> parse_epoch_state(std::string_view text);

struct FileRound {
    Digest job_id;
    std::uint64_t round = 0;
    std::uint64_t epoch = 0;  ///< of its commitment root (CommitmentLog)
    std::optional<Digest> commitments_root;
    std::optional<UptimeSpan> uptime =
        {};  ///< the span that its uptime credits count; absent in old files
    friend bool operator==(const FileRound&, const FileRound&) = default;
};

struct FileRelease {
    Address owner;  ///< of jobs
    Amount amount;
    friend bool operator==(const FileRelease&, const FileRelease&) = default;
};

/// The public file beside a payout root: anyone can recompute every amount and the root from this
/// file and the one before.
struct EpochFile {
    std::uint64_t epoch = 0;         ///< payout epoch: counts from 1 without gaps
    std::optional<Digest> previous;  ///< root of the file before
    PayoutDomain domain;
    std::vector<FileRound> rounds;      ///< closed since the file before, by epoch
    std::vector<Credit> credits;        ///< that became final, by id
    std::vector<FileRelease> releases;  ///< amounts that job owners spent, by owner
    std::vector<Payout> payouts;        ///< cumulative, by earner; the leaves of the tree
    Amount total_cumulative;
    Digest payout_root;
    /// The ledger's newest seal when the epoch closed. Since the file's root is posted with the
    /// payout root, the chain fixes all transfers up to it.
    std::optional<ledger::SealHead> ledger_seal;
    friend bool operator==(const EpochFile&, const EpochFile&) = default;
};

/// Canonical JSON: keys sorted, no spaces, amounts as decimal strings, bytes as 0x-hexadecimal;
/// equal files have equal bytes.
[[nodiscard]] std::string encode_epoch_file(const EpochFile& file);
/// @errors kMalformed, also for JSON that is not in canonical form.
[[nodiscard]] Result<EpochFile> parse_epoch_file(std::string_view json);
/// The name of the file's bytes (a blob root), which is posted with the payout root.
[[nodiscard]] Digest epoch_file_root(std::string_view json);

/// Recomputes a file from its own credits and the payouts of the file before: every formula, the
/// sums per job owner and earner, the tree. Empty if all holds, else one sentence per deviation.
[[nodiscard]] std::vector<std::string> check_epoch_file(const EpochFile& file,
                                                        const std::optional<EpochFile>& previous);

}  // namespace gym::rewards
