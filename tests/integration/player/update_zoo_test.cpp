// The fraud zoo of updates: lies of a coordinator about what a round publishes and keeps, against
// the automatic player of the other side on a real chain. All others: tests/unit/game.

#include "outer_fixture.hpp"
#include "update_liars.hpp"

namespace gym::testing {
namespace {

using game::testing::UpdateLie;

class UpdateZoo : public OuterPlayTest {
  protected:
    explicit UpdateZoo(const dispute::testing::Sample& sample = dispute::testing::kUpdateSample)
        : OuterPlayTest(sample) {}

    void commit_to(const UpdateLie& lie) {
        lie.put_into(OuterPlayTest::lie(coordinator_));
        commit();
    }
    UpdateLie right() { return {*coordinator_.run, sample_}; }
    void expect_proven(const std::string& move) {
        play_until([&] { return proven(); });
        ASSERT_EQ(games().size(), 1U);
        EXPECT_EQ(games()[0].ended->status, game::GameStatus::kFaultProven);
        EXPECT_TRUE(verifier_.told("proved: " + move));
        const game::GameState state = contract().game_of(anvil_.client(), games()[0].id).value();
        // For docs/BENCHMARKS.md.
        RecordProperty("moves", static_cast<int>(state.moves));
        RecordProperty("gas", static_cast<int>(state.asserter_gas + state.challenger_gas));
        std::cout << move << ": " << state.moves << " moves, gas of the coordinator "
                  << state.asserter_gas << ", of the verifier " << state.challenger_gas << "\n";
    }
};

/// Rows, residuals and base fit one another, and not the deltas.
TEST_F(UpdateZoo, RowsOfAWrongStep) {
    UpdateLie lie = right();
    lie.publish([](std::uint32_t parameter, std::uint64_t element, float step) {
        return parameter == 1 && element == 3 ? step + 1.0F : step;
    });
    commit_to(lie);
    expect_proven("proveUpdate");
    EXPECT_EQ(games().at(0).fault->element, Amount(3));
}

TEST_F(UpdateZoo, ARowThatIsTooCoarse) {
    UpdateLie lie = right();
    lie.row(0, 0)[0] += 2;
    lie.follow(0);
    commit_to(lie);
    expect_proven("proveRow");
}

TEST_F(UpdateZoo, ResidualsThatAreDropped) {
    UpdateLie lie = right();
    for (Bytes& residual : lie.residual)
        std::ranges::fill(residual, std::uint8_t{0});
    commit_to(lie);
    expect_proven("proveUpdate");
}

TEST_F(UpdateZoo, ABaseThatMovesByMore) {
    UpdateLie lie = right();
    game::testing::put_float(lie.base[0], 2, 1.0F);
    commit_to(lie);
    expect_proven("proveUpdate");
    EXPECT_EQ(games().at(0).fault->element, Amount(2));
}

/// What it costs without an update.
class PlainUpdateZoo : public UpdateZoo {
  protected:
    PlainUpdateZoo() : UpdateZoo(dispute::testing::kSamples[5]) {}
};

/// In a tensor that has chunks, as updates have.
TEST_F(PlainUpdateZoo, ABaseThatMovesByMore) {
    const auto large = std::ranges::find_if(sample_.base.tensors, [](const auto& tensor) {
        return tensor.bytes.size() > commit::kChunkBytes;
    });
    ASSERT_NE(large, sample_.base.tensors.end());
    lie(coordinator_)
        .lie_about(OuterTree::kBase,
                   static_cast<std::uint32_t>(large - sample_.base.tensors.begin()), 9);
    commit();
    expect_proven("proveOuter");
}

}  // namespace
}  // namespace gym::testing
