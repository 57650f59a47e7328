#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "admission.hpp"
#include "batcher.hpp"
#include "gym/rpc/handler.hpp"
#include "gym/rpc/server.hpp"
#include "gym/v1/node_service.pb.h"
#include "handler_pool.hpp"
#include "parked_polls.hpp"

namespace gym::rpc {

using SteadyTime = std::chrono::steady_clock::time_point;

/// A blob transfer that is cancelled when it makes no progress for too long, or has an end.
class Transfer {
  public:
    explicit Transfer(grpc::CallbackServerContext& context) : context_(context) { touch(); }
    void touch() { last_ = std::chrono::steady_clock::now().time_since_epoch().count(); }
    /// Until the next touch() the peer waits for us, however long that takes: a large blob is read,
    /// or hashed and stored, as a whole.
    void work() { last_ = end_ = SteadyTime::max().time_since_epoch().count(); }
    [[nodiscard]] SteadyTime last() const { return SteadyTime(SteadyTime::duration(last_.load())); }
    /// However much moves, it is cancelled when this time is over before the next work().
    void end_after(std::chrono::milliseconds time) {
        end_ = (std::chrono::steady_clock::now() + time).time_since_epoch().count();
    }
    [[nodiscard]] SteadyTime end() const { return SteadyTime(SteadyTime::duration(end_.load())); }
    void cancel() { context_.TryCancel(); }

  private:
    grpc::CallbackServerContext& context_;
    std::atomic<SteadyTime::rep> last_;
    std::atomic<SteadyTime::rep> end_ = SteadyTime::max().time_since_epoch().count();
};

/// A heartbeat that is not answered yet.
struct OpenBeat {
    ArrivedBeat beat;
    std::function<void(Result<records::HeartbeatAnswer>)> end;
};

/// Shared by all calls of a server: admission, handler threads, waiting polls and transfers.
class ServerCore {
  public:
    ServerCore(const ServerConfig& config, NodeHandler& handler, const Clock& clock,
               const records::NetworkDescription& network);

    [[nodiscard]] Admission& admission() { return admission_; }
    /// Whether the request is what the caller of `admitted` signed for. @errors kUnauthenticated.
    [[nodiscard]] Status check(const Admitted& admitted, const google::protobuf::Message& request);

    [[nodiscard]] bool submit(std::function<void()> job) { return pool_.submit(std::move(job)); }
    /// For the urgent lane: it waits behind no other call.
    [[nodiscard]] bool submit_urgent(std::function<void()> job) {
        return urgent_pool_.submit(std::move(job));
    }
    /// For what is short and must not wait behind long calls.
    [[nodiscard]] bool submit_short(std::function<void()> job) {
        return short_pool_.submit(std::move(job));
    }

    /// Hands a heartbeat to the next batch.
    void answer(OpenBeat beat) { beats_.add(std::move(beat)); }

    [[nodiscard]] ParkedPolls& polls() { return polls_; }
    /// Asks for the poll's task with the next batch; parks it when there is none. Ends the call.
    /// @pre polls().enter()
    void ask(PollPtr poll) { asks_.add(std::move(poll)); }
    /// Asks again about these nodes' parked polls, or about all.
    void wake(std::span<const Address> callers);
    void wake_all();

    void watch(Transfer& transfer);
    void unwatch(Transfer& transfer);
    /// Takes part of the memory that all uploads share. Beside one upload of `caller` others have
    /// room within a quarter of it. @errors kOutOfRange, kUnavailable.
    Status reserve_upload(const Address& caller, std::uint64_t size_bytes);
    void release_upload(const Address& caller, std::uint64_t size_bytes);

    /// From now on polls are answered at once. Called before the gRPC server shuts down.
    void begin_stop();
    /// After the gRPC server has ended.
    void end_stop();
    [[nodiscard]] bool stopping() const { return stopping_; }

    void count_message(std::uint64_t bytes) { message_bytes_ += bytes; }
    [[nodiscard]] std::uint64_t message_bytes() const { return message_bytes_; }

    [[nodiscard]] UnixMs now_ms() const { return clock_.now_ms(); }
    [[nodiscard]] NodeHandler& handler() { return handler_; }
    [[nodiscard]] const ServerConfig& config() const { return config_; }

  private:
    void tick();
    void answer_beats(std::vector<OpenBeat> batch);
    void ask_all(std::vector<PollPtr> batch);
    void settle(const PollPtr& poll, Result<std::optional<records::Task>> task,
                std::uint64_t wakes);
    void end(const PollPtr& poll, const Status& status);
    void give(const PollPtr& poll, records::Task task);

    const ServerConfig config_;
    NodeHandler& handler_;
    const Clock& clock_;
    std::atomic<std::uint64_t> message_bytes_{0};
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    // Guarded by mutex_.
    std::set<Transfer*> transfers_;
    std::uint64_t upload_bytes_ = 0;
    std::map<Address, std::uint64_t> upload_bytes_of_caller_;
    ParkedPolls polls_;
    SteadyTime swept_, asked_;  // of the ticker's thread
    Admission admission_;
    HandlerPool pool_, urgent_pool_, short_pool_;
    // Last: their threads use everything above.
    Batcher<OpenBeat> beats_;
    Batcher<PollPtr> asks_;
    Ticker ticker_;
};

/// `message` as it is signed: serialized deterministically.
[[nodiscard]] std::string signed_bytes(const google::protobuf::Message& message);

/// Runs a handler and turns what a library threw into an error.
[[nodiscard]] Status guarded(const std::function<Status()>& body);

}  // namespace gym::rpc
