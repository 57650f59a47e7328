#include "gym/rpc/client.hpp"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "connection_error.hpp"
#include "endpoint.hpp"
#include "gym/common/stop.hpp"
#include "gym/rpc/call_auth.hpp"
#include "gym/v1/node_service.grpc.pb.h"
#include "server_core.hpp"
#include "status_map.hpp"
#include "wire.hpp"

namespace gym::rpc {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kChunkBytes = 256U << 10;
constexpr int kConnectMsMax = 5'000;

/// gRPC reads what a handshake waits for only while a thread waits in a call, or as often as this;
/// its own 5,000 ms are too rare: calls that fail at once do not wait, so that after an outage a
/// node that is 300 ms away would never be connected again. Read when gRPC starts, so set before
/// main().
[[maybe_unused]] const int kPollsOften =
    ::setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "200", 0);

/// Whether the same call may succeed a moment later: the peer is away or busy. What the
/// coordinator's own code decided (it carries our details) is final, except kUnavailable.
bool is_transient(const grpc::Status& status) {
    if (!status.error_details().empty())
        return status.error_details() == to_string(ErrorCode::kUnavailable);
    return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
           status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

/// Cancels a streaming call that made no progress for `silence_ms`.
class SilenceGuard {
  public:
    SilenceGuard(grpc::ClientContext& context, std::int64_t silence_ms)
        : silence_ms_(silence_ms), thread_([this, &context](const std::stop_token& stop) {
              while (touched_within(stop)) {
              }
              if (!stop.stop_requested()) context.TryCancel();
          }) {}
    void touch() {
        {
            const std::scoped_lock lock(mutex_);
            touched_ = true;
        }
        changed_.notify_one();
    }
    /// From now on so much silence is allowed.
    void allow(std::int64_t silence_ms) {
        {
            const std::scoped_lock lock(mutex_);
            silence_ms_ = silence_ms;
            touched_ = true;
        }
        changed_.notify_one();
    }
    [[nodiscard]] bool silent() {
        const std::scoped_lock lock(mutex_);
        return silent_;
    }

  private:
    bool touched_within(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, milliseconds(silence_ms_), [this] { return touched_; });
        silent_ = !touched_ && !stop.stop_requested();
        return std::exchange(touched_, false);
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool touched_ = false;
    bool silent_ = false;
    std::int64_t silence_ms_;
    std::jthread thread_;  // last: it uses everything above
};

/// The server reads a blob as a whole before its first byte goes out, and hashes and stores one
/// before it answers.
std::int64_t work_ms(std::uint64_t bytes) {
    constexpr std::uint64_t kBytesPerMsMin = 100'000;
    return static_cast<std::int64_t>(bytes / kBytesPerMsMin);
}

/// One that is slower has no time to train either.
std::int64_t transfer_ms(std::uint64_t bytes) {
    constexpr std::uint64_t kBytesPerMsMin = 1'000;
    return static_cast<std::int64_t>(bytes / kBytesPerMsMin);
}

class GrpcCoordinator final : public Coordinator {
  public:
    GrpcCoordinator(const ClientConfig& config, crypto::PrivateKey key, const Clock& clock,
                    const std::shared_ptr<grpc::Channel>& channel)
        : config_(config),
          key_(std::move(key)),
          clock_(clock),
          stub_(v1::NodeService::NewStub(channel)) {}

    [[nodiscard]] std::stop_token stop() const override { return config_.stop; }
    Result<records::NetworkDescription> network() override;
    Result<bool> register_node(const records::NodeProfile& profile) override;
    Result<records::HeartbeatAnswer> heartbeat(const records::Heartbeat& beat) override;
    Status leave() override;
    Result<std::optional<records::Task>> next_task(milliseconds wait_max,
                                                   std::span<const Digest> computed) override;
    Status get_blob(const Digest& root, std::uint64_t offset, const ChunkSink& sink) override;
    Status put_blob(const Digest& root, ByteView content) override;
    Result<std::vector<std::string>> mirrors() override;
    Result<UploadPermit> permit_upload(const Digest& root, std::uint64_t size_bytes) override;
    Status name_delta(const Digest& root, const std::vector<std::string>& mirrors) override;
    Result<std::vector<Digest>> wanted_deltas() override;
    Result<records::CommitmentAck> submit_commitment(
        const records::CommitmentSubmission& submission) override;
    Result<Bytes> submit_report_commit(const records::ReportCommit& commit) override;
    Result<bool> submit_report_reveal(const records::ReportReveal& reveal) override;
    Status submit_prefix(const protocol::SignedPrefix& prefix) override;
    Status defend_unit(const Digest& unit) override;
    Result<records::NodeStatus> node_status(const std::optional<Address>& address) override;
    Result<Bytes> round_record(const Digest& job_id, std::uint64_t round) override;
    Result<records::UnitReceipt> unit(const Digest& unit_id) override;

  private:
    /// A context with deadline, and a stop request that cancels it. One per attempt.
    struct Call {
        Call(const std::stop_token& stop, std::int64_t deadline_ms)
            : on_stop(stop, [this] { context.TryCancel(); }) {
            context.set_deadline(std::chrono::system_clock::now() + milliseconds(deadline_ms));
        }
        grpc::ClientContext context;
        std::stop_callback<std::function<void()>> on_stop;
    };

    Status authorize(grpc::ClientContext& context, std::string_view method,
                     const google::protobuf::Message& request);
    /// Repeats `attempt` while it fails transiently, with growing pauses. `progress` resets the
    /// count.
    Status retry(
        std::string_view method, const std::function<grpc::Status()>& attempt,
        const std::function<bool()>& progress = [] { return false; });
    void pause(unsigned attempt);

    using Stub = v1::NodeService::Stub;
    template <class Request, class Response>
    using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

    /// One unary call, signed unless `method` is GetNetwork.
    template <class Request, class Response>
    Status call(std::string_view method, Method<Request, Response> function, const Request& request,
                Response& response, std::int64_t extra_ms = 0) {
        // Known before the first attempt, so that an error in it is reported once.
        if (method != "GetNetwork") GYM_CHECK(network());
        return retry(method, [&]() -> grpc::Status {
            Call one(config_.stop, config_.call_ms_max + extra_ms);
            if (method != "GetNetwork") {
                const Status signed_ok = authorize(one.context, method, request);
                if (!signed_ok.ok()) return to_grpc(signed_ok);
            }
            return (stub_.get()->*function)(&one.context, request, &response);
        });
    }

    const ClientConfig config_;
    const crypto::PrivateKey key_;
    const Clock& clock_;
    const std::unique_ptr<Stub> stub_;
    std::mutex mutex_;
    std::optional<records::NetworkDescription> network_;
};

Status GrpcCoordinator::authorize(grpc::ClientContext& context, std::string_view method,
                                  const google::protobuf::Message& request) {
    GYM_TRY(const records::NetworkDescription info, network());
    const std::string bytes = signed_bytes(request);
    const CallAuth auth = sign_call(info.domain(), method, as_bytes(bytes), key_, clock_.now_ms());
    context.AddMetadata(kAuthMetadataKey, wire::text_of(encode(auth)));
    return {};
}

Status GrpcCoordinator::retry(std::string_view method, const std::function<grpc::Status()>& attempt,
                              const std::function<bool()>& progress) {
    for (unsigned tried = 1;; ++tried) {
        const grpc::Status status = attempt();
        if (status.ok()) return {};
        if (config_.stop.stop_requested())
            return fail(ErrorCode::kCancelled, std::string(method) + ": stopped");
        if (progress()) tried = 1;
        if (!is_transient(status) || tried >= config_.attempts_max)
            return call_error(status, method, config_);
        pause(tried);
    }
}

void GrpcCoordinator::pause(unsigned attempt) {
    thread_local std::minstd_rand jitter(std::random_device{}());
    const std::int64_t full =
        std::min(config_.backoff_ms << std::min(attempt - 1, 16U), config_.backoff_ms_max);
    // Between half and all of it, so that nodes cut off together do not come back together.
    const std::int64_t wait_ms = full / 2 + static_cast<std::int64_t>(jitter()) % (full / 2 + 1);
    wait_for_stop(config_.stop, milliseconds(wait_ms));
}

Result<records::NetworkDescription> GrpcCoordinator::network() {
    {
        const std::scoped_lock lock(mutex_);
        if (network_) return *network_;
    }
    v1::GetNetworkResponse response;
    const Status asked = call("GetNetwork", &Stub::GetNetwork, v1::GetNetworkRequest(), response);
    if (!asked.ok()) return first_call_error(asked.error(), config_);
    GYM_TRY(const records::NetworkDescription info, wire::read(response));
    if (config_.chain_id != 0 && info.chain_id != config_.chain_id)
        return fail(ErrorCode::kConflict, "the coordinator at " + config_.target +
                                              " serves chain " + std::to_string(info.chain_id) +
                                              ", this node is set to chain " +
                                              std::to_string(config_.chain_id));
    const std::scoped_lock lock(mutex_);
    network_ = info;
    return info;
}

Result<bool> GrpcCoordinator::register_node(const records::NodeProfile& profile) {
    v1::RegisterRequest request;
    wire::write(profile, *request.mutable_profile());
    v1::RegisterResponse response;
    GYM_CHECK(call("Register", &Stub::Register, request, response));
    return response.is_new();
}

Result<records::HeartbeatAnswer> GrpcCoordinator::heartbeat(const records::Heartbeat& beat) {
    v1::HeartbeatRequest request;
    wire::write(beat, request);
    v1::HeartbeatResponse response;
    GYM_CHECK(call("Heartbeat", &Stub::Heartbeat, request, response));
    return wire::read(response);
}

Status GrpcCoordinator::leave() {
    v1::LeaveResponse response;
    return call("Leave", &Stub::Leave, v1::LeaveRequest(), response);
}

Result<std::optional<records::Task>> GrpcCoordinator::next_task(milliseconds wait_max,
                                                                std::span<const Digest> computed) {
    v1::NextTaskRequest request;
    request.set_wait_ms(static_cast<std::uint32_t>(wait_max.count()));
    for (const Digest& unit : computed)
        request.add_computed(wire::text_of(unit));
    v1::NextTaskResponse response;
    GYM_CHECK(call("NextTask", &Stub::NextTask, request, response, wait_max.count()));
    return wire::read(response);
}

Status GrpcCoordinator::get_blob(const Digest& root, std::uint64_t offset, const ChunkSink& sink) {
    GYM_TRY(const records::NetworkDescription info, network());
    const std::int64_t deadline_ms =
        std::max(config_.transfer_ms_max, transfer_ms(info.blob_bytes_max));
    Status local;  // an error of ours or of the sink: final, whatever the stream says then
    std::uint64_t received_before = offset;
    const auto attempt = [&]() -> grpc::Status {
        received_before = offset;
        v1::GetBlobRequest request;
        request.set_root(wire::text_of(root));
        request.set_offset(offset);
        Call one(config_.stop, deadline_ms);
        local = authorize(one.context, "GetBlob", request);
        if (!local.ok()) return to_grpc(local);
        const auto reader = stub_->GetBlob(&one.context, request);
        SilenceGuard guard(one.context, config_.silence_ms_max + work_ms(info.blob_bytes_max));
        std::uint64_t size = 0;
        for (v1::BlobChunk chunk; local.ok() && reader->Read(&chunk); guard.touch()) {
            if (size == 0) {
                size = chunk.size_bytes();
                guard.allow(config_.silence_ms_max);
            }
            if (size > info.blob_bytes_max || chunk.data().size() > size - std::min(size, offset)) {
                local =
                    fail(ErrorCode::kMismatch, "blob " + root.hex() + " is longer than announced");
            } else {
                offset += chunk.data().size();
                local = sink(as_bytes(chunk.data()), size);
            }
        }
        if (!local.ok()) one.context.TryCancel();
        grpc::Status end = reader->Finish();
        if (!local.ok()) return to_grpc(local);
        if (guard.silent())
            return to_grpc(fail(ErrorCode::kUnavailable, "the download stopped making progress"));
        if (end.ok() && offset != size)
            return to_grpc(fail(ErrorCode::kUnavailable, "the download ended early"));
        return end;
    };
    const Status status = retry("GetBlob", attempt, [&] { return offset > received_before; });
    return local.ok() ? status : local;
}

Status GrpcCoordinator::put_blob(const Digest& root, ByteView content) {
    GYM_CHECK(network());
    const std::int64_t deadline_ms = std::max(config_.transfer_ms_max, transfer_ms(content.size()));
    return retry("PutBlob", [&]() -> grpc::Status {
        v1::PutBlobRequest header;
        header.mutable_header()->set_root(wire::text_of(root));
        header.mutable_header()->set_size_bytes(content.size());
        Call one(config_.stop, deadline_ms);
        const Status signed_ok = authorize(one.context, "PutBlob", header);
        if (!signed_ok.ok()) return to_grpc(signed_ok);
        v1::PutBlobResponse response;
        const auto writer = stub_->PutBlob(&one.context, &response);
        SilenceGuard guard(one.context, config_.silence_ms_max);
        bool open = writer->Write(header);
        for (std::size_t at = 0; open && at < content.size(); at += kChunkBytes) {
            const ByteView part = content.subspan(at, std::min(kChunkBytes, content.size() - at));
            v1::PutBlobRequest message;
            message.set_data(part.data(), part.size());
            open = writer->Write(message);
            guard.touch();
        }
        if (open) writer->WritesDone();
        guard.allow(config_.silence_ms_max + work_ms(content.size()));
        grpc::Status end = writer->Finish();
        if (guard.silent())
            return to_grpc(fail(ErrorCode::kUnavailable, "the upload stopped making progress"));
        return end;
    });
}

Result<std::vector<std::string>> GrpcCoordinator::mirrors() {
    v1::GetNetworkResponse response;
    GYM_CHECK(call("GetNetwork", &Stub::GetNetwork, v1::GetNetworkRequest(), response));
    GYM_TRY(records::NetworkDescription info, wire::read(response));
    return std::move(info.mirrors);
}

Result<UploadPermit> GrpcCoordinator::permit_upload(const Digest& root, std::uint64_t size_bytes) {
    v1::PermitUploadRequest request;
    request.set_root(wire::text_of(root));
    request.set_size_bytes(size_bytes);
    v1::PermitUploadResponse response;
    GYM_CHECK(call("PermitUpload", &Stub::PermitUpload, request, response));
    if (static_cast<std::size_t>(response.mirrors_size()) > records::kMirrorsMax)
        return fail(ErrorCode::kMalformed, "PermitUpload: too many mirrors");
    if (response.copies() > kDeltaMirrorsMax)
        return fail(ErrorCode::kMalformed, "PermitUpload: too many copies");
    const ByteView ticket = wire::bytes_of(response.ticket());
    UploadPermit permit{Bytes(ticket.begin(), ticket.end()),
                        {response.mirrors().begin(), response.mirrors().end()}};
    if (response.copies() != 0) permit.copies = response.copies();
    return permit;
}

Status GrpcCoordinator::name_delta(const Digest& root, const std::vector<std::string>& mirrors) {
    v1::NameDeltaRequest request;
    request.set_root(wire::text_of(root));
    for (const std::string& mirror : mirrors)
        request.add_mirrors(mirror);
    v1::NameDeltaResponse response;
    return call("NameDelta", &Stub::NameDelta, request, response);
}

Result<std::vector<Digest>> GrpcCoordinator::wanted_deltas() {
    v1::WantedDeltasResponse response;
    GYM_CHECK(call("WantedDeltas", &Stub::WantedDeltas, v1::WantedDeltasRequest(), response));
    if (static_cast<std::size_t>(response.roots_size()) > kWantedDeltasMax)
        return fail(ErrorCode::kMalformed, "WantedDeltas: too many");
    std::vector<Digest> out;
    for (const std::string& root : response.roots()) {
        GYM_TRY(out.emplace_back(), wire::read<Digest>("root", root));
    }
    return out;
}

Result<records::CommitmentAck> GrpcCoordinator::submit_commitment(
    const records::CommitmentSubmission& submission) {
    v1::SubmitCommitmentRequest request;
    wire::write(submission, request);
    v1::SubmitCommitmentResponse response;
    GYM_CHECK(call("SubmitCommitment", &Stub::SubmitCommitment, request, response));
    return wire::read(response);
}

Result<Bytes> GrpcCoordinator::submit_report_commit(const records::ReportCommit& commit) {
    v1::SubmitReportCommitRequest request;
    wire::write(commit, request);
    v1::SubmitReportCommitResponse response;
    GYM_CHECK(call("SubmitReportCommit", &Stub::SubmitReportCommit, request, response));
    return Bytes(response.claimed_records().begin(), response.claimed_records().end());
}

Result<bool> GrpcCoordinator::submit_report_reveal(const records::ReportReveal& reveal) {
    v1::SubmitReportRevealRequest request;
    wire::write(reveal, request);
    v1::SubmitReportRevealResponse response;
    GYM_CHECK(call("SubmitReportReveal", &Stub::SubmitReportReveal, request, response));
    return response.verified();
}

Status GrpcCoordinator::submit_prefix(const protocol::SignedPrefix& prefix) {
    v1::SubmitPrefixRequest request;
    request.set_signed_prefix(wire::text_of(protocol::encode(prefix)));
    v1::SubmitPrefixResponse response;
    return call("SubmitPrefix", &Stub::SubmitPrefix, request, response);
}

Status GrpcCoordinator::defend_unit(const Digest& unit) {
    v1::DefendUnitRequest request;
    request.set_unit_id(wire::text_of(unit));
    v1::DefendUnitResponse response;
    return call("DefendUnit", &Stub::DefendUnit, request, response);
}

Result<records::NodeStatus> GrpcCoordinator::node_status(const std::optional<Address>& address) {
    v1::GetNodeStatusRequest request;
    if (address) request.set_address(wire::text_of(*address));
    v1::GetNodeStatusResponse response;
    GYM_CHECK(call("GetNodeStatus", &Stub::GetNodeStatus, request, response));
    return wire::read(response.status());
}

Result<Bytes> GrpcCoordinator::round_record(const Digest& job_id, std::uint64_t round) {
    v1::GetRoundRecordRequest request;
    request.set_job_id(wire::text_of(job_id));
    request.set_round(round);
    v1::GetRoundRecordResponse response;
    GYM_CHECK(call("GetRoundRecord", &Stub::GetRoundRecord, request, response));
    const ByteView record = wire::bytes_of(response.round_record());
    return Bytes(record.begin(), record.end());
}

Result<records::UnitReceipt> GrpcCoordinator::unit(const Digest& unit_id) {
    v1::GetUnitRequest request;
    request.set_unit_id(wire::text_of(unit_id));
    v1::GetUnitResponse response;
    GYM_CHECK(call("GetUnit", &Stub::GetUnit, request, response));
    return wire::read(response.unit());
}

}  // namespace

Result<std::unique_ptr<Coordinator>> connect(const ClientConfig& config, crypto::PrivateKey key,
                                             const Clock& clock) {
    GYM_TRY(const auto credentials,
            channel_credentials(config.target, config.tls_ca_file, config.allow_plaintext));
    quiet_grpc_log();
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(static_cast<int>(config.message_bytes_max));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(config.keepalive_ms));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(config.keepalive_timeout_ms));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    // The library's own default waits up to two minutes before it dials again.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    // Bounds one attempt, TLS and the first frames included. At 300 ms a round trip these take more
    // than a second, and a lost SYN is sent again after one.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMsMax);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
    const auto channel = grpc::CreateCustomChannel(config.target, credentials, arguments);
    return std::unique_ptr<Coordinator>(
        std::make_unique<GrpcCoordinator>(config, std::move(key), clock, channel));
}

}  // namespace gym::rpc
