#include "publisher.hpp"

#include <spdlog/spdlog.h>

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

Publisher::Outcome Publisher::publish(const JournalEntry& entry, const Error& refused) {
    if (claims_ == nullptr || chain_ == nullptr) return Outcome::kNever;
    if (node::is_transient(refused.code))
        due_.try_emplace(entry.unit_id(), timer_.now() + wait_);
    else
        due_[entry.unit_id()] = timer_.now();
    return publish_overdue(entry);
}

Publisher::Outcome Publisher::publish_overdue(const JournalEntry& entry) {
    const auto due = due_.find(entry.unit_id());
    if (due == due_.end() || timer_.now() < due->second) return Outcome::kWaits;
    const auto left = leave_to_player(entry);
    say(left.ok() ? "" : left.error().message);
    if (!left.ok()) return Outcome::kWaits;
    due_.erase(due);
    return *left ? Outcome::kPublished : Outcome::kNever;
}

Result<bool> Publisher::leave_to_player(const JournalEntry& entry) {
    GYM_TRY(const bool too_late, is_too_late(entry));
    if (too_late) return false;
    player::Claim claim = claim_of(entry);
    claim.salt = crypto::random_digest();
    if (!claims_->contains(claim)) GYM_CHECK(claims_->save(claim));
    return true;
}

void Publisher::say(const std::string& failure) {
    if (failure == failing_) return;
    if (!failure.empty())
        spdlog::warn("a commitment that is not taken cannot be published yet: {}", failure);
    failing_ = failure;
}

/// Its game may be announced or open: the player decides what becomes of the claim.
Status Publisher::withdraw(const JournalEntry& entry) {
    due_.erase(entry.unit_id());
    return claims_ == nullptr ? Status() : claims_->withdraw(claim_of(entry));
}

bool Publisher::asks_for(const JournalEntry& entry) const {
    if (claims_ == nullptr) return false;
    const player::Claim claim = claim_of(entry);
    return claims_->contains(claim) && !claims_->is_withdrawn(claim);
}

Result<bool> Publisher::is_too_late(const JournalEntry& entry) const {
    const std::uint64_t last = entry.unit.round + (entry.record.accept_late ? 1 : 0);
    GYM_TRY(const auto round, chain_->round(entry.unit.job_id, last));
    return round && round->epoch != 0;
}

}  // namespace gym::worker
