// tests/vectors/conformance/protocol.json: one round of a job, from its id to the next record.
#include <gtest/gtest.h>

#include "gym/commit/merkle.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/game/evidence.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/report.hpp"
#include "gym/protocol/report_claim.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/registry/jobs.hpp"
#include "sample_units.hpp"
#include "vector_file.hpp"

namespace gym::conformance {
namespace {

namespace json = boost::json;
using protocol::RoundRecord;
using protocol::SignedCommitment;
using protocol::UnitCommitment;

Digest digest_of(std::string_view text) {
    return commit::sha256(as_bytes(text));
}
Address filled(std::uint8_t byte) {
    Address out;
    out.data.fill(byte);
    return out;
}
crypto::PrivateKey key_of(std::string_view name) {
    return crypto::PrivateKey::from_bytes(digest_of(name).view()).value();
}

const crypto::Eip712Domain kDomain = protocol::signing_domain(31337, filled(0x11));
const Address kGame = filled(0x22);
const Address kReportGame = filled(0x66);
constexpr std::uint64_t kRound = 2;

/// The two slots of the small GPT, as a round of a job.
struct Round {
    std::vector<SampleUnit> samples = sample_units();
    std::vector<SampleResult> results{run(samples[0]), run(samples[1])};
    std::vector<crypto::PrivateKey> workers;
    Digest job;
    RoundRecord record;
    std::vector<SignedCommitment> commitments;

    Round() {
        workers.push_back(key_of("worker 0"));
        workers.push_back(key_of("worker 1"));
        job = registry::make_job_id(filled(0x33), "a key");
        make_record();
        for (std::size_t i = 0; i < workers.size(); ++i)
            commitments.push_back(protocol::sign(kDomain, commitment(i), workers[i]));
    }
    void make_record() {
        const SampleUnit& sample = samples[0];
        record.job_id = job;
        record.round = kRound;
        record.previous_record = digest_of("the record before");
        record.base_state_root = sample.spec.base_state_root;
        record.momentum_root = digest_of("momentum");
        record.program_root = sample.spec.program_root;
        record.aggregate_program_root =
            program::program_root(program::aggregate_program(sample.program, 1).value());
        record.evaluate_program_root =
            program::program_root(program::evaluation_program(sample.program).value());
        record.dataset_root = sample.spec.dataset_root;
        record.job_seed = sample.spec.job_seed;
        record.trace_root =
            dispute::trace_root(dispute::trace_program(sample.program).value().header);
        record.initial_state_root =
            engine::state_root(engine::with_fresh_optimizer(sample.program, sample.base).value());
        record.checkpoint_every = sample.spec.checkpoint_every;
        record.tokens_per_step = results[0].unit.tokens / sample.spec.steps;
        record.flops_per_step = program::flops_per_step(sample.program);
        record.sampling = {.floor_ppm = 50'000, .aggregate_ppm = 1'000'000};
        for (std::size_t i = 0; i < workers.size(); ++i)
            record.slots.push_back({samples[i].spec.slot, workers[i].address(),
                                    protocol::sampling_rate_ppm(i + 2, record.sampling),
                                    samples[i].spec.steps});
        record.included = {{3, digest_of("a unit"), digest_of("a delta")}};
    }
    [[nodiscard]] UnitCommitment commitment(std::size_t i) const {
        const engine::UnitResult& unit = results[i].unit;
        return {.kind = protocol::UnitKind::kTrain,
                .round_record = protocol::hash(record),
                .slot = samples[i].spec.slot,
                .attempt = 0,
                .records_root = unit.records_root,
                .final_state_root = unit.final_state_root,
                .delta_codec = 0,
                .delta_root = unit.delta.root(),
                .steps = samples[i].spec.steps,
                .tokens = unit.tokens,
                .flops = unit.flops};
    }
};

json::array hex_of(const std::vector<Digest>& digests) {
    json::array out;
    for (const Digest& digest : digests)
        out.emplace_back(digest.hex());
    return out;
}

json::object commitment_vector(const Round& round, std::size_t i,
                               const std::vector<Digest>& leaves) {
    const SignedCommitment& signed_one = round.commitments[i];
    const game::Facts facts = game::facts_of(
        signed_one.commitment, protocol::unit_record(round.record, signed_one.commitment.slot));
    const Digest unit = game::unit_of(kDomain, signed_one).value();
    const Digest salt = digest_of("salt");
    return {
        {"unit", round.samples[i].name},
        {"bytes", to_hex(protocol::encode(signed_one))},
        {"signer", round.workers[i].address().hex()},
        {"digest", protocol::signing_digest(kDomain, signed_one.commitment).hex()},
        {"leaf", protocol::commitment_leaf(signed_one).hex()},
        {"path", hex_of(commit::merkle_prove(leaves, i).value())},
        {"unit_id", protocol::unit_id({round.job, kRound, signed_one.commitment.slot, 0}).hex()},
        {"unit_on_chain", unit.hex()},
        {"facts_hash", game::hash_of(facts).hex()},
        {"start_position", game::hash_of(game::start_of(unit, facts)).hex()},
        {"salt", salt.hex()},
        {"announcement",
         game::announcement_of(31337, kGame, round.workers[1 - i].address(), unit, salt).hex()}};
}

/// What the verifier stakes on, as a game about it is opened with.
json::object staked_vector(const protocol::Report& report, const Round& round,
                           const crypto::PrivateKey& verifier) {
    const auto domain = protocol::report_domain(31337, kReportGame);
    const SignedCommitment said = protocol::sign(
        domain, protocol::claim_of(report, round.commitments[0].commitment), verifier);
    return {{"report_game", kReportGame.hex()},
            {"bytes", to_hex(protocol::encode(said))},
            {"digest", protocol::signing_digest(domain, said.commitment).hex()},
            {"unit_on_chain", game::unit_of(domain, said).value().hex()}};
}

json::object report_vector(const Round& round, const Digest& beacon) {
    const crypto::PrivateKey verifier = key_of("verifier 0");
    const Digest unit = protocol::unit_id({round.job, kRound, 0, 0});
    std::vector<protocol::VerifierCandidate> candidates{{verifier.address(), 0},
                                                        {filled(0x44), 0},
                                                        {filled(0x55), 1},
                                                        {round.workers[0].address(), 0}};
    json::array names, drawn;
    for (const auto& candidate : candidates)
        names.emplace_back(json::array{candidate.address.hex(), candidate.draws_failed});
    for (std::uint32_t draw = 0; draw < 3; ++draw)
        drawn.emplace_back(
            protocol::assign_verifier(beacon, unit, draw, round.workers[0].address(), candidates)
                ->hex());
    const crypto::Signature challenge =
        verifier.sign_digest(protocol::trace_challenge_digest(kDomain, beacon, unit));
    const engine::UnitResult& result = round.results[0].unit;
    const protocol::Report report{
        unit,
        1,
        verifier.address(),
        result.records_root,
        result.final_state_root,
        result.delta.root(),
        protocol::trace_at(challenge, round.record.slots[0].steps, round.results[0].chunks),
        challenge,
        digest_of("report salt")};
    return {{"worker", round.workers[0].address().hex()},
            {"candidates", names},
            {"drawn", drawn},
            {"draw", report.draw},
            {"verifier", report.verifier.hex()},
            {"challenge_digest", protocol::trace_challenge_digest(kDomain, beacon, unit).hex()},
            {"challenge_signature", challenge.hex()},
            {"trace", report.trace.hex()},
            {"salt", report.salt.hex()},
            {"digest", protocol::report_digest(beacon, report).hex()},
            {"staked", staked_vector(report, round, verifier)}};
}

/// The coordinator's unit over both deltas: its signature, and what a report on it has as trace.
json::object aggregate_vector(const Round& round, const Digest& beacon) {
    const crypto::PrivateKey coordinator = key_of("coordinator"), verifier = key_of("verifier 0");
    std::vector<engine::Delta> deltas;
    for (const SampleResult& result : round.results)
        deltas.push_back(
            engine::Delta::decode(round.samples[0].program, result.unit.delta).value());
    const auto result =
        engine::run_aggregate(round.samples[0].program, round.samples[0].base, {}, deltas).value();
    const UnitCommitment commitment{.kind = protocol::UnitKind::kAggregate,
                                    .round_record = protocol::hash(round.record),
                                    .slot = protocol::kAggregateSlot,
                                    .attempt = 0,
                                    .records_root = result.records_root,
                                    .final_state_root = result.base_root,
                                    .delta_codec = 0,
                                    .delta_root = result.momentum_root,
                                    .steps = 1,
                                    .tokens = 0,
                                    .flops = result.flops};
    const SignedCommitment signed_one = protocol::sign(kDomain, commitment, coordinator);
    const Digest unit = protocol::unit_id({round.job, kRound, protocol::kAggregateSlot, 0});
    const crypto::Signature challenge =
        verifier.sign_digest(protocol::trace_challenge_digest(kDomain, beacon, unit));
    const std::vector<Digest> links = engine::record_chain(result.records);
    return {{"bytes", to_hex(protocol::encode(signed_one))},
            {"signer", coordinator.address().hex()},
            {"digest", protocol::signing_digest(kDomain, commitment).hex()},
            {"unit_id", unit.hex()},
            {"challenge_signature", challenge.hex()},
            {"trace", protocol::trace_at(challenge, 1, links).hex()}};
}

json::array sampling_vector(const Digest& beacon) {
    json::array out;
    for (std::uint32_t i = 0; i < 12; ++i) {
        const Digest unit = digest_of("unit " + std::to_string(i));
        const std::uint32_t rate = i < 2 ? i * 1'000'000 : 50'000 * i;
        out.emplace_back(json::object{{"unit", unit.hex()},
                                      {"rate_ppm", rate},
                                      {"sampled", protocol::is_sampled(beacon, unit, rate)}});
    }
    return out;
}

json::object uptime_vector() {
    const crypto::PrivateKey node = key_of("worker 0");
    const protocol::UptimeChallenge challenge{digest_of("nonce"), 1'800'000'000'123, 0};
    const protocol::UptimeAnswer answer = protocol::answer_uptime(kDomain, node, challenge);
    return {{"node", node.address().hex()},
            {"nonce", challenge.nonce.hex()},
            {"issued_ms", challenge.issued_ms},
            {"digest", protocol::uptime_digest(kDomain, node.address(), challenge).hex()},
            {"signature", answer.signature.hex()}};
}

TEST(ConformanceVectors, OfTheProtocolAreWhatTheProductComputes) {
    const Round round;
    const Digest beacon = digest_of("beacon");
    std::vector<Digest> leaves;
    for (const SignedCommitment& one : round.commitments)
        leaves.push_back(protocol::commitment_leaf(one));
    json::array commitments;
    for (std::size_t i = 0; i < leaves.size(); ++i)
        commitments.push_back(commitment_vector(round, i, leaves));
    expect_committed(
        "protocol",
        {{"chain_id", 31337},
         {"commitment_log", kDomain.verifying_contract->hex()},
         {"dispute_game", kGame.hex()},
         {"job",
          json::object{{"owner", filled(0x33).hex()}, {"key", "a key"}, {"id", round.job.hex()}}},
         {"round_record", to_hex(protocol::encode(round.record))},
         {"round_record_hash", protocol::hash(round.record).hex()},
         {"commitments", commitments},
         {"epoch_root", commit::merkle_root(leaves).hex()},
         {"beacon", beacon.hex()},
         {"sampling", sampling_vector(beacon)},
         {"report", report_vector(round, beacon)},
         {"aggregate", aggregate_vector(round, beacon)},
         {"uptime", uptime_vector()}});
}

}  // namespace
}  // namespace gym::conformance
