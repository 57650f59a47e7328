#include "gym/rpc/server.hpp"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "endpoint.hpp"
#include "gym/v1/node_service.grpc.pb.h"
#include "server_core.hpp"
#include "status_map.hpp"
#include "transfer_reactors.hpp"
#include "wire.hpp"

namespace gym::rpc {
namespace {

using Context = grpc::CallbackServerContext;

class NodeServiceImpl final : public v1::NodeService::CallbackService {
  public:
    explicit NodeServiceImpl(ServerCore& core) : core_(core) {}

    grpc::ServerUnaryReactor* GetNetwork(Context* context, const v1::GetNetworkRequest*,
                                         v1::GetNetworkResponse* response) override {
        return unary(context->DefaultReactor(), core_.admission().admit_unsigned(*context),
                     [this, response](const Admitted&) -> Status {
                         GYM_TRY(const records::NetworkDescription info, core_.handler().network());
                         wire::write(info, *response);
                         core_.count_message(response->ByteSizeLong());
                         return {};
                     });
    }

    grpc::ServerUnaryReactor* Register(Context* context, const v1::RegisterRequest* request,
                                       v1::RegisterResponse* response) override {
        return unary(context->DefaultReactor(), core_.admission().admit_registration(*context),
                     [this, request, response](const Admitted& admitted) -> Status {
                         GYM_CHECK(core_.check(admitted, *request));
                         GYM_TRY(const records::NodeProfile profile,
                                 wire::read(request->profile()));
                         GYM_TRY(const bool is_new,
                                 core_.handler().register_node(admitted.caller(), profile));
                         core_.admission().note_registered(admitted.caller());
                         response->set_is_new(is_new);
                         return {};
                     });
    }

    grpc::ServerUnaryReactor* Heartbeat(Context* context, const v1::HeartbeatRequest* request,
                                        v1::HeartbeatResponse* response) override;

    grpc::ServerUnaryReactor* Leave(Context* context, const v1::LeaveRequest* request,
                                    v1::LeaveResponse* response) override {
        return signed_call(context, "Leave", *request, *response,
                           [this](const Address& caller) { return core_.handler().leave(caller); });
    }

    grpc::ServerUnaryReactor* NextTask(Context* context, const v1::NextTaskRequest* request,
                                       v1::NextTaskResponse* response) override;

    grpc::ServerWriteReactor<v1::BlobChunk>* GetBlob(Context* context,
                                                     const v1::GetBlobRequest* request) override {
        return serve_get_blob(core_, *context, *request);
    }

    grpc::ServerReadReactor<v1::PutBlobRequest>* PutBlob(Context* context,
                                                         v1::PutBlobResponse*) override {
        return serve_put_blob(core_, *context);
    }

    grpc::ServerUnaryReactor* PermitUpload(Context* context, const v1::PermitUploadRequest* request,
                                           v1::PermitUploadResponse* response) override {
        return signed_call(
            context, "PermitUpload", *request, *response,
            [=, this](const Address& caller) -> Status {
                GYM_TRY(const Digest root, wire::read<Digest>("root", request->root()));
                GYM_TRY(const UploadPermit permit,
                        core_.handler().permit_upload(caller, root, request->size_bytes()));
                response->set_ticket(wire::text_of(permit.ticket));
                for (const std::string& mirror : permit.mirrors)
                    response->add_mirrors(mirror);
                response->set_copies(permit.copies);
                return {};
            });
    }

    grpc::ServerUnaryReactor* NameDelta(Context* context, const v1::NameDeltaRequest* request,
                                        v1::NameDeltaResponse* response) override {
        return signed_call(
            context, "NameDelta", *request, *response, [=, this](const Address& caller) -> Status {
                GYM_TRY(const Digest root, wire::read<Digest>("root", request->root()));
                const std::vector<std::string> mirrors(request->mirrors().begin(),
                                                       request->mirrors().end());
                if (mirrors.empty() || mirrors.size() > kDeltaMirrorsMax)
                    return fail(ErrorCode::kInvalidArgument, "a delta is named at one to " +
                                                                 std::to_string(kDeltaMirrorsMax) +
                                                                 " mirrors");
                return core_.handler().name_delta(caller, root, mirrors);
            });
    }

    grpc::ServerUnaryReactor* WantedDeltas(Context* context, const v1::WantedDeltasRequest* request,
                                           v1::WantedDeltasResponse* response) override {
        return signed_call(context, "WantedDeltas", *request, *response,
                           [=, this](const Address& caller) -> Status {
                               GYM_TRY(const auto roots, core_.handler().wanted_deltas(caller));
                               for (const Digest& root : roots)
                                   response->add_roots(wire::text_of(root));
                               return {};
                           });
    }

    grpc::ServerUnaryReactor* SubmitCommitment(Context* context,
                                               const v1::SubmitCommitmentRequest* request,
                                               v1::SubmitCommitmentResponse* response) override {
        return urgent_call(context, "SubmitCommitment", *request, *response,
                           [=, this](const Address& caller) -> Status {
                               GYM_TRY(const records::CommitmentSubmission submission,
                                       wire::read(*request));
                               GYM_TRY(const records::CommitmentAck accepted,
                                       core_.handler().submit_commitment(caller, submission));
                               wire::write(accepted, *response);
                               return {};
                           });
    }

    grpc::ServerUnaryReactor* SubmitReportCommit(
        Context* context, const v1::SubmitReportCommitRequest* request,
        v1::SubmitReportCommitResponse* response) override {
        return urgent_call(context, "SubmitReportCommit", *request, *response,
                           [=, this](const Address& caller) -> Status {
                               GYM_TRY(const records::ReportCommit commit, wire::read(*request));
                               GYM_TRY(const Bytes claimed,
                                       core_.handler().submit_report_commit(caller, commit));
                               response->set_claimed_records(wire::text_of(claimed));
                               return {};
                           });
    }

    grpc::ServerUnaryReactor* SubmitReportReveal(
        Context* context, const v1::SubmitReportRevealRequest* request,
        v1::SubmitReportRevealResponse* response) override {
        return urgent_call(
            context, "SubmitReportReveal", *request, *response,
            [=, this](const Address& caller) -> Status {
                GYM_TRY(const records::ReportReveal reveal, wire::read(*request, caller));
                GYM_TRY(const bool verified, core_.handler().submit_report_reveal(caller, reveal));
                response->set_verified(verified);
                return {};
            });
    }

    grpc::ServerUnaryReactor* SubmitPrefix(Context* context, const v1::SubmitPrefixRequest* request,
                                           v1::SubmitPrefixResponse* response) override {
        return urgent_call(
            context, "SubmitPrefix", *request, *response,
            [=, this](const Address& caller) -> Status {
                GYM_TRY(const protocol::SignedPrefix prefix,
                        protocol::decode_signed_prefix(wire::bytes_of(request->signed_prefix())));
                return core_.handler().submit_prefix(caller, prefix);
            });
    }

    grpc::ServerUnaryReactor* DefendUnit(Context* context, const v1::DefendUnitRequest* request,
                                         v1::DefendUnitResponse* response) override {
        return urgent_call(
            context, "DefendUnit", *request, *response, [=, this](const Address& caller) -> Status {
                GYM_TRY(const Digest unit, wire::read<Digest>("unit_id", request->unit_id()));
                return core_.handler().defend_unit(caller, unit);
            });
    }

    grpc::ServerUnaryReactor* GetNodeStatus(Context* context,
                                            const v1::GetNodeStatusRequest* request,
                                            v1::GetNodeStatusResponse* response) override {
        return signed_call(context, "GetNodeStatus", *request, *response,
                           [=, this](const Address& caller) -> Status {
                               GYM_TRY(const auto subject,
                                       wire::read_optional<Address>("address", request->address()));
                               GYM_TRY(
                                   const records::NodeStatus status,
                                   core_.handler().node_status(caller, subject.value_or(caller)));
                               wire::write(status, *response->mutable_status());
                               return {};
                           });
    }

    grpc::ServerUnaryReactor* GetRoundRecord(Context* context,
                                             const v1::GetRoundRecordRequest* request,
                                             v1::GetRoundRecordResponse* response) override {
        return signed_call(context, "GetRoundRecord", *request, *response,
                           [=, this](const Address& caller) -> Status {
                               GYM_TRY(const Digest job,
                                       wire::read<Digest>("job_id", request->job_id()));
                               GYM_TRY(const protocol::RoundRecord record,
                                       core_.handler().round_record(caller, job, request->round()));
                               response->set_round_record(wire::text_of(protocol::encode(record)));
                               return {};
                           });
    }

    grpc::ServerUnaryReactor* GetUnit(Context* context, const v1::GetUnitRequest* request,
                                      v1::GetUnitResponse* response) override {
        return signed_call(
            context, "GetUnit", *request, *response, [=, this](const Address& caller) -> Status {
                GYM_TRY(const Digest id, wire::read<Digest>("unit_id", request->unit_id()));
                GYM_TRY(const records::UnitReceipt view, core_.handler().unit(caller, id));
                wire::write(view, *response->mutable_unit());
                return {};
            });
    }

  private:
    using Reactor = grpc::ServerUnaryReactor;
    using Body = std::function<Status(const Admitted&)>;
    using Pool = bool (ServerCore::*)(std::function<void()>);

    /// Runs `body` in a pool, which ends the call and gives its place back.
    Reactor* unary(Reactor* reactor, Result<AdmittedPtr> admitted, const Body& body,
                   Pool pool = &ServerCore::submit) {
        if (!admitted.ok()) {
            reactor->Finish(to_grpc(admitted.error()));
            return reactor;
        }
        auto job = [reactor, body, admitted = std::move(admitted).value()]() mutable {
            const Status status = guarded([&] { return body(*admitted); });
            finish(reactor, std::move(admitted), status);
        };
        if (!(core_.*pool)(std::move(job))) reactor->Finish(to_grpc(busy()));
        return reactor;
    }
    Reactor* signed_call(Context* context, std::string_view method,
                         const google::protobuf::Message& request,
                         const google::protobuf::Message& response,
                         std::function<Status(const Address&)> body) {
        return call_in(Lane::kControl, &ServerCore::submit, context, method, request,
                       answering(response, std::move(body)));
    }
    Reactor* urgent_call(Context* context, std::string_view method,
                         const google::protobuf::Message& request,
                         const google::protobuf::Message& response,
                         std::function<Status(const Address&)> body) {
        return call_in(Lane::kUrgent, &ServerCore::submit_urgent, context, method, request,
                       answering(response, std::move(body)));
    }
    Body answering(const google::protobuf::Message& response,
                   std::function<Status(const Address&)> body) {
        return [this, &response, body = std::move(body)](const Admitted& admitted) -> Status {
            GYM_CHECK(body(admitted.caller()));
            core_.count_message(response.ByteSizeLong());
            return {};
        };
    }
    /// `body` sees requests that the caller signed.
    Reactor* call_in(Lane lane, Pool pool, Context* context, std::string_view method,
                     const google::protobuf::Message& request, Body body) {
        Reactor* reactor = context->DefaultReactor();  // may be called once
        core_.admission().admit(
            *context, method, lane,
            [this, reactor, pool, &request, body = std::move(body)](Result<AdmittedPtr> admitted) {
                unary(
                    reactor, std::move(admitted),
                    [this, &request, body](const Admitted& one) -> Status {
                        GYM_CHECK(core_.check(one, request));
                        return body(one);
                    },
                    pool);
            });
        return reactor;
    }

    /// Of a call whose peer stopped waiting: work for it would keep those who wait from an answer.
    static Status gone() { return fail(ErrorCode::kCancelled, "the call was broken off"); }
    static Status busy() { return fail(ErrorCode::kUnavailable, "the coordinator is busy"); }

    /// The place is free before the caller learns that the call has ended.
    static void finish(Reactor* reactor, AdmittedPtr admitted, const Status& status) {
        admitted.reset();
        reactor->Finish(to_grpc(status));
    }
    /// Runs `take` in the pool for short calls. It ends the call, unless it fails.
    void take_short(Reactor* reactor, Result<AdmittedPtr> admitted,
                    const std::function<Status(AdmittedPtr)>& take) {
        if (!admitted.ok()) return reactor->Finish(to_grpc(admitted.error()));
        auto job = [reactor, take, admitted = std::move(admitted).value()]() mutable {
            const Status taken = guarded([&] { return take(std::move(admitted)); });
            if (!taken.ok()) reactor->Finish(to_grpc(taken));
        };
        if (!core_.submit_short(std::move(job))) reactor->Finish(to_grpc(busy()));
    }

    ServerCore& core_;
};

grpc::ServerUnaryReactor* NodeServiceImpl::Heartbeat(Context* context,
                                                     const v1::HeartbeatRequest* request,
                                                     v1::HeartbeatResponse* response) {
    Reactor* reactor = context->DefaultReactor();
    // Not of its turn here or in the database: the time that a node has to answer is not to pass
    // while it waits.
    const UnixMs at_ms = core_.now_ms();
    const auto end = [=, this](AdmittedPtr admitted,
                               const Result<records::HeartbeatAnswer>& answer) {
        finish(reactor, std::move(admitted), guarded([&]() -> Status {
                   if (!answer.ok()) return answer.error();
                   wire::write(*answer, *response);
                   core_.count_message(response->ByteSizeLong());
                   return {};
               }));
    };
    const auto take = [=, this](AdmittedPtr admitted) -> Status {
        if (context->IsCancelled()) return gone();
        GYM_CHECK(core_.check(*admitted, *request));
        GYM_TRY(records::Heartbeat beat, wire::read(*request));
        const Address caller = admitted->caller();
        core_.answer({{caller, at_ms, std::move(beat)},
                      [end, admitted = std::move(admitted)](
                          const Result<records::HeartbeatAnswer>& answer) mutable {
                          end(std::move(admitted), answer);
                      }});
        return {};
    };
    core_.admission().admit(*context, "Heartbeat", Lane::kControl,
                            [this, reactor, take](Result<AdmittedPtr> admitted) {
                                take_short(reactor, std::move(admitted), take);
                            });
    return reactor;
}

grpc::ServerUnaryReactor* NodeServiceImpl::NextTask(Context* context,
                                                    const v1::NextTaskRequest* request,
                                                    v1::NextTaskResponse* response) {
    Reactor* reactor = context->DefaultReactor();
    const auto wait = [=, this](AdmittedPtr admitted) -> Status {
        if (context->IsCancelled()) return gone();
        GYM_CHECK(core_.check(*admitted, *request));
        GYM_TRY(std::vector<Digest> computed, wire::read_computed(*request));
        const Address caller = admitted->caller();
        GYM_CHECK(core_.polls().enter(caller));
        admitted.reset();  // it counts among the polls from here on
        const std::int64_t wait_ms =
            std::min<std::int64_t>(request->wait_ms(), core_.config().poll_wait_ms_max);
        core_.ask(std::make_shared<Poll>(
            Poll{context, reactor, response, caller,
                 std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms),
                 std::move(computed)}));
        return {};
    };
    core_.admission().admit(*context, "NextTask", Lane::kControl,
                            [this, reactor, wait](Result<AdmittedPtr> admitted) {
                                take_short(reactor, std::move(admitted), wait);
                            });
    return reactor;
}

void set_bounds(grpc::ServerBuilder& builder, const ServerConfig& config) {
    const auto argument = [&builder](const char* name, std::int64_t value) {
        builder.AddChannelArgument(name, static_cast<int>(value));
    };
    const auto message_bytes_max = static_cast<int>(config.message_bytes_max);
    builder.SetMaxReceiveMessageSize(message_bytes_max);
    builder.SetMaxSendMessageSize(message_bytes_max * 2);
    argument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a port in use is an error, not a share of the calls
    argument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, config.silence_ms_max);
    argument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, config.connection_idle_ms_max);
    argument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    argument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, config.silence_ms_max);
    argument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    argument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    argument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 64);
    argument(GRPC_ARG_MAX_METADATA_SIZE, 8 << 10);
    // Even a peer that trickles a message for ever is dropped in the end; honest ones reconnect.
    argument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 3'600'000);
    argument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 600'000);
}

class GrpcServer final : public Server {
  public:
    GrpcServer(const ServerConfig& config, NodeHandler& handler, const Clock& clock,
               const records::NetworkDescription& network)
        : core_(config, handler, clock, network), service_(core_) {}
    ~GrpcServer() override { GrpcServer::stop(0); }

    Status listen(const ServerConfig& config) {
        GYM_CHECK(core_.admission().read_registered());
        GYM_TRY(
            const auto credentials,
            server_credentials(config.listen, config.tls_certificate_file, config.tls_key_file));
        grpc::ServerBuilder builder;
        builder.AddListeningPort(config.listen, credentials, &port_);
        builder.RegisterService(&service_);
        set_bounds(builder, config);
        server_ = builder.BuildAndStart();
        if (!server_ || port_ == 0)
            return fail(ErrorCode::kIo, "cannot listen on " + config.listen);
        return {};
    }

    [[nodiscard]] int port() const override { return port_; }
    [[nodiscard]] std::uint64_t message_bytes() const override { return core_.message_bytes(); }
    void wake(std::span<const Address> nodes) override { core_.wake(nodes); }
    void wake_all() override { core_.wake_all(); }
    void stop(std::int64_t grace_ms) override {
        if (!server_) return;
        core_.begin_stop();
        server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(grace_ms));
        server_->Wait();
        core_.end_stop();
        server_.reset();
    }

  private:
    ServerCore core_;
    NodeServiceImpl service_;
    int port_ = 0;
    std::unique_ptr<grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerConfig& config, NodeHandler& handler,
                                              const Clock& clock) {
    GYM_TRY(const records::NetworkDescription network, handler.network());
    auto server = std::make_unique<GrpcServer>(config, handler, clock, network);
    GYM_CHECK(server->listen(config));
    return std::unique_ptr<Server>(std::move(server));
}

}  // namespace gym::rpc
