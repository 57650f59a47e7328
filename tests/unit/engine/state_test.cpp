#include "gym/engine/state.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/engine/train.hpp"
#include "gym/kernels/f32.h"
#include "random_tensors.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

using testing::Rng;

TEST(State, DecodesOnlyItsOwnEncoding) {
    const auto program = testing::small_program();
    const auto state = initial_state(program, testing::seed_of("a"));
    ASSERT_TRUE(state.ok());
    const Bytes bytes = encode_state(*state);
    const auto decoded = decode_state(bytes);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, *state);
    EXPECT_EQ(state_root(*decoded), state_root(*state));
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(decode_state(longer).ok());
    Rng rng(testing::test_seed());
    for (int i = 0; i < 500; ++i)
        EXPECT_FALSE(decode_state({bytes.data(), rng() % bytes.size()}).ok());
}

TEST(State, AnAlteredBlobIsAnErrorOrAnotherState) {
    const auto program = testing::small_program();
    const auto state = initial_state(program, testing::seed_of("a"));
    ASSERT_TRUE(state.ok());
    const Bytes bytes = encode_state(*state);
    Rng rng(testing::test_seed());
    for (int i = 0; i < 300 * testing::test_scale(); ++i) {
        Bytes altered = bytes;
        // Half of the flips near the front, where counts, names and dims are.
        const std::size_t at = rng() % (i % 2 == 0 ? 200 : altered.size());
        altered[at] ^= static_cast<std::uint8_t>(1U << rng() % 8);
        const auto decoded = decode_state(altered);
        if (decoded.ok()) {
            EXPECT_FALSE(*decoded == *state) << "byte " << at;
        }
    }
}

TEST(State, SizesThatLieAreRefusedBeforeAnythingIsAllocated) {
    State state;
    state.tensors.push_back({"x", commit::DType::kF32, {256}, Bytes(1024)});
    Bytes bytes = encode_state(state);
    const std::size_t dims_at = 8 + 4 + 4 + 4 + 1 + 1 + 1;
    for (std::size_t i = 0; i < 8; ++i) {
        Bytes huge = bytes;
        huge[dims_at + i] = 0x7F;
        EXPECT_FALSE(decode_state(huge).ok());
    }
}

TEST(State, RootsOfEncodedStatesAndOfFreshOnesNeedNoState) {
    const auto program = testing::small_program();
    const State whole = initial_state(program, testing::seed_of("a")).value();
    const State base = base_of(program, whole).value();
    const Bytes encoded = encode_state(base);
    EXPECT_EQ(state_root(StateIndex::of_state(encoded).value(), encoded, 2), state_root(base));
    const Digest fresh = state_root(with_fresh_optimizer(program, base).value());
    EXPECT_EQ(fresh_state_root(program, base).value(), fresh);
    EXPECT_EQ(fresh_state_root(program, encoded, 2).value(), fresh);
    EXPECT_EQ(fresh_state_root(program, whole).error().code, ErrorCode::kShapeMismatch);
    EXPECT_FALSE(fresh_state_root(program, encode_state(whole)).ok());
    EXPECT_EQ(fresh_state_root(program, Bytes{1, 2}).error().code, ErrorCode::kMalformed);
}

TEST(State, RootCoversEveryByteAndTheOrder) {
    const auto program = testing::small_program();
    const auto state = initial_state(program, testing::seed_of("a"));
    ASSERT_TRUE(state.ok());
    const Digest root = state_root(*state);
    EXPECT_EQ(root, state_root(*state, 2));
    State other = *state;
    other.tensors[3].bytes.back() ^= 0x80;
    EXPECT_NE(state_root(other), root);
    other = *state;
    std::swap(other.tensors[0], other.tensors[1]);
    EXPECT_NE(state_root(other), root);
    other = *state;
    other.tensors[0].dims = {other.tensors[0].dims[0] * other.tensors[0].dims[1]};
    EXPECT_NE(state_root(other), root);
}

TEST(InitialState, DependsOnTheSeedAloneAndLooksNormal) {
    const auto program = testing::small_program();
    const auto one = initial_state(program, testing::seed_of("a"));
    const auto same = initial_state(program, testing::seed_of("a"));
    const auto other = initial_state(program, testing::seed_of("b"));
    ASSERT_TRUE(one.ok() && same.ok() && other.ok());
    EXPECT_EQ(*one, *same);
    EXPECT_NE(state_root(*one), state_root(*other));
    const StateTensor* table = one->find("token_embedding");
    ASSERT_NE(table, nullptr);
    double sum = 0, squares = 0;
    const std::size_t count = table->bytes.size() / sizeof(float);
    for (std::size_t i = 0; i < count; ++i) {
        float value = 0;
        std::memcpy(&value, table->bytes.data() + i * sizeof value, sizeof value);
        sum += value;
        squares += static_cast<double>(value) * value;
    }
    const auto n = static_cast<double>(count);
    EXPECT_LT(std::abs(sum / n), 0.05 * 4 / std::sqrt(n));
    EXPECT_NEAR(std::sqrt(squares / n), 0.05, 0.05 * 4 / std::sqrt(2 * n));
}

TEST(BaseState, IsTheParametersAndStartsFresh) {
    const auto program = testing::small_program();
    const auto dataset = testing::counting_dataset();
    const Digest seed = testing::seed_of("a");
    auto trainer = Trainer::create(program, initial_state(program, seed).value(), dataset,
                                   {{seed, 0, 0}, 3, 0});
    ASSERT_TRUE(trainer.ok());
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(trainer->step().ok());
    EXPECT_EQ(trainer->step().error().code, ErrorCode::kOutOfRange);
    const auto base = base_of(program, *trainer->state().value());
    ASSERT_TRUE(base.ok());
    EXPECT_EQ(base->tensors.size(), program.slots_of(program::SlotKind::kParam).size());
    EXPECT_EQ(base_of(program, *base).value(), *base);
    const auto fresh = with_fresh_optimizer(program, *base);
    ASSERT_TRUE(fresh.ok());
    const State start = initial_state(program, seed).value();
    for (const StateTensor& tensor : fresh->tensors) {
        const StateTensor* param = base->find(tensor.name);
        EXPECT_EQ(tensor, param != nullptr ? *param : *start.find(tensor.name));
    }
    State wrong = *base;
    wrong.tensors.pop_back();
    EXPECT_EQ(with_fresh_optimizer(program, wrong).error().code, ErrorCode::kShapeMismatch);
    EXPECT_EQ(base_of(program, wrong).error().code, ErrorCode::kShapeMismatch);
}

TEST(Delta, IsTheDifferenceAndRoundTrips) {
    const testing::SmallUnit unit;
    const auto result = unit.run();
    ASSERT_TRUE(result.ok());
    const auto delta = Delta::decode(unit.program, result->delta);
    ASSERT_TRUE(delta.ok());
    EXPECT_EQ(delta->root(), result->delta.root());
    EXPECT_EQ(delta->parameters(), unit.base.tensors.size());
    const auto end = base_of(unit.program, result->final_state);
    for (std::size_t t = 0; t < delta->parameters(); ++t) {
        std::vector<float> differences(delta->elements(t));
        delta->read(t, 0, differences);
        for (std::size_t i = 0; i < differences.size(); ++i) {
            float from = 0, to = 0;
            std::memcpy(&from, unit.base.tensors[t].bytes.data() + 4 * i, 4);
            std::memcpy(&to, end->tensors[t].bytes.data() + 4 * i, 4);
            ASSERT_EQ(differences[i], to - from);
        }
    }
    EXPECT_GT(delta->norm(), 0);
}

TEST(Delta, TruncatedAlteredOrForeignBytesAreErrors) {
    const testing::SmallUnit unit;
    const auto result = unit.run();
    ASSERT_TRUE(result.ok());
    const Bytes bytes(result->delta.bytes().begin(), result->delta.bytes().end());
    const auto decode = [](const program::Program& program, Bytes content) {
        return Delta::decode(program, blob::VerifiedBlob::hash(std::move(content)));
    };
    Rng rng(testing::test_seed());
    for (int i = 0; i < 200; ++i) {
        const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(rng() % bytes.size());
        EXPECT_FALSE(decode(unit.program, {bytes.begin(), end}).ok());
    }
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(decode(unit.program, longer).ok());
    for (std::size_t at = 0; at < 16; ++at) {
        Bytes altered = bytes;
        altered[at] ^= 1;
        EXPECT_FALSE(decode(unit.program, altered).ok()) << at;
    }
    Bytes foreign_nan = bytes;
    const std::uint32_t nan = 0xFFC00001;
    std::memcpy(foreign_nan.data() + 16, &nan, sizeof nan);
    EXPECT_EQ(decode(unit.program, foreign_nan).error().code, ErrorCode::kMalformed);
    auto wide = testing::small_config();
    wide.model.width = 48;
    EXPECT_FALSE(decode(program::train_program(wide).value(), bytes).ok());
}

TEST(Delta, NormIsNanIfAnythingIsNotFinite) {
    const testing::SmallUnit unit;
    constexpr std::size_t kHeaderBytes = 16;
    Bytes bytes = encode_delta(unit.program, unit.base, unit.base).value();
    const auto norm_bits = [&] {
        return Delta::decode(unit.program, blob::VerifiedBlob::hash(bytes))->norm_bits();
    };
    EXPECT_EQ(norm_bits(), 0U);
    const float infinity = kernels::f32::from_bits(kernels::f32::kInfinityBits);
    const float three = 3, four = -4;
    std::memcpy(bytes.data() + kHeaderBytes, &three, 4);
    std::memcpy(bytes.data() + kHeaderBytes + 4, &four, 4);
    EXPECT_EQ(kernels::f32::from_bits(norm_bits()), 5.0F);
    std::memcpy(bytes.data() + kHeaderBytes, &infinity, 4);
    EXPECT_EQ(norm_bits(), kernels::f32::kNanBits);
}

}  // namespace
}  // namespace gym::engine
