#include "simulation.hpp"

#include <algorithm>

#include "auditor.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::game::sim {
namespace {

constexpr int kLossesMax = 12;  ///< of transactions of one honest sender
constexpr std::uint64_t kDownBlocksMax = 12;
constexpr std::uint64_t kIdleBlocks = 5;
constexpr std::uint64_t kRareKinds = 200, kCommonKinds = 24;

Address address_of(std::uint8_t role, std::uint8_t number) {
    Address address;
    address.data = {role, number, 1};
    return address;
}

DisputeParams terms_of(std::mt19937_64& rng) {
    DisputeParams terms;
    terms.bond = Amount(kBond);
    terms.clock_s = 1'200;
    terms.settling_s = 2 * terms.clock_s + rng() % 600;
    terms.announce_blocks = 1 + rng() % 3;
    terms.open_blocks = 40;
    terms.escrow_gas = 1'000'000;
    terms.window_blocks = 60;
    terms.thaw_period_s = 12 * 600;
    terms.burned_ppm = 500'000 + static_cast<std::uint32_t>(rng() % 300'000);
    terms.missed_clock_ppm = 100'000 + static_cast<std::uint32_t>(rng() % 900'001);
    terms.compensation_ppm = 50'000 + static_cast<std::uint32_t>(rng() % 150'000);
    return terms;
}

ChainFaults weather_of(std::mt19937_64& rng) {
    const bool storm = rng() % 2 == 0;
    return {storm ? 150U : 10U, storm ? 200U : 20U, 50U, storm ? 30U : 3U, 4U};
}

class Simulation {
  public:
    explicit Simulation(std::uint64_t seed)
        : setup_(seed),
          terms_(terms_of(setup_)),
          world_(seed, terms_, weather_of(setup_), spared()) {
        hire_workers();
        hire_verifiers();
        hire_others();
    }

    Outcome run() {
        const std::uint64_t last = kEpochs + terms_.window_blocks +
                                   (2 * terms_.clock_s + terms_.settling_s) / Chain::kBlockSeconds +
                                   200;
        while (world_.chain.block() < last && world_.violations.empty() && !is_over())
            step();
        if (world_.violations.empty()) auditor_.check_end(is_over());
        outcome_.violations = world_.violations;
        outcome_.moves = auditor_.moves();
        outcome_.transactions = world_.chain.executed();
        outcome_.reorgs = world_.chain.reorgs();
        count();
        return outcome_;
    }

  private:
    static constexpr std::uint64_t kEpochs = 25;  ///< blocks in which epochs are posted

    static std::map<Address, int> spared() {
        std::map<Address, int> out;
        for (std::uint8_t i = 0; i < 8; ++i) {
            out[address_of(1, i)] = kLossesMax;
            out[address_of(2, i)] = kLossesMax;
        }
        out[address_of(9, 0)] = kLossesMax;
        return out;
    }
    std::uint64_t below(std::uint64_t n) { return setup_() % n; }

    void give(const Address& owner, std::uint64_t tokens) {
        world_.chain.setup().mint(owner, Amount(tokens));
    }

    void hire_workers() {
        const std::uint64_t workers = 1 + below(3);
        for (std::uint8_t i = 0; i < workers; ++i) {
            const auto conduct = below(2) == 0 ? Worker::Conduct::kHonest
                                               : static_cast<Worker::Conduct>(1 + below(4));
            auto worker = std::make_unique<Worker>(address_of(1, i), conduct, below(12));
            give(worker->address(), kStake);
            TxContext tx;
            tx.sender = worker->address();
            if (!world_.chain.setup().stake(tx, Amount(kStake)).ok())
                world_.violations.emplace_back("a stake was refused");
            for (std::uint64_t n = 1 + below(2); n > 0; --n)
                worker->units.push_back(post_unit(*worker));
            crew_.workers.push_back(worker.get());
            actors_.push_back(std::move(worker));
        }
    }

    Digest post_unit(const Worker& worker) {
        const std::size_t program = below(4) == 0 ? 1 : 0;
        const bool conflict = !worker.honest() && below(8) == 0;
        std::size_t variant = 0;
        if (!worker.honest() && !conflict)
            variant = 1 + below(below(16) == 0 ? kRareKinds : kCommonKinds);
        PostedUnit unit;
        unit.kind = below(3) == 0 ? UnitLibrary::aggregate(program, variant)
                                  : UnitLibrary::train(program, variant);
        const UnitKind& kind = world_.library.kind(unit.kind);
        unit.faulty = kind.faulty || conflict;
        Digest number;
        number.data[0] = static_cast<std::uint8_t>(world_.units.size());
        unit.opening = {crypto::keccak256({worker.address().view(), number.view()}),
                        worker.address(), kind.facts, kind.contradiction, 3 + below(kEpochs - 3)};
        if (conflict) unit.conflict = conflict_about(unit);
        world_.units.push_back(unit);
        return unit.id();
    }

    /// Only of an aggregate the next record may be another. An epoch may still be missing.
    ConflictOpening conflict_about(const PostedUnit& unit) {
        const bool next = UnitLibrary::is_aggregate(unit.kind) && below(2) == 0;
        ConflictOpening out{
            {unit.id(), unit.opening.asserter, next ? kNextRecordField : kEquivocationField},
            unit.opening.epoch_block};
        if (below(2) == 0) out.epoch_block.reset();
        return out;
    }

    void hire_verifiers() {
        const std::uint64_t verifiers = 1 + below(3);
        for (std::uint8_t i = 0; i < verifiers; ++i) {
            auto verifier = std::make_unique<Verifier>(address_of(2, i));
            give(verifier->address(), kPurse);
            for (const PostedUnit& unit : world_.units)
                if (below(3) != 0) verifier->sampled.push_back(unit.id());
            crew_.verifiers.push_back(verifier.get());
            actors_.push_back(std::move(verifier));
        }
    }

    void hire_others() {
        const std::uint64_t griefers = below(4);
        for (std::uint8_t i = 0; i < griefers; ++i) {
            Griefer::Aim aim;
            const PostedUnit& unit = world_.units[below(world_.units.size())];
            aim.unit = unit.id();
            aim.conduct = static_cast<Griefer::Conduct>(below(4));
            aim.own = UnitLibrary::right_of(unit.kind);
            if (below(2) == 0) aim.own += UnitLibrary::kPrograms * (1 + below(kCommonKinds));
            aim.early = below(3) == 0;
            aim.games = 1 + below(4);
            hire(std::make_unique<Griefer>(address_of(3, i), aim));
        }
        // Workers that are their own challengers.
        for (const PostedUnit& unit : world_.units) {
            if (!unit.faulty || below(3) != 0) continue;
            Griefer::Aim aim{unit.id(), static_cast<Griefer::Conduct>(1 + below(3)),
                             UnitLibrary::right_of(unit.kind), true, 1 + below(3)};
            const Address accomplice = Crew::accomplice_of(unit.opening.asserter);
            ++crew_.accomplices[unit.opening.asserter];
            hire(std::make_unique<Griefer>(accomplice, aim));
        }
        for (std::uint8_t i = 0; i < below(3); ++i)
            hire(std::make_unique<Copier>(address_of(5, i)));
        if (below(2) == 0) hire(std::make_unique<Vandal>(address_of(6, 0)));
        hire(std::make_unique<Janitor>(address_of(9, 0)));
    }

    void hire(std::unique_ptr<Actor> actor) {
        give(actor->address(), kPurse);
        actors_.push_back(std::move(actor));
    }

    void step() {
        world_.sync();
        const std::uint64_t block = world_.chain.block();
        std::ranges::shuffle(actors_, world_.rng);
        for (const auto& actor : actors_) {
            if (actor->down_until > block) continue;
            if (actor->down_until == 0 && world_.below(60) == 0) crash(*actor);
            if (actor->down_until <= block) actor->act(world_);
        }
        if (world_.chain.pool().empty() && world_.below(8) != 0)
            world_.chain.skip(kIdleBlocks);
        else
            world_.chain.mine(
                [&](const Pending& one, const Status& status) { auditor_.see(one, status); });
    }

    /// Once for everybody: what it was about to send is lost, and all that it knew of the log.
    void crash(Actor& actor) {
        actor.down_until = world_.chain.block() + 1 + world_.below(kDownBlocksMax);
        world_.forget();
        world_.sync();
        ++outcome_.crashes;
    }

    /// Nothing can happen any more.
    [[nodiscard]] bool is_over() const {
        const DisputeSimulator& simulator = world_.simulator();
        if (world_.chain.block() <= kEpochs + terms_.window_blocks) return false;
        const bool playing = std::ranges::any_of(
            simulator.games(), [](const auto& entry) { return is_open(entry.second.status); });
        const bool unsettled = std::ranges::any_of(simulator.units(), [](const auto& entry) {
            return entry.second.proven_at_s != 0 && !entry.second.settled;
        });
        const bool waiting = std::ranges::any_of(
            world_.index().announced(),
            [&](const auto& announced) { return simulator.is_announced(announced.id); });
        const bool unpaid = std::ranges::any_of(simulator.games(), [&](const auto& entry) {
            return !simulator.due_to(entry.second.order).is_zero();
        });
        return !playing && !unsettled && !waiting && !unpaid;
    }

    void count() {
        const DisputeSimulator& simulator = world_.simulator();
        outcome_.units = world_.units.size();
        for (const PostedUnit& unit : world_.units) {
            outcome_.faulty += unit.faulty ? 1 : 0;
            outcome_.aggregates += UnitLibrary::is_aggregate(unit.kind) ? 1 : 0;
            outcome_.sampled += unit.faulty && crew_.has_sampled(unit.id()) ? 1 : 0;
            const UnitState* state = simulator.unit(unit.id());
            outcome_.settled += state != nullptr && state->settled ? 1 : 0;
        }
        for (const auto& [id, game] : simulator.games()) {
            ++outcome_.games;
            outcome_.upheld += game.status == GameStatus::kUpheld ? 1 : 0;
            outcome_.proven += game.status == GameStatus::kFaultProven ? 1 : 0;
            outcome_.by_clock += game.status == GameStatus::kFaultByClock ? 1 : 0;
            outcome_.moot += game.status == GameStatus::kMoot ? 1 : 0;
            if (game.status != GameStatus::kFaultProven) continue;
            const PostedUnit& unit = *world_.unit(game.unit);
            const bool aggregate = UnitLibrary::is_aggregate(unit.kind);
            outcome_.aggregates_proven += aggregate && game.moves > 0 ? 1 : 0;
            outcome_.conflicts += unit.conflict && game.moves == 0 ? 1 : 0;
        }
    }

    Rng setup_;
    DisputeParams terms_;
    World world_;
    Crew crew_;
    Auditor auditor_{world_, crew_};
    Outcome outcome_;
    std::vector<std::unique_ptr<Actor>> actors_;
    std::vector<Worker*> workers_;
    std::vector<Verifier*> verifiers_;
    std::map<Digest, std::uint64_t> opened_;  ///< when, by game
};

}  // namespace

Outcome& Outcome::operator+=(const Outcome& other) {
    for (const auto number :
         {&Outcome::transactions, &Outcome::moves, &Outcome::units, &Outcome::faulty,
          &Outcome::sampled, &Outcome::settled, &Outcome::games, &Outcome::upheld, &Outcome::proven,
          &Outcome::by_clock, &Outcome::moot, &Outcome::aggregates, &Outcome::aggregates_proven,
          &Outcome::conflicts, &Outcome::reorgs, &Outcome::crashes})
        this->*number += other.*number;
    return *this;
}

Outcome simulate(std::uint64_t seed) {
    return Simulation(seed).run();
}

}  // namespace gym::game::sim
