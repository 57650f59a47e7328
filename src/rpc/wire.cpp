#include "wire.hpp"

#include "gym/rpc/coordinator.hpp"

namespace gym::rpc::wire {
namespace {

void write(const records::UnitInputs& inputs, v1::UnitInputs& out) {
    out.set_program_blob(text_of(inputs.program_blob));
    if (inputs.dataset_blob) out.set_dataset_blob(text_of(*inputs.dataset_blob));
    out.set_base_state_blob(text_of(inputs.base_state_blob));
    if (inputs.momentum_blob) out.set_momentum_blob(text_of(*inputs.momentum_blob));
    for (const records::BaseStep& step : inputs.base_steps) {
        v1::BaseStep& item = *out.add_base_steps();
        item.set_base_blob(text_of(step.base_blob));
        item.set_update_blob(text_of(step.update_blob));
    }
}

Result<records::UnitInputs> read(const v1::UnitInputs& in) {
    records::UnitInputs out;
    GYM_TRY(out.program_blob, wire::read<Digest>("program_blob", in.program_blob()));
    GYM_TRY(out.dataset_blob, read_optional<Digest>("dataset_blob", in.dataset_blob()));
    GYM_TRY(out.base_state_blob, wire::read<Digest>("base_state_blob", in.base_state_blob()));
    GYM_TRY(out.momentum_blob, read_optional<Digest>("momentum_blob", in.momentum_blob()));
    if (static_cast<std::uint32_t>(in.base_steps_size()) > records::kBaseStepsMax)
        return fail(ErrorCode::kMalformed, "base_steps: too many");
    for (const v1::BaseStep& item : in.base_steps()) {
        GYM_TRY(const Digest base, wire::read<Digest>("base_steps.base_blob", item.base_blob()));
        GYM_TRY(const Digest update,
                wire::read<Digest>("base_steps.update_blob", item.update_blob()));
        out.base_steps.push_back({base, update});
    }
    return out;
}

void write(const records::TrainTask& task, v1::TrainTask& out) {
    wire::write(task.unit, *out.mutable_unit());
    out.set_unit_record(text_of(protocol::encode(task.record)));
    write(task.inputs, *out.mutable_inputs());
    out.set_deadline_unix_ms(task.deadline_ms);
    out.set_late_until_unix_ms(task.late_until_ms);
    out.set_overlap(task.overlap);
}

Result<records::TrainTask> read(const v1::TrainTask& in) {
    records::TrainTask out;
    GYM_TRY(out.unit, wire::read(in.unit()));
    GYM_TRY(out.record, protocol::decode_unit_record(bytes_of(in.unit_record())));
    GYM_TRY(out.inputs, read(in.inputs()));
    out.deadline_ms = in.deadline_unix_ms();
    out.late_until_ms = in.late_until_unix_ms();
    out.overlap = in.overlap();
    return out;
}

void write(const records::PrefixTask& task, v1::PrefixTask& out) {
    wire::write(task.unit, *out.mutable_unit());
    out.set_unit_record(text_of(protocol::encode(task.record)));
    write(task.inputs, *out.mutable_inputs());
    out.set_steps(task.steps);
    out.set_draw(task.draw);
    out.set_deadline_unix_ms(task.deadline_ms);
}

Result<records::PrefixTask> read(const v1::PrefixTask& in) {
    records::PrefixTask out;
    GYM_TRY(out.unit, wire::read(in.unit()));
    GYM_TRY(out.record, protocol::decode_unit_record(bytes_of(in.unit_record())));
    GYM_TRY(out.inputs, read(in.inputs()));
    out.steps = in.steps();
    out.draw = in.draw();
    out.deadline_ms = in.deadline_unix_ms();
    return out;
}

void write(const records::VerifyTask& task, v1::VerifyTask& out) {
    wire::write(task.unit, *out.mutable_unit());
    out.set_unit_record(text_of(protocol::encode(task.record)));
    write(task.inputs, *out.mutable_inputs());
    out.set_signed_commitment(text_of(protocol::encode(task.commitment)));
    out.set_committer(text_of(task.committer));
    out.set_beacon(text_of(task.beacon));
    out.set_draw(task.draw);
    out.set_report_committed(task.report_committed);
    out.set_deadline_unix_ms(task.deadline_ms);
    for (const protocol::IncludedDelta& delta : task.deltas) {
        v1::IncludedDelta& item = *out.add_deltas();
        item.set_slot(delta.slot);
        item.set_unit(text_of(delta.unit));
        item.set_delta_root(text_of(delta.delta_root));
        item.set_held(delta.held);
        item.set_age(delta.age);
    }
    if (task.round) out.set_round_record(text_of(protocol::encode(*task.round)));
    out.set_late(task.late);
    out.set_hold_drawn(task.hold_drawn);
    out.set_overlap(task.overlap);
    if (task.earlier) {
        v1::EarlierRound& earlier = *out.mutable_earlier();
        earlier.set_round_record(text_of(protocol::encode(task.earlier->record)));
        write(task.earlier->inputs, *earlier.mutable_inputs());
    }
    if (task.aggregate) out.set_aggregate(text_of(protocol::encode(*task.aggregate)));
    if (task.delta_norm_max) out.set_delta_norm_max(*task.delta_norm_max);
    if (task.delta_norm_factor) out.set_delta_norm_factor(*task.delta_norm_factor);
}

Result<records::VerifyTask> read(const v1::VerifyTask& in) {
    records::VerifyTask out;
    GYM_TRY(out.unit, wire::read(in.unit()));
    GYM_TRY(out.record, protocol::decode_unit_record(bytes_of(in.unit_record())));
    GYM_TRY(out.inputs, read(in.inputs()));
    GYM_TRY(out.commitment, protocol::decode_signed_commitment(bytes_of(in.signed_commitment())));
    GYM_TRY(out.committer, wire::read<Address>("committer", in.committer()));
    GYM_TRY(out.beacon, wire::read<Digest>("beacon", in.beacon()));
    out.draw = in.draw();
    out.report_committed = in.report_committed();
    out.deadline_ms = in.deadline_unix_ms();
    // As many as a record has at most.
    if (static_cast<std::uint32_t>(in.deltas_size()) > protocol::kSlotsMax)
        return fail(ErrorCode::kMalformed, "deltas: too many");
    for (const v1::IncludedDelta& item : in.deltas()) {
        GYM_TRY(const Digest unit, wire::read<Digest>("deltas.unit", item.unit()));
        GYM_TRY(const Digest root, wire::read<Digest>("deltas.delta_root", item.delta_root()));
        if (item.age() > protocol::kWithdrawnAgeMax)
            return fail(ErrorCode::kMalformed, "deltas.age: too large");
        out.deltas.push_back(
            {item.slot(), unit, root, item.held(), static_cast<std::uint16_t>(item.age())});
    }
    if (!in.round_record().empty()) {
        GYM_TRY(out.round, protocol::decode_round_record(bytes_of(in.round_record())));
    }
    out.late = in.late();
    out.hold_drawn = in.hold_drawn();
    out.overlap = in.overlap();
    if (in.has_earlier()) {
        records::EarlierRound& earlier = out.earlier.emplace();
        GYM_TRY(earlier.record,
                protocol::decode_round_record(bytes_of(in.earlier().round_record())));
        GYM_TRY(earlier.inputs, read(in.earlier().inputs()));
    }
    if (!in.aggregate().empty()) {
        GYM_TRY(out.aggregate, protocol::decode_signed_commitment(bytes_of(in.aggregate())));
    }
    if (in.has_delta_norm_max()) {
        if (!(in.delta_norm_max() >= 0)) return fail(ErrorCode::kMalformed, "delta_norm_max");
        out.delta_norm_max = in.delta_norm_max();
    }
    if (in.has_delta_norm_factor()) {
        if (!(in.delta_norm_factor() >= 1)) return fail(ErrorCode::kMalformed, "delta_norm_factor");
        out.delta_norm_factor = in.delta_norm_factor();
    }
    return out;
}

void write(const records::InclusionReceipt& receipt, v1::InclusionReceipt& out) {
    out.set_epoch(receipt.epoch);
    out.set_commitments_root(text_of(receipt.commitments_root));
    out.set_leaf_index(receipt.leaf_index);
    out.set_leaf_count(receipt.leaf_count);
    for (const Digest& sibling : receipt.siblings)
        out.add_siblings(text_of(sibling));
}

Result<records::InclusionReceipt> read(const v1::InclusionReceipt& in) {
    records::InclusionReceipt out;
    out.epoch = in.epoch();
    GYM_TRY(out.commitments_root, wire::read<Digest>("commitments_root", in.commitments_root()));
    out.leaf_index = in.leaf_index();
    out.leaf_count = in.leaf_count();
    if (static_cast<std::uint32_t>(in.siblings_size()) > records::kSiblingsMax)
        return fail(ErrorCode::kMalformed, "siblings: too many");
    for (const std::string& sibling : in.siblings()) {
        GYM_TRY(const Digest digest, wire::read<Digest>("siblings", sibling));
        out.siblings.push_back(digest);
    }
    return out;
}

Result<records::NodeRole> read_role(v1::NodeRole role) {
    if (role == v1::NODE_ROLE_WORKER) return records::NodeRole::kWorker;
    if (role == v1::NODE_ROLE_VERIFIER) return records::NodeRole::kVerifier;
    return fail(ErrorCode::kMalformed, "role: neither worker nor verifier");
}

v1::NodeRole wire_role(records::NodeRole role) {
    return role == records::NodeRole::kVerifier ? v1::NODE_ROLE_VERIFIER : v1::NODE_ROLE_WORKER;
}

}  // namespace

std::string text_of(ByteView bytes) {
    return {bytes.begin(), bytes.end()};
}

Result<std::string> read_text(std::string_view name, const std::string& field) {
    if (field.size() > kTextBytesMax)
        return fail(ErrorCode::kMalformed, std::string(name) + ": longer than " +
                                               std::to_string(kTextBytesMax) + " bytes");
    return field;
}

void write(const protocol::UnitKey& key, v1::UnitKey& out) {
    out.set_job_id(text_of(key.job_id));
    out.set_round(key.round);
    out.set_slot(key.slot);
    out.set_attempt(key.attempt);
}

Result<protocol::UnitKey> read(const v1::UnitKey& in) {
    GYM_TRY(const Digest job_id, read<Digest>("unit.job_id", in.job_id()));
    return protocol::UnitKey{job_id, in.round(), in.slot(), in.attempt()};
}

void write(const records::NodeProfile& profile, v1::NodeProfile& out) {
    out.set_role(wire_role(profile.role));
    out.set_device(profile.device);
    out.set_memory_bytes(profile.memory_bytes);
    out.set_flops_per_second(profile.flops_per_second);
    out.set_software_version(profile.software_version);
}

Result<records::NodeProfile> read(const v1::NodeProfile& in) {
    records::NodeProfile out;
    GYM_TRY(out.role, read_role(in.role()));
    GYM_TRY(out.device, read_text("device", in.device()));
    if (out.device.empty() || out.device.size() > records::kDeviceCharactersMax)
        return fail(ErrorCode::kMalformed, "device: must have 1 to 64 characters");
    out.memory_bytes = in.memory_bytes();
    out.flops_per_second = in.flops_per_second();
    GYM_TRY(out.software_version, read_text("software_version", in.software_version()));
    return out;
}

void write(const records::NetworkDescription& info, v1::GetNetworkResponse& out) {
    out.set_chain_id(info.chain_id);
    out.set_commitment_log(text_of(info.commitment_log));
    out.set_server_unix_ms(info.server_ms);
    out.set_blob_bytes_max(info.blob_bytes_max);
    out.set_heartbeat_every_ms(info.heartbeat_every_ms);
    out.set_software_version(info.software_version);
    out.set_beacon_delay_blocks(info.beacon_delay_blocks);
    if (!info.stake.is_zero()) out.set_stake(text_of(info.stake));
    if (!info.dispute_game.is_zero()) out.set_dispute_game(text_of(info.dispute_game));
    if (!info.minimum_stake.is_zero())
        out.set_minimum_stake_wei(text_of(Digest{info.minimum_stake.to_be32()}));
    if (!info.verifier_stake.is_zero()) out.set_verifier_stake(text_of(info.verifier_stake));
    if (!info.report_game.is_zero()) out.set_report_game(text_of(info.report_game));
    if (!info.minimum_verifier_stake.is_zero())
        out.set_minimum_verifier_stake_wei(text_of(Digest{info.minimum_verifier_stake.to_be32()}));
    for (const std::string& mirror : info.mirrors)
        out.add_mirrors(mirror);
}

namespace {

/// What the network says of verifiers' stakes.
Status read_verifiers(const v1::GetNetworkResponse& in, records::NetworkDescription& out) {
    GYM_TRY(const auto stake, read_optional<Address>("verifier_stake", in.verifier_stake()));
    GYM_TRY(const auto game, read_optional<Address>("report_game", in.report_game()));
    GYM_TRY(const auto minimum,
            read_optional<Digest>("minimum_verifier_stake_wei", in.minimum_verifier_stake_wei()));
    out.verifier_stake = stake.value_or(Address{});
    out.report_game = game.value_or(Address{});
    if (minimum) out.minimum_verifier_stake = Amount::from_be32(minimum->data);
    return {};
}

}  // namespace

Result<records::NetworkDescription> read(const v1::GetNetworkResponse& in) {
    records::NetworkDescription out;
    out.chain_id = in.chain_id();
    GYM_TRY(out.commitment_log, read<Address>("commitment_log", in.commitment_log()));
    out.server_ms = in.server_unix_ms();
    out.blob_bytes_max = in.blob_bytes_max();
    out.heartbeat_every_ms = in.heartbeat_every_ms();
    GYM_TRY(out.software_version, read_text("software_version", in.software_version()));
    out.beacon_delay_blocks = in.beacon_delay_blocks();
    GYM_TRY(const auto stake, read_optional<Address>("stake", in.stake()));
    GYM_TRY(const auto game, read_optional<Address>("dispute_game", in.dispute_game()));
    GYM_TRY(const auto minimum, read_optional<Digest>("minimum_stake_wei", in.minimum_stake_wei()));
    out.stake = stake.value_or(Address{});
    out.dispute_game = game.value_or(Address{});
    if (minimum) out.minimum_stake = Amount::from_be32(minimum->data);
    GYM_CHECK(read_verifiers(in, out));
    if (static_cast<std::size_t>(in.mirrors_size()) > records::kMirrorsMax)
        return fail(ErrorCode::kMalformed,
                    "mirrors: more than " + std::to_string(records::kMirrorsMax) + " are named");
    for (const std::string& mirror : in.mirrors()) {
        GYM_TRY(out.mirrors.emplace_back(), read_text("mirrors", mirror));
    }
    return out;
}

void write(const records::Heartbeat& beat, v1::HeartbeatRequest& out) {
    const records::Activity& activity = beat.activity;
    if (activity.unit) write(*activity.unit, *out.mutable_unit());
    out.set_step(activity.step);
    out.set_steps(activity.steps);
    out.set_phase(activity.phase);
    if (!beat.answer) return;
    out.mutable_answer()->set_nonce(text_of(beat.answer->nonce));
    out.mutable_answer()->set_signature(text_of(beat.answer->signature));
}

Result<records::Heartbeat> read(const v1::HeartbeatRequest& in) {
    records::Heartbeat out;
    if (in.has_unit()) {
        GYM_TRY(out.activity.unit, read(in.unit()));
    }
    out.activity.step = in.step();
    out.activity.steps = in.steps();
    GYM_TRY(out.activity.phase, read_text("phase", in.phase()));
    if (in.has_answer()) {
        protocol::UptimeAnswer& answer = out.answer.emplace();
        GYM_TRY(answer.nonce, read<Digest>("answer.nonce", in.answer().nonce()));
        GYM_TRY(answer.signature,
                read<crypto::Signature>("answer.signature", in.answer().signature()));
    }
    return out;
}

void write(const records::HeartbeatAnswer& answer, v1::HeartbeatResponse& out) {
    out.set_server_unix_ms(answer.server_ms);
    out.set_excluded_because(answer.excluded_because);
    out.set_answer_refused(answer.answer_refused);
    if (!answer.challenge) return;
    v1::UptimeChallenge& challenge = *out.mutable_challenge();
    challenge.set_nonce(text_of(answer.challenge->nonce));
    challenge.set_issued_unix_ms(answer.challenge->issued_ms);
    challenge.set_deadline_unix_ms(answer.challenge->deadline_ms);
}

Result<records::HeartbeatAnswer> read(const v1::HeartbeatResponse& in) {
    records::HeartbeatAnswer out;
    out.server_ms = in.server_unix_ms();
    GYM_TRY(out.excluded_because, read_text("excluded_because", in.excluded_because()));
    GYM_TRY(out.answer_refused, read_text("answer_refused", in.answer_refused()));
    if (in.has_challenge()) {
        protocol::UptimeChallenge& challenge = out.challenge.emplace();
        GYM_TRY(challenge.nonce, read<Digest>("challenge.nonce", in.challenge().nonce()));
        challenge.issued_ms = in.challenge().issued_unix_ms();
        challenge.deadline_ms = in.challenge().deadline_unix_ms();
    }
    return out;
}

Result<std::vector<Digest>> read_computed(const v1::NextTaskRequest& in) {
    if (static_cast<std::size_t>(in.computed_size()) > kComputedMax)
        return fail(ErrorCode::kMalformed, "computed: too many");
    std::vector<Digest> out;
    for (const std::string& unit : in.computed()) {
        GYM_TRY(const Digest id, wire::read<Digest>("computed", unit));
        out.push_back(id);
    }
    return out;
}

void write(const std::optional<records::Task>& task, v1::NextTaskResponse& out) {
    if (!task) return;
    if (const auto* train = std::get_if<records::TrainTask>(&*task))
        write(*train, *out.mutable_train());
    if (const auto* verify = std::get_if<records::VerifyTask>(&*task))
        write(*verify, *out.mutable_verify());
    if (const auto* prefix = std::get_if<records::PrefixTask>(&*task))
        write(*prefix, *out.mutable_prefix());
}

Result<std::optional<records::Task>> read(const v1::NextTaskResponse& in) {
    if (in.has_train()) {
        GYM_TRY(records::TrainTask task, read(in.train()));
        return std::optional<records::Task>(std::move(task));
    }
    if (in.has_verify()) {
        GYM_TRY(records::VerifyTask task, read(in.verify()));
        return std::optional<records::Task>(std::move(task));
    }
    if (in.has_prefix()) {
        GYM_TRY(records::PrefixTask task, read(in.prefix()));
        return std::optional<records::Task>(std::move(task));
    }
    return std::optional<records::Task>();
}

void write(const records::CommitmentSubmission& submission, v1::SubmitCommitmentRequest& out) {
    out.set_signed_commitment(text_of(protocol::encode(submission.commitment)));
    out.set_records(text_of(submission.records));
}

Result<records::CommitmentSubmission> read(const v1::SubmitCommitmentRequest& in) {
    records::CommitmentSubmission out;
    GYM_TRY(out.commitment, protocol::decode_signed_commitment(bytes_of(in.signed_commitment())));
    out.records.assign(in.records().begin(), in.records().end());
    return out;
}

void write(const records::CommitmentAck& accepted, v1::SubmitCommitmentResponse& out) {
    out.set_unit_id(text_of(accepted.unit));
    out.set_leaf(text_of(accepted.leaf));
    out.set_accepted_unix_ms(accepted.accepted_ms);
}

Result<records::CommitmentAck> read(const v1::SubmitCommitmentResponse& in) {
    records::CommitmentAck out;
    GYM_TRY(out.unit, read<Digest>("unit_id", in.unit_id()));
    GYM_TRY(out.leaf, read<Digest>("leaf", in.leaf()));
    out.accepted_ms = in.accepted_unix_ms();
    return out;
}

void write(const records::ReportCommit& commit, v1::SubmitReportCommitRequest& out) {
    out.set_unit_id(text_of(commit.unit));
    out.set_draw(commit.draw);
    out.set_report_digest(text_of(commit.report_digest));
}

Result<records::ReportCommit> read(const v1::SubmitReportCommitRequest& in) {
    records::ReportCommit out;
    GYM_TRY(out.unit, read<Digest>("unit_id", in.unit_id()));
    out.draw = in.draw();
    GYM_TRY(out.report_digest, read<Digest>("report_digest", in.report_digest()));
    return out;
}

void write(const records::ReportReveal& reveal, v1::SubmitReportRevealRequest& out) {
    const protocol::Report& report = reveal.report;
    out.set_unit_id(text_of(report.unit));
    out.set_draw(report.draw);
    out.set_records_root(text_of(report.records_root));
    out.set_final_state_root(text_of(report.final_state_root));
    out.set_delta_root(text_of(report.delta_root));
    out.set_trace(text_of(report.trace));
    out.set_challenge_signature(text_of(report.challenge_signature));
    out.set_salt(text_of(report.salt));
    out.set_records(text_of(reveal.records));
    if (reveal.claim_signature) out.set_claim_signature(text_of(*reveal.claim_signature));
}

Result<records::ReportReveal> read(const v1::SubmitReportRevealRequest& in,
                                   const Address& verifier) {
    records::ReportReveal out;
    protocol::Report& report = out.report;
    GYM_TRY(report.unit, read<Digest>("unit_id", in.unit_id()));
    report.draw = in.draw();
    report.verifier = verifier;
    GYM_TRY(report.records_root, read<Digest>("records_root", in.records_root()));
    GYM_TRY(report.final_state_root, read<Digest>("final_state_root", in.final_state_root()));
    GYM_TRY(report.delta_root, read<Digest>("delta_root", in.delta_root()));
    GYM_TRY(report.trace, read<Digest>("trace", in.trace()));
    GYM_TRY(report.challenge_signature,
            read<crypto::Signature>("challenge_signature", in.challenge_signature()));
    GYM_TRY(report.salt, read<Digest>("salt", in.salt()));
    out.records.assign(in.records().begin(), in.records().end());
    GYM_TRY(out.claim_signature,
            read_optional<crypto::Signature>("claim_signature", in.claim_signature()));
    return out;
}

void write(const records::UnitReceipt& view, v1::UnitView& out) {
    write(view.key, *out.mutable_unit());
    out.set_unit_id(text_of(view.id));
    out.set_kind(static_cast<std::uint32_t>(view.kind));
    out.set_worker(text_of(view.worker));
    out.set_state(std::string(protocol::to_string(view.status.state)));
    out.set_deadline_unix_ms(view.status.deadline_ms);
    out.set_late(view.status.late);
    out.set_reason_code(view.reason_code);
    out.set_reason(view.reason);
    if (view.inclusion) write(*view.inclusion, *out.mutable_receipt());
    if (view.commitment) out.set_signed_commitment(text_of(protocol::encode(*view.commitment)));
}

Result<records::UnitReceipt> read(const v1::UnitView& in) {
    records::UnitReceipt out;
    GYM_TRY(out.key, read(in.unit()));
    GYM_TRY(out.id, read<Digest>("unit_id", in.unit_id()));
    if (in.kind() > 255) return fail(ErrorCode::kMalformed, "kind: no unit kind");
    GYM_TRY(out.kind, protocol::unit_kind_from_number(static_cast<std::uint8_t>(in.kind())));
    GYM_TRY(out.worker, read<Address>("worker", in.worker()));
    GYM_TRY(out.status.state, protocol::parse_unit_state(in.state()));
    out.status.deadline_ms = in.deadline_unix_ms();
    out.status.late = in.late();
    GYM_TRY(out.reason_code, read_text("reason_code", in.reason_code()));
    GYM_TRY(out.reason, read_text("reason", in.reason()));
    if (in.has_receipt()) {
        GYM_TRY(out.inclusion, read(in.receipt()));
    }
    if (!in.signed_commitment().empty()) {
        GYM_TRY(out.commitment,
                protocol::decode_signed_commitment(bytes_of(in.signed_commitment())));
    }
    return out;
}

namespace {

Result<std::vector<records::UnitReceipt>> read_views(
    const google::protobuf::RepeatedPtrField<v1::UnitView>& views) {
    if (static_cast<std::size_t>(views.size()) > records::kStatusUnitsMax)
        return fail(ErrorCode::kMalformed, "units: too many");
    std::vector<records::UnitReceipt> out;
    for (const v1::UnitView& view : views) {
        GYM_TRY(records::UnitReceipt unit, wire::read(view));
        out.push_back(std::move(unit));
    }
    return out;
}

}  // namespace

void write(const records::NodeStatus& status, v1::NodeStatus& out) {
    out.set_address(text_of(status.address));
    out.set_role(wire_role(status.role));
    out.set_excluded_because(status.excluded_because);
    out.set_idle_because(status.idle_because);
    out.set_stake_because(status.stake_because);
    out.set_units_final(status.units_final);
    out.set_units_rejected(status.units_rejected);
    out.set_units_open(status.units_open);
    out.set_units_other(status.units_other);
    out.set_challenges(status.challenges);
    out.set_uptime_ppm(status.uptime_ppm);
    out.set_last_seen_unix_ms(status.last_seen_ms);
    for (const records::UnitReceipt& view : status.open_units)
        write(view, *out.add_open_units());
    for (const records::UnitReceipt& view : status.recent_units)
        write(view, *out.add_recent_units());
}

Result<records::NodeStatus> read(const v1::NodeStatus& in) {
    records::NodeStatus out;
    GYM_TRY(out.address, read<Address>("address", in.address()));
    GYM_TRY(out.role, read_role(in.role()));
    GYM_TRY(out.excluded_because, read_text("excluded_because", in.excluded_because()));
    GYM_TRY(out.idle_because, read_text("idle_because", in.idle_because()));
    GYM_TRY(out.stake_because, read_text("stake_because", in.stake_because()));
    out.units_final = in.units_final();
    out.units_rejected = in.units_rejected();
    out.units_open = in.units_open();
    out.units_other = in.units_other();
    out.challenges = in.challenges();
    out.uptime_ppm = in.uptime_ppm();
    out.last_seen_ms = in.last_seen_unix_ms();
    GYM_TRY(out.open_units, read_views(in.open_units()));
    GYM_TRY(out.recent_units, read_views(in.recent_units()));
    return out;
}

}  // namespace gym::rpc::wire
