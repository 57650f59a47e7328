#pragma once

#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/v1/node_service.pb.h"

namespace gym::rpc {

/// A NextTask call that is not answered yet.
struct Poll {
    grpc::CallbackServerContext* context;
    grpc::ServerUnaryReactor* reactor;
    v1::NextTaskResponse* response;
    Address caller;
    std::chrono::steady_clock::time_point deadline;
    std::vector<Digest> computed;  ///< units of the caller that it is done with
};
using PollPtr = std::shared_ptr<Poll>;

/// A client has one; a few more may be left over from connections that broke.
inline constexpr std::uint32_t kPollsPerCallerMax = 4;

/// The NextTask calls of a server and those among them that wait for a task. Thread-safe.
class ParkedPolls {
  public:
    explicit ParkedPolls(std::uint32_t polls_max) : polls_max_(polls_max) {}

    /// One more poll of `caller`: at most kPollsPerCallerMax, or one node could take every place.
    /// @errors kUnavailable; then leave() is not due.
    Status enter(const Address& caller);
    void leave(const Address& caller);

    /// A number that every wake changes. Take it before you ask whether a poll has a task.
    [[nodiscard]] std::uint64_t wakes() const;
    /// Keeps a poll that has none. @return false when somebody was woken since `wakes`: the answer
    /// may be old, ask again.
    [[nodiscard]] bool park(const PollPtr& poll, std::uint64_t wakes);

    /// Take polls out, to be asked about or ended.
    std::vector<PollPtr> wake(std::span<const Address> callers);
    std::vector<PollPtr> wake_all();
    /// Those whose wait is over.
    std::vector<PollPtr> take_over(std::chrono::steady_clock::time_point now);
    /// Those whose peers have gone.
    std::vector<PollPtr> take_cancelled();

  private:
    using ByDeadline = std::multimap<std::chrono::steady_clock::time_point, PollPtr>;
    ByDeadline::iterator take_locked(ByDeadline::iterator at, std::vector<PollPtr>& out);

    const std::uint32_t polls_max_;
    mutable std::mutex mutex_;
    std::uint64_t wakes_ = 0;
    std::uint32_t polls_ = 0;
    std::map<Address, std::uint32_t> of_caller_;
    ByDeadline parked_;
    std::multimap<Address, ByDeadline::iterator> by_caller_;
};

}  // namespace gym::rpc
