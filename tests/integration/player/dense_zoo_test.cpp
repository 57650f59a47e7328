// The fraud zoo of deltas of codec 1: each lie about a row, by a worker or by a coordinator,
// against the automatic player of the other side on a real chain.

#include "fraud_fixture.hpp"
#include "gym/codec/row_layout.hpp"
#include "outer_fixture.hpp"

namespace gym::testing {
namespace {

using dispute::testing::SampleUnit;

const dispute::testing::Sample& dense() {
    return dispute::testing::kSamples[5];
}

class DenseZoo : public FraudZoo {
  protected:
    DenseZoo() : FraudZoo(dense()) {}

    [[nodiscard]] Bytes right_delta() const {
        const ByteView bytes = worker_.run->delta().value()->bytes();
        return {bytes.begin(), bytes.end()};
    }
    void commit_to(const Bytes& delta) {
        auto memory = dispute::TensorMemory::copy(delta, {}).value();
        lie().whole_delta = {worker_.run->delta().value()->shape,
                             std::make_shared<const dispute::TensorMemory>(std::move(memory)),
                             commit::chunk_leaves(delta)};
        commit();
    }
    void expect_wrong_byte(std::uint64_t byte) {
        expect_proven("proveDelta");
        EXPECT_EQ(games().at(0).fault->element, Amount(byte));
    }
    /// The byte of the first level in row 1 that is not 0.
    [[nodiscard]] std::size_t level_in(const Bytes& delta) const {
        std::size_t at = codec::row_begin(1) + 1;
        while (delta[at] == 0)
            ++at;
        return at;
    }
};

TEST_F(DenseZoo, ALevelThatIsRoundedAway) {
    Bytes delta = right_delta();
    const std::size_t at = level_in(delta);
    delta[at] = 0;
    commit_to(delta);
    expect_wrong_byte(at);
}

TEST_F(DenseZoo, AScaleThatDoublesARow) {
    Bytes delta = right_delta();
    ++delta[codec::row_begin(2)];
    commit_to(delta);
    expect_wrong_byte(codec::row_begin(2));
}

TEST_F(DenseZoo, ALevelThatNoEncoderWrites) {
    Bytes delta = right_delta();
    const std::size_t at = level_in(delta);
    delta[at] = 0x88;
    commit_to(delta);
    expect_wrong_byte(at);
}

TEST_F(DenseZoo, ARowOfZerosThatKeepsItsScale) {
    Bytes delta = right_delta();
    const std::size_t row = codec::row_begin(1);
    std::fill_n(delta.begin() + static_cast<std::ptrdiff_t>(row) + 1, 32, std::uint8_t{0});
    commit_to(delta);
    expect_proven("proveDelta");
}

TEST_F(DenseZoo, BytesBesideTheRows) {
    Bytes delta = right_delta();
    delta[commit::kChunkBytes - 1] = 1;
    commit_to(delta);
    expect_wrong_byte(commit::kChunkBytes - 1);
}

TEST_F(DenseZoo, ALevelBehindTheLastElement) {
    Bytes delta = right_delta();
    const std::size_t last = delta.size() - 1;
    ASSERT_EQ(delta[last], 0) << "the last tensor does not fill its row";
    delta[last] = 0x10;
    commit_to(delta);
    expect_wrong_byte(last);
}

TEST_F(DenseZoo, AHeadOfAnotherCodec) {
    Bytes delta = right_delta();
    delta[11] = 0;
    commit_to(delta);
    expect_wrong_byte(11);
}

TEST_F(DenseZoo, ACopiedDelta) {
    auto other = std::make_unique<SampleUnit>(dense());
    other->spec.slot += 1;
    other_ = std::move(other);
    const auto others_run = game::testing::rerun(*other_);
    lie().whole_delta = *others_run->delta().value();
    commit();
    expect_proven("proveDelta");
}

TEST_F(DenseZoo, ACommitmentToAnotherCodec) {
    change_ = [](protocol::UnitCommitment& claim) { claim.delta_codec = 0; };
    commit();
    expect_lost_by_opening(2);
}

class DenseOuterZoo : public OuterPlayTest {
  protected:
    DenseOuterZoo() : OuterPlayTest(dense()) {}
    void expect_proven(const std::string& move) {
        play_until([&] { return proven(); });
        ASSERT_EQ(games().size(), 1U);
        EXPECT_EQ(games()[0].ended->status, game::GameStatus::kFaultProven);
        EXPECT_TRUE(verifier_.told("proved: " + move));
    }
};

TEST_F(DenseOuterZoo, AnElementThatTheDeltasDoNotGive) {
    lie(coordinator_).lie_about(OuterTree::kBase, 0, 9);
    commit();
    expect_proven("proveOuter");
}

TEST_F(DenseOuterZoo, AnElementOfRowsThatAreNotSo) {
    lie_about_column();
    commit();
    expect_proven("proveColumn");
    EXPECT_EQ(games().at(0).fault->element, Amount(1)) << "the second delta";
}

}  // namespace
}  // namespace gym::testing
