#pragma once

#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/crypto/key.hpp"
#include "gym/rewards/evidence_check.hpp"

namespace gym::rewards::testing {

inline Digest digest(std::uint8_t byte) {
    Digest out;
    out.data.fill(byte);
    return out;
}
inline Address address(std::uint8_t byte) {
    Address out;
    out.data.fill(byte);
    return out;
}
inline crypto::PrivateKey key(std::uint8_t byte) {
    return crypto::PrivateKey::from_bytes(digest(byte).view()).value();
}

/// A round of three workers (keys 1, 2, 3, slots 0, 1, 2) whose commitments, reports and aggregate
/// are signed as a network does it; tests change parts and sign again, or do not.
struct SignedRoundFixture {
    static constexpr std::uint64_t kFlops = 2'000'000'000'000'000;
    static constexpr std::uint64_t kTokens = 40;

    crypto::Eip712Domain domain = protocol::signing_domain(31'337, address(0xc0));
    Digest job = digest(0xaa);
    std::vector<crypto::PrivateKey> workers;
    crypto::PrivateKey coordinator = key(9);
    crypto::PrivateKey verifier = key(8);
    protocol::RoundRecord record;
    std::vector<protocol::SignedCommitment> commitments;
    protocol::SignedCommitment aggregate;
    RoundOnChain chain;
    PublishedRound published;

    explicit SignedRoundFixture(std::uint64_t number = 1) {
        record.job_id = job;
        record.round = number;
        if (number > 1) record.previous_record = digest(0xab);
        record.checkpoint_every = 4;
        record.tokens_per_step = kTokens / 4;
        record.flops_per_step = kFlops / 4;
        for (std::uint8_t i = 0; i < 3; ++i) {
            workers.push_back(key(static_cast<std::uint8_t>(i + 1)));
            record.slots.push_back({i, workers.back().address(), kPpm, 4});
        }
        record.sampling.aggregate_ppm = kPpm;
        chain.posted_block = 10;
        chain.beacon = digest(0xbe);
        published.beacon_block = 12;
        sign_all();
        post();
    }

    [[nodiscard]] Digest unit(std::uint32_t slot) const {
        return protocol::unit_id({job, record.round, slot, 0});
    }
    [[nodiscard]] Digest aggregate_unit() const { return unit(protocol::kAggregateSlot); }

    void sign_all() {
        commitments.clear();
        for (std::uint32_t slot = 0; slot < workers.size(); ++slot) {
            protocol::UnitCommitment commitment;
            commitment.round_record = protocol::hash(record);
            commitment.slot = slot;
            commitment.records_root = digest(0x71);
            commitment.final_state_root = digest(0x72);
            commitment.delta_root = digest(static_cast<std::uint8_t>(0x73 + slot));
            commitment.steps = record.slots[slot].steps;
            commitment.tokens = kTokens;
            commitment.flops = kFlops;
            commitments.push_back(protocol::sign(domain, commitment, workers[slot]));
        }
        protocol::UnitCommitment outer;
        outer.kind = protocol::UnitKind::kAggregate;
        outer.round_record = protocol::hash(record);
        outer.slot = protocol::kAggregateSlot;
        outer.records_root = outer.final_state_root = outer.delta_root = digest(0x7f);
        outer.steps = 1;
        outer.flops = 77;
        aggregate = protocol::sign(domain, outer, coordinator);
    }
    /// Publishes what is signed, and has the chain know it.
    void post() {
        publish();
        std::vector<Digest> leaves;
        for (const auto& commitment : commitments)
            leaves.push_back(protocol::commitment_leaf(commitment));
        chain.record_hash = protocol::hash(record);
        chain.commitments_root = commit::merkle_root(leaves);
        chain.count = static_cast<std::uint32_t>(leaves.size());
    }
    /// The round after this one; under its root is the commitment of this one's slot 2, which is
    /// not under this one's any more.
    SignedRoundFixture next_with_late() {
        record.accept_late = true;
        sign_all();
        SignedRoundFixture next(record.round + 1);
        next.record.previous_record = protocol::hash(record);
        next.chain.beacon = digest(0xbf);
        next.sign_all();
        next.commitments.push_back(commitments.back());
        next.post();
        commitments.pop_back();
        post();
        return next;
    }
    void publish() {
        published.record = protocol::encode(record);
        published.commitments.clear();
        for (const auto& commitment : commitments)
            published.commitments.push_back(protocol::encode(commitment));
        published.aggregate = protocol::encode(aggregate);
    }
    [[nodiscard]] PublishedReport report_on(const protocol::UnitCommitment& commitment,
                                            const Digest& of_unit) const {
        PublishedReport out;
        protocol::Report& report = out.report;
        report.unit = of_unit;
        report.verifier = verifier.address();
        report.records_root = commitment.records_root;
        report.final_state_root = commitment.final_state_root;
        report.delta_root = commitment.delta_root;
        report.trace = digest(0x66);
        report.challenge_signature =
            verifier.sign_digest(protocol::trace_challenge_digest(domain, chain.beacon, of_unit));
        report.salt = digest(0x67);
        out.committed = protocol::report_digest(chain.beacon, report);
        return out;
    }
    [[nodiscard]] Result<CommittedRound> rebuild() const {
        return rebuild_round(domain, job, record.round, chain, published);
    }
};

}  // namespace gym::rewards::testing
