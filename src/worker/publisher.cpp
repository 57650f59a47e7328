#include "publisher.hpp"

#include "gym/crypto/secret.hpp"
#include "gym/game/withheld.hpp"
#include "gym/node/backoff.hpp"

namespace gym::worker {
namespace {

/// The claim that asks for a commitment on chain.
player::Claim claim_of(const JournalEntry& entry) {
    player::Claim claim;
    claim.role = player::Role::kChallenge;
    claim.subject = player::Subject::kWithheld;
    claim.key = entry.unit;
    claim.evidence.commitment = entry.commitment;
    claim.evidence.record = entry.record;
    claim.other = game::encode(game::WithheldData{game::Wanted::kCommitment});
    return claim;
}

}  // namespace

Result<bool> Publisher::publish(const JournalEntry& entry, const Error& refused) {
    if (claims_ == nullptr || chain_ == nullptr) return false;
    since_.try_emplace(entry.unit_id(), timer_.now());
    return node::is_transient(refused.code) ? publish_overdue(entry) : leave_to_player(entry);
}

Result<bool> Publisher::publish_overdue(const JournalEntry& entry) {
    const auto since = since_.find(entry.unit_id());
    if (since == since_.end() || timer_.now() - since->second < wait_) return false;
    return leave_to_player(entry);
}

Result<bool> Publisher::leave_to_player(const JournalEntry& entry) {
    GYM_TRY(const bool too_late, is_too_late(entry));
    if (too_late) return false;
    player::Claim claim = claim_of(entry);
    claim.salt = crypto::random_digest();
    if (!claims_->contains(claim)) GYM_CHECK(claims_->save(claim));
    since_.erase(entry.unit_id());
    return true;
}

Status Publisher::withdraw(const JournalEntry& entry) {
    since_.erase(entry.unit_id());
    if (claims_ == nullptr) return {};
    const player::Claim claim = claim_of(entry);
    return claims_->contains(claim) ? claims_->remove(claim) : Status();
}

Result<bool> Publisher::is_too_late(const JournalEntry& entry) const {
    const std::uint64_t last = entry.unit.round + (entry.record.accept_late ? 1 : 0);
    GYM_TRY(const auto round, chain_->round(entry.unit.job_id, last));
    return round && round->epoch != 0;
}

}  // namespace gym::worker
