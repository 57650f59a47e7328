#include <gtest/gtest.h>

#include <algorithm>

#include "gym/game/strategy.hpp"
#include "random_outer_challenger.hpp"
#include "random_seed.hpp"
#include "rules_common.hpp"
#include "update_liars.hpp"

// Whole games about aggregates with an update: lies about its rows, the residuals and the base.

namespace gym::game {
namespace {

using testing::must;
using testing::Outcome;
using testing::OuterLiar;
using testing::RandomOuterChallenger;
using testing::SampleOuter;
using testing::UpdateLie;

/// With held deltas or without.
class UpdateGames : public ::testing::TestWithParam<bool> {
  protected:
    static SampleOuter sample_of(bool held) {
        SampleOuter sample(dispute::testing::kUpdateSample);
        if (held) sample.add_held();
        return sample;
    }
    Outcome play(OuterLiar& liar) {
        return testing::play(testing::transcript_of(sample_.facts(liar)), liar.player(),
                             testing::challenger_of(*honest_), &sample_.domain);
    }
    Outcome play(const UpdateLie& lie) {
        OuterLiar liar(*asserter_);
        lie.put_into(liar);
        return play(liar);
    }
    /// A lie that ends in `proof`, whose finding is about what was put there.
    Outcome expect(const UpdateLie& lie, const char* proof) {
        const Outcome outcome = play(lie);
        EXPECT_EQ(outcome.end, Outcome::End::kProof) << outcome.moves << outcome.reason.message;
        EXPECT_EQ(name_of(outcome.last), proof) << outcome.moves;
        return outcome;
    }
    Outcome expect_residual(const UpdateLie& lie, std::uint32_t parameter, std::uint64_t element) {
        const Outcome outcome = expect(lie, "proveUpdate");
        EXPECT_NE(outcome.moves.find("postColumn"), std::string::npos) << outcome.moves;
        EXPECT_EQ(outcome.finding.element, element);
        std::uint32_t claimed = 0, right = 0;
        std::memcpy(&claimed, lie.residual[parameter].data() + 4 * element, 4);
        EXPECT_EQ(outcome.finding.claimed, rules::word_of(claimed));
        const UpdateLie honest(*honest_, sample_);
        if (lie.update == honest.update) {
            std::memcpy(&right, honest.residual[parameter].data() + 4 * element, 4);
            EXPECT_EQ(outcome.finding.computed, rules::word_of(right));
        }
        return outcome;
    }
    Outcome challenge(OuterWork& own) {
        return testing::play(testing::transcript_of(sample_.facts(*asserter_)),
                             testing::asserter_of(*asserter_), testing::challenger_of(own),
                             &sample_.domain);
    }
    [[nodiscard]] UpdateLie right() { return {*asserter_, sample_}; }
    /// A parameter, and an element of it that has a level in the right update.
    std::pair<std::uint32_t, std::uint64_t> some_level(UpdateLie& lie) {
        for (;;) {
            const auto parameter = static_cast<std::uint32_t>(rng_() % lie.parameters());
            const std::uint64_t element = rng_() % lie.elements(parameter);
            if (lie.change(parameter, element) != 0) return {parameter, element};
        }
    }

    SampleOuter sample_ = sample_of(GetParam());
    std::unique_ptr<RerunOuter> honest_ = sample_.rerun(), asserter_ = sample_.rerun();
    std::mt19937_64 rng_{gym::testing::random_seed()};
};
INSTANTIATE_TEST_SUITE_P(Deltas, UpdateGames, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "held" : "timely"; });

constexpr const char* kToChunk = "pickOuterTensor ";

/// All elements are twice what they should be, and so is what they make with the right residuals:
/// the row fits these, and they do not fit the step.
TEST_P(UpdateGames, AWrongRowScaleIsFound) {
    UpdateLie lie = right();
    const auto [parameter, element] = some_level(lie);
    ++lie.row(parameter, element / 64)[0];
    const Outcome outcome = expect(lie, "proveUpdate");
    EXPECT_NE(outcome.moves.find("pickRow postRow pickElement postColumn proveUpdate"),
              std::string::npos)
        << outcome.moves;
    EXPECT_EQ(outcome.finding.element / 64, element / 64);
    // Where residuals and base are made to fit, the row does not.
    lie.follow(parameter);
    const Outcome fits = expect(lie, "proveRow");
    EXPECT_NE(fits.moves.find("pickRow postRow proveRow"), std::string::npos) << fits.moves;
}

/// Every level is rounded as if the scale were right, and residuals and base fit the row.
TEST_P(UpdateGames, AScaleThatIsTooLargeIsFoundWhereTheResidualsFit) {
    UpdateLie lie = right();
    const auto [parameter, element] = some_level(lie);
    const std::uint64_t row = element / 64;
    const auto bytes = lie.row(parameter, row);
    std::array<std::uint8_t, 32> halves{};
    for (std::size_t i = 0; i < 64; ++i) {
        const std::int32_t level =
            kernels::row_level_at(bytes.data(), static_cast<std::int32_t>(i)) / 2;
        halves[i / 2] |= static_cast<std::uint8_t>((level & 15) << (4 * (i % 2)));
    }
    std::copy(halves.begin(), halves.end(), bytes.begin() + 1);
    ++bytes[0];
    lie.follow(parameter);
    const Outcome outcome = expect(lie, "proveRow");
    EXPECT_EQ(outcome.finding.element, 0U) << "the scale is too large for what its elements make";
}

TEST_P(UpdateGames, AWrongLevelIsFound) {
    for (const bool fits : {false, true}) {
        UpdateLie lie = right();
        const auto [parameter, element] = some_level(lie);
        lie.row(parameter, element / 64)[1 + element % 64 / 2] ^= element % 2 == 0 ? 0x03 : 0x30;
        if (fits) lie.follow(parameter);
        const Outcome outcome = play(lie);
        EXPECT_EQ(outcome.end, Outcome::End::kProof) << outcome.moves << outcome.reason.message;
        EXPECT_NE(outcome.moves.find("pickRow postRow"), std::string::npos) << outcome.moves;
        if (fits) {
            EXPECT_EQ(name_of(outcome.last), "proveRow") << outcome.moves;
        }
    }
}

TEST_P(UpdateGames, AResidualThatIsTooLargeIsFound) {
    UpdateLie lie = right();
    const auto [parameter, element] = some_level(lie);
    const float kept = testing::float_at(lie.residual[parameter], element);
    testing::put_float(lie.residual[parameter], element, kept + 1.0F);
    expect_residual(lie, parameter, element);
}

TEST_P(UpdateGames, DroppedResidualsAreFound) {
    UpdateLie lie = right();
    for (Bytes& residual : lie.residual)
        std::ranges::fill(residual, std::uint8_t{0});
    const Outcome outcome = expect(lie, "proveUpdate");
    EXPECT_NE(outcome.moves.find("postColumn"), std::string::npos) << outcome.moves;
    EXPECT_EQ(outcome.finding.claimed, Digest{});
}

/// The base moves by all that the step made, not by what the update says.
TEST_P(UpdateGames, ABaseThatIsNotTheOneBeforeAndTheUpdateIsFound) {
    const UpdateLie honest = right();
    for (std::uint32_t parameter = 0; parameter < honest.parameters(); ++parameter) {
        UpdateLie lie = honest;
        const std::uint64_t element = rng_() % lie.elements(parameter);
        const float moved = testing::float_at(lie.base[parameter], element);
        testing::put_float(lie.base[parameter], element, moved + 1.0F);
        const Outcome outcome = expect(lie, "proveUpdate");
        EXPECT_EQ(outcome.moves.find("postColumn"), std::string::npos) << outcome.moves;
        EXPECT_EQ(outcome.finding.element, element);
        std::uint32_t bits = 0;
        std::memcpy(&bits, honest.base[parameter].data() + 4 * element, 4);
        EXPECT_EQ(outcome.finding.computed, rules::word_of(bits));
        // As well the last element of a tensor, which does not fill its last row.
        lie = honest;
        testing::put_float(lie.base[parameter], lie.elements(parameter) - 1, 7.0F);
        expect(lie, "proveUpdate");
    }
}

/// Rows, and what moves the base, of an aggregate of other deltas.
TEST_P(UpdateGames, AnUpdateOfAnotherRoundIsFound) {
    std::vector<OuterDelta> others{
        {SampleOuter::kSlots[1], sample_.epoch[1].commitment.delta_root}};
    const auto work = sample_.rerun();
    (void)must(work->run(others));
    const auto& tensor =
        *must(work->tensor(OuterTree::kMomentum, 2 * work->trace().header.parameters));
    UpdateLie lie = right();
    lie.update.assign(tensor.bytes().begin(), tensor.bytes().end());
    const Outcome outcome = play(lie);
    EXPECT_EQ(outcome.end, Outcome::End::kProof) << outcome.moves << outcome.reason.message;
    EXPECT_NE(outcome.moves.find("pickRow postRow"), std::string::npos) << outcome.moves;
    for (std::uint32_t i = 0; i < lie.parameters(); ++i)
        lie.follow(i);
    expect(lie, "proveRow");
    // That of the round before.
    UpdateLie before = right();
    before.update = sample_.momentum.tensors.back().bytes;
    expect(before, "proveRow");
}

/// All fits but the step itself.
TEST_P(UpdateGames, RowsAndResidualsOfAWrongStepAreFound) {
    UpdateLie lie = right();
    const auto [parameter, element] = some_level(lie);
    lie.publish([&, p = parameter, e = element](std::uint32_t in, std::uint64_t at, float step) {
        return in == p && at == e ? -3.0F * step : step;
    });
    const Outcome outcome = expect_residual(lie, parameter, element);
    EXPECT_NE(outcome.moves.find("pickRow postRow pickElement postColumn proveUpdate"),
              std::string::npos)
        << outcome.moves;
    // Everywhere.
    lie = right();
    lie.publish([](std::uint32_t, std::uint64_t, float step) { return step + 0.125F; });
    expect(lie, "proveUpdate");
}

/// The row says too little, and the residual as much more: together they make the step.
TEST_P(UpdateGames, WhatARowLeavesOutIsFoundAlthoughTheSumIsRight) {
    UpdateLie lie = right();
    const auto [parameter, element] = some_level(lie);
    std::ranges::fill(lie.row(parameter, element / 64), std::uint8_t{0});
    lie.follow(parameter);
    EXPECT_EQ(expect(lie, "proveRow").finding.claimed, Digest{});
}

TEST_P(UpdateGames, BytesThatNoRowHasAreFound) {
    const UpdateLie honest = right();
    std::vector<std::uint64_t> bytes{0, 7, 8, 11, 12, 15, 16, 32};
    for (std::uint64_t end = 1023; end < honest.update.size(); end += 1024)
        bytes.push_back(end);
    for (const std::uint64_t byte : bytes) {
        UpdateLie lie = honest;
        lie.update[byte] ^= 0x10;
        const Outcome outcome = expect(lie, "proveUpdate");
        EXPECT_EQ(outcome.finding.element, byte) << outcome.moves;
        EXPECT_EQ(outcome.moves.find("pickRow"), std::string::npos) << outcome.moves;
    }
}

/// Levels behind the last element of a parameter.
TEST_P(UpdateGames, LevelsWithoutAnElementAreFound) {
    UpdateLie lie = right();
    std::uint32_t parameter = 0;
    while (lie.elements(parameter) % 64 == 0)
        ++parameter;
    lie.row(parameter, lie.rows(parameter) - 1)[32] ^= 0x20;
    EXPECT_EQ(expect(lie, "proveRow").finding.element, 32U);
}

TEST_P(UpdateGames, AWrongMomentumIsFoundAsBefore) {
    UpdateLie lie = right();
    const auto parameter = static_cast<std::uint32_t>(rng_() % lie.parameters());
    testing::put_float(lie.momentum[parameter], lie.elements(parameter) - 1, 5.0F);
    const Outcome outcome = expect(lie, "proveOuter");
    EXPECT_EQ(outcome.finding.element, lie.elements(parameter) - 1);
}

TEST_P(UpdateGames, AWrongColumnUnderAResidualIsFound) {
    UpdateLie lie = right();
    const auto [parameter, element] = some_level(lie);
    testing::put_float(lie.residual[parameter], element, 1.5F);
    OuterLiar liar(*asserter_);
    lie.put_into(liar);
    liar.values = must(asserter_->column(parameter, element));
    liar.values->at(5) ^= 0x41;
    const Outcome outcome = play(liar);
    EXPECT_EQ(name_of(outcome.last), "proveColumn") << outcome.moves << outcome.reason.message;
    EXPECT_EQ(outcome.finding.element, 1U);
}

/// Residuals that are not under the outer state cannot be posted.
TEST_P(UpdateGames, ResidualsThatWereNotCommittedToCannotBePosted) {
    UpdateLie lie = right();
    const auto [parameter, element] = some_level(lie);
    lie.row(parameter, element / 64)[0] ^= 0x80;
    OuterLiar liar(*asserter_);
    lie.put_into(liar);
    const auto number = static_cast<std::uint32_t>(lie.parameters() + parameter);
    liar.tensors.insert_or_assign(
        {OuterTree::kMomentum, number},
        testing::changed(*must(asserter_->tensor(OuterTree::kMomentum, number)), 4 * element, 4));
    const Outcome outcome = play(liar);
    EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent) << outcome.moves;
    EXPECT_TRUE(outcome.moves.ends_with("pickRow ")) << outcome.moves;
}

TEST_P(UpdateGames, AnotherTensorUnderTheRecordsStateIsFound) {
    const std::size_t count = 3 * std::size_t{honest_->trace().header.parameters} + 1;
    for (std::size_t leaf = 0; leaf < count; ++leaf) {
        OuterLiar liar(*asserter_);
        liar.lie_about_joint(leaf, engine::testing::seed_of("another tensor"));
        const Outcome outcome = play(liar);
        ASSERT_EQ(name_of(outcome.last), "proveOuterSlot")
            << outcome.moves << outcome.reason.message;
        EXPECT_EQ(outcome.finding.element, leaf);
    }
}

/// No lie anywhere satisfies all that a game can check.
TEST_P(UpdateGames, AnyLieIsFound) {
    const UpdateLie honest = right();
    const std::size_t lies = 60 * gym::testing::test_scale();
    std::map<std::string, std::size_t> ends;
    for (std::size_t i = 0; i < lies; ++i) {
        UpdateLie lie = honest;
        const auto parameter = static_cast<std::uint32_t>(rng_() % lie.parameters());
        const std::uint64_t row = rng_() % lie.rows(parameter);
        const std::uint64_t changes = 1 + rng_() % 4;
        for (std::uint64_t k = 0; k < changes; ++k) {
            const std::uint64_t element =
                std::min(64 * row + rng_() % 64, lie.elements(parameter) - 1);
            switch (rng_() % 5) {
                case 0:
                    lie.row(parameter, row)[rng_() % 33] ^=
                        static_cast<std::uint8_t>(1U << (rng_() % 8));
                    break;
                case 1:
                    lie.residual[parameter][4 * element + rng_() % 4] ^= 1U << (rng_() % 8);
                    break;
                case 2:
                    lie.base[parameter][4 * element + rng_() % 4] ^= 1U << (rng_() % 8);
                    break;
                case 3:
                    lie.momentum[parameter][4 * element + rng_() % 4] ^= 1U << (rng_() % 8);
                    break;
                default:
                    lie.publish([&](std::uint32_t in, std::uint64_t at, float step) {
                        return in == parameter && at == element ? 1.01F * step : step;
                    });
            }
            if (rng_() % 3 == 0) lie.follow(parameter);
        }
        OuterLiar liar(*asserter_);
        lie.put_into(liar);
        const bool is_right = sample_.facts(liar) == sample_.facts(*asserter_);
        const Outcome outcome = play(liar);
        ASSERT_EQ(outcome.end, is_right ? Outcome::End::kChallengerSilent : Outcome::End::kProof)
            << outcome.moves << outcome.reason.message;
        if (!is_right) ++ends[std::string(name_of(outcome.last))];
    }
    for (const char* proof : {"proveRow", "proveUpdate", "proveOuter"})
        EXPECT_GT(ends[proof], 0U) << proof;
}

TEST_P(UpdateGames, AgainstARightAggregateThereIsNoMove) {
    const Outcome outcome = challenge(*honest_);
    EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent);
    EXPECT_EQ(outcome.reason.code, ErrorCode::kConflict) << outcome.reason.message;
    EXPECT_EQ(outcome.moves, "declareOuter ");
}

/// A challenger whose data is wrong anywhere.
TEST_P(UpdateGames, AChallengerThatIsWrongHasNoProof) {
    (void)must(honest_->run(sample_.included));
    const std::uint32_t parameters = honest_->trace().header.parameters;
    for (std::uint32_t number = 0; number <= 2 * parameters; ++number) {
        OuterLiar wrong(*honest_);
        const std::uint64_t size =
            must(honest_->tensor(OuterTree::kMomentum, number))->bytes().size();
        wrong.lie_about(OuterTree::kMomentum, number, rng_() % size);
        const Outcome outcome = challenge(wrong);
        EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent) << outcome.moves;
        EXPECT_EQ(outcome.reason.code, ErrorCode::kConflict) << outcome.reason.message;
        EXPECT_NE(outcome.moves.find(kToChunk), std::string::npos) << outcome.moves;
    }
    for (std::uint32_t number = 0; number < parameters; ++number) {
        OuterLiar wrong(*honest_);
        wrong.lie_about(OuterTree::kBase, number, 1);
        const Outcome outcome = challenge(wrong);
        EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent) << outcome.moves;
        EXPECT_EQ(outcome.reason.code, ErrorCode::kConflict) << outcome.reason.message;
    }
}

TEST_P(UpdateGames, NoStrategyWinsAgainstAnHonestAsserter) {
    RandomOuterChallenger challenger(*honest_, rng_);
    const OuterFacts facts = sample_.facts(*asserter_);
    // Some proofs are rare: few games may not have all.
    std::map<std::string, std::size_t> refused{{"proveOuterSlot", 0},
                                               {"proveColumn", 0},
                                               {"proveOuter", 0},
                                               {"proveRow", 0},
                                               {"proveUpdate", 0}};
    const auto all_were = [&] {
        return std::ranges::all_of(refused, [](const auto& proof) { return proof.second > 0; });
    };
    const std::size_t games = 150 * gym::testing::test_scale();
    for (std::size_t game = 0; game < games || (!all_were() && game < 10 * games); ++game) {
        GameTranscript transcript = testing::transcript_of(facts);
        for (std::size_t moves = 0; moves < testing::kMovesMax; ++moves) {
            const bool challenges = transcript.at().answered;
            const auto move = challenges ? Result<Move>(challenger.choose(transcript))
                                         : plan_answer(*asserter_, transcript);
            ASSERT_TRUE(move.ok()) << move.error().message;
            if (is_proof(*move)) {
                const auto ruling = decide(transcript.at(), *move, &sample_.domain);
                ASSERT_FALSE(ruling.ok()) << name_of(*move) << " against an honest asserter";
                EXPECT_EQ(ruling.error().code, ErrorCode::kConflict) << ruling.error().message;
                // Of a column of the base there is no proof at all.
                if (name_of(*move) != "proveOuter") {
                    EXPECT_EQ(ruling.error().message, "there is no fault") << name_of(*move);
                }
                ++refused[std::string(name_of(*move))];
                break;
            }
            const Status played = transcript.play(*move);
            ASSERT_TRUE(played.ok()) << name_of(*move) << ": " << played.error().message;
        }
    }
    for (const auto& [name, times] : refused)
        EXPECT_GT(times, 0U) << name;
}

/// The rows that satisfy both the check of a row and that of every residual are the step's alone.
TEST(UpdateRows, HaveOneSolution) {
    const kernels::ExactFloatEnvironment environment;
    std::mt19937_64 rng(gym::testing::random_seed());
    constexpr std::array<float, 64> kZeros{};
    using Row = std::array<std::uint8_t, 33>;
    const auto encoded = [&](const std::array<float, 64>& x) {
        Row row{};
        kernels::encode_dense_row(kernels::Isa::kScalar, x.data(), kZeros.data(), 64, row.data());
        return row;
    };
    // What the row and the residuals that it leaves make together.
    const auto again = [&](const std::array<float, 64>& steps, const Row& row) {
        std::array<float, 64> sums{};
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const float change = kernels::row_value(
                kernels::row_level_at(row.data(), static_cast<std::int32_t>(i)), row[0]);
            sums[i] = kernels::f32::add(change, kernels::f32::sub(steps[i], change));
        }
        return encoded(sums);
    };
    constexpr std::uint32_t kStrange[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x80000000,
                                          0x00000001, 0x7F7FFFFF, 0xFF7FFFFF, 0x00400000,
                                          0x00400001, 0x00C00000};
    for (std::size_t game = 0; game < gym::testing::test_count(20'000); ++game) {
        std::array<float, 64> steps{};
        // Of one exponent, or all over; at half steps, or next to them; some are no numbers.
        const std::uint32_t exponent = rng() % 255, spread = 1 + rng() % 12;
        for (float& step : steps) {
            std::uint32_t bits = static_cast<std::uint32_t>(rng()) & 0x807FFFFF;
            bits |= std::min<std::uint32_t>(254, exponent + rng() % spread) << 23;
            if (rng() % 3 == 0)
                bits = (bits & 0xFFF00000) + static_cast<std::uint32_t>(rng() % 3) - 1;
            if (rng() % 40 == 0) bits = kStrange[rng() % std::size(kStrange)];
            if (rng() % 8 == 0) bits &= 0x80000000;
            step = kernels::f32::from_bits(bits);
            if (step != step) step = kernels::f32::from_bits(0x7FC00000);
        }
        const Row right = encoded(steps);
        ASSERT_EQ(again(steps, right), right) << "the step's own row is one";
        Row other = right;
        switch (rng() % 4) {
            case 0:  // a level
                other[1 + rng() % 32] ^= static_cast<std::uint8_t>(1U << (rng() % 8));
                break;
            case 1: {  // the row of nearly the same
                std::array<float, 64> near = steps;
                for (float& step : near)
                    if (rng() % 4 == 0)
                        step = kernels::f32::from_bits(kernels::f32::to_bits(step) +
                                                       static_cast<std::uint32_t>(rng() % 5) - 2);
                other = encoded(near);
                break;
            }
            case 2: {  // twice as coarse, or as fine
                std::array<float, 64> scaled = steps;
                const std::size_t at = rng() % 64;
                scaled[at] = kernels::f32::mul(scaled[at], rng() % 2 == 0 ? 2.0F : 0.5F);
                other = encoded(scaled);
                break;
            }
            default:  // any bytes
                for (std::uint8_t& byte : other)
                    byte = static_cast<std::uint8_t>(rng());
        }
        if (other == right) continue;
        ASSERT_NE(again(steps, other), other) << "another row with residuals that fit it";
    }
}

}  // namespace
}  // namespace gym::game
