#include "fake_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/registry/datasets.hpp"
#include "owner_orders.hpp"

namespace gym::testing {
namespace {

Digest tagged(std::string_view tag, std::initializer_list<ByteView> parts) {
    commit::Hasher hasher;
    hasher.update(as_bytes(tag));
    for (const ByteView part : parts)
        hasher.update(part);
    return hasher.finish();
}

Bytes bytes_of(const Digest& digest) {
    return {digest.data.begin(), digest.data.end()};
}

coordinator::RootedBytes rooted(std::string_view tag, ByteView content) {
    const Bytes bytes = bytes_of(tagged(tag, {content}));
    return {tagged("root", {bytes}), bytes};
}

}  // namespace

Result<coordinator::Compute::Prepared> FakeCompute::prepare(
    const std::string& spec_yaml, ByteView dataset, const Digest&, const Digest& job_seed,
    const std::optional<GivenState>& given) {
    if (spec_yaml == "broken") return fail(ErrorCode::kInvalidArgument, "model: zero layers");
    Prepared out;
    out.program = rooted("program", as_bytes(spec_yaml));
    out.evaluate_program = rooted("evaluate", as_bytes(spec_yaml));
    out.logits_program = rooted("logits", as_bytes(spec_yaml));
    out.base = rooted("base", job_seed.view());
    if (given) out.base = {given->root, {given->bytes.begin(), given->bytes.end()}};
    out.momentum = rooted("momentum", dataset);
    out.tokens_per_step = 64;
    out.flops_per_step = 1'000'000;
    out.parameters = 10;
    return out;
}

Result<coordinator::Compute::RoundRoots> FakeCompute::round_roots(ByteView program, ByteView base) {
    return RoundRoots{commit::sha256(program), commit::sha256(base)};
}

namespace {

struct FakeDelta final : coordinator::Compute::Delta {
    explicit FakeDelta(const blob::VerifiedBlob& of) : blob(of) {}
    [[nodiscard]] double norm() const override { return 1.0; }
    const blob::VerifiedBlob blob;
};

}  // namespace

Result<coordinator::Compute::DeltaPtr> FakeCompute::check_delta(ByteView,
                                                                const blob::VerifiedBlob& delta) {
    if (delta.bytes().size() != 32) return fail(ErrorCode::kMalformed, "delta: not 32 bytes");
    return DeltaPtr(std::make_shared<const FakeDelta>(delta));
}

Result<coordinator::Compute::Aggregated> FakeCompute::aggregate(
    ByteView program, ByteView base, ByteView momentum, const std::vector<DeltaPtr>& deltas) {
    if (aggregate_fails) return fail(ErrorCode::kIo, "the disk is full");
    commit::Hasher hasher;
    for (const DeltaPtr& delta : deltas)
        hasher.update(dynamic_cast<const FakeDelta&>(*delta).blob.bytes());
    const Digest all = hasher.finish();
    Aggregated out;
    out.program = rooted("outer", program);
    out.base = rooted("next base", tagged("", {base, all.view()}).view());
    out.momentum = rooted("next momentum", tagged("", {momentum, all.view()}).view());
    out.records = bytes_of(all);
    GYM_TRY(out.records_root, records_root(out.records));
    out.flops = 10 * deltas.size();
    return out;
}

Result<double> FakeCompute::evaluate(ByteView, ByteView base, ByteView, const Digest&,
                                     std::uint32_t) {
    return 2.0 + base[0] / 256.0;
}

Result<Digest> FakeCompute::records_root(ByteView records) {
    if (records.empty()) return fail(ErrorCode::kMalformed, "records: none");
    return tagged("records", {records});
}

Result<std::optional<coordinator::Compute::Difference>> FakeCompute::first_difference(
    ByteView committed, ByteView recomputed) {
    for (std::size_t i = 0; i < std::min(committed.size(), recomputed.size()); ++i)
        if (committed[i] != recomputed[i]) return std::optional(Difference{i, "loss"});
    return std::optional<Difference>();
}

FakeCompute::Trained FakeCompute::train(const protocol::RoundRecord& record, std::uint32_t slot) {
    commit::Encoder encoder;
    encoder.fixed(record.base_state_root).fixed(record.job_seed).u64(record.round).u32(slot);
    const Digest seed = commit::sha256(encoder.view());
    Trained out;
    for (std::uint32_t step = 0; step < record.steps; ++step)
        out.records.push_back(seed.data[step % 32]);
    out.delta = bytes_of(tagged("delta", {out.records}));
    out.final_state = tagged("state", {out.records});
    return out;
}

Result<coordinator::Compute::Reexecuted> FakeCompute::run_unit(const protocol::RoundRecord& record,
                                                               std::uint32_t slot, ByteView,
                                                               ByteView, ByteView,
                                                               const crypto::Signature* challenge) {
    if (runs_fail) return fail(ErrorCode::kUnavailable, "no machine is free");
    const Trained trained = train(record, slot);
    GYM_TRY(const Digest root, records_root(trained.records));
    return Reexecuted{{root, trained.final_state, blob::blob_root(trained.delta)},
                      challenge == nullptr ? Digest{} : trace(trained.records, *challenge)};
}

Result<Digest> FakeCompute::aggregate_trace(ByteView records, const crypto::Signature& challenge) {
    return trace(records, challenge);
}

Digest FakeCompute::trace(ByteView records, const crypto::Signature& challenge) {
    return tagged("trace", {records, challenge.view()});
}

World::World() : database_(test_database_.as("gym_coordinator")) {
    options.domain = protocol::signing_domain(31'337, Address{});
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
        coordinator::Dependencies{*database_, blobs, chain, compute, clock, key, &stake,
                                  own_claims},
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
    const auto api = test_database_.as("gym_api");
    const auto submitted = api->transact(
        [&](db::Transaction& tx) { return gym::testing::submit_job(tx, job, clock.now_ms()); });
    GYM_ASSERT(submitted.ok(), submitted.ok() ? "" : submitted.error().message);
    return job.id;
}

FakeNode World::add_node(records::NodeRole role) {
    FakeNode node;
    registry::NewNode profile;
    profile.address = node.address();
    profile.owner = node.address();
    profile.profile.role = role;
    const auto registered = core_->register_node(profile);
    GYM_ASSERT(registered.ok(), registered.ok() ? "" : registered.error().message);
    return node;
}

void World::beat(const std::vector<const FakeNode*>& nodes) {
    for (const FakeNode* node : nodes)
        GYM_ASSERT(core_->heartbeat(node->address()).ok(), "heartbeat");
}

World::Work World::make_work(const FakeNode& worker, const FakeCompute::Trained& trained,
                             const records::TrainTask& assignment) {
    const protocol::RoundRecord& record = assignment.record;
    protocol::UnitCommitment commitment;
    commitment.round_record = protocol::hash(record);
    commitment.slot = assignment.unit.slot;
    commitment.records_root = compute.records_root(trained.records).value();
    commitment.final_state_root = trained.final_state;
    commitment.delta_root = blobs.put(trained.delta).value();
    const Status uploaded = core_->note_upload(worker.address(), commitment.delta_root);
    GYM_ASSERT(uploaded.ok(), uploaded.ok() ? "" : uploaded.error().message);
    commitment.steps = record.steps;
    commitment.tokens = record.tokens_per_step * record.steps;
    commitment.flops = record.flops_per_step * record.steps;
    return {assignment, protocol::sign(options.domain, commitment, worker.key), trained.records};
}

World::Work World::work(const FakeNode& worker) {
    const auto assignment = core_->next_unit(worker.address());
    GYM_ASSERT(assignment.ok() && assignment->has_value(), "the worker has no unit");
    const auto& given = **assignment;
    return make_work(worker, FakeCompute::train(given.record, given.unit.slot), given);
}

World::Work World::cheat(const FakeNode& worker, std::size_t step) {
    const auto assignment = core_->next_unit(worker.address());
    GYM_ASSERT(assignment.ok() && assignment->has_value(), "the worker has no unit");
    const auto& given = **assignment;
    FakeCompute::Trained trained = FakeCompute::train(given.record, given.unit.slot);
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
            deltas.push_back(
                compute.check_delta(program, blobs.load(delta.delta_root).value()).value());
        const auto result =
            compute.aggregate(program, blobs.get(task.inputs.base_state_blob).value(),
                              blobs.get(*task.inputs.momentum_blob).value(), deltas);
        records = result->records;
        out.final_state_root = result->base.root;
        out.delta_root = result->momentum.root;
    } else {
        const auto trained = FakeCompute::train(task.record, task.unit.slot);
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

bool World::verify(const FakeNode& verifier, bool lie) {
    const auto task = core_->next_task(verifier.address());
    GYM_ASSERT(task.ok(), task.ok() ? "" : task.error().message);
    if (!*task) return false;
    Bytes records;
    const protocol::Report honest = report(verifier, **task, lie, records);
    const auto claimed = core_->commit_report(verifier.address(), honest.unit, honest.draw,
                                              protocol::report_digest((*task)->beacon, honest));
    GYM_ASSERT(claimed.ok(), claimed.ok() ? "" : claimed.error().message);
    const auto outcome = core_->reveal_report(honest, records);
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
    const auto revealed = core_->reveal_report(report, *disclosed);
    return revealed.ok() && revealed->equal ? std::optional(report.unit) : std::nullopt;
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
