#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/ledger/seal.hpp"
#include "gym/rewards/payout_tree.hpp"
#include "gym/rewards/uptime_recount.hpp"

namespace gym::rewards {

enum class CreditKind {
    kCompute,
    kVerification,
    kUptime,
    kData,
    kFee,       ///< what the network keeps of what a job paid
    kBurn,      ///< the part of the fee that is for nobody
    kEmission,  ///< what the emission account adds to a round's compute
};
[[nodiscard]] std::string_view to_string(CreditKind kind) noexcept;
[[nodiscard]] Result<CreditKind> parse_credit_kind(std::string_view text);
/// Whether credits of this kind are for one unit; the others are for a round.
[[nodiscard]] bool is_of_unit(CreditKind kind) noexcept;

/// The inputs of a credit's formula; which fields count depends on the kind (docs/REWARDS.md).
struct CreditInputs {
    std::uint64_t flops = 0;        ///< compute, verification
    Amount price;                   ///< wei per PFLOP; data: wei per million tokens
    std::uint32_t premium_ppm = 0;  ///< verification
    std::uint64_t tokens = 0;       ///< data
    std::uint32_t quality_ppm = 0;  ///< data
    Amount compute;                 ///< uptime: the compute credits it is a bonus on
    std::uint32_t uptime_ppm = 0;   ///< uptime
    std::uint32_t bonus_max_ppm = 0;
    std::uint64_t challenges = 0;  ///< uptime_ppm = answered / challenges
    std::uint64_t answered = 0;
    Amount charged;                  ///< fee, burn: the round's credits that it is on
    std::uint32_t fee_ppm = 0;       ///< fee, burn
    std::uint32_t burned_ppm = 0;    ///< fee, burn
    Amount burned;                   ///< emission: the round's burn credit; `compute` is the node's
    std::uint32_t emission_ppm = 0;  ///< emission
    Amount compute_total;            ///< emission: of all nodes in the round
    friend bool operator==(const CreditInputs&, const CreditInputs&) = default;
};
/// The formula of `kind` over `inputs`: the only way in which an amount comes about.
[[nodiscard]] Result<Amount> evaluate(CreditKind kind, const CreditInputs& inputs);
/// "flops * price / 10^15", for people.
[[nodiscard]] std::string_view formula_text(CreditKind kind) noexcept;

struct FileCredit {
    std::string id;  ///< of the ledger transfer, a UUID
    CreditKind kind = CreditKind::kCompute;
    Address earner;
    Digest job_id;
    std::uint64_t round = 0;
    std::optional<Digest> unit;    ///< if is_of_unit(kind)
    std::optional<Address> node;   ///< who did it; absent for fee and burn
    std::optional<Address> payer;  ///< of emission; else the job pays
    CreditInputs inputs;
    Amount amount;
    friend bool operator==(const FileCredit&, const FileCredit&) = default;
};

struct FileRound {
    Digest job_id;
    std::uint64_t round = 0;
    std::uint64_t epoch = 0;  ///< of its commitment root (CommitmentLog)
    std::optional<Digest> commitments_root;
    std::optional<UptimeSpan> uptime = {};  ///< what its uptime credits count; absent in old files
    friend bool operator==(const FileRound&, const FileRound&) = default;
};

struct FileRelease {
    Address owner;  ///< of jobs
    Amount amount;
    friend bool operator==(const FileRelease&, const FileRelease&) = default;
};

/// Everything that a payout root rests on, published beside it: anyone can recompute every amount
/// and the root from this file and the one before.
struct EpochFile {
    std::uint64_t epoch = 0;         ///< payout epoch: counts from 1 without gaps
    std::optional<Digest> previous;  ///< root of the file before
    PayoutDomain domain;
    std::vector<FileRound> rounds;      ///< closed since the file before, by epoch
    std::vector<FileCredit> credits;    ///< that became final, by id
    std::vector<FileRelease> releases;  ///< what job owners spent, by owner
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
/// @errors kMalformed, also for JSON that is not the canonical form of what it says.
[[nodiscard]] Result<EpochFile> parse_epoch_file(std::string_view json);
/// The name of the file's bytes (a blob root), which is posted with the payout root.
[[nodiscard]] Digest epoch_file_root(std::string_view json);

/// Recomputes a file from its own credits and the payouts of the file before: every formula, the
/// sums per job owner and earner, the tree. Empty if all holds, else one sentence per deviation.
[[nodiscard]] std::vector<std::string> check_epoch_file(const EpochFile& file,
                                                        const std::optional<EpochFile>& previous);

}  // namespace gym::rewards
