#pragma once

#include <string>
#include <vector>

#include "gym/protocol/report.hpp"
#include "gym/rewards/evidence.hpp"
#include "gym/rewards/fact_check.hpp"

// Compares the credits of an epoch with what nodes signed: commitments under the root on chain,
// reports of verifiers, answers to uptime challenges. check_facts() compares them with records of
// the API, which no one signed.
namespace gym::rewards {

/// A report that its verifier revealed, on a unit that has ended.
struct PublishedReport {
    Digest committed;  ///< what the verifier committed to before it saw the records
    protocol::Report report;
};

/// A source of evidence. on_chain() asks the auditor's own chain; everything else may come from
/// anywhere. Every method: @errors those of the source.
class EvidenceSource {
  public:
    virtual ~EvidenceSource() = default;
    /// @errors kNotFound for a round that is not published.
    virtual Result<PublishedRound> round(const Digest& job_id, std::uint64_t round) = 0;
    /// A zero root for an epoch, a zero hash for a round, a zero beacon for a block that is not
    /// there.
    virtual Result<RoundOnChain> on_chain(const FileRound& round, std::uint64_t beacon_block) = 0;
    /// All of a round.
    virtual Result<std::vector<PublishedReport>> reports(const Digest& job_id,
                                                         std::uint64_t round) = 0;
    virtual Result<std::vector<protocol::PublishedChallenge>> challenges(
        const Address& node, const UptimeSpan& span) = 0;
};

struct EvidenceFindings {
    std::vector<std::string> deviations;  ///< one sentence each, rounds first, then credits
    std::vector<std::string> unchecked;   ///< credits whose evidence is no longer kept, and why
    std::uint64_t commitments = 0;        ///< that were found under roots on chain
    std::uint64_t reports = 0;            ///< that credits rest on
    std::uint64_t answers = 0;            ///< that bonuses rest on
};

/// Checks the last of `files` (epochs 1, 2, .. without a gap, which say where each round is).
/// - Its rounds are rebuilt (rebuild_round()), and gym-api knows each committed unit.
/// - A compute or data credit is for a train unit that its node committed to, with its counts; if
///   the beacon draws the unit, a verifier has revealed a report on it.
/// - A verification credit is for a unit that the beacon draws, or whose delta is not in the
///   aggregates that the next two records name (of a job's last round, any); its verifier revealed
///   a report whose positions it signed over beacon and unit, each credit of it another one; the
///   report says what became of the unit; the FLOPs are what the unit's signed commitment counts.
/// - A credit for a prefix, or for verifying one, is for a unit that nobody committed to; its
/// worker
///   signed for the steps that are paid, and its verifier for the same link or, of a prefix that
///   was refuted, for another one. Where the coordinator alone found it right, that is unchecked.
/// - An uptime credit has the counts of recount_uptime() over the span in the file.
/// @param now_ms by the auditor's clock: challenges older than kChallengesKeptMs may be gone.
/// @errors those of the sources.
[[nodiscard]] Result<EvidenceFindings> check_evidence(const crypto::Eip712Domain& domain,
                                                      const std::vector<EpochFile>& files,
                                                      FactSource& facts, EvidenceSource& evidence,
                                                      UnixMs now_ms);

}  // namespace gym::rewards
