#include "fake_compute.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/protocol/delta_size.hpp"

namespace gym::testing {

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

namespace {

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
    out.flops_per_step = kFlopsPerStep;
    out.parameters = 10;
    out.worker_memory = {kFakeWorkerMemoryBytes, kFakeWorkerGpuMemoryBytes};
    out.delta_bytes = protocol::plain_delta_bytes(out.parameters);
    return out;
}

Result<coordinator::Compute::RoundRoots> FakeCompute::round_roots(ByteView program, ByteView base) {
    return RoundRoots{commit::sha256(program), commit::sha256(base)};
}

namespace {

struct FakeDelta final : coordinator::Compute::Delta {
    FakeDelta(const blob::VerifiedBlob& of, double norm) : blob(of), norm_(norm) {}
    [[nodiscard]] double norm() const override { return norm_; }
    const blob::VerifiedBlob blob;

  private:
    const double norm_;
};

}  // namespace

Result<coordinator::Compute::DeltaPtr> FakeCompute::check_delta(ByteView,
                                                                const blob::BlobStore& store,
                                                                const Digest& root) {
    GYM_TRY(const blob::VerifiedBlob delta, store.load(root));
    if (delta.bytes().size() != 32) return fail(ErrorCode::kMalformed, "delta: not 32 bytes");
    const auto norm = norms.find(delta.root());
    return DeltaPtr(
        std::make_shared<const FakeDelta>(delta, norm == norms.end() ? 1 : norm->second));
}

Result<coordinator::Compute::Aggregated> FakeCompute::aggregate(ByteView program, Bytes base,
                                                                Bytes momentum,
                                                                const std::vector<DeltaPtr>& deltas,
                                                                Included included) {
    if (aggregate_fails) return fail(ErrorCode::kIo, "the disk is full");
    commit::Hasher hasher;
    for (const DeltaPtr& delta : deltas)
        hasher.update(dynamic_cast<const FakeDelta&>(*delta).blob.bytes());
    const std::size_t held = protocol::held_of(included);
    if (held > 0) hasher.update_u64(held);
    for (const protocol::IncludedDelta& delta : included)
        if (delta.is_withdrawn()) hasher.update_u64(delta.held ? 1 : 2);
    const Digest all = hasher.finish();
    Aggregated out;
    out.program = rooted("outer", program);
    out.base = rooted("next base", tagged("", {base, all.view()}).view());
    out.momentum = rooted("next momentum", tagged("", {momentum, all.view()}).view());
    if (updates) out.update = bytes_of(tagged("update", {out.base.bytes}));
    out.records = bytes_of(all);
    GYM_TRY(out.records_root, records_root(out.records));
    out.flops = 10 * deltas.size();
    return out;
}

Result<coordinator::Compute::Evaluated> FakeCompute::evaluate(ByteView, ByteView base, ByteView,
                                                              const Digest&, std::uint32_t,
                                                              const std::stop_token&) {
    ++evaluations;
    Evaluated out;
    out.mean_loss = 2.0 + base[0] / 256.0;
    out.records = evaluation_records(base);
    if (wrong_losses) out.records[0] ^= 1;
    GYM_TRY(out.records_root, records_root(out.records));
    out.state_root = tagged("root", {base});
    out.evaluation_root = evaluation_root(base);
    out.steps = 1;
    out.tokens = 64;
    out.flops = kFlopsPerStep;
    return out;
}

Digest FakeCompute::evaluation_root(ByteView base) {
    return tagged("mean loss", {base});
}

Bytes FakeCompute::evaluation_records(ByteView base) {
    return bytes_of(tagged("losses", {base}));
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

FakeCompute::Trained FakeCompute::train(const protocol::RoundTerms& record,
                                        const protocol::SlotAssignment& slot) {
    commit::Encoder encoder;
    encoder.fixed(record.base_state_root).fixed(record.job_seed).u64(record.round).u32(slot.slot);
    const Digest seed = commit::sha256(encoder.view());
    Trained out;
    for (std::uint32_t step = 0; step < slot.steps; ++step)
        out.records.push_back(seed.data[step % 32]);
    out.delta = bytes_of(tagged("delta", {out.records}));
    out.final_state = tagged("state", {out.records});
    return out;
}

FakeCompute::Trained FakeCompute::train(const protocol::UnitRecord& record) {
    return train(record, record.assignment.value());
}

Result<coordinator::Compute::Reexecuted> FakeCompute::run_unit(const protocol::RoundRecord& record,
                                                               std::uint32_t slot, ByteView,
                                                               ByteView, ByteView,
                                                               const crypto::Signature* challenge,
                                                               const std::stop_token& stop) {
    ++runs;
    while (runs_wait && !stop.stop_requested())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    if (runs_fail) return fail(ErrorCode::kUnavailable, "no machine is free");
    const Trained trained = train(record, record.slots.at(slot));
    GYM_TRY(const Digest root, records_root(trained.records));
    return Reexecuted{{root, trained.final_state, blob::blob_root(trained.delta)},
                      challenge == nullptr ? Digest{} : trace(trained.records, *challenge)};
}

Result<Digest> FakeCompute::run_prefix(const protocol::RoundRecord& record, const SlotSteps& prefix,
                                       ByteView, ByteView, ByteView, const std::stop_token& stop) {
    ++runs;
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    if (runs_fail) return fail(ErrorCode::kUnavailable, "no machine is free");
    return link(record, prefix);
}

Digest FakeCompute::link(const protocol::RoundRecord& record, const SlotSteps& prefix) {
    return link(protocol::unit_record(record, prefix.slot), prefix.steps);
}

Digest FakeCompute::link(const protocol::UnitRecord& record, std::uint32_t steps) {
    Bytes records = train(record).records;
    records.resize(steps);
    return tagged("link", {records});
}

Result<Digest> FakeCompute::records_trace(ByteView records, const crypto::Signature& challenge) {
    return trace(records, challenge);
}

Digest FakeCompute::trace(ByteView records, const crypto::Signature& challenge) {
    return tagged("trace", {records, challenge.view()});
}

}  // namespace gym::testing
