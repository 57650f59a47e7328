#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "gym/rpc/call_auth.hpp"
#include "gym/rpc/handler.hpp"
#include "gym/rpc/server.hpp"
#include "gym/v1/node_service.pb.h"
#include "handler_pool.hpp"

namespace gym::rpc {

using SteadyTime = std::chrono::steady_clock::time_point;

/// A blob transfer that is cancelled when it makes no progress for too long.
class Transfer {
  public:
    explicit Transfer(grpc::CallbackServerContext& context) : context_(context) { touch(); }
    void touch() { last_ = std::chrono::steady_clock::now().time_since_epoch().count(); }
    /// Until the next touch() the peer waits for us, however long that takes: a large blob is read,
    /// or hashed and stored, as a whole.
    void work() { last_ = SteadyTime::max().time_since_epoch().count(); }
    [[nodiscard]] SteadyTime last() const { return SteadyTime(SteadyTime::duration(last_.load())); }
    void cancel() { context_.TryCancel(); }

  private:
    grpc::CallbackServerContext& context_;
    std::atomic<SteadyTime::rep> last_;
};

/// A client has one; a few more may be left over from connections that broke.
inline constexpr std::uint32_t kPollsPerCallerMax = 4;

/// Shared by all calls of a server: bounds, authentication, handler threads, waiting polls and
/// transfers.
class ServerCore {
  public:
    ServerCore(const ServerConfig& config, NodeHandler& handler, const Clock& clock,
               records::NetworkDescription network);

    /// One call in flight. @errors kUnavailable at the bound; then leave_call() is not due.
    Status enter_call();
    void leave_call();
    [[nodiscard]] bool submit(std::function<void()> job) { return pool_.submit(std::move(job)); }

    /// The sender of `request`, once the call's signature is checked. @errors kUnauthenticated,
    /// kPermissionDenied for an address that is not registered (unless `must_be_registered` is
    /// false).
    Result<Address> authenticate(const grpc::CallbackServerContext& context,
                                 std::string_view method, const google::protobuf::Message& request,
                                 bool must_be_registered = true);

    /// One waiting poll of `caller`, of at most kPollsPerCallerMax: with more, one node could take
    /// every place among the calls for half a minute. @errors kUnavailable; then leave_poll() is
    /// not due.
    Status enter_poll(const Address& caller);
    void leave_poll(const Address& caller);
    /// A NextTask call that found nothing: `ask_again` runs in the pool at the next tick or wake().
    void park(std::function<void()> ask_again);
    void wake() { ticker_.wake(); }

    void watch(Transfer& transfer);
    void unwatch(Transfer& transfer);
    /// Takes part of the memory that all uploads share. @errors kOutOfRange, kUnavailable.
    Status reserve_upload(std::uint64_t size_bytes);
    void release_upload(std::uint64_t size_bytes);

    /// From now on polls are answered at once. Called before the gRPC server shuts down.
    void begin_stop();
    /// After the gRPC server has ended.
    void end_stop() { ticker_.stop(); }
    [[nodiscard]] bool stopping() const { return stopping_; }

    [[nodiscard]] NodeHandler& handler() { return handler_; }
    [[nodiscard]] const ServerConfig& config() const { return config_; }

  private:
    void tick();
    const ServerConfig config_;
    NodeHandler& handler_;
    const Clock& clock_;
    const crypto::Eip712Domain domain_;
    ReplayGuard replay_guard_;
    std::atomic<std::uint32_t> calls_{0};
    std::atomic<std::uint64_t> upload_bytes_{0};
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::vector<std::function<void()>> parked_;
    std::map<Address, std::uint32_t> polls_;
    std::set<Transfer*> transfers_;
    HandlerPool pool_;
    Ticker ticker_;  // last: its thread uses everything above
};

/// `message` as it is signed: serialized deterministically.
[[nodiscard]] std::string signed_bytes(const google::protobuf::Message& message);

/// Runs a handler and turns what a library threw into an error.
[[nodiscard]] Status guarded(const std::function<Status()>& body);

}  // namespace gym::rpc
