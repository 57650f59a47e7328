// The fraud zoo: what a dishonest worker or challenger may try, each against the automatic player
// of the other side on a real chain. The worker's lie is caught and it loses its stake; or the
// challenger's is, and it loses its bond.

#include <algorithm>
#include <thread>

#include "fraud_fixture.hpp"
#include "gym/game/state.hpp"

namespace gym::testing {
namespace {

using dispute::testing::kSamples;
using dispute::testing::SampleUnit;
using game::testing::Liar;

TEST_F(FraudZoo, SkippedSteps) {
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

TEST_F(FraudZoo, StaleBase) {
    auto other = std::make_unique<SampleUnit>(kSamples[0]);
    other->base = engine::testing::initial_base(other->program, engine::testing::seed_of("stale"));
    other->spec.base_state_root = engine::state_root(other->base);
    run_instead(std::move(other));
    commit();
    expect_proven("proveElement");
}

TEST_F(FraudZoo, OtherData) {
    auto other = std::make_unique<SampleUnit>(kSamples[0]);
    other->dataset = engine::testing::counting_dataset(7000);
    other->spec.dataset_root = other->dataset.root();
    run_instead(std::move(other));
    commit();
    expect_proven("proveToken");
}

TEST_F(FraudZoo, WrongBatch) {
    // Another slot's windows of the right data.
    auto other = std::make_unique<SampleUnit>(kSamples[0]);
    other->spec.slot += 1;
    run_instead(std::move(other));
    commit();
    play_until([&] { return proven(); });
    EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kFaultProven);
    expect_slashed();
}

TEST_F(FraudZoo, LowerPrecision) {
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

TEST_F(FraudZoo, CopiedDelta) {
    // A right run, and another worker's delta.
    auto other = std::make_unique<SampleUnit>(kSamples[0]);
    other->spec.slot += 1;
    other_ = std::move(other);
    const auto others_run = game::testing::rerun(*other_);
    lie().whole_delta = *others_run->delta().value();
    commit();
    expect_proven("proveDelta");
}

TEST_F(FraudZoo, ScaledDelta) {
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

TEST_F(FraudZoo, GarbagePadding) {
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

TEST_F(FraudZoo, OtherDims) {
    // The right bytes as a tensor of another shape.
    dispute::TracedTensor reshaped = *worker_.run->delta().value();
    reshaped.shape.dims.push_back(1);
    lie().whole_delta = reshaped;
    commit();
    expect_lost_by_clock();
}

TEST_F(FraudZoo, ForgedFlops) {
    change_ = [](protocol::UnitCommitment& claim) { claim.flops += 1; };
    commit();
    expect_lost_by_opening(5);
}

TEST_F(FraudZoo, ForgedTokens) {
    change_ = [](protocol::UnitCommitment& claim) { claim.tokens *= 2; };
    commit();
    expect_lost_by_opening(4);
}

TEST_F(FraudZoo, ForgedSteps) {
    change_ = [](protocol::UnitCommitment& claim) { claim.steps -= 1; };
    commit();
    expect_lost_by_opening(3);
}

TEST_F(FraudZoo, StallingChallenger) {
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

TEST_F(FraudZoo, ManySybils) {
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
