#include "gym/rewards/evidence_check.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "gym/protocol/reason.hpp"

namespace gym::rewards {
namespace {

using RoundName = std::pair<Digest, std::uint64_t>;  // job and round

std::string name_of(const RoundName& round) {
    return "round " + std::to_string(round.second) + " of job " + round.first.hex();
}

/// A round with all that was signed for it.
struct SignedRound {
    CommittedRound committed;
    std::multimap<Digest, protocol::Report> reports;  ///< valid ones, by unit
    std::map<Digest, UnitFacts> units;                ///< as gym-api has them
    std::map<Digest, registry::Prefix> prefixes;      ///< decided ones, likewise, by unit
};

/// Commitments under the round's root.
std::uint64_t leaves_of(const CommittedRound& round) {
    const auto own = std::ranges::count_if(round.units, [](const auto& unit) {
        return unit.second.commitment.kind == protocol::UnitKind::kTrain;
    });
    return static_cast<std::uint64_t>(own) + round.late.size();
}

class EvidenceChecker {
  public:
    EvidenceChecker(const crypto::Eip712Domain& domain, const std::vector<EpochFile>& files,
                    FactSource& facts, EvidenceSource& evidence, UnixMs now_ms)
        : domain_(domain),
          file_(files.back()),
          facts_(facts),
          evidence_(evidence),
          now_ms_(now_ms) {
        for (const EpochFile& file : files) {
            for (const FileRound& round : file.rounds)
                listed_.emplace(RoundName{round.job_id, round.round}, round);
            for (const Credit& credit : file.credits)
                if (credit.kind() == CreditKind::kVerification && credit.unit && credit.node)
                    ++verified_[{*credit.unit, *credit.node}];
        }
    }

    Result<EvidenceFindings> run() {
        for (const FileRound& round : file_.rounds)
            GYM_CHECK(round_of({round.job_id, round.round}));
        for (const Credit& credit : file_.credits) {
            if (is_of_unit(credit.kind())) GYM_CHECK(check_unit_credit(credit));
            if (credit.kind() == CreditKind::kUptime) GYM_CHECK(check_uptime_credit(credit));
        }
        return std::move(out_);
    }

  private:
    void deviate(const std::string& sentence) { out_.deviations.push_back(sentence); }
    void expect(bool holds, const std::string& otherwise) {
        if (!holds) deviate(otherwise);
    }

    // --- rounds

    /// Null if the round does not hold together; that was said once then.
    Result<const SignedRound*> round_of(const RoundName& name) {
        if (const auto known = rounds_.find(name); known != rounds_.end())
            return known->second ? &*known->second : nullptr;
        std::optional<SignedRound>& round = rounds_[name];
        const auto listed = listed_.find(name);
        if (listed == listed_.end() || !listed->second.commitments_root) {
            deviate(name_of(name) + ": no file says under which root its commitments are");
            return nullptr;
        }
        GYM_TRY(auto committed, rebuild(listed->second));
        if (!committed) return nullptr;
        out_.commitments += leaves_of(*committed);
        round.emplace();
        round->committed = std::move(*committed);
        GYM_CHECK(add_late(name, round->committed));
        GYM_CHECK(compare_units(name, *round));
        GYM_CHECK(read_reports(name, *round));
        GYM_TRY(const auto prefixes, facts_.prefixes(name.first, name.second));
        for (const registry::Prefix& prefix : prefixes)
            round->prefixes.emplace(prefix.unit, prefix);
        return &*round;
    }

    Result<std::optional<CommittedRound>> rebuild(const FileRound& round) {
        const RoundName name{round.job_id, round.round};
        const auto published = evidence_.round(round.job_id, round.round);
        if (!published.ok() && published.error().code == ErrorCode::kNotFound) {
            deviate(name_of(name) + ": it is not published");
            return std::optional<CommittedRound>();
        }
        GYM_CHECK(published);
        GYM_TRY(const RoundOnChain chain, evidence_.on_chain(round, published->beacon_block));
        auto rebuilt = rebuild_round(domain_, round.job_id, round.round, chain, *published);
        if (!rebuilt.ok()) {
            deviate(name_of(name) + ": " + rebuilt.error().message);
            return std::optional<CommittedRound>();
        }
        return std::optional(std::move(*rebuilt));
    }

    /// Absent while it has drawn nothing, and behind the last one.
    Result<std::optional<CommittedRound>> round_after(const RoundName& name) {
        FileRound after;
        after.job_id = name.first;
        after.round = name.second + 1;
        const auto published = evidence_.round(after.job_id, after.round);
        if (!published.ok() && published.error().code == ErrorCode::kNotFound)
            return std::optional<CommittedRound>();
        GYM_CHECK(published);
        if (published->beacon_block == 0 && !published->drand_round)
            return std::optional<CommittedRound>();
        GYM_TRY(const RoundOnChain chain, evidence_.on_chain(after, published->beacon_block));
        if (chain.drand_round && chain.beacon.is_zero()) return std::optional<CommittedRound>();
        return rebuild(after);
    }

    /// Whether the unit's delta is in none of the aggregates that the next two records name, as
    /// that of a unit is that was verified for its norm: a held one is in the second. Nobody can
    /// see that of a job's last round.
    Result<bool> may_be_left_out(const RoundName& name, const Digest& unit) {
        for (std::uint64_t later = 0; later < 2; ++later) {
            GYM_TRY(const auto next, round_after({name.first, name.second + later}));
            if (!next) break;
            const auto is_it = [&](const auto& delta) { return delta.unit == unit; };
            if (std::ranges::any_of(next->record.included, is_it)) return false;
        }
        return true;
    }

    /// Late units, whose commitments are under the root of the round after theirs, once it has
    /// drawn them.
    Status add_late(const RoundName& name, CommittedRound& round) {
        if (!round.record.accept_late) return {};
        GYM_TRY(const auto next, round_after(name));
        if (!next) return {};
        const Status added = add_late_units(domain_, *next, round);
        if (!added.ok()) deviate(name_of(name) + ": its late units: " + added.error().message);
        return {};
    }

    Status compare_units(const RoundName& name, SignedRound& round) {
        GYM_TRY(const auto units, facts_.units(name.first, name.second));
        for (const UnitFacts& unit : units)
            round.units.emplace(unit.id, unit);
        for (const auto& [id, unit] : round.committed.units) {
            const auto known = round.units.find(id);
            const std::string who = name_of(name) + ": " + unit.signer.hex() +
                                    " committed to unit " + id.hex() + ", and gym-api ";
            expect(known != round.units.end(), who + "does not know it");
            expect(known == round.units.end() || known->second.worker == unit.signer,
                   who + "has it as another's");
        }
        return {};
    }

    Status read_reports(const RoundName& name, SignedRound& round) {
        GYM_TRY(const auto reports, evidence_.reports(name.first, name.second));
        std::set<std::pair<Digest, std::uint32_t>> draws;
        for (const PublishedReport& published : reports) {
            const protocol::Report& report = published.report;
            const auto unit = round.committed.units.find(report.unit);
            const Digest& beacon =
                unit == round.committed.units.end() ? round.committed.beacon : unit->second.beacon;
            const Status its_own =
                protocol::check_reveal(domain_, beacon, published.committed, report);
            const bool is_new = draws.emplace(report.unit, report.draw).second;
            if (its_own.ok() && is_new)
                round.reports.emplace(report.unit, report);
            else
                deviate(name_of(name) + ": report on unit " + report.unit.hex() + " by " +
                        report.verifier.hex() + ": " +
                        (its_own.ok() ? "there are two of one draw" : its_own.error().message));
        }
        return {};
    }

    // --- credits

    Status check_unit_credit(const Credit& credit) {
        if (!credit.unit || !credit.node) return {};  // check_epoch_file() says so
        GYM_TRY(const SignedRound* const round, round_of({credit.job_id, credit.round}));
        const std::string name = "credit " + credit.id + ": ";
        if (round == nullptr) {
            deviate(name + "the commitments of its round are not proven");
            return {};
        }
        const auto found = round->committed.units.find(*credit.unit);
        const bool committed = found != round->committed.units.end();
        const auto prefix = round->prefixes.find(*credit.unit);
        if (credit.kind() == CreditKind::kPrefix ||
            (!committed && prefix != round->prefixes.end())) {
            expect(!committed, name + "unit " + credit.unit->hex() + " was committed to");
            if (prefix == round->prefixes.end())
                deviate(name + "no prefix of unit " + credit.unit->hex() + " was decided");
            else
                check_prefix(credit, *round, prefix->second);
            return {};
        }
        if (!committed) {
            deviate(name + "there is no commitment to unit " + credit.unit->hex());
            return {};
        }
        if (credit.kind() != CreditKind::kVerification) {
            check_work(credit, *round, found->second);
            return {};
        }
        check_verification(credit, *round, found->second);
        if (found->second.is_drawn) return {};
        GYM_TRY(const bool singled_out,
                may_be_left_out({credit.job_id, credit.round}, *credit.unit));
        expect(singled_out, name + "unit " + credit.unit->hex() +
                                " is not drawn by the beacon at a rate of " +
                                std::to_string(found->second.sampling_rate_ppm) +
                                " ppm, and its delta was not left out");
        return {};
    }

    void check_work(const Credit& credit, const SignedRound& round, const CommittedUnit& unit) {
        const std::string name = "credit " + credit.id + ": unit " + credit.unit->hex() + " ";
        const protocol::UnitCommitment& commitment = unit.commitment;
        expect(commitment.kind == protocol::UnitKind::kTrain, name + "is not a train unit");
        expect(credit.node == unit.signer, name + "was committed to by " + unit.signer.hex());
        if (const auto* in = std::get_if<ComputeInputs>(&credit.inputs))
            expect(in->flops == commitment.flops,
                   name + "was committed to with " + std::to_string(commitment.flops) + " FLOPs");
        else
            expect(std::get<DataInputs>(credit.inputs).tokens == commitment.tokens,
                   name + "was committed to with " + std::to_string(commitment.tokens) + " tokens");
        expect(!unit.is_drawn || round.reports.contains(*credit.unit),
               name + "is drawn by the beacon, and there is no report on it");
    }

    /// The slot signed for its first steps, and they are counted as the round fixes.
    void check_prefix(const Credit& credit, const SignedRound& round,
                      const registry::Prefix& prefix) {
        const std::string name =
            "credit " + credit.id + ": the prefix of unit " + credit.unit->hex() + " ";
        const protocol::RoundRecord& record = round.committed.record;
        const auto slot = std::ranges::find_if(record.slots, [&](const auto& one) {
            return protocol::unit_id({record.job_id, record.round, one.slot, 0}) == prefix.unit;
        });
        if (slot == record.slots.end()) return deviate(name + "is of no slot of its round");
        const protocol::SignedPrefix statement{
            {protocol::hash(record), slot->slot, 0, prefix.steps, prefix.link}, prefix.signature};
        const Status fits = protocol::check_against_round(statement.prefix, record,
                                                          statement.prefix.round_record, 0);
        if (!fits.ok()) return deviate(name + "does not fit its round: " + fits.error().message);
        expect(protocol::verify_signature(domain_, statement, slot->worker).ok(),
               name + "is not signed by " + slot->worker.hex());
        check_prefix_report(credit, name, prefix, statement);
        const std::uint64_t flops = record.flops_per_step * prefix.steps;
        const auto* const verified = std::get_if<VerificationInputs>(&credit.inputs);
        const auto* const paid = std::get_if<PrefixInputs>(&credit.inputs);
        expect((verified != nullptr && verified->flops == flops) ||
                   (paid != nullptr && paid->flops == flops),
               name + "has " + std::to_string(flops) + " FLOPs");
        if (paid != nullptr)
            expect(credit.node == slot->worker, name + "was done by " + slot->worker.hex());
    }

    /// The verifier signed the same statement or, of a prefix that was refuted, another one.
    void check_prefix_report(const Credit& credit, const std::string& name,
                             const registry::Prefix& prefix, protocol::SignedPrefix statement) {
        if (!prefix.report || !prefix.verifier) return deviate(name + "was reported on by nobody");
        const bool agrees = prefix.report->link == prefix.link;
        const bool verified = prefix.state == protocol::PrefixState::kVerified;
        statement.prefix.link = prefix.report->link;
        statement.signature = prefix.report->signature;
        expect(protocol::verify_signature(domain_, statement, *prefix.verifier).ok(),
               name + "has a report that " + prefix.verifier->hex() + " did not sign");
        if (credit.kind() == CreditKind::kVerification)
            expect(credit.node == prefix.verifier && agrees == verified,
                   name + "has no report of its node that says what became of it");
        else if (!agrees)
            out_.unchecked.push_back(name +
                                     "was found right by the coordinator alone, against "
                                     "the report of " +
                                     prefix.verifier->hex());
        if (credit.kind() == CreditKind::kVerification) ++out_.reports;
    }

    void check_verification(const Credit& credit, const SignedRound& round,
                            const CommittedUnit& unit) {
        const std::string name = "credit " + credit.id + ": unit " + credit.unit->hex() + " ";
        expect(std::get<VerificationInputs>(credit.inputs).flops == unit.commitment.flops,
               name + "was committed to with " + std::to_string(unit.commitment.flops) + " FLOPs");
        std::uint64_t count = 0;
        const auto [first, last] = round.reports.equal_range(*credit.unit);
        for (auto report = first; report != last; ++report)
            if (report->second.verifier == credit.node && fits_end(round, unit, report->second))
                ++count;
        expect(verified_[{*credit.unit, *credit.node}] <= count,
               name + "has " + std::to_string(count) + " reports signed by " + credit.node->hex() +
                   " that say what became of it");
        out_.reports += std::min<std::uint64_t>(count, 1);
    }

    /// Agreement is paid unless the unit was rejected for what was compared, a difference if it
    /// was.
    static bool fits_end(const SignedRound& round, const CommittedUnit& unit,
                         const protocol::Report& report) {
        const auto facts = round.units.find(report.unit);
        if (facts == round.units.end()) return false;
        const bool agrees = protocol::roots_of(unit.commitment) == protocol::roots_of(report);
        using protocol::UnitState;
        const UnitState state = facts->second.state;
        if (state == UnitState::kFinal || state == UnitState::kVoid) return agrees;
        const bool is_fault = state == UnitState::kRejected || state == UnitState::kSlashed;
        const bool signed_twice =
            facts->second.reason_code == protocol::to_string(protocol::ReasonCode::kEquivocation);
        return is_fault && (!agrees || signed_twice);
    }

    Status check_uptime_credit(const Credit& credit) {
        if (!credit.node) return {};  // check_epoch_file() says so
        const std::string name = "credit " + credit.id + ": ";
        const auto listed = listed_.find({credit.job_id, credit.round});
        if (listed == listed_.end()) {
            deviate(name + "no file lists its round");
            return {};
        }
        if (!listed->second.uptime) {
            out_.unchecked.push_back(name + "its file does not say over which span uptime counts");
            return {};
        }
        const UptimeSpan span = *listed->second.uptime;
        if (span.from_ms < now_ms_ - protocol::kChallengesKeptMs) {
            out_.unchecked.push_back(name + "challenges of that time are no longer kept");
            return {};
        }
        GYM_TRY(const auto challenges, evidence_.challenges(*credit.node, span));
        const auto count = recount_uptime(domain_, *credit.node, span, challenges);
        if (!count.ok()) {
            deviate(name + count.error().message);
            return {};
        }
        out_.answers += count->answered;
        const auto& in = std::get<UptimeInputs>(credit.inputs);
        expect(in.answered == count->answered, name + "node " + credit.node->hex() + " signed " +
                                                   std::to_string(count->answered) +
                                                   " answers, not " + std::to_string(in.answered));
        // The evidence no longer counts a challenge that was withdrawn after the credit counted it.
        expect(in.challenges >= count->issued && in.challenges <= count->issued + count->withdrawn,
               name + "node " + credit.node->hex() + " was asked " + std::to_string(count->issued) +
                   " times, not " + std::to_string(in.challenges));
        return {};
    }

    const crypto::Eip712Domain& domain_;
    const EpochFile& file_;
    FactSource& facts_;
    EvidenceSource& evidence_;
    const UnixMs now_ms_;
    EvidenceFindings out_;
    std::map<RoundName, FileRound> listed_;
    std::map<RoundName, std::optional<SignedRound>> rounds_;
    std::map<std::pair<Digest, Address>, std::uint64_t> verified_;  ///< credits, of all files
};

}  // namespace

Result<EvidenceFindings> check_evidence(const crypto::Eip712Domain& domain,
                                        const std::vector<EpochFile>& files, FactSource& facts,
                                        EvidenceSource& evidence, UnixMs now_ms) {
    if (files.empty()) return fail(ErrorCode::kInvalidArgument, "there is no file to check");
    return EvidenceChecker(domain, files, facts, evidence, now_ms).run();
}

}  // namespace gym::rewards
