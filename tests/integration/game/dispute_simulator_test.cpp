#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "contract_chain.hpp"
#include "random_seed.hpp"
#include "world.hpp"

// The simulator against DisputeGame, Stake and the token: the same calls are refused, and all that
// can be looked at is the same after each.

namespace gym::game::testing {
namespace {

using sim::Call;
using sim::UnitLibrary;

constexpr std::uint64_t kCalls = 400;
constexpr std::uint64_t kCallsOfAUnit = 40;
constexpr std::size_t kAsserters = 2;
constexpr std::array<const char*, std::variant_size_v<Call>> kNames{
    "announce", "open", "play",     "reclaim",       "forfeit",      "timeout",   "close",
    "settle",   "thaw", "withdraw", "withdrawEther", "openConflict", "compensate"};

DisputeParams terms() {
    DisputeParams terms;
    terms.bond = Amount(101);
    terms.clock_s = 600;
    terms.settling_s = 1'250;
    terms.announce_blocks = 1;
    terms.open_blocks = 25;
    terms.escrow_gas = 400'000;  // the gas of a few answers: escrows run dry
    terms.window_blocks = 70;
    terms.thaw_period_s = 2'100;
    terms.burned_ppm = 500'001;
    terms.compensation_ppm = 99'999;
    terms.missed_clock_ppm = 400'001;
    return terms;
}

class Script {
  public:
    explicit Script(std::uint64_t seed)
        : rng_(seed),
          chain_(terms()),
          simulator_(terms(), chain_.chain_id(), chain_.contract(), chain_.domain()),
          time_(chain_.now() + 1) {
        for (std::size_t i = 0; i < ContractChain::kAccounts; ++i) {
            TxContext tx;
            tx.sender = chain_.account(i);
            simulator_.mint(tx.sender, Amount(ContractChain::kTokens));
            EXPECT_TRUE(simulator_.stake(tx, Amount(ContractChain::kStake)).ok());
        }
    }

    void run(std::uint64_t calls) {
        for (std::uint64_t i = 0; i < calls; ++i) {
            if (i % kCallsOfAUnit == 0) post();
            pass_time();
            const auto call = choose();
            if (!call) continue;
            ASSERT_NO_FATAL_FAILURE(make(*call)) << "call " << i;
        }
    }

    std::array<std::uint64_t, std::variant_size_v<Call>> accepted_{}, refused_{};

  private:
    struct Sent {
        Address sender;
        Call call;
    };
    struct Announced {
        std::size_t account = 0, unit = 0;
        bool conflict = false;
        Digest salt, id;
    };
    /// A unit that is announced, or was.
    const Digest& unit_of(const Announced& one) const {
        const ChainUnit& unit = units_[one.unit];
        return one.conflict ? unit.conflict_opening->finding.unit : unit.opening.unit;
    }
    std::uint64_t below(std::uint64_t n) { return rng_() % n; }

    /// An aggregate with what its two sides play.
    struct Aggregate {
        explicit Aggregate(std::uint64_t number, const crypto::Eip712Domain& domain)
            : sample(dispute::testing::kSamples[4], number, domain) {
            if (number % 2 == 0) sample.add_held();
            right = sample.rerun();
        }
        SampleOuter sample;
        std::unique_ptr<RerunOuter> right;
        std::unique_ptr<OuterLiar> liar;   ///< the asserter
        std::unique_ptr<OuterLiar> wrong;  ///< its challenger, if it is right
    };

    void post_aggregate() {
        auto aggregate = std::make_unique<Aggregate>(units_.size() + 1, chain_.domain());
        SampleOuter& sample = aggregate->sample;
        if (below(4) == 0) {  // the coordinator has put a delta of its own under the epoch
            sample.epoch[2] =
                sample.sign(sample.commitment(SampleOuter::kSlots[2], sample.included[1].root), 99);
            aggregate->right = sample.rerun();
        }
        aggregate->liar = std::make_unique<OuterLiar>(*aggregate->right);
        const std::uint64_t lie = below(7);
        if (lie == 0) aggregate->liar->lie_about_joint(below(4), sample.add_delta());
        if (lie == 1) {
            aggregate->liar->list = sample.included;
            aggregate->liar->list->back().root = sample.add_delta();
        }
        if (lie == 6) aggregate->liar->lie_about_weights();
        if (lie > 2 && lie < 6)
            aggregate->liar->lie_about(below(2) == 0 ? OuterTree::kBase : OuterTree::kMomentum,
                                       static_cast<std::uint32_t>(below(2)), below(64));
        if (lie == 2) {
            aggregate->wrong = std::make_unique<OuterLiar>(*aggregate->right);
            aggregate->wrong->lie_about(OuterTree::kBase, 0, 5);
        }
        if (lie == 5) aggregate->liar->values = Bytes(4 * sample.included.size(), 0x3C);
        units_.push_back(chain_.post_aggregate(static_cast<std::uint32_t>(below(kAsserters)),
                                               sample, *aggregate->liar, below(6) == 0, time_ + 1));
        aggregates_[units_.back().opening.unit] = std::move(aggregate);
        time_ += 6;
    }

    void post() {
        if (below(2) == 0) return post_aggregate();
        const std::size_t program = 0;
        const std::size_t variant = below(3) == 0 ? 0 : 1 + below(4);
        const std::size_t kind = UnitLibrary::train(program, variant);
        units_.push_back(chain_.post(static_cast<std::uint32_t>(below(kAsserters)),
                                     std::get<Facts>(library_.kind(kind).facts), below(6) == 0,
                                     time_ + 1));
        units_.back().kind = kind;
        time_ += 2;
    }

    void pass_time() {
        if (below(8) == 0) {
            chain_.skip(1 + below(below(8) == 0 ? 15 : 2));
            time_ = std::max(time_, chain_.now());
        }
        const std::uint64_t far = below(100);
        time_ += 1 + below(30);
        if (far == 0) time_ += terms().clock_s + 1;
        if (far == 1) time_ += terms().clock_s / 2;
        if (far == 2) time_ += terms().settling_s + 1;
    }

    void make(const Sent& sent) {
        TxContext tx;
        tx.sender = sent.sender;
        tx.time = time_;
        tx.base_fee = 1 + below(50);
        tx.gas_price = tx.base_fee + below(100);
        if (std::holds_alternative<sim::OpenCall>(sent.call) ||
            std::holds_alternative<sim::ConflictCall>(sent.call))
            tx.value = Amount(2 * tx.base_fee * terms().escrow_gas - below(8) / 7 + below(3));
        const auto mined = chain_.execute(tx, sent.call, units_);
        tx.block = mined.block;
        tx.gas = mined.gas;
        const Status status = sim::apply(simulator_, tx, sent.call);
        const char* name = kNames[sent.call.index()];
        ASSERT_EQ(status.ok(), mined.accepted)
            << name << ": " << (status.ok() ? "accepted" : status.error().message);
        ++(status.ok() ? accepted_ : refused_)[sent.call.index()];
        std::vector<Digest> ids;
        for (const Announced& one : announced_)
            ids.push_back(one.id);
        ASSERT_EQ(chain_.difference(simulator_, ids), "") << "after " << name;
        if (!status.ok()) return;
        std::vector<std::string> violations;
        index_.read(simulator_, violations);
        ASSERT_TRUE(violations.empty()) << violations.front();
        if (std::holds_alternative<sim::PlayCall>(sent.call)) played_.push_back(sent);
    }

    std::optional<Sent> choose() {
        const std::uint64_t what = below(26);
        if (what > 23) return compensate();
        if (what < 3) return announce();
        if (what < 6) return open();
        if (what < 16) return play();
        if (what == 16 && !announced_.empty())
            return Sent{account(), sim::ForfeitCall{some(announced_).id}};
        if (what == 17 && !announced_.empty()) {
            const Announced& one = some(announced_);
            return Sent{chain_.account(one.account), sim::ReclaimCall{unit_of(one), one.salt}};
        }
        if (what == 18) return Sent{account(), sim::SettleCall{some(units_).opening.unit}};
        if (what == 19) return Sent{account(), sim::WithdrawEtherCall{}};
        if (what == 20) return Sent{chain_.account(below(kAsserters)), sim::WithdrawCall{}};
        if (what == 21)
            return Sent{chain_.account(below(kAsserters)), sim::ThawCall{Amount(below(400))}};
        return end();
    }

    template <class T>
    const T& some(const std::vector<T>& of) {
        return of[below(of.size())];
    }
    const Address& account() { return chain_.account(below(ContractChain::kAccounts)); }

    std::optional<Sent> announce() {
        Announced one;
        one.account = kAsserters - 1 + below(ContractChain::kAccounts + 1 - kAsserters);
        // Mostly of a unit that is new.
        one.unit = below(4) == 0 ? below(units_.size()) : units_.size() - 1;
        one.conflict = units_[one.unit].conflict && below(8) == 0;
        one.salt.data[0] = static_cast<std::uint8_t>(below(3));
        one.id = simulator_.announcement_of(chain_.account(one.account), unit_of(one), one.salt);
        announced_.push_back(one);
        return Sent{chain_.account(one.account), sim::AnnounceCall{one.id}};
    }

    std::optional<Sent> open() {
        if (announced_.empty()) return std::nullopt;
        std::vector<Announced> waiting;
        for (const Announced& known : announced_)
            if (simulator_.is_announced(known.id)) waiting.push_back(known);
        if (waiting.empty() || below(8) == 0) waiting = announced_;
        const Announced one = below(4) == 0 ? some(waiting) : waiting.back();
        const Address& sender = below(16) == 0 ? account() : chain_.account(one.account);
        const ChainUnit& unit = units_[one.unit];
        if (one.conflict) return Sent{sender, sim::ConflictCall{*unit.conflict_opening, one.salt}};
        return Sent{sender, sim::OpenCall{unit.opening, one.salt}};
    }

    /// A game, mostly one that is open.
    std::optional<Digest> game() {
        std::vector<Digest> open, all;
        for (const auto& [id, state] : simulator_.games()) {
            all.push_back(id);
            if (is_open(state.status)) open.push_back(id);
        }
        if (all.empty() || (open.empty() && below(8) != 0)) return std::nullopt;
        return open.empty() || below(16) == 0 ? some(all) : some(open);
    }

    std::optional<Sent> end() {
        const auto id = game();
        if (!id) return std::nullopt;
        const GameState& state = *simulator_.game(*id);
        if (below(2) == 0) return Sent{account(), sim::TimeoutCall{*id}};
        return Sent{below(2) == 0 ? state.challenger : account(), sim::CloseCall{*id}};
    }

    /// Mostly for a game that was won.
    std::optional<Sent> compensate() {
        std::vector<Digest> won;
        for (const auto& [id, state] : simulator_.games())
            if (!simulator_.due_to(state.order).is_zero() || below(8) == 0) won.push_back(id);
        if (won.empty()) return std::nullopt;
        const Digest& id = some(won);
        return Sent{account(), sim::CompensateCall{id, simulator_.game(id)->order}};
    }

    std::optional<Sent> play() {
        const auto id = game();
        if (!id) return std::nullopt;
        const GameState& state = *simulator_.game(*id);
        const sim::TranscriptCache::Reached* place = index_.place(*id);
        if (place == nullptr || (below(12) == 0 && !played_.empty())) return replay(*id);
        const auto unit = std::ranges::find(units_, state.unit,
                                            [](const ChainUnit& one) { return one.opening.unit; });
        const bool challenges = place->transcript.at().answered;
        const std::uint64_t clock = challenges ? state.challenger_clock_s : state.asserter_clock_s;
        if (time_ > state.since_s + clock && below(2) == 0)
            return Sent{account(), sim::TimeoutCall{*id}};
        const auto planned = plan(*unit, *place);
        if (!planned.ok()) return Sent{account(), sim::TimeoutCall{*id}};
        Address mover = challenges ? state.challenger : unit->opening.asserter;
        if (below(16) == 0) mover = account();
        return Sent{mover, sim::PlayCall{std::make_shared<const SentMove>(
                               SentMove{*id, place->transcript.at(), **planned})}};
    }

    /// Whoever disputes a right unit takes a wrong one for right.
    UnitLibrary::Planned plan(const ChainUnit& unit, const sim::TranscriptCache::Reached& place) {
        const GameTranscript& transcript = place.transcript;
        const bool challenges = transcript.at().answered;
        if (!transcript.is_outer()) {
            const std::size_t right = UnitLibrary::right_of(unit.kind);
            const std::size_t own = unit.kind == right ? UnitLibrary::train(0, 1) : right;
            return challenges ? library_.challenge(own, unit.kind, place)
                              : library_.answer(unit.kind, place);
        }
        Aggregate& aggregate = *aggregates_.at(unit.opening.unit);
        OuterWork& other = aggregate.wrong ? static_cast<OuterWork&>(*aggregate.wrong)
                                           : static_cast<OuterWork&>(*aggregate.right);
        auto move =
            challenges ? plan_challenge(other, transcript) : aggregate.liar->player()(transcript);
        if (!move.ok()) return move.error();
        return std::make_shared<const Move>(std::move(move).value());
    }

    /// A move that was played before, perhaps in another game.
    std::optional<Sent> replay(const Digest& id) {
        if (played_.empty()) return std::nullopt;
        const Sent& before = some(played_);
        const SentMove& sent = *std::get<sim::PlayCall>(before.call).sent;
        return Sent{
            before.sender,
            sim::PlayCall{std::make_shared<const SentMove>(SentMove{id, sent.cursor, sent.move})}};
    }

    sim::Rng rng_;
    ContractChain chain_;
    DisputeSimulator simulator_;
    sim::GameIndex index_;
    UnitLibrary& library_ = UnitLibrary::shared();
    std::uint64_t time_;
    std::vector<ChainUnit> units_;
    std::map<Digest, std::unique_ptr<Aggregate>> aggregates_;  ///< by unit
    std::vector<Announced> announced_;
    std::vector<Sent> played_;
};

TEST(TableDifferential, SaysWhatTheContractsSay) {
    const std::uint64_t seed = gym::testing::random_seed();
    std::array<std::uint64_t, kNames.size()> accepted{}, refused{};
    for (std::uint64_t i = 0; i < gym::testing::test_scale(); ++i) {
        Script script(seed + i);
        script.run(kCalls);
        ASSERT_FALSE(HasFatalFailure()) << "repeat with GYM_TEST_SEED=" << seed + i;
        for (std::size_t k = 0; k < kNames.size(); ++k) {
            accepted[k] += script.accepted_[k];
            refused[k] += script.refused_[k];
        }
    }
    std::uint64_t all = 0;
    for (std::size_t k = 0; k < kNames.size(); ++k) {
        std::cout << kNames[k] << ": " << accepted[k] << " accepted, " << refused[k]
                  << " refused\n";
        all += accepted[k];
    }
    EXPECT_GT(all, kCalls * gym::testing::test_scale() / 5);
    // Most of the rest depends on it.
    for (const std::size_t k : {0, 1, 2}) {
        EXPECT_GT(accepted[k], 0U) << kNames[k];
        EXPECT_GT(refused[k], 0U) << kNames[k];
    }
}

}  // namespace
}  // namespace gym::game::testing
