#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "event_queue.hpp"
#include "fake_compute.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/coordinator/coordinator.hpp"
#include "gym/crypto/key.hpp"
#include "gym/records/task.hpp"
#include "settings.hpp"

namespace gym::sim {

/// What nodes have of their network.
struct Surroundings {
    const Settings& settings;
    EventQueue& queue;
    coordinator::Coordinator& core;
    blob::BlobStore& blobs;
    testing::FakeCompute& compute;
    crypto::Eip712Domain domain;
    SharedLine& operator_line;
    std::function<void()> changed;  ///< something that a tick may act on
};

/// What a node is and what it has.
struct Machine {
    crypto::PrivateKey key;
    records::NodeRole role = records::NodeRole::kWorker;
    double up_mbps = 0, down_mbps = 0;
    double steps_per_second = 0;
};

/// Sums over a node's life.
struct NodeTotals {
    double present_ms = 0;
    double computing_ms = 0;
    double transfer_ms = 0;
    std::uint64_t received_bytes = 0, sent_bytes = 0;
    std::uint64_t done = 0;  ///< commitments or reports that the coordinator took
    std::uint64_t late = 0;  ///< ... that it refused
};

/// A worker or a verifier, as src/worker and src/verifier act: one task at a time, and one thing
/// after the other: ask, look at the chain, download, compute, upload, deliver, ask again. Calls
/// the coordinator as a process would, with signatures and records that it checks. While it has
/// nothing to do, the network wakes it. Where the job's rounds overlap, a worker uploads and
/// delivers while it computes its next unit.
class VirtualNode : public std::enable_shared_from_this<VirtualNode> {
  public:
    VirtualNode(Surroundings& around, Machine machine)
        : around_(around), machine_(std::move(machine)) {}

    void join();
    /// @param signs_off as at SIGTERM; otherwise it is simply away.
    void leave(bool signs_off);

    [[nodiscard]] bool present() const { return joined_ms_.has_value(); }
    [[nodiscard]] bool idle() const { return present() && !busy_; }
    [[nodiscard]] const Machine& machine() const { return machine_; }
    [[nodiscard]] const Address& address() const { return machine_.key.address(); }
    /// Units that it has computed, and not committed to yet.
    [[nodiscard]] const std::set<Digest>& computed() const { return computed_; }
    /// Takes the answer to its question for a task. @pre idle().
    void give(const records::Task& task);
    /// Up to now, a unit on its way included.
    [[nodiscard]] NodeTotals totals() const;

  private:
    void ask();
    void work(const records::TrainTask& task);
    void upload(const records::TrainTask& task);
    void commit(const records::TrainTask& task);
    void verify(const records::VerifyTask& task);
    void report(const records::VerifyTask& task);
    /// The tests' protocol::Report and step records of an honest verifier.
    protocol::Report make_report(const records::VerifyTask& task, Bytes& records) const;

    /// Milliseconds of fetching what a task needs and this node has not.
    std::int64_t fetch(const records::UnitInputs& inputs, std::uint64_t more_bytes);
    [[nodiscard]] std::uint64_t base_bytes(const records::UnitInputs& inputs) const;
    void compute(double seconds, EventQueue::Action then);
    /// Calls `then` if the node is still there.
    void later(std::int64_t wait_ms, EventQueue::Action then);
    void finish(bool taken);
    /// The coordinator's answer to a commitment is here.
    void delivered(const Digest& unit, bool taken);
    [[nodiscard]] std::int64_t round_trips(int count) const {
        return count * around_.settings.latency_ms;
    }

    Surroundings& around_;
    const Machine machine_;
    std::optional<UnixMs> joined_ms_;
    std::optional<UnixMs> computing_since_ms_;
    bool busy_ = false;
    std::set<Digest> bases_;  ///< base states that it has
    std::set<Digest> computed_;
    std::set<Digest> recomputed_;  ///< units, of a verifier: a later draw of one takes no time
    NodeTotals totals_;
};

}  // namespace gym::sim
