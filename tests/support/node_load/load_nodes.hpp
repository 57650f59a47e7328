#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/crypto/key.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/v1/node_service.grpc.pb.h"
#include "latency_log.hpp"

namespace gym::testing {

struct LoadNodesOptions {
    std::uint32_t count = 1;
    std::vector<std::string> targets;  ///< node i begins with target i modulo their number
    std::uint32_t heartbeat_every_ms = 5'000;
    std::uint32_t poll_wait_ms = 10'000;
    std::uint32_t poll_spread_ms = 10'000;  ///< from the first node's first poll to the last one's
};

/// Many workers in one process. Each has its own key and its own connection, signs its calls,
/// keeps the heartbeat's interval, answers challenges, and always has one NextTask call open while
/// it has no unit. A call that fails is noted and made again a second later, by the next target
/// when a coordinator is gone. Training takes no time (FakeCompute).
class LoadNodes {
  public:
    explicit LoadNodes(const LoadNodesOptions& options);
    ~LoadNodes();
    LoadNodes(const LoadNodes&) = delete;
    LoadNodes& operator=(const LoadNodes&) = delete;

    /// Registers all nodes, `in_flight` at a time.
    void register_all(unsigned in_flight);
    /// Heartbeats and polls from now on, spread over their intervals.
    void start();
    /// Waits until so many nodes have a unit that they did not commit. @return whether they had in
    /// time.
    bool wait_for_tasks(std::size_t tasks, std::chrono::milliseconds timeout);
    /// Nodes that were given a unit and have not committed it.
    [[nodiscard]] std::size_t tasks() const { return tasks_; }
    /// When the last unit arrived.
    [[nodiscard]] UnixMs last_task_ms() const { return last_task_ms_; }
    /// Uploads the delta of every unit and commits to it, `in_flight` nodes at a time; those that
    /// are done wait for work again.
    void commit_all(unsigned in_flight);
    /// Reads the receipt of each node's last unit and checks its Merkle proof.
    /// @return how many are there and right.
    std::size_t read_receipts(unsigned in_flight);
    /// Ends all calls.
    void stop();

    LatencyLog& log() { return log_; }
    /// The address of one of the nodes.
    [[nodiscard]] Address first() const { return nodes_.front()->key.address(); }
    /// Units as they were given: (job, slot) of each, for a test to look for doubles.
    [[nodiscard]] std::vector<v1::UnitKey> given_units();

  private:
    using Clock = std::chrono::steady_clock;
    struct Node {
        crypto::PrivateKey key = crypto::PrivateKey::generate();
        std::size_t target = 0;
        std::mutex mutex;  ///< guards what follows
        std::shared_ptr<v1::NodeService::Stub> stub;
        std::shared_ptr<grpc::ClientContext> poll;  ///< the open one
        std::optional<protocol::UptimeChallenge> challenge;
        std::optional<v1::TrainTask> task;
        std::string unit_id;  ///< of the last commitment
    };
    struct Due {
        Clock::time_point at;
        std::size_t node;
        LoadCall call;
        bool operator<(const Due& other) const { return at > other.at; }
    };

    void connect(Node& node, std::size_t index) const;
    std::shared_ptr<v1::NodeService::Stub> stub_of(Node& node);
    void move_on(std::size_t index, const grpc::Status& status);
    std::unique_ptr<grpc::ClientContext> context(const Node& node, std::string_view method,
                                                 const google::protobuf::Message& request,
                                                 std::int64_t deadline_ms);
    void schedule(std::size_t node, LoadCall call, std::chrono::milliseconds after);
    void run();
    void heartbeat(std::size_t index);
    void poll(std::size_t index);
    void take(std::size_t index, const v1::NextTaskResponse& response);
    void for_all(unsigned in_flight, const std::function<void(std::size_t)>& body);
    void register_one(std::size_t index);
    void commit_one(std::size_t index);
    bool has_receipt(std::size_t index);
    grpc::Status upload(Node& node, const std::string& root, const std::string& delta);

    const LoadNodesOptions options_;
    SystemClock clock_;
    crypto::Eip712Domain domain_;
    std::vector<std::unique_ptr<Node>> nodes_;
    LatencyLog log_;
    std::atomic<std::size_t> tasks_{0};
    std::atomic<UnixMs> last_task_ms_{0};
    std::atomic<std::int64_t> in_flight_{0};
    std::atomic<bool> stopping_{false};
    std::mutex given_mutex_;
    std::vector<v1::UnitKey> given_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::priority_queue<Due> due_;  // guarded by mutex_
    std::jthread thread_;           // last: it uses everything above
};

}  // namespace gym::testing
