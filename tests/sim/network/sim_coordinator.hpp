#pragma once

#include <functional>
#include <map>
#include <random>
#include <vector>

#include "messages.hpp"

namespace gym::sim {

struct UnitRow {
    protocol::UnitKey key;
    NodeId worker = 0;
    std::uint32_t rate_ppm = kPpm;
    protocol::UnitStatus status;
    std::optional<protocol::UnitCommitment> commitment;
    std::optional<NodeId> verifier;
    std::optional<Digest> report_digest;
    std::optional<NodeId> decided_by;  ///< whose report was compared
    std::map<NodeId, std::uint32_t> missed;
    bool included = false;
};

enum class Phase { kOpen, kBeacon, kVerifying, kAggregated };

struct RoundRow {
    protocol::RoundRecord record;
    Phase phase = Phase::kOpen;
    UnixMs beacon_at_ms = 0;
    Digest beacon;
};

struct NodeRow {
    Address address;
    bool is_verifier = false;
    bool excluded = false;
    std::uint64_t valid_run = 0;
    UnixMs seen_ms = -1'000'000;
};

/// The coordinator's rules over plain maps: the same state machines, no database, no threads. What
/// it holds is durable; a crash of it loses only what is in flight.
class SimCoordinator {
  public:
    using Send = std::function<void(NodeId to, Message)>;
    /// Called with every change of a unit, before it is visible.
    using Watch = std::function<void(const UnitRow& before, const UnitRow& after)>;

    struct Rules {
        protocol::LifecycleParams lifecycle;
        protocol::SamplingPolicy sampling;
        std::uint64_t rounds = 3;
        UnixMs live_ms = 500;
        UnixMs beacon_ms = 60;
    };

    SimCoordinator(Rules rules, std::vector<NodeRow> nodes, std::uint64_t seed, Send send,
                   Watch watch);

    void receive(NodeId from, const Message& message, UnixMs now_ms);
    void tick(UnixMs now_ms);

    [[nodiscard]] bool finished() const;
    [[nodiscard]] const std::map<Digest, UnitRow>& units() const { return units_; }
    [[nodiscard]] const std::vector<RoundRow>& rounds() const { return rounds_; }
    [[nodiscard]] const std::vector<NodeRow>& nodes() const { return nodes_; }

  private:
    void on_poll(NodeId from, UnixMs now_ms);
    void on_commit(NodeId from, const Commit& commit, UnixMs now_ms);
    void on_report(NodeId from, const ReportCommit& report, UnixMs now_ms);
    void on_reveal(NodeId from, const Reveal& reveal, UnixMs now_ms);
    void answer_worker(NodeId from);
    void answer_verifier(NodeId from, UnixMs now_ms);

    /// Applies an event; false if the state machine refuses it.
    bool apply(UnitRow& unit, const protocol::UnitEvent& event, UnixMs now_ms);
    void assign(UnitRow& unit, UnixMs now_ms);
    void exclude_worker(NodeId worker, UnixMs now_ms);
    void exclude_verifier(NodeId verifier, UnixMs now_ms);
    void referee(UnitRow& unit, UnixMs now_ms);
    void step_deadlines(UnixMs now_ms);
    void step_round(RoundRow& round, UnixMs now_ms);
    void begin_round(UnixMs now_ms);
    [[nodiscard]] std::vector<UnitRow*> units_of(std::uint64_t round);
    [[nodiscard]] bool is_live(const NodeRow& node, UnixMs now_ms) const;

    Rules rules_;
    std::vector<NodeRow> nodes_;
    std::mt19937_64 beacon_source_;
    Send send_;
    Watch watch_;
    std::map<Digest, UnitRow> units_;
    std::vector<RoundRow> rounds_;
};

}  // namespace gym::sim
