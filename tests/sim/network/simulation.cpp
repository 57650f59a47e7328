#include "simulation.hpp"

#include <algorithm>
#include <queue>
#include <random>
#include <tuple>

#include "sim_coordinator.hpp"
#include "sim_nodes.hpp"

namespace gym::sim {
namespace {

using protocol::UnitState;

constexpr UnixMs kStepMs = 25;
constexpr UnixMs kEndMs = 120'000;  // far beyond every deadline of every round together

Address address_of(NodeId id) {
    Address out;
    out.data[0] = 1;
    out.data[19] = static_cast<std::uint8_t>(id);
    return out;
}

/// Drops, repeats and delays messages; delays reorder them.
class Network {
  public:
    explicit Network(std::mt19937_64& random)
        : random_(random), drop_percent_(random() % 30), repeat_percent_(random() % 20) {}

    void send(Envelope envelope, UnixMs now_ms) {
        const std::uint32_t copies = random_() % 100 < repeat_percent_ ? 2 : 1;
        for (std::uint32_t copy = 0; copy < copies; ++copy)
            if (random_() % 100 >= drop_percent_)
                queue_.emplace(now_ms + 1 + static_cast<UnixMs>(random_() % 120), ++sequence_,
                               envelope);
    }
    /// The next message that has arrived by `now_ms`.
    std::optional<Envelope> next(UnixMs now_ms) {
        if (queue_.empty() || std::get<0>(queue_.top()) > now_ms) return std::nullopt;
        Envelope out = std::get<2>(queue_.top());
        queue_.pop();
        return out;
    }
    void lose_all() { queue_ = {}; }

  private:
    struct Later {
        bool operator()(const auto& a, const auto& b) const {
            return std::tie(std::get<0>(a), std::get<1>(a)) >
                   std::tie(std::get<0>(b), std::get<1>(b));
        }
    };
    using Item = std::tuple<UnixMs, std::uint64_t, Envelope>;
    std::mt19937_64& random_;
    std::uint64_t drop_percent_;
    std::uint64_t repeat_percent_;
    std::uint64_t sequence_ = 0;
    std::priority_queue<Item, std::vector<Item>, Later> queue_;
};

/// An independent view of what must hold after every change of a unit.
class Auditor {
  public:
    Auditor(Outcome& outcome, const std::vector<Behaviour>& behaviours, std::uint32_t draws_max)
        : outcome_(outcome), behaviours_(behaviours), draws_max_(draws_max) {}

    void watch(const UnitRow& before, const UnitRow& after) {
        ++outcome_.events;
        const UnitState from = before.status.state;
        const UnitState to = after.status.state;
        if (from != to || before.status.draws != after.status.draws)
            require(protocol::is_legal(from, to), after, "a transition outside the table");
        require(after.status.draws <= draws_max_, after, "more draws than allowed");
        if (before.status.draws > 0 && after.status.draws > before.status.draws) ++outcome_.redraws;
        if (to == from) return;
        if (to == UnitState::kRejected || to == UnitState::kSlashed) on_rejected(after);
        if (to == UnitState::kFinal || to == UnitState::kVerified) on_accepted(after);
        if (to == UnitState::kUpheld) {
            ++outcome_.upheld;
            require(!is_faulty(after), after, "a fault was upheld");
        }
    }

    void require(bool holds, const UnitRow& unit, const std::string& what) {
        if (!holds)
            outcome_.violations.push_back("round " + std::to_string(unit.key.round) + " slot " +
                                          std::to_string(unit.key.slot) + " (" +
                                          std::string(to_string(unit.status.state)) + "): " + what);
    }

    static bool is_faulty(const UnitRow& unit) {
        if (!unit.commitment) return false;
        const Truth truth = truth_of(unit.key);
        return unit.commitment->records_root != truth.records_root ||
               unit.commitment->final_state_root != truth.final_state_root ||
               unit.commitment->delta_root != truth.delta_root;
    }

  private:
    void on_rejected(const UnitRow& unit) {
        const bool equivocated =
            behaviours_[unit.worker] == Behaviour::kEquivocatingWorker && !is_faulty(unit);
        if (equivocated) ++outcome_.equivocations;
        require(is_faulty(unit) || equivocated, unit, "an honest unit was rejected");
        if (is_faulty(unit)) ++outcome_.faults_rejected;
    }
    void on_accepted(const UnitRow& unit) {
        // These verifiers never hide a difference, so whatever was drawn and is wrong must not get
        // here.
        const bool was_drawn = unit.status.draws > 0;
        require(!(is_faulty(unit) && was_drawn), unit, "a drawn fault was accepted");
    }

    Outcome& outcome_;
    const std::vector<Behaviour>& behaviours_;
    std::uint32_t draws_max_;
};

std::vector<Behaviour> cast(std::mt19937_64& random) {
    std::vector<Behaviour> out = {Behaviour::kHonestWorker, Behaviour::kHonestVerifier};
    const auto add = [&](Behaviour behaviour, std::uint64_t most) {
        for (std::uint64_t i = random() % (most + 1); i > 0; --i)
            out.push_back(behaviour);
    };
    add(Behaviour::kHonestWorker, 2);
    add(Behaviour::kCheatingWorker, 2);
    add(Behaviour::kEquivocatingWorker, 1);
    add(Behaviour::kLeavingWorker, 1);
    add(Behaviour::kHonestVerifier, 1);
    add(Behaviour::kSilentVerifier, 1);
    add(Behaviour::kLyingVerifier, 1);
    return out;
}

SimCoordinator::Rules rules(std::mt19937_64& random) {
    SimCoordinator::Rules out;
    out.lifecycle = {2'000, 2'000, 1'000, 1'500, 1'200, 6};
    out.rounds = 2 + random() % 4;
    return out;
}

/// The end of a history: everything decided, and every drawn fault paid for.
void check_end(const SimCoordinator& coordinator, const std::vector<Behaviour>& behaviours,
               Auditor& auditor, Outcome& outcome) {
    if (!coordinator.finished()) outcome.violations.emplace_back("the job did not end");
    for (const auto& [id, unit] : coordinator.units()) {
        ++outcome.units;
        const UnitState state = unit.status.state;
        outcome.final += state == UnitState::kFinal ? 1 : 0;
        outcome.unpaid += state == UnitState::kUnpaid ? 1 : 0;
        outcome.expired += state == UnitState::kExpired ? 1 : 0;
        outcome.faults += Auditor::is_faulty(unit) ? 1 : 0;
        if (Auditor::is_faulty(unit) && unit.decided_by)
            auditor.require(state == UnitState::kRejected || state == UnitState::kVoid, unit,
                            "a fault that a verifier reported on was not rejected");
        if (Auditor::is_faulty(unit) && unit.status.draws > 0)
            auditor.require(!unit.included, unit, "a drawn fault entered the base state");
    }
    for (NodeId id = 0; id < coordinator.nodes().size(); ++id) {
        const bool honest = behaviours[id] == Behaviour::kHonestWorker ||
                            behaviours[id] == Behaviour::kLeavingWorker ||
                            behaviours[id] == Behaviour::kHonestVerifier ||
                            behaviours[id] == Behaviour::kSilentVerifier;
        if (honest && coordinator.nodes()[id].excluded)
            outcome.violations.push_back("node " + std::to_string(id) + " was excluded unjustly");
    }
}

}  // namespace

Outcome simulate(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Outcome outcome;
    const std::vector<Behaviour> behaviours = cast(random);
    const SimCoordinator::Rules game = rules(random);
    Network network(random);
    Auditor auditor(outcome, behaviours, game.lifecycle.draws_max);
    std::vector<NodeRow> rows;
    std::vector<SimNode> nodes;
    std::vector<UnixMs> gone_ms;  // for good
    std::vector<UnixMs> down_until_ms(behaviours.size(), 0);
    for (NodeId id = 0; id < behaviours.size(); ++id) {
        rows.push_back({address_of(id), is_verifier(behaviours[id]), false, 0, -1'000'000});
        nodes.emplace_back(behaviours[id], address_of(id), random());
        gone_ms.push_back(behaviours[id] == Behaviour::kLeavingWorker
                              ? static_cast<UnixMs>(random() % 8'000)
                              : kEndMs);
    }
    UnixMs now_ms = 0;
    UnixMs coordinator_down_until_ms = 0;
    SimCoordinator coordinator(
        game, rows, random(),
        [&](NodeId to, Message message) {
            network.send({kCoordinator, to, std::move(message)}, now_ms);
        },
        [&](const UnitRow& before, const UnitRow& after) { auditor.watch(before, after); });

    for (; now_ms < kEndMs && !coordinator.finished(); now_ms += kStepMs) {
        const bool coordinator_up = now_ms >= coordinator_down_until_ms;
        while (const auto envelope = network.next(now_ms)) {
            if (envelope->to == kCoordinator) {
                if (coordinator_up) coordinator.receive(envelope->from, envelope->message, now_ms);
                continue;
            }
            const NodeId id = envelope->to;
            if (now_ms < down_until_ms[id] || now_ms >= gone_ms[id]) continue;
            nodes[id].receive(envelope->message, now_ms, [&](Message message) {
                network.send({id, kCoordinator, std::move(message)}, now_ms);
            });
        }
        if (coordinator_up) coordinator.tick(now_ms);
        for (NodeId id = 0; id < nodes.size(); ++id) {
            if (now_ms < down_until_ms[id] || now_ms >= gone_ms[id] || random() % 3 != 0) continue;
            nodes[id].act(now_ms, [&](Message message) {
                network.send({id, kCoordinator, std::move(message)}, now_ms);
            });
            if (random() % 1'000 == 0) {  // a crash: all of it is lost, a new start a little later
                ++outcome.crashes;
                nodes[id].crash();
                down_until_ms[id] = now_ms + static_cast<UnixMs>(random() % 400);
            }
        }
        if (coordinator_up && random() % 800 == 0) {
            ++outcome.crashes;
            network.lose_all();
            coordinator_down_until_ms = now_ms + static_cast<UnixMs>(random() % 300);
        }
    }
    check_end(coordinator, behaviours, auditor, outcome);
    return outcome;
}

}  // namespace gym::sim
