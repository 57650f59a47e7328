#include "fake_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gym/protocol/report_claim.hpp"
#include "gym/registry/datasets.hpp"
#include "owner_orders.hpp"

namespace gym::testing {
World::World() : database_(test_database_.as("gym_coordinator")) {
    options.domain = protocol::signing_domain(31'337, Address{});
    options.audit_ppm = 0;  // the lot is a fresh key's: tests of audits say how many they want
    const Bytes tokens{1, 2, 3};
    dataset_root_ = tagged("dataset", {tokens});
    registry::Dataset dataset;
    dataset.root = dataset_root_;
    dataset.blob = blobs.put(tokens).value();
    dataset.owner = key.address();
    dataset.name = "three tokens";
    dataset.tokens = 3;
    dataset.vocabulary = 256;
    dataset.licence = "CC0-1.0";
    dataset.sample.emplace();
    const auto registered = test_database_.owner().transact(
        [&](db::Transaction& tx) { return registry::register_dataset(tx, dataset); });
    GYM_ASSERT(registered.ok(), "register the dataset");
    restart();
}

std::unique_ptr<coordinator::Coordinator> World::beside(player::ClaimStore* own_claims) {
    return std::make_unique<coordinator::Coordinator>(
        coordinator::Dependencies{*database_, blobs, chain, compute, clock, key, &stake, own_claims,
                                  has_own_background ? nullptr : &background, &verifier_stake},
        options);
}

void World::restart() {
    core_ = beside(claims.get());
}

coordinator::TickSummary World::tick() {
    auto summary = core_->tick();
    GYM_ASSERT(summary.ok(), summary.ok() ? "" : summary.error().message);
    return *summary;
}

void World::settle() {
    for (int idle = 0; idle < 5;) {
        idle = tick().steps == 0 ? idle + 1 : 0;
        chain.mine();
    }
}

registry::JobTerms World::terms() {
    registry::JobTerms out;
    out.rounds = 1;
    out.slots_max = 8;
    out.workers_min = 1;
    out.steps = 20;
    out.checkpoint_every = 10;
    out.price_wei_per_pflop = Amount(1'000'000'000);
    out.lifecycle = {600'000, 60'000, 60'000, 60'000, 60'000, 2};
    return out;
}

Digest World::submit_job(const registry::JobTerms& terms, std::uint64_t budget_wei,
                         const std::optional<registry::StateRef>& init) {
    registry::NewJob job;
    job.owner = key.address();
    job.name = "a job";
    job.spec_yaml = "model";
    job.id = registry::make_job_id(job.owner, std::to_string(clock.now_ms()));
    job.dataset_root = dataset_root_;
    job.terms = terms;
    job.budget_wei = Amount(budget_wei);
    job.init = init;
    const auto submitted = owner().transact(
        [&](db::Transaction& tx) { return gym::testing::submit_job(tx, job, clock.now_ms()); });
    GYM_ASSERT(submitted.ok(), submitted.ok() ? "" : submitted.error().message);
    return job.id;
}

FakeNode World::add_node(records::NodeRole role, std::uint64_t memory_bytes,
                         std::uint64_t flops_per_second, const std::string& device) {
    FakeNode node;
    registry::NewNode profile;
    profile.address = node.address();
    profile.owner = node.address();
    profile.profile.role = role;
    profile.profile.memory_bytes = memory_bytes;
    profile.profile.device = device;
    profile.profile.flops_per_second = flops_per_second;
    const auto registered = core_->register_node(profile);
    GYM_ASSERT(registered.ok(), registered.ok() ? "" : registered.error().message);
    return node;
}

void World::beat(const std::vector<const FakeNode*>& nodes) {
    for (const FakeNode* node : nodes)
        GYM_ASSERT(core_->heartbeat(node->address()).ok(), "heartbeat");
}

void World::trust(const FakeNode& worker) {
    const auto changed = owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(tx.exec("UPDATE registry.node SET valid_value = 1e60 WHERE address = $1",
                          {worker.address()}));
        return {};
    });
    GYM_ASSERT(changed.ok(), changed.ok() ? "" : changed.error().message);
}

Amount World::value_of_units(const Digest& job, std::uint64_t units) {
    const registry::Job found = this->job(job);
    const std::uint64_t flops = found.artifacts->flops_per_step * found.terms.steps * units;
    return protocol::work_value(flops, found.terms.price_wei_per_pflop).value();
}

World::Work World::make_work(const FakeNode& worker, const FakeCompute::Trained& trained,
                             const records::TrainTask& assignment) {
    const protocol::UnitRecord& record = assignment.record;
    protocol::UnitCommitment commitment;
    commitment.round_record = protocol::hash(record);
    commitment.slot = assignment.unit.slot;
    commitment.records_root = compute.records_root(trained.records).value();
    commitment.final_state_root = trained.final_state;
    commitment.delta_root = blobs.put(trained.delta).value();
    const Status uploaded = core_->note_upload(worker.address(), commitment.delta_root);
    GYM_ASSERT(uploaded.ok(), uploaded.ok() ? "" : uploaded.error().message);
    commitment.steps = record.assignment.value().steps;
    commitment.tokens = record.tokens_per_step * commitment.steps;
    commitment.flops = record.flops_per_step * commitment.steps;
    return {assignment, protocol::sign(options.domain, commitment, worker.key), trained.records};
}

World::Work World::work(const FakeNode& worker) {
    const auto assignment = core_->next_unit(worker.address());
    GYM_ASSERT(assignment.ok() && assignment->has_value(), "the worker has no unit");
    const auto& given = **assignment;
    return make_work(worker, FakeCompute::train(given.record), given);
}

World::Work World::cheat(const FakeNode& worker, std::size_t step) {
    const auto assignment = core_->next_unit(worker.address());
    GYM_ASSERT(assignment.ok() && assignment->has_value(), "the worker has no unit");
    const auto& given = **assignment;
    FakeCompute::Trained trained = FakeCompute::train(given.record);
    trained.records[step] ^= 1;
    trained.delta = bytes_of(tagged("delta", {trained.records}));
    trained.final_state = tagged("state", {trained.records});
    return make_work(worker, trained, given);
}

Result<records::CommitmentAck> World::commit(const FakeNode& worker, const Work& work) {
    return core_->commit_unit(worker.address(), work.commitment, work.records);
}

protocol::Report World::report(const FakeNode& verifier, const records::VerifyTask& task, bool lie,
                               Bytes& records) {
    protocol::Report out;
    out.unit = task.unit_id();
    out.draw = task.draw;
    out.verifier = verifier.address();
    if (task.kind() == protocol::UnitKind::kAggregate) {
        const Bytes program = blobs.get(task.inputs.program_blob).value();
        std::vector<coordinator::Compute::DeltaPtr> deltas;
        for (const protocol::IncludedDelta& delta : task.deltas)
            deltas.push_back(compute.check_delta(program, blobs, delta.delta_root).value());
        const auto result =
            compute.aggregate(program, blobs.get(task.inputs.base_state_blob).value(),
                              blobs.get(*task.inputs.momentum_blob).value(), deltas, task.deltas);
        records = result->records;
        out.final_state_root = result->base.root;
        out.delta_root = result->momentum.root;
    } else if (task.kind() == protocol::UnitKind::kEvaluate) {
        const Bytes base = blobs.get(task.inputs.base_state_blob).value();
        records = FakeCompute::evaluation_records(base);
        out.delta_root = FakeCompute::evaluation_root(base);
        out.final_state_root = task.commitment.commitment.final_state_root;
    } else {
        const auto trained = FakeCompute::train(task.record);
        records = trained.records;
        out.final_state_root = trained.final_state;
        out.delta_root = blob::blob_root(trained.delta);
    }
    out.challenge_signature = verifier.key.sign_digest(
        protocol::trace_challenge_digest(options.domain, task.beacon, out.unit));
    out.trace = FakeCompute::trace(records, out.challenge_signature);
    if (lie) records[3] ^= 1;
    out.records_root = compute.records_root(records).value();
    out.salt = tagged("salt", {out.unit.view()});
    return out;
}

std::optional<crypto::Signature> World::claim_signature(const FakeNode& verifier,
                                                        const records::VerifyTask& task,
                                                        const protocol::Report& report) const {
    const bool of_a_worker = task.kind() == protocol::UnitKind::kTrain;
    if (!options.wants_report_claims() || !of_a_worker) return std::nullopt;
    return protocol::sign(protocol::report_domain(31'337, options.report_game),
                          protocol::claim_of(report, task.commitment.commitment), verifier.key)
        .signature;
}

bool World::verify(const FakeNode& verifier, bool lie) {
    const auto task = core_->next_task(verifier.address());
    GYM_ASSERT(task.ok(), task.ok() ? "" : task.error().message);
    if (!*task) return false;
    Bytes records;
    const protocol::Report honest = report(verifier, **task, lie, records);
    const auto claimed = core_->commit_report(verifier.address(), honest.unit, honest.draw,
                                              protocol::report_digest((*task)->beacon, honest));
    GYM_ASSERT(claimed.ok(), claimed.ok() ? "" : claimed.error().message);
    const auto outcome =
        core_->reveal_report(honest, records, claim_signature(verifier, **task, honest));
    GYM_ASSERT(outcome.ok(), outcome.ok() ? "" : outcome.error().message);
    return true;
}

std::optional<Digest> World::copy(const FakeNode& verifier) {
    const auto task = core_->next_task(verifier.address());
    GYM_ASSERT(task.ok(), task.ok() ? "" : task.error().message);
    if (!*task) return std::nullopt;
    const protocol::UnitCommitment& claim = (*task)->commitment.commitment;
    protocol::Report report;
    report.unit = (*task)->unit_id();
    report.draw = (*task)->draw;
    report.verifier = verifier.address();
    report.records_root = claim.records_root;
    report.final_state_root = claim.final_state_root;
    report.delta_root = claim.delta_root;
    report.trace = tagged("noise", {report.unit.view()});
    report.challenge_signature = verifier.key.sign_digest(
        protocol::trace_challenge_digest(options.domain, (*task)->beacon, report.unit));
    const auto disclosed = core_->commit_report(verifier.address(), report.unit, report.draw,
                                                protocol::report_digest((*task)->beacon, report));
    GYM_ASSERT(disclosed.ok(), disclosed.ok() ? "" : disclosed.error().message);
    const auto revealed =
        core_->reveal_report(report, *disclosed, claim_signature(verifier, **task, report));
    return revealed.ok() && revealed->equal ? std::optional(report.unit) : std::nullopt;
}

void World::void_unit(const Digest& id) {
    const auto voided = owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_CHECK(registry::advance(
            tx, id, protocol::event::Voided{}, {}, clock.now_ms(),
            protocol::Reason{protocol::ReasonCode::kInputsLost, "as the test wants"}));
        return {};
    });
    ASSERT_TRUE(voided.ok()) << voided.error().message;
}

registry::Unit World::unit(const Digest& id) {
    return database_->transact([&](db::Transaction& tx) { return registry::get_unit(tx, id); })
        .value();
}

registry::Node World::node(const Address& address) {
    return database_->transact([&](db::Transaction& tx) { return registry::get_node(tx, address); })
        .value();
}

registry::Job World::job(const Digest& id) {
    return database_->transact([&](db::Transaction& tx) { return registry::get_job(tx, id); })
        .value();
}

std::vector<registry::Round> World::rounds(const Digest& id) {
    return database_->transact([&](db::Transaction& tx) { return registry::list_rounds(tx, id); })
        .value();
}

}  // namespace gym::testing
