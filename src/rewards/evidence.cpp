#include "gym/rewards/evidence.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/protocol/sampling.hpp"
#include "gym/protocol/unit.hpp"

namespace gym::rewards {
namespace {

constexpr std::uint32_t kAttempt = 0;  // the only one of this version

Error wrong(const std::string& sentence) {
    return fail(ErrorCode::kMismatch, sentence);
}

Result<protocol::RoundRecord> open_record(const Digest& job_id, std::uint64_t round,
                                          const RoundOnChain& chain, const Bytes& bytes) {
    const Digest hash = protocol::hash_round_head(bytes);
    if (hash != chain.record_hash)
        return wrong("the chain has the record " + chain.record_hash.hex() +
                     ", the published one is " + hash.hex());
    auto record = protocol::decode_round_record(bytes);
    if (!record.ok()) return wrong(record.error().message);
    if (record->job_id != job_id || record->round != round)
        return wrong("the record on chain is of round " + std::to_string(record->round) +
                     " of job " + record->job_id.hex());
    return record;
}

Result<std::vector<protocol::SignedCommitment>> open_leaves(const RoundOnChain& chain,
                                                            const std::vector<Bytes>& published) {
    if (published.size() != chain.count)
        return wrong("the chain has a root over " + std::to_string(chain.count) + " commitments, " +
                     std::to_string(published.size()) + " are published");
    std::vector<protocol::SignedCommitment> commitments;
    std::vector<Digest> leaves;
    for (const Bytes& bytes : published) {
        auto commitment = protocol::decode_signed_commitment(bytes);
        if (!commitment.ok())
            return wrong("commitment " + std::to_string(leaves.size()) + ": " +
                         commitment.error().message);
        leaves.push_back(protocol::commitment_leaf(*commitment));
        commitments.push_back(*commitment);
    }
    const Digest root = commit::merkle_root(leaves);
    if (root != chain.commitments_root)
        return wrong("the chain has the commitments " + chain.commitments_root.hex() +
                     ", the published ones give " + root.hex());
    return commitments;
}

/// That the randomness which draws came after the commitments, and was nobody's choice.
Status check_draw(const RoundOnChain& chain, const PublishedRound& published) {
    if (published.drand_round != chain.drand_round) {
        const auto name = [](const std::optional<std::uint64_t>& round) {
            return round ? "drand's round " + std::to_string(*round) : "no round of drand";
        };
        return wrong("by the contracts " + name(chain.drand_round) + " draws the sample, " +
                     name(published.drand_round) + " is published");
    }
    if (chain.drand_round && chain.beacon.is_zero())
        return wrong("drand's round " + std::to_string(*chain.drand_round) +
                     " draws the sample, and nobody has proven it on chain");
    if (!chain.drand_round && published.beacon_block <= chain.posted_block)
        return wrong("the sample is drawn by block " + std::to_string(published.beacon_block) +
                     ", and the commitments are in block " + std::to_string(chain.posted_block));
    return {};
}

class RoundBuilder {
  public:
    /// @param beacon that draws the units that are added.
    RoundBuilder(const crypto::Eip712Domain& domain, const Digest& beacon, CommittedRound round)
        : domain_(domain),
          record_hash_(protocol::hash(round.record)),
          beacon_(beacon),
          out_(std::move(round)) {}

    Status add_train(const protocol::SignedCommitment& signed_commitment) {
        const protocol::UnitCommitment& commitment = signed_commitment.commitment;
        const protocol::SlotAssignment* const slot = out_.record.find_slot(commitment.slot);
        if (slot == nullptr)
            return wrong("the record has no slot " + std::to_string(commitment.slot) +
                         ", and a commitment is to it");
        const std::string name = "slot " + std::to_string(commitment.slot) + ": ";
        const Status fits = protocol::check_against_round(commitment, out_.record, record_hash_,
                                                          slot->worker, kAttempt);
        if (!fits.ok()) return wrong(name + fits.error().message);
        const Status its_own = protocol::verify_signature(domain_, signed_commitment, slot->worker);
        if (!its_own.ok()) return wrong(name + "the commitment: " + its_own.error().message);
        return add(slot->worker, commitment, slot->sampling_rate_ppm);
    }

    /// A unit of the coordinator's.
    Status add_own(const Bytes& bytes, protocol::UnitKind kind, std::uint32_t slot) {
        const std::string name = std::string(protocol::to_string(kind)) + ": ";
        const auto own = protocol::decode_signed_commitment(bytes);
        if (!own.ok()) return wrong(name + own.error().message);
        const protocol::UnitCommitment& commitment = own->commitment;
        if (commitment.kind != kind || commitment.slot != slot || commitment.attempt != kAttempt)
            return wrong(name + "the commitment is to another unit");
        if (commitment.round_record != record_hash_)
            return wrong(name + "the commitment names the record " + commitment.round_record.hex());
        const auto signer =
            crypto::recover_address(protocol::signing_digest(domain_, commitment), own->signature);
        if (!signer.ok()) return wrong(name + signer.error().message);
        return add(*signer, commitment, out_.record.sampling.aggregate_ppm);
    }

    CommittedRound take() { return std::move(out_); }

  private:
    Status add(const Address& signer, const protocol::UnitCommitment& commitment,
               std::uint32_t rate_ppm) {
        const Digest id = protocol::unit_id(
            {out_.record.job_id, out_.record.round, commitment.slot, commitment.attempt});
        const bool drawn = protocol::is_sampled(beacon_, id, rate_ppm);
        if (out_.units.emplace(id, CommittedUnit{signer, commitment, rate_ppm, drawn, beacon_})
                .second)
            return {};
        return wrong("slot " + std::to_string(commitment.slot) + " has two commitments");
    }

    const crypto::Eip712Domain& domain_;
    const Digest record_hash_;
    const Digest beacon_;
    CommittedRound out_;
};

}  // namespace

Result<CommittedRound> rebuild_round(const crypto::Eip712Domain& domain, const Digest& job_id,
                                     std::uint64_t round, const RoundOnChain& chain,
                                     const PublishedRound& published) {
    GYM_TRY(auto record, open_record(job_id, round, chain, published.record));
    GYM_TRY(const auto commitments, open_leaves(chain, published.commitments));
    GYM_CHECK(check_draw(chain, published));
    CommittedRound committed{std::move(record), chain.beacon, {}, {}};
    const auto is_late = [&](const protocol::SignedCommitment& one) {
        return committed.record.round > 1 &&
               one.commitment.round_record == committed.record.previous_record;
    };
    std::ranges::copy_if(commitments, std::back_inserter(committed.late), is_late);
    RoundBuilder builder(domain, chain.beacon, committed);
    for (const protocol::SignedCommitment& commitment : commitments)
        if (!is_late(commitment)) GYM_CHECK(builder.add_train(commitment));
    using protocol::UnitKind;
    if (published.aggregate)
        GYM_CHECK(
            builder.add_own(*published.aggregate, UnitKind::kAggregate, protocol::kAggregateSlot));
    if (published.evaluation)
        GYM_CHECK(
            builder.add_own(*published.evaluation, UnitKind::kEvaluate, protocol::kEvaluateSlot));
    return builder.take();
}

Status add_late_units(const crypto::Eip712Domain& domain, const CommittedRound& next,
                      CommittedRound& round) {
    if (next.late.empty()) return {};
    if (!round.record.accept_late)
        return wrong("commitments to it are under the next root, and its record takes none late");
    RoundBuilder builder(domain, next.beacon, round);
    for (const protocol::SignedCommitment& commitment : next.late)
        GYM_CHECK(builder.add_train(commitment));
    round = builder.take();
    return {};
}

namespace {

Status check_answer(const crypto::Eip712Domain& domain, const Address& node,
                    const protocol::PublishedChallenge& published) {
    const protocol::UptimeChallenge& challenge = published.challenge;
    if (published.withdrawn) return fail(ErrorCode::kMismatch, "it is withdrawn, and answered");
    if (!published.answered_at_ms || !published.signature)
        return fail(ErrorCode::kMismatch, "an answer has a moment and a signature");
    if (*published.answered_at_ms < challenge.issued_ms ||
        *published.answered_at_ms > challenge.deadline_ms)
        return fail(ErrorCode::kMismatch, "the answer did not come within its time");
    return protocol::check_uptime(domain, node, challenge, {challenge.nonce, *published.signature});
}

}  // namespace

Result<UptimeCount> recount_uptime(const crypto::Eip712Domain& domain, const Address& node,
                                   const UptimeSpan& span,
                                   const std::vector<protocol::PublishedChallenge>& challenges) {
    UptimeCount count;
    std::set<Digest> seen;
    for (const protocol::PublishedChallenge& published : challenges) {
        const protocol::UptimeChallenge& challenge = published.challenge;
        const auto wrong = [&](const std::string& what) {
            return fail(ErrorCode::kMismatch, "challenge " + challenge.nonce.hex() + " to node " +
                                                  node.hex() + ": " + what);
        };
        if (challenge.issued_ms < span.from_ms || challenge.deadline_ms >= span.to_ms)
            return wrong("it is not of the span");
        if (!seen.insert(challenge.nonce).second) return wrong("it is listed twice");
        if (published.answered_at_ms || published.signature) {
            const Status its_own = check_answer(domain, node, published);
            if (!its_own.ok()) return wrong(its_own.error().message);
            ++count.answered;
        }
        ++(published.withdrawn ? count.withdrawn : count.issued);
    }
    return count;
}

}  // namespace gym::rewards
