#pragma once

#include <string>

#include "chain.hpp"
#include "gym/game/line.hpp"
#include "unit_library.hpp"

namespace gym::game::sim {

/// A unit whose commitment is under an epoch's root, or will be.
struct PostedUnit {
    Opening opening;
    std::size_t kind = 0;
    bool faulty = false;
    [[nodiscard]] const Digest& id() const { return opening.unit; }
};

/// What the chain's log says: nothing else is known to whoever was down.
class Book {
  public:
    /// Reads what is new. Adds to `violations` what a log cannot say.
    void read(const Table& table, std::vector<std::string>& violations);

    /// Games of a unit that were opened, in order.
    [[nodiscard]] const std::vector<Digest>& games(const Digest& unit) const;
    /// From its opening to where it is; nullptr for games that were over at once.
    [[nodiscard]] const Line* line(const Digest& game) const;
    struct Announced {
        Digest id;
        std::uint64_t block = 0;
    };
    [[nodiscard]] const std::vector<Announced>& announced() const { return announced_; }

  private:
    /// On to where an earlier answer led.
    Status follow(const Digest& unit, Line& line) const;
    Status read_one(const Event& event);

    std::size_t read_ = 0;
    std::map<Digest, std::vector<Digest>> games_;
    std::map<Digest, Line> lines_;
    std::map<std::pair<Digest, Digest>, std::shared_ptr<const SentMove>> answers_;
    std::vector<Announced> announced_;
};

/// What everybody in a history can look at.
class World {
  public:
    World(std::uint64_t seed, const Terms& terms, const Weather& weather,
          std::map<Address, int> spared);

    Rng rng;
    UnitLibrary& library = UnitLibrary::shared();
    Chain chain;
    std::vector<PostedUnit> units;
    std::vector<std::string> violations;
    /// Challengers' moves that were mined, by unit and cursor: for those who copy.
    std::map<std::pair<Digest, Digest>, std::shared_ptr<const SentMove>> challenges;

    [[nodiscard]] const Table& table() const { return chain.table(); }
    [[nodiscard]] const PostedUnit* unit(const Digest& id) const;
    /// Salt and id of somebody's announcement number `number` of a unit; the same whoever asks
    /// when.
    struct Ticket {
        Digest salt, id;
    };
    [[nodiscard]] const Ticket& ticket(const Address& who, const Digest& unit,
                                       std::uint64_t number = 0) const;
    [[nodiscard]] const Book& book() const { return *book_; }
    /// Reads the log; all of it after forget() and after the chain went back.
    void sync();
    void forget() { book_.emplace(); }
    /// Whether the clock of who is on turn is over in the next block.
    [[nodiscard]] bool ran_out(const GameState& game) const;
    /// Seconds that the side on turn has left.
    [[nodiscard]] std::uint64_t clock_left(const GameState& game) const;
    std::uint64_t below(std::uint64_t n) { return rng() % n; }

  private:
    std::optional<Book> book_{std::in_place};
    std::uint64_t reorgs_ = 0;
    mutable std::map<std::tuple<Address, Digest, std::uint64_t>, Ticket> tickets_;
};

}  // namespace gym::game::sim
