#include "gym/codec/sum.hpp"

#include "codec_cases.hpp"
#include "random_seed.hpp"

namespace gym::codec {
namespace {

struct Delta {
    Bytes code;
    std::int64_t weight;
};

class SumTest : public ::testing::Test {
  protected:
    static constexpr std::size_t kCount = 3 * kBlock + 5;
    static constexpr TensorGrid kTensor{kCount, -20};
    std::mt19937_64 random_{testing::random_seed()};

    Delta delta(Share share) {
        const auto x = random_delta(random_, kCount);
        Encoding out = encode(kTensor, x, 40'000'000'000, nullptr);
        return {std::move(out.code), sum_weight(share, out.weight)};
    }
    static void add(std::vector<std::int64_t>& sums, const Delta& delta, std::int64_t sign = 1) {
        SparseCode::decode(kTensor, delta.code).value().add_to(sums, sign * delta.weight);
    }
};

TEST_F(SumTest, OrderDoesNotMatterAndWhatIsTakenOutWasNeverIn) {
    std::vector<Delta> deltas;
    for (int i = 0; i < 9; ++i)
        deltas.push_back(delta(i % 4 == 0 ? Share::kLate : Share::kFull));
    std::vector<std::int64_t> forward(kCount), backward(kCount), without(kCount);
    for (const Delta& d : deltas)
        add(forward, d);
    for (auto d = deltas.rbegin(); d != deltas.rend(); ++d)
        add(backward, *d);
    EXPECT_EQ(forward, backward);
    for (std::size_t i = 1; i < deltas.size(); ++i)
        add(without, deltas[i]);
    add(forward, deltas[0], -1);
    EXPECT_EQ(forward, without);
}

TEST_F(SumTest, ALateDeltaCountsExactlyHalf) {
    Delta late = delta(Share::kLate);
    std::vector<std::int64_t> twice(kCount), once(kCount);
    add(twice, late);
    add(twice, late);
    late.weight *= 2;
    add(once, late);
    EXPECT_EQ(twice, once);
}

TEST(Mean, IsTheSumOverTheShares) {
    // Two deltas in time and a late one, each 24 grid units: (2 + 2 + 1) * 256 * 24 over 5 / 2.
    EXPECT_EQ(delta_mean(5 * 256 * 24, -3, 5), 24.0F / 8 * 1.0F);
    EXPECT_EQ(delta_mean(-256, 0, 1), -1.0F);
    EXPECT_EQ(delta_mean(0, 27, 3), 0.0F);
    // One rounding in each step: 1/3 of an integer that f32 cannot hold.
    EXPECT_EQ(delta_mean((1LL << 40) + 1, -31, 6), static_cast<float>(1LL << 40) * 0x1p-40F / 3.0F);
}

}  // namespace
}  // namespace gym::codec
