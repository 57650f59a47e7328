#include "memory_handler.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace gym::testing {
namespace {

class CountedReader final : public blob::BlobReader {
  public:
    CountedReader(Bytes content, std::atomic<std::uint64_t>& read)
        : content_(std::move(content)), read_(read) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        std::ranges::copy(ByteView(content_).subspan(offset, out.size()), out.begin());
        read_ += out.size();
        return {};
    }

  private:
    const Bytes content_;
    std::atomic<std::uint64_t>& read_;
};

}  // namespace

records::NetworkDescription MemoryHandler::network_info() {
    records::NetworkDescription out;
    out.chain_id = kChainId;
    out.commitment_log.data.fill(0x11);
    out.server_ms = SystemClock().now_ms();
    out.blob_bytes_max = 64U << 20;
    out.heartbeat_every_ms = 100;
    out.software_version = "test";
    out.beacon_delay_blocks = 2;
    return out;
}

Status MemoryHandler::enter(const char* name) {
    calls.emplace_back(name);
    const auto planted = failures.find(name);
    return planted == failures.end() ? Status() : planted->second;
}

Result<bool> MemoryHandler::is_registered(const Address& address) {
    const std::scoped_lock lock(mutex);
    ++looked_up;
    return registered.contains(address);
}

Result<std::vector<Address>> MemoryHandler::registered_nodes() {
    const std::scoped_lock lock(mutex);
    return std::vector<Address>(registered.begin(), registered.end());
}

Result<bool> MemoryHandler::register_node(const Address& caller,
                                          const records::NodeProfile& profile) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("register_node"));
    profiles[caller] = profile;
    return registered.insert(caller).second;
}

Result<records::HeartbeatAnswer> MemoryHandler::heartbeat(const Address&,
                                                          const records::Heartbeat& beat) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("heartbeat"));
    records::HeartbeatAnswer out{SystemClock().now_ms(), told_excluded, std::nullopt, ""};
    phases.push_back(beat.activity.phase);
    if (beat.answer) {
        answers.push_back(*beat.answer);
        out.answer_refused = answer_refused;
        if (!forgets_answers && !challenges.empty()) challenges.erase(challenges.begin());
    }
    if (!challenges.empty()) out.challenge = challenges.front();
    return out;
}

std::vector<Result<records::HeartbeatAnswer>> MemoryHandler::heartbeats(
    std::span<const rpc::ArrivedBeat> beats) {
    std::vector<Result<records::HeartbeatAnswer>> out;
    for (const rpc::ArrivedBeat& arrived : beats) {
        out.push_back(heartbeat(arrived.caller, arrived.beat));
        const std::scoped_lock lock(mutex);
        arrived_ms.push_back(arrived.at_ms);
    }
    return out;
}

std::vector<Result<std::optional<records::Task>>> MemoryHandler::next_tasks(
    std::span<const Address> callers, std::span<const Digest> computed) {
    std::vector<Result<std::optional<records::Task>>> out;
    for (const Address& caller : callers)
        out.push_back(next_task(caller, computed));
    return out;
}

Status MemoryHandler::leave(const Address&) {
    const std::scoped_lock lock(mutex);
    return enter("leave");
}

Result<std::optional<records::Task>> MemoryHandler::next_task(const Address& caller,
                                                              std::span<const Digest> computed) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("next_task"));
    const auto task = tasks.find(caller);
    if (task == tasks.end()) return std::optional<records::Task>();
    const auto* const train = std::get_if<records::TrainTask>(&task->second);
    if (train != nullptr && std::ranges::find(computed, train->unit_id()) != computed.end()) {
        if (next_task_of_worker) return std::optional<records::Task>(*next_task_of_worker);
        return std::optional<records::Task>();
    }
    return std::optional<records::Task>(task->second);
}

Result<std::shared_ptr<const blob::BlobReader>> MemoryHandler::open_blob(const Address&,
                                                                         const Digest& root) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("get_blob"));
    const auto lie = lies.find(root);
    if (lie == lies.end() && silent.contains(root))
        return fail(ErrorCode::kUnavailable, "no answer");
    Bytes content;
    if (lie != lies.end()) {
        content = lie->second;
    } else {
        GYM_TRY(content, blobs.get(root));
    }
    return std::shared_ptr<const blob::BlobReader>(
        std::make_shared<CountedReader>(std::move(content), blob_bytes_read));
}

Status MemoryHandler::allow_upload(const Address&, const Digest&, std::uint64_t) {
    const std::scoped_lock lock(mutex);
    return enter("allow_upload");
}

Status MemoryHandler::put_blob(const Address&, const blob::VerifiedBlob& blob) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("put_blob"));
    return blobs.put(blob);
}

namespace {

bool is_for(const records::Task& task, const protocol::UnitCommitment& commitment) {
    const auto* const train = std::get_if<records::TrainTask>(&task);
    return train != nullptr && protocol::hash(train->record) == commitment.round_record &&
           train->unit.slot == commitment.slot;
}

}  // namespace

Result<records::CommitmentAck> MemoryHandler::submit_commitment(
    const Address& caller, const records::CommitmentSubmission& submission) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("submit_commitment"));
    GYM_CHECK(protocol::verify_signature(info.domain(), submission.commitment, caller));
    const auto task = tasks.find(caller);
    const protocol::UnitCommitment& commitment = submission.commitment.commitment;
    for (const auto& [id, known] : commitments)
        if (protocol::is_equivocation(known.commitment.commitment, commitment))
            return fail(ErrorCode::kConflict, "two commitments for one unit");
    GYM_TRY(const bool uploaded, blobs.has(commitment.delta_root));
    if (!uploaded) return fail(ErrorCode::kNotFound, "the delta is not uploaded");
    Digest id;
    for (auto& [unit, view] : units)
        if (view.key.slot == commitment.slot && view.worker == caller) id = unit;
    if (next_task_of_worker && is_for(*next_task_of_worker, commitment))
        id = next_task_of_worker->unit_id();
    if (id.is_zero()) return fail(ErrorCode::kNotFound, "no such unit");
    commitments[id] = submission;
    if (units[id].status.state == protocol::UnitState::kAssigned)
        units[id].status.state = protocol::UnitState::kCommitted;
    if (task != tasks.end() && (!next_task_of_worker || is_for(task->second, commitment)))
        tasks.erase(task);
    return records::CommitmentAck{id, protocol::commitment_leaf(submission.commitment), 1};
}

Result<Bytes> MemoryHandler::submit_report_commit(const Address&,
                                                  const records::ReportCommit& commit) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("submit_report_commit"));
    const auto [known, is_new] = report_commits.emplace(commit.unit, commit);
    if (!is_new && known->second.report_digest != commit.report_digest)
        return fail(ErrorCode::kConflict, "another report was committed to");
    return commitments[commit.unit].records;
}

Result<bool> MemoryHandler::submit_report_reveal(const Address& caller,
                                                 const records::ReportReveal& reveal) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("submit_report_reveal"));
    const auto task = tasks.find(caller);
    if (task == tasks.end()) return fail(ErrorCode::kPermissionDenied, "not your unit");
    const Digest& beacon = std::get<records::VerifyTask>(task->second).beacon;
    GYM_CHECK(protocol::check_reveal(
        info.domain(), beacon, report_commits[reveal.report.unit].report_digest, reveal.report));
    reveals[reveal.report.unit] = reveal;
    tasks.erase(task);
    if (calls_every_report_equal) return true;
    return protocol::roots_of(commitments[reveal.report.unit].commitment.commitment) ==
           protocol::roots_of(reveal.report);
}

Status MemoryHandler::submit_prefix(const Address& caller, const protocol::SignedPrefix& prefix) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("submit_prefix"));
    GYM_CHECK(protocol::verify_signature(info.domain(), prefix, caller));
    prefixes.push_back(prefix);
    const auto task = tasks.find(caller);
    if (task != tasks.end() && std::holds_alternative<records::PrefixTask>(task->second))
        tasks.erase(task);
    return {};
}

Status MemoryHandler::defend_unit(const Address&, const Digest& unit) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("defend_unit"));
    defended.insert(unit);
    return {};
}

Result<records::NodeStatus> MemoryHandler::node_status(const Address&, const Address& subject) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("node_status"));
    records::NodeStatus status;
    status.address = subject;
    status.idle_because = "no job is running";
    status.last_seen_ms = last_seen_ms;
    status.excluded_because = excluded_because;
    status.stake_because = stake_because;
    for (const auto& [id, view] : units)
        if (view.worker == subject) status.recent_units.push_back(view);
    return status;
}

Result<protocol::RoundRecord> MemoryHandler::round_record(const Address&, const Digest& job_id,
                                                          std::uint64_t round) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("round_record"));
    for (const protocol::RoundRecord& record : records)
        if (record.job_id == job_id && record.round == round) return record;
    return fail(ErrorCode::kNotFound, "no such round");
}

Result<records::UnitReceipt> MemoryHandler::unit(const Address&, const Digest& unit_id) {
    const std::scoped_lock lock(mutex);
    GYM_CHECK(enter("unit"));
    const auto view = units.find(unit_id);
    if (view == units.end()) return fail(ErrorCode::kNotFound, "no such unit");
    return view->second;
}

}  // namespace gym::testing
