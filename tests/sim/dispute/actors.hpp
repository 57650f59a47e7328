#pragma once

#include <memory>

#include "world.hpp"

/// The players. Nobody remembers anything but its key: what to do next follows from the chain's
/// log, so a player that crashed continues as if it had not.
namespace gym::game::sim {

class Actor {
  public:
    explicit Actor(const Address& address) : address_(address) {}
    virtual ~Actor() = default;
    /// Sends what is to be done now.
    virtual void act(World& world) = 0;
    [[nodiscard]] const Address& address() const { return address_; }

    std::uint64_t down_until = 0;  ///< block

  protected:
    void send(World& world, Call call) { world.chain.send(address_, std::move(call)); }
    void play(World& world, const Digest& game, const TranscriptCache::Reached& place,
              const std::shared_ptr<const Move>& move);
    /// Opens what was announced, if the next block is right for it.
    /// @param knows of the unit's conflict, if it has one.
    void try_to_open(World& world, const PostedUnit& unit, const World::Ticket& ticket, bool knows);

  private:
    Address address_;
};

/// Has computed units and answers for them.
class Worker final : public Actor {
  public:
    enum class Conduct { kHonest, kPlays, kStalls, kSlow, kFlees };
    Worker(const Address& address, Conduct conduct, std::uint64_t silent_after)
        : Actor(address), conduct_(conduct), silent_after_(silent_after) {}
    void act(World& world) override;
    [[nodiscard]] bool honest() const { return conduct_ == Conduct::kHonest; }
    std::vector<Digest> units;

  private:
    void answer(World& world, const PostedUnit& unit, const Digest& game, const GameState& state);
    Conduct conduct_;
    std::uint64_t silent_after_;  ///< moves of a game, of who stalls
};

/// Is honest: has run some units again and disputes those that are wrong.
class Verifier final : public Actor {
  public:
    using Actor::Actor;
    void act(World& world) override;
    std::vector<Digest> sampled;

  private:
    void challenge(World& world, const PostedUnit& unit, const Digest& game);
};

/// Disputes a unit whatever it is: to stall, to win by luck, to be its own challenger.
class Griefer final : public Actor {
  public:
    enum class Conduct { kOnlyAnnounces, kStalls, kPlays, kSlow };
    struct Aim {
        Digest unit;
        Conduct conduct = Conduct::kPlays;
        std::size_t own = 0;      ///< kind of the unit that it takes for right
        bool early = false;       ///< announces before anybody else can know of the unit
        std::uint64_t games = 1;  ///< at once
    };
    Griefer(const Address& address, Aim aim) : Actor(address), aim_(std::move(aim)) {}
    void act(World& world) override;

  private:
    void game(World& world, const PostedUnit& unit, std::uint64_t number);
    Aim aim_;
};

/// Announces what others open and plays what others play, to have their reward.
class Copier final : public Actor {
  public:
    using Actor::Actor;
    void act(World& world) override;

  private:
    void copy_move(World& world, const Digest& game, const GameState& state);
};

/// Calls everything at any time, in the hope that it is let through.
class Vandal final : public Actor {
  public:
    using Actor::Actor;
    void act(World& world) override;
};

/// Does what anybody may: ends what is over. Without it bonds of the dead would lie for ever.
class Janitor final : public Actor {
  public:
    using Actor::Actor;
    void act(World& world) override;
};

}  // namespace gym::game::sim
