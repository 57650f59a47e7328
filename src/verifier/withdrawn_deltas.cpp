#include "gym/verifier/withdrawn_deltas.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "gym/game/evidence.hpp"

namespace gym::verifier {
namespace {

/// One aggregate's audit: records are read once.
class Audit {
  public:
    Audit(node::ChainView& chain, rpc::Coordinator& coordinator,
          const records::VerifyTask& aggregate, const crypto::Eip712Domain& domain)
        : chain_(chain), coordinator_(coordinator), aggregate_(aggregate), domain_(domain) {}

    /// What a game would show of it. @errors kMismatch, kNotFound: why it may not be subtracted.
    Result<game::WithdrawnSource> source_of(const protocol::IncludedDelta& delta) {
        const std::uint64_t listing = aggregate_.record.round + 1 - delta.age;
        if (delta.age > aggregate_.record.round || listing < (delta.held ? 3U : 2U))
            return fail(ErrorCode::kMismatch, "it went in before there were rounds");
        GYM_TRY(const protocol::RoundRecord* record, record_of(listing));
        GYM_CHECK(protocol::prove_included(*record, delta));
        const std::uint64_t round = listing - (delta.held ? 2 : 1);
        GYM_TRY(const records::UnitReceipt view, coordinator_.unit(delta.unit));
        GYM_CHECK(check_commitment(view, delta, round));
        GYM_CHECK(check_proven(*view.commitment));
        return game::WithdrawnSource{*view.commitment, delta.unit, *record};
    }

    /// That no record since it went in lists it as withdrawn already. @pre source_of().
    Status check_first(const protocol::IncludedDelta& delta) {
        const std::uint64_t listing = aggregate_.record.round + 1 - delta.age;
        for (std::uint64_t round = listing + 1; round <= aggregate_.record.round; ++round) {
            GYM_TRY(const protocol::RoundRecord* record, record_of(round));
            const bool before = std::ranges::any_of(record->included, [&](const auto& other) {
                return other.is_withdrawn() && other.unit == delta.unit;
            });
            if (before)
                return fail(ErrorCode::kMismatch, "the record of round " + std::to_string(round) +
                                                      " has it as withdrawn already");
        }
        return {};
    }

  private:
    /// The record of a round not after the aggregate's, which the chain has the hash of.
    Result<const protocol::RoundRecord*> record_of(std::uint64_t round) {
        if (round == aggregate_.record.round) return &*aggregate_.round;
        const auto known = records_.find(round);
        if (known != records_.end()) return &known->second;
        const Digest& job = aggregate_.record.job_id;
        GYM_TRY(const Bytes bytes, coordinator_.round_record(job, round));
        GYM_TRY(protocol::RoundRecord record, protocol::decode_round_record(bytes));
        GYM_TRY(const auto posted, chain_.round(job, round));
        if (!posted || posted->record_hash != protocol::hash(record))
            return fail(ErrorCode::kMismatch, "the coordinator serves another record of round " +
                                                  std::to_string(round) +
                                                  " than the chain has the hash of");
        return &records_.emplace(round, std::move(record)).first->second;
    }

    /// It is of the round and the slot that the delta is from.
    Status check_commitment(const records::UnitReceipt& view, const protocol::IncludedDelta& delta,
                            std::uint64_t round) {
        const Digest& job = aggregate_.record.job_id;
        if (!view.commitment)
            return fail(ErrorCode::kNotFound, "the coordinator shows no commitment to its unit");
        const protocol::UnitCommitment& says = view.commitment->commitment;
        GYM_TRY(const auto posted, chain_.round(job, round));
        const bool same = posted && says.round_record == posted->record_hash &&
                          says.slot == delta.slot && says.delta_root == delta.delta_root &&
                          delta.unit == protocol::unit_id({job, round, delta.slot, says.attempt});
        if (same) return {};
        return fail(ErrorCode::kMismatch, "the commitment to its unit is to another delta");
    }

    Status check_proven(const protocol::SignedCommitment& commitment) {
        GYM_TRY(const Digest unit, game::unit_of(domain_, commitment));
        GYM_TRY(const bool proven, chain_.is_proven_faulty(unit));
        if (proven) return {};
        return fail(ErrorCode::kMismatch, "no game on chain has proven its unit faulty");
    }

    node::ChainView& chain_;
    rpc::Coordinator& coordinator_;
    const records::VerifyTask& aggregate_;
    const crypto::Eip712Domain& domain_;
    std::map<std::uint64_t, protocol::RoundRecord> records_;
};

/// Why a delta may not be subtracted; anything else is a question without an answer.
bool is_reason(ErrorCode code) {
    return code == ErrorCode::kMismatch || code == ErrorCode::kNotFound ||
           code == ErrorCode::kMalformed;
}

}  // namespace

Result<WithdrawnAudit> audit_withdrawn(node::ChainView& chain, rpc::Coordinator& coordinator,
                                       const records::VerifyTask& aggregate,
                                       const crypto::Eip712Domain& domain) {
    WithdrawnAudit out;
    Audit audit(chain, coordinator, aggregate, domain);
    for (const protocol::IncludedDelta& delta : aggregate.deltas) {
        if (!delta.is_withdrawn()) continue;
        auto source = audit.source_of(delta);
        const Status looked = source.ok() ? audit.check_first(delta) : Status(source.error());
        if (!looked.ok() && !is_reason(looked.error().code)) return looked.error();
        if (!looked.ok())
            out.contradictions.push_back("the aggregate subtracts delta " + delta.delta_root.hex() +
                                         " of slot " + std::to_string(delta.slot) +
                                         ", which went in " + std::to_string(delta.age) +
                                         " rounds before: " + looked.error().message);
        out.sources.push_back(source.ok() ? std::optional(std::move(*source)) : std::nullopt);
    }
    return out;
}

}  // namespace gym::verifier
