#pragma once

#include <string>
#include <unordered_map>

#include "chain.hpp"
#include "shared_units.hpp"
#include "transcript_cache.hpp"

namespace gym::game::sim {

/// A unit whose commitment is under an epoch's root, or will be.
struct PostedUnit {
    Opening opening;
    std::size_t kind = 0;
    bool faulty = false;
    /// That its asserter cannot have been right, whatever it computed: it signed something else,
    /// too, or went on from something else.
    std::optional<ConflictOpening> conflict;
    [[nodiscard]] const Digest& id() const { return opening.unit; }
};

/// The chain's log: a player that was down knows nothing else.
class GameIndex {
  public:
    /// Reads the log from its beginning next, as if nothing had been read before.
    void forget();
    /// Reads what is new. Adds to `violations` what a log cannot say.
    void read(const DisputeSimulator& simulator, std::vector<std::string>& violations);

    /// Games of a unit that were opened, in order.
    [[nodiscard]] const std::vector<Digest>& games(const Digest& unit) const;
    /// From its opening to where it is; nullptr for games that were over at once.
    [[nodiscard]] const TranscriptCache::Reached* place(const Digest& game) const;
    struct Announced {
        Digest id;
        std::uint64_t block = 0;
    };
    [[nodiscard]] const std::vector<Announced>& announced() const { return announced_; }

  private:
    using Place = const TranscriptCache::Reached*;
    /// On to where an earlier answer led.
    Result<Place> follow(const Digest& unit, Place place) const;
    Status read_one(const Event& event);

    std::size_t read_ = 0;
    std::map<Digest, std::vector<Digest>> games_;
    std::map<Digest, Place> places_;  ///< of games that go on
    std::shared_ptr<TranscriptCache> transcripts_ = std::make_shared<TranscriptCache>();
    std::map<std::pair<Digest, Digest>, std::shared_ptr<const SentMove>> answers_;
    std::vector<Announced> announced_;
};

/// The state that everybody in a history can look at.
class World {
  public:
    World(std::uint64_t seed, const DisputeParams& terms, const ChainFaults& faults,
          std::map<Address, int> spared);

    Rng rng;
    SharedUnits& library = SharedUnits::of_this_thread();
    Chain chain;
    std::vector<PostedUnit> units;
    std::vector<std::string> violations;
    /// Challengers' moves that were mined, by unit and cursor: for those who copy.
    std::map<std::pair<Digest, Digest>, std::shared_ptr<const SentMove>> challenges;

    [[nodiscard]] const DisputeSimulator& simulator() const { return chain.simulator(); }
    [[nodiscard]] const PostedUnit* unit(const Digest& id) const;
    /// Salt and id of somebody's announcement number `number` of a unit; the same whoever asks
    /// when.
    struct Ticket {
        Digest salt, id;
    };
    [[nodiscard]] const Ticket& ticket(const Address& who, const Digest& unit,
                                       std::uint64_t number = 0) const;
    /// A planned move as it is sent; whoever sends it again sends the same one.
    PlayCall call_of(const Digest& game, const TranscriptCache::Reached& place,
                     const std::shared_ptr<const Move>& move);
    [[nodiscard]] const GameIndex& index() const { return index_; }
    /// Reads the log; all of it after forget() and after the chain went back.
    void sync();
    void forget() { index_.forget(); }
    /// Whether the clock of who is on turn is over in the next block.
    [[nodiscard]] bool ran_out(const GameState& game) const;
    /// Seconds that the side on turn has left.
    [[nodiscard]] std::uint64_t clock_left(const GameState& game) const;
    std::uint64_t below(std::uint64_t n) { return rng() % n; }

  private:
    GameIndex index_;
    std::uint64_t reorgs_ = 0;
    std::map<std::tuple<Digest, Digest, std::shared_ptr<const Move>>,
             std::shared_ptr<const SentMove>>
        sent_;
    struct TicketKey {
        Address who;
        Digest unit;
        std::uint64_t number = 0;
        friend bool operator==(const TicketKey&, const TicketKey&) = default;
    };
    struct TicketHash {
        std::size_t operator()(const TicketKey& key) const noexcept {
            return std::hash<Address>()(key.who) * 31 + std::hash<Digest>()(key.unit) + key.number;
        }
    };
    mutable std::unordered_map<TicketKey, Ticket, TicketHash> tickets_;
};

}  // namespace gym::game::sim
