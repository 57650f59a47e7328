#pragma once

#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/protocol/sampling.hpp"
#include "network.hpp"

namespace gym::sim::economy {

/// What worker, colluding verifiers and coordinator do in a season.
struct WorkPlan {
    std::uint64_t wrong = 0;      ///< of the worker's open units: not computed
    bool record = true;           ///< the worker has one that brings its rate to the floor
    bool record_of_tiny = false;  ///< ... made of tiny units that it ordered of itself
    bool answers = false;         ///< plays its games to the proof, instead of staying away
    bool signs_twice = false;
    bool leaves = false;         ///< thaws its stake when it gets the units
    bool no_accomplice = false;  ///< nobody announces before the verifier that finds the fault
    bool prefix = false;         ///< commits to no unit, and signs for steps that it did not do
    // The coordinator:
    bool wrong_aggregate = false;
    bool garbage_before = false;  ///< the next record names garbage as the one before
    bool two_records = false;
    bool passes_over = false;  ///< draws of the worker's units
    bool asks_no_stake = false;
    bool pays_void = false;  ///< books credits for units that were found wrong
};

/// One batch of units that are open together, by a worker and two honest peers: from stakes and the
/// job's lock to the last credit and the stakes' return. Draws, states, amounts and stakes are the
/// protocol's own functions.
class WorkSeason {
  public:
    WorkSeason(const Network& net, const WorkPlan& plan, std::uint64_t seed);
    Book run();

  private:
    struct Unit {
        Digest id;
        Account worker = Account::kPeerA;
        bool right = true;
        protocol::UnitStatus status;
        std::optional<std::size_t> verifier;  ///< that reported
        bool found = false;                   ///< by a verifier that does not collude
        bool named = false;  ///< drawn and without a report: `gym rewards audit` says so
    };

    void begin();
    void add_unit(Account worker, bool right);
    void apply(Unit& unit, const protocol::UnitEvent& event);
    [[nodiscard]] std::uint32_t rate_of(const Unit& unit) const;
    void commit(Unit& unit);
    void draw(Unit& unit);
    void report(Unit& unit);
    void audit(Unit& unit);
    void play_prefix(Unit& unit);
    void punish_worker();
    void reject(Unit& unit);
    void slash(Account asserter, Wei stake, bool by_clock);
    void void_the_rest();
    void aggregate();
    void end(Unit& unit);
    void pay(Account to, Wei amount);
    [[nodiscard]] bool colludes(std::size_t verifier) const { return verifier < colluding_; }
    [[nodiscard]] bool worker_caught() const;

    const Network& net_;
    const WorkPlan& plan_;
    Book book_;
    Dice dice_;
    Digest beacon_;
    UnixMs now_ms_ = 0;
    std::vector<protocol::VerifierCandidate> verifiers_;
    std::size_t colluding_ = 0;
    std::vector<bool> excluded_;
    std::vector<Unit> units_;
    Wei worker_stake_ = 0;
    Wei coordinator_stake_ = 0;
    Wei locked_ = 0;
    bool fault_proven_ = false;
    bool prefix_refuted_ = false;
};

}  // namespace gym::sim::economy
