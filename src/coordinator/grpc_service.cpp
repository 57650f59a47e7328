#include "gym/coordinator/grpc_service.hpp"

#include <algorithm>
#include <utility>

#include "gym/registry/nodes.hpp"
#include "gym/registry/rounds.hpp"

namespace gym::coordinator {
namespace {

constexpr std::size_t kListedUnitsMax = 50;

rpc::TrainTask task_of(const UnitAssignment& assignment) {
    rpc::TrainTask task;
    task.unit = assignment.key;
    task.record = assignment.record;
    task.inputs.program_blob = assignment.program_blob;
    task.inputs.dataset_blob = assignment.dataset_blob;
    task.inputs.base_state_blob = assignment.base_blob;
    task.deadline_ms = assignment.deadline_ms;
    return task;
}

rpc::VerifyTask task_of(const VerificationTask& verification) {
    rpc::VerifyTask task;
    task.unit = verification.key;
    task.record = verification.record;
    task.inputs.program_blob = verification.program_blob;
    task.inputs.dataset_blob = verification.dataset_blob;
    task.inputs.base_state_blob = verification.base.blob;
    if (!verification.momentum.blob.is_zero())
        task.inputs.momentum_blob = verification.momentum.blob;
    task.commitment = verification.commitment;
    task.committer = verification.committer;
    task.beacon = verification.beacon;
    task.draw = verification.draw;
    task.report_committed = verification.state == protocol::UnitState::kReported;
    task.deadline_ms = verification.deadline_ms;
    task.deltas = verification.included;
    task.delta_norm_max = verification.delta_norm_max;
    return task;
}

rpc::UnitView view_of(const registry::Unit& unit) {
    rpc::UnitView view;
    view.unit = unit.key;
    view.unit_id = unit.id;
    view.kind = unit.kind;
    view.worker = unit.worker;
    view.state = unit.status.state;
    view.deadline_ms = unit.status.deadline_ms;
    view.reason_code = unit.reason_code;
    view.reason = unit.reason;
    return view;
}

std::vector<rpc::UnitView> views_of(const std::vector<registry::Unit>& units) {
    std::vector<rpc::UnitView> views;
    for (const registry::Unit& unit : units) {
        if (views.size() == kListedUnitsMax) break;
        views.push_back(view_of(unit));
    }
    return views;
}

rpc::NodeRole role_of(registry::NodeRole role) {
    return role == registry::NodeRole::kVerifier ? rpc::NodeRole::kVerifier
                                                 : rpc::NodeRole::kWorker;
}

/// The device is checked text from a peer: only characters that need no escape in JSON go in.
std::string hardware_json(const rpc::NodeProfile& profile) {
    std::string device;
    for (const char c : profile.device)
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '-' || c == '_' || c == '.' || c == ' ')
            device.push_back(c);
    return R"({"gpu_type":")" + device + R"(","memory_bytes":)" +
           std::to_string(profile.memory_bytes) + "}";
}

}  // namespace

Result<rpc::NetworkInfo> GrpcService::network() {
    rpc::NetworkInfo info;
    info.chain_id = options_.chain_id;
    info.commitment_log = options_.commitment_log;
    info.server_ms = clock_.now_ms();
    info.blob_bytes_max = options_.blob_bytes_max;
    info.heartbeat_every_ms = options_.heartbeat_every_ms;
    info.software_version = options_.software_version;
    info.beacon_delay_blocks = options_.beacon_delay_blocks;
    info.stake = options_.stake;
    info.dispute_game = options_.dispute_game;
    info.minimum_stake = options_.minimum_stake;
    return info;
}

Result<std::optional<registry::Node>> GrpcService::find_node(const Address& address) {
    return database_.transact([&](db::Transaction& tx) { return registry::find_node(tx, address); },
                              {.read_only = true});
}

Result<bool> GrpcService::is_registered(const Address& address) {
    GYM_TRY(const auto node, find_node(address));
    return node.has_value();
}

Result<bool> GrpcService::register_node(const Address& caller, const rpc::NodeProfile& profile) {
    GYM_TRY(const auto known, find_node(caller));
    if (known && known->excluded)
        return fail(ErrorCode::kPermissionDenied, "excluded: " + known->excluded_reason);
    registry::NewNode node;
    node.address = caller;
    node.role = profile.role == rpc::NodeRole::kVerifier ? registry::NodeRole::kVerifier
                                                         : registry::NodeRole::kWorker;
    node.owner = caller;
    node.hardware_json = hardware_json(profile);
    node.software = profile.software_version;
    node.benchmark_flops = profile.flops_per_second;
    GYM_CHECK(core_.register_node(node));
    return !known.has_value();
}

Result<rpc::HeartbeatAnswer> GrpcService::heartbeat(const Address& caller, const rpc::Beat& beat) {
    GYM_TRY(HeartbeatOutcome outcome, core_.heartbeat(caller, beat.answer));
    GYM_TRY(const auto node, find_node(caller));
    rpc::HeartbeatAnswer answer;
    answer.server_ms = clock_.now_ms();
    if (node && node->excluded) answer.excluded_because = node->excluded_reason;
    answer.challenge = outcome.challenge;
    answer.answer_refused = std::move(outcome.answer_refused);
    return answer;
}

Status GrpcService::leave(const Address& caller) {
    return core_.leave(caller);
}

Result<std::optional<rpc::Task>> GrpcService::next_task(const Address& caller) {
    GYM_TRY(const auto node, find_node(caller));
    if (!node) return fail(ErrorCode::kNotFound, caller.hex() + " is not registered");
    if (node->role == registry::NodeRole::kVerifier) {
        GYM_TRY(const auto verification, core_.next_task(caller));
        if (!verification) return std::optional<rpc::Task>();
        return std::optional<rpc::Task>(task_of(*verification));
    }
    GYM_TRY(const auto assignment, core_.next_unit(caller));
    if (!assignment) return std::optional<rpc::Task>();
    return std::optional<rpc::Task>(task_of(*assignment));
}

Result<Bytes> GrpcService::get_blob(const Address&, const Digest& root) {
    return blobs_.get(root);
}

Status GrpcService::allow_upload(const Address& caller, const Digest& root,
                                 std::uint64_t size_bytes) {
    if (size_bytes > options_.blob_bytes_max)
        return fail(
            ErrorCode::kOutOfRange,
            "blobs of at most " + std::to_string(options_.blob_bytes_max) + " bytes are accepted");
    GYM_TRY(const bool known, blobs_.has(root));
    if (known) return {};  // a repeat after a lost answer
    GYM_TRY(const auto assignment, core_.next_unit(caller));
    if (!assignment)
        return fail(
            ErrorCode::kPermissionDenied,
            "only a worker with a unit to commit may upload, " + caller.hex() + " has none");
    if (size_bytes > assignment->delta_bytes_max)
        return fail(ErrorCode::kOutOfRange, "no delta of this unit is longer than " +
                                                std::to_string(assignment->delta_bytes_max) +
                                                " bytes");
    return count_upload(caller, assignment->unit, root);
}

Status GrpcService::count_upload(const Address& caller, const Digest& unit, const Digest& root) {
    const std::scoped_lock lock(uploads_mutex_);
    Uploads& uploads = uploads_[caller];
    if (uploads.unit != unit) uploads = {unit, {}};
    if (uploads.roots.contains(root)) return {};
    if (uploads.roots.size() >= kUploadsPerUnitMax)
        return fail(ErrorCode::kPermissionDenied, "a unit has one delta; this one had " +
                                                      std::to_string(kUploadsPerUnitMax) +
                                                      " different uploads already");
    uploads.roots.insert(root);
    return {};
}

Status GrpcService::put_blob(const Address&, const blob::VerifiedBlob& blob) {
    return blobs_.put(blob);
}

Result<rpc::CommitmentAccepted> GrpcService::submit_commitment(
    const Address& caller, const rpc::CommitmentSubmission& submission) {
    GYM_TRY(const CommitReceipt receipt,
            core_.commit_unit(caller, submission.commitment, submission.records));
    return rpc::CommitmentAccepted{receipt.unit, receipt.leaf, receipt.received_at_ms};
}

Result<Bytes> GrpcService::submit_report_commit(const Address& caller,
                                                const rpc::ReportCommit& commit) {
    return core_.commit_report(caller, commit.unit, commit.draw, commit.report_digest);
}

Result<bool> GrpcService::submit_report_reveal(const Address&, const rpc::ReportReveal& reveal) {
    // The caller is in the report: the server put it there after it checked the signature.
    GYM_TRY(const RevealOutcome outcome, core_.reveal_report(reveal.report, reveal.records));
    return outcome.equal;
}

Status GrpcService::defend_unit(const Address& caller, const Digest& unit) {
    return core_.defend(caller, unit);
}

Result<rpc::NodeStatus> GrpcService::node_status(const Address&, const Address& subject) {
    GYM_TRY(const NodeStatus status, core_.node_status(subject));
    rpc::NodeStatus out;
    out.address = status.node.address;
    out.role = role_of(status.node.role);
    if (status.node.excluded) out.excluded_because = status.node.excluded_reason;
    out.idle_because = status.idle_because;
    out.stake_because = status.stake_because;
    out.units_final = status.units.final;
    out.units_rejected = status.units.rejected;
    out.units_open = status.units.open;
    out.units_other = status.units.other;
    out.challenges = static_cast<std::uint32_t>(status.uptime_last_hour.issued);
    out.uptime_ppm = status.uptime_last_hour.ppm();
    out.last_seen_ms = status.node.last_seen_at_ms;
    out.open_units = views_of(status.open_units);
    out.recent_units = views_of(status.recent_units);
    return out;
}

Result<protocol::RoundRecord> GrpcService::round_record(const Address&, const Digest& job_id,
                                                        std::uint64_t round) {
    GYM_TRY(const registry::Round found,
            database_.transact(
                [&](db::Transaction& tx) { return registry::get_round(tx, job_id, round); },
                {.read_only = true}));
    return found.record;
}

Result<rpc::UnitView> GrpcService::unit(const Address&, const Digest& unit_id) {
    GYM_TRY(const UnitReceipt receipt, core_.unit_receipt(unit_id));
    rpc::UnitView view = view_of(receipt.unit);
    if (receipt.inclusion) {
        const InclusionReceipt& inclusion = *receipt.inclusion;
        view.receipt =
            rpc::InclusionReceipt{inclusion.epoch, inclusion.commitments_root, inclusion.leaf_index,
                                  inclusion.leaf_count, inclusion.siblings};
        view.commitment = receipt.commitment;
    }
    return view;
}

}  // namespace gym::coordinator
