// The calls of nodes that end with an answer: registration, a unit's result, its receipt.
#include <thread>

#include "fake_compute.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/protocol/commitment.hpp"
#include "load_nodes.hpp"
#include "must.hpp"

namespace gym::testing {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::int64_t kCallMsMax = 60'000;
constexpr int kAttemptsMax = 60;

double ms_since(SteadyClock::time_point start) {
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

template <class Fixed>
std::string text_of(const Fixed& value) {
    return {value.data.begin(), value.data.end()};
}

/// Makes a call until it succeeds, and notes each attempt.
void insist(LatencyLog& log, LoadCall call, const std::function<grpc::Status()>& attempt,
            const std::function<void(const grpc::Status&)>& failed) {
    for (int tried = 0; tried < kAttemptsMax; ++tried) {
        const auto start = SteadyClock::now();
        const grpc::Status status = attempt();
        if (status.ok()) {
            log.add(call, ms_since(start));
            return;
        }
        log.fail(call, status.error_message());
        failed(status);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
}

}  // namespace

void LoadNodes::register_one(std::size_t index) {
    Node& node = *nodes_[index];
    v1::RegisterRequest request;
    request.mutable_profile()->set_role(v1::NODE_ROLE_WORKER);
    request.mutable_profile()->set_device("cpu");
    request.mutable_profile()->set_flops_per_second(1'000'000'000);
    request.mutable_profile()->set_software_version("load");
    insist(
        log_, LoadCall::kRegister,
        [&] {
            v1::RegisterResponse response;
            const auto call = context(node, "Register", request, kCallMsMax);
            return stub_of(node)->Register(call.get(), request, &response);
        },
        [&](const grpc::Status& status) { move_on(index, status); });
}

void LoadNodes::register_all(unsigned in_flight) {
    for_all(in_flight, [this](std::size_t index) { register_one(index); });
}

grpc::Status LoadNodes::upload(Node& node, const std::string& root, const std::string& delta) {
    v1::PutBlobRequest header;
    header.mutable_header()->set_root(root);
    header.mutable_header()->set_size_bytes(delta.size());
    const auto call = context(node, "PutBlob", header, kCallMsMax);
    v1::PutBlobResponse response;
    const auto stub = stub_of(node);
    const auto writer = stub->PutBlob(call.get(), &response);
    v1::PutBlobRequest data;
    data.set_data(delta);
    if (writer->Write(header) && writer->Write(data)) writer->WritesDone();
    return writer->Finish();
}

void LoadNodes::commit_one(std::size_t index) {
    Node& node = *nodes_[index];
    std::optional<v1::TrainTask> task;
    {
        const std::scoped_lock lock(node.mutex);
        task = node.task;
    }
    if (!task) return;
    const auto record = must(protocol::decode_unit_record(as_bytes(task->unit_record())));
    const auto trained = FakeCompute::train(record);
    FakeCompute compute;
    protocol::UnitCommitment commitment;
    commitment.round_record = protocol::hash(record);
    commitment.slot = task->unit().slot();
    commitment.records_root = must(compute.records_root(trained.records));
    commitment.final_state_root = trained.final_state;
    commitment.delta_root = blob::blob_root(trained.delta);
    commitment.steps = record.assignment.value().steps;
    commitment.tokens = record.tokens_per_step * commitment.steps;
    commitment.flops = record.flops_per_step * commitment.steps;
    const auto failed = [&](const grpc::Status& status) { move_on(index, status); };
    insist(
        log_, LoadCall::kUpload,
        [&] {
            return upload(node, text_of(commitment.delta_root),
                          {trained.delta.begin(), trained.delta.end()});
        },
        failed);
    v1::SubmitCommitmentRequest request;
    const Bytes encoded = protocol::encode(protocol::sign(domain_, commitment, node.key));
    request.set_signed_commitment(encoded.data(), encoded.size());
    request.set_records(trained.records.data(), trained.records.size());
    v1::SubmitCommitmentResponse response;
    insist(
        log_, LoadCall::kCommit,
        [&] {
            const auto call = context(node, "SubmitCommitment", request, kCallMsMax);
            return stub_of(node)->SubmitCommitment(call.get(), request, &response);
        },
        failed);
    {
        const std::scoped_lock lock(node.mutex);
        node.task.reset();
        node.unit_id = response.unit_id();
    }
    --tasks_;
    schedule(index, LoadCall::kPoll, std::chrono::milliseconds(0));
}

void LoadNodes::commit_all(unsigned in_flight) {
    for_all(in_flight, [this](std::size_t index) { commit_one(index); });
}

bool LoadNodes::has_receipt(std::size_t index) {
    Node& node = *nodes_[index];
    v1::GetUnitRequest request;
    {
        const std::scoped_lock lock(node.mutex);
        if (node.unit_id.empty()) return false;
        request.set_unit_id(node.unit_id);
    }
    v1::GetUnitResponse response;
    insist(
        log_, LoadCall::kReceipt,
        [&] {
            const auto call = context(node, "GetUnit", request, kCallMsMax);
            return stub_of(node)->GetUnit(call.get(), request, &response);
        },
        [&](const grpc::Status& status) { move_on(index, status); });
    const auto& unit = response.unit();
    if (!unit.has_receipt()) return false;
    const auto stored = protocol::decode_signed_commitment(as_bytes(unit.signed_commitment()));
    if (!stored.ok()) return false;
    std::vector<Digest> siblings;
    for (const std::string& sibling : unit.receipt().siblings())
        siblings.push_back(must(Digest::from(as_bytes(sibling))));
    return commit::merkle_verify(must(Digest::from(as_bytes(unit.receipt().commitments_root()))),
                                 {unit.receipt().leaf_index(), unit.receipt().leaf_count()},
                                 protocol::commitment_leaf(*stored), siblings)
        .ok();
}

std::size_t LoadNodes::read_receipts(unsigned in_flight) {
    std::atomic<std::size_t> found{0};
    for_all(in_flight, [&](std::size_t index) {
        if (has_receipt(index)) ++found;
    });
    return found;
}

}  // namespace gym::testing
