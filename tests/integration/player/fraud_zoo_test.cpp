// The fraud zoo: what a dishonest worker or challenger may try, each against the automatic player
// of the other side on a real chain. The worker's lie is caught and it loses its stake; or the
// challenger's is, and it loses its bond.

#include <algorithm>
#include <thread>

#include "gym/game/state.hpp"
#include "liars.hpp"
#include "play_fixture.hpp"

namespace gym::testing {
namespace {

using dispute::testing::kSamples;
using dispute::testing::SampleUnit;
using game::testing::Liar;

class FraudZoo : public PlayTest {
  protected:
    /// The worker runs another unit, and claims that it was this one.
    void run_instead(std::unique_ptr<SampleUnit> other) {
        other_ = std::move(other);
        worker_.lie = game::testing::rerun(*other_);
    }
    Liar& lie() {
        auto liar = std::make_unique<Liar>(*worker_.run);
        Liar& out = *liar;
        worker_.lie = std::move(liar);
        return out;
    }

    /// The fault is proven by a move, not by the clock.
    void expect_proven(const std::string& move) {
        play_until([&] { return proven(); });
        const auto played = games();
        ASSERT_EQ(played.size(), 1U);
        ASSERT_TRUE(played[0].ended);
        EXPECT_EQ(played[0].ended->status, game::GameStatus::kFaultProven);
        ASSERT_TRUE(played[0].fault);
        EXPECT_NE(played[0].fault->claimed, played[0].fault->computed);
        EXPECT_TRUE(std::ranges::any_of(verifier_.events, [&](const std::string& event) {
            return event.starts_with("proved: " + move);
        }));
        expect_slashed();
    }
    void expect_lost_by_opening(std::uint64_t field) {
        play_until([&] { return proven(); });
        const auto played = games();
        ASSERT_EQ(played.size(), 1U);
        ASSERT_TRUE(played[0].fault);
        EXPECT_EQ(played[0].fault->element, Amount(field));
        expect_slashed();
    }
    /// It has no legal answer, so its clock decides.
    void expect_lost_by_clock() {
        play_until(
            [&] { return !worker_.events.empty() && worker_.events.back().starts_with("stuck"); });
        pass(contract().terms(anvil_.client()).value().clock_s + 1);
        play_until([&] { return proven(); });
        EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kFaultByClock);
        expect_slashed();
    }
    void expect_slashed() {
        pass(contract().terms(anvil_.client()).value().settling_s + 1);
        play_until([&] { return on_chain().settled; });
        EXPECT_TRUE(stake_of_worker().is_zero());
    }

    std::unique_ptr<SampleUnit> other_;
};

TEST_F(FraudZoo, skipped_steps) {
    // Two steps are run; the records of the others are made up from them.
    Liar& liar = lie();
    auto& unit = liar.lie_about_unit();
    for (std::uint32_t step = 2; step < unit_.spec.steps; ++step) {
        unit.state_roots[step] = unit.state_roots[1];
        unit.records[step] = unit.records[step - 2];
        unit.records[step].step = step;
        if (unit.records[step].state_root) unit.records[step].state_root = unit.state_roots[1];
        liar.lie_about(step).record = unit.records[step];
    }
    commit();
    expect_proven("proveRecord");
}

TEST_F(FraudZoo, stale_base) {
    auto other = std::make_unique<SampleUnit>(kSamples[0]);
    other->base = engine::testing::initial_base(other->program, engine::testing::seed_of("stale"));
    other->spec.base_state_root = engine::state_root(other->base);
    run_instead(std::move(other));
    commit();
    expect_proven("proveElement");
}

TEST_F(FraudZoo, other_data) {
    auto other = std::make_unique<SampleUnit>(kSamples[0]);
    other->dataset = engine::testing::counting_dataset(7000);
    other->spec.dataset_root = other->dataset.root();
    run_instead(std::move(other));
    commit();
    expect_proven("proveToken");
}

TEST_F(FraudZoo, wrong_batch) {
    // Another slot's windows of the right data.
    auto other = std::make_unique<SampleUnit>(kSamples[0]);
    other->spec.slot += 1;
    run_instead(std::move(other));
    commit();
    play_until([&] { return proven(); });
    EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kFaultProven);
    expect_slashed();
}

TEST_F(FraudZoo, lower_precision) {
    // Every op's result is cut to 16 bits, as a worker would who trains in bfloat16.
    const auto cut = [](std::uint64_t, std::uint32_t, std::span<std::uint8_t> bytes) {
        for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4)
            bytes[i] = bytes[i + 1] = 0;
    };
    worker_.lie = std::make_unique<game::testing::HookedWork>(
        *worker_.run, [cut] { return engine::FaultHook(cut); });
    commit();
    expect_proven("proveElement");
}

TEST_F(FraudZoo, copied_delta) {
    // A right run, and another worker's delta.
    auto other = std::make_unique<SampleUnit>(kSamples[0]);
    other->spec.slot += 1;
    other_ = std::move(other);
    const auto others_run = game::testing::rerun(*other_);
    lie().whole_delta = *others_run->delta().value();
    commit();
    expect_proven("proveDelta");
}

TEST_F(FraudZoo, scaled_delta) {
    const dispute::TracedTensor& honest = *worker_.run->delta().value();
    Bytes bytes(honest.bytes().begin(), honest.bytes().end());
    for (std::size_t i = 16; i + 4 <= bytes.size(); i += 4)  // behind the head
        if ((bytes[i + 3] & 0x7F) != 0) ++bytes[i + 3];      // the exponent: four times as much
    auto memory = dispute::TensorMemory::copy(bytes, {}).value();
    lie().whole_delta = {honest.shape,
                         std::make_shared<const dispute::TensorMemory>(std::move(memory)),
                         commit::chunk_leaves(bytes)};
    commit();
    expect_proven("proveDelta");
}

TEST_F(FraudZoo, garbage_padding) {
    // The delta's last chunk has bytes behind its end: such a root cannot be opened.
    const dispute::TracedTensor& honest = *worker_.run->delta().value();
    dispute::TracedTensor padded = honest;
    Bytes last(honest.chunk(honest.chunk_leaves.size() - 1).begin(),
               honest.chunk(honest.chunk_leaves.size() - 1).end());
    last.resize(commit::kChunkBytes, 0xAA);
    padded.chunk_leaves.back() = commit::chunk_leaves(last).at(0);
    lie().whole_delta = padded;
    commit();
    expect_lost_by_clock();
}

TEST_F(FraudZoo, other_dims) {
    // The right bytes as a tensor of another shape.
    dispute::TracedTensor reshaped = *worker_.run->delta().value();
    reshaped.shape.dims.push_back(1);
    lie().whole_delta = reshaped;
    commit();
    expect_lost_by_clock();
}

TEST_F(FraudZoo, forged_flops) {
    change_ = [](protocol::UnitCommitment& claim) { claim.flops += 1; };
    commit();
    expect_lost_by_opening(5);
}

TEST_F(FraudZoo, forged_tokens) {
    change_ = [](protocol::UnitCommitment& claim) { claim.tokens *= 2; };
    commit();
    expect_lost_by_opening(4);
}

TEST_F(FraudZoo, forged_steps) {
    change_ = [](protocol::UnitCommitment& claim) { claim.steps -= 1; };
    commit();
    expect_lost_by_opening(3);
}

TEST_F(FraudZoo, stalling_challenger) {
    commit();
    play_until([&] {
        const auto played = games();
        return !played.empty() && played[0].transcript && played[0].transcript->at().answered;
    });
    const Amount before = balance(worker_);
    pass(contract().terms(anvil_.client()).value().clock_s + 1);
    play_until([&] { return games().at(0).ended.has_value(); }, true, false);
    EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kUpheld);
    EXPECT_GT(balance(worker_), before) << "half of the bond";
    EXPECT_EQ(stake_of_worker(), tokens("500"));
}

TEST_F(FraudZoo, many_sybils) {
    // Three challengers with the same wrong run. What is answered in one game is not asked in
    // another one that comes there later.
    std::vector<std::unique_ptr<Side>> sybils;
    for (std::uint32_t i = 0; i < 3; ++i) {
        sybils.push_back(std::make_unique<Side>());
        enter(*sybils.back(), "sybil" + std::to_string(i), 10 + i);
        break_device(*sybils.back(), {.step = 1, .op = 3, .output = 0, .bit = 30});
    }
    commit();
    for (const auto& sybil : sybils)
        save_claim(*sybil, player::Role::kChallenge);
    const auto stuck = [](const std::unique_ptr<Side>& side) {
        return !side->events.empty() && side->events.back().starts_with("stuck");
    };
    play_until(
        [&] {
            for (const auto& sybil : sybils)
                tick(*sybil);
            return std::ranges::all_of(sybils, stuck);
        },
        true, false);
    pass(contract().terms(anvil_.client()).value().clock_s + 1);
    play_until(
        [&] {
            return std::ranges::all_of(games(),
                                       [](const auto& game) { return game.ended.has_value(); });
        },
        true, false);
    for (const auto& game : games())
        EXPECT_EQ(game.ended->status, game::GameStatus::kUpheld);
    EXPECT_EQ(games().size(), 3U);
    EXPECT_EQ(stake_of_worker(), tokens("500"));
}

}  // namespace
}  // namespace gym::testing
