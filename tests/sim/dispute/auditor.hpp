#pragma once

#include <map>

#include "actors.hpp"

namespace gym::game::sim {

inline constexpr std::uint64_t kBond = 1'000;
inline constexpr std::uint64_t kPurse = 10 * kBond;  ///< of everybody but workers
inline constexpr std::uint64_t kStake = 100'000;

/// Whom the invariants are about.
struct Crew {
    std::vector<Worker*> workers;
    std::vector<Verifier*> verifiers;
    /// How many a worker has that dispute its own units, under one name.
    std::map<Address, std::uint64_t> accomplices;

    [[nodiscard]] bool is_honest(const Address& who) const;
    [[nodiscard]] bool has_sampled(const Digest& unit) const;
    [[nodiscard]] static Address accomplice_of(const Address& worker);
};

/// Looks on, and reports to the world's violations what must not be.
class Auditor {
  public:
    Auditor(World& world, const Crew& crew) : world_(world), crew_(crew) {}
    /// After every transaction.
    void see(const Pending& one, const Status& status);
    /// @param over nothing can happen any more.
    void check_end(bool over);
    /// Moves that were accepted.
    [[nodiscard]] std::uint64_t moves() const { return moves_; }

  private:
    void violation(const std::string& what);
    void see_opening(const Pending& one, const OpenCall& open);
    void see_move(const Pending& one, const PlayCall& played, const Status& status);
    void check_money();
    void check_honest_workers();
    void check_honest_verifiers();
    void check_delays();
    void check_finder(const PostedUnit& unit, const UnitState& state);
    void check_provers();
    void check_bonds();
    void check_stakes();
    void check_accomplices();
    [[nodiscard]] Amount taken_from(const Address& asserter) const;
    [[nodiscard]] const DisputeParams& terms() const { return world_.simulator().terms(); }

    World& world_;
    const Crew& crew_;
    std::uint64_t moves_ = 0;
    std::map<Digest, std::uint64_t> opened_;  ///< when, by game
};

}  // namespace gym::game::sim
