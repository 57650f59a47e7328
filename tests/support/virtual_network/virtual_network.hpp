#pragma once

#include <memory>
#include <random>
#include <vector>

#include "event_queue.hpp"
#include "figures.hpp"
#include "gym/coordinator/coordinator.hpp"
#include "held_background.hpp"
#include "postgres.hpp"
#include "settings.hpp"
#include "virtual_chain.hpp"
#include "virtual_compute.hpp"
#include "virtual_node.hpp"

namespace gym::sim {

/// The real coordinator over a real PostgreSQL, in virtual time. Real: every call of the
/// coordinator, its SQL, signatures, records, planning, quorum, draws, held deltas, deadlines.
/// Modelled: lines, computing, the chain, and when nodes come and go. Single-threaded; the same
/// settings give the same history.
class VirtualNetwork {
  public:
    explicit VirtualNetwork(const Settings& settings);
    /// Once.
    Figures run();

  private:
    // The coordinator's process.
    void tick();
    void tick_at(UnixMs when_ms);
    /// The next tick that could find anything.
    [[nodiscard]] UnixMs next_tick_ms();
    void wake();
    void beat();
    void spend(double seconds);

    // The nodes.
    void add_node(records::NodeRole role, const OddWorker& factors = {});
    void schedule_leave(const std::shared_ptr<VirtualNode>& node);
    void schedule_join(records::NodeRole role, double per_hour);
    void credit_first_workers();

    void register_dataset();
    void submit_job();
    [[nodiscard]] registry::JobTerms terms() const;
    [[nodiscard]] coordinator::Options options() const;
    [[nodiscard]] Figures figures();
    void count_nodes(Figures& out) const;
    void count_units(Figures& out);
    void count_odd_workers(Figures& out);
    void count_rounds(Figures& out);

    /// In (0, 1].
    [[nodiscard]] double random();
    [[nodiscard]] double spread(double by) { return 1 + by * (2 * random() - 1); }
    [[nodiscard]] std::int64_t wait_of_rate(double per_hour);
    crypto::PrivateKey make_key();

    const Settings settings_;
    std::mt19937_64 dice_;
    std::uint64_t keys_ = 0;
    const crypto::PrivateKey key_;
    testing::TestDatabase test_database_;
    std::unique_ptr<db::Database> database_;
    blob::MemoryStore blobs_;
    EventQueue queue_;
    const UnixMs start_ms_;
    VirtualChain chain_;
    VirtualCompute compute_;
    testing::HeldBackground background_;  ///< audits run inside the tick: one machine, one order
    std::unique_ptr<coordinator::Coordinator> core_;
    SharedLine operator_line_;
    std::unique_ptr<Surroundings> around_;
    Digest dataset_root_, job_;
    std::vector<std::shared_ptr<VirtualNode>> nodes_;
    std::vector<Address> odd_workers_;
    std::uint64_t left_ = 0;

    bool ticking_ = false;
    UnixMs tick_at_ms_ = 0;  ///< the tick that is scheduled; 0: none
    std::uint64_t ticks_ = 0;
    std::vector<std::string> errors_;
};

}  // namespace gym::sim
