#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>

#include "gym/codec/row_layout.hpp"
#include "gym/engine/delta.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/rows.h"
#include "small_model.hpp"

// Deltas of codec 1: what is lost, what is refused, and that the outer step takes them.
namespace gym::engine {
namespace {

using ::testing::HasSubstr;
using testing::SmallUnit;

program::TrainConfig dense_config() {
    program::TrainConfig config = testing::small_config();
    config.compression = program::DeltaCodec::kDense;
    return config;
}

std::vector<float> values_of(const Delta& delta, std::size_t parameter) {
    std::vector<float> values(delta.elements(parameter));
    delta.read(parameter, 0, values);
    return values;
}

Result<Delta> decode(const program::Program& program, Bytes bytes) {
    return Delta::decode(program, blob::VerifiedBlob::hash(std::move(bytes)));
}

class DenseDelta : public ::testing::Test {
  protected:
    const SmallUnit plain_;
    const SmallUnit unit_{.program = testing::small_program(dense_config())};
    const UnitResult result_ = unit_.run().value();
    const Delta delta_ = Delta::decode(unit_.program, result_.delta).value();
    const Bytes bytes_{result_.delta.bytes().begin(), result_.delta.bytes().end()};

    [[nodiscard]] std::string refusal(std::size_t at, std::uint8_t byte) const {
        Bytes changed = bytes_;
        changed[at] = byte;
        const auto decoded = decode(unit_.program, changed);
        return decoded.ok() ? "" : decoded.error().message;
    }
};

TEST_F(DenseDelta, TrainsAsWithoutAndLosesAtMostHalfALevel) {
    const UnitResult plain = plain_.run().value();
    EXPECT_EQ(result_.records_root, plain.records_root);
    EXPECT_EQ(result_.final_state_root, plain.final_state_root);
    const Delta exact = Delta::decode(plain_.program, plain.delta).value();
    ASSERT_EQ(delta_.parameters(), exact.parameters());
    for (std::size_t t = 0; t < exact.parameters(); ++t) {
        const auto sent = values_of(delta_, t), made = values_of(exact, t);
        for (std::size_t row = 0; row < made.size(); row += codec::kRowElements) {
            const std::size_t end = std::min(made.size(), row + codec::kRowElements);
            float largest = 0;
            for (std::size_t i = row; i < end; ++i)
                largest = std::max(largest, std::abs(made[i]));
            // A level is at most largest / 3.75.
            for (std::size_t i = row; i < end; ++i)
                ASSERT_LE(std::abs(sent[i] - made[i]), largest / 7.5F) << t << ", " << i;
        }
    }
    EXPECT_NEAR(delta_.norm(), exact.norm(), exact.norm() / 10);
}

TEST_F(DenseDelta, HasHalfAByteAParameter) {
    std::uint64_t elements = 0, rows = 1;
    for (std::size_t t = 0; t < delta_.parameters(); ++t) {
        elements += delta_.elements(t);
        rows += codec::rows_of(delta_.elements(t));
    }
    EXPECT_EQ(bytes_.size(), codec::row_begin(rows));
    EXPECT_EQ(bytes_.size(), delta_bytes(unit_.program).value());
    EXPECT_LT(static_cast<double>(bytes_.size()), 0.6 * static_cast<double>(elements))
        << "small tensors fill their rows badly";
    EXPECT_LE(static_cast<double>(codec::row_begin(codec::rows_of(124'000'000))), 0.52 * 124e6);
}

TEST_F(DenseDelta, AnyPartOfAParameterCanBeRead) {
    const auto all = values_of(delta_, 0);
    for (std::size_t first = 0; first < 70; ++first) {
        for (const std::size_t count : {1U, 63U, 64U, 65U, 130U}) {
            std::vector<float> part(count);
            delta_.read(0, first, part);
            ASSERT_TRUE(std::equal(part.begin(), part.end(), all.begin() + first));
        }
    }
}

TEST_F(DenseDelta, DecodersSayWhatIsWrong) {
    EXPECT_EQ(refusal(40, bytes_[40]), "");
    EXPECT_THAT(refusal(0, 'X'), HasSubstr("not a delta"));
    EXPECT_THAT(refusal(11, 0), HasSubstr("codec 0, the program's have codec 1"));
    EXPECT_THAT(refusal(15, 1), HasSubstr("tensors"));
    EXPECT_THAT(refusal(16, 1), HasSubstr("between the delta's rows"));
    EXPECT_THAT(refusal(1023, 1), HasSubstr("between the delta's rows"));
    const std::string name =
        unit_.program.slot(unit_.program.slots_of(program::SlotKind::kParam)[0]).name;
    for (const std::uint8_t scale : {std::uint8_t{0}, std::uint8_t{253}, std::uint8_t{255}})
        EXPECT_THAT(refusal(33, scale), HasSubstr("'" + name + "' holds a row")) << +scale;
    EXPECT_THAT(refusal(34, 0x08), HasSubstr("at byte 33")) << "a level of -8";
    Bytes other = bytes_;
    std::fill(other.begin() + 34, other.begin() + 66, std::uint8_t{0x11});
    EXPECT_FALSE(decode(unit_.program, other).ok()) << "a scale that could be smaller";
    std::fill(other.begin() + 34, other.begin() + 66, std::uint8_t{0});
    EXPECT_FALSE(decode(unit_.program, other).ok()) << "zeros with a scale";
    other[33] = 0;
    EXPECT_TRUE(decode(unit_.program, other).ok());
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{15}, std::size_t{33}, bytes_.size() - 1})
        EXPECT_FALSE(decode(unit_.program, {bytes_.begin(), bytes_.begin() + size}).ok()) << size;
    other = bytes_;
    other.push_back(0);
    EXPECT_FALSE(decode(unit_.program, other).ok());
    EXPECT_FALSE(decode(plain_.program, bytes_).ok()) << "of another codec";
    EXPECT_FALSE(
        decode(unit_.program, encode_delta(plain_.program, unit_.base, unit_.base).value()).ok());
}

TEST_F(DenseDelta, WhatIsNotFiniteIsBoundedOrNothing) {
    State end = unit_.base;
    const float nan = kernels::f32::from_bits(kernels::f32::kNanBits);
    std::memcpy(end.tensors[0].bytes.data(), &nan, sizeof nan);
    const Delta lost =
        decode(unit_.program, encode_delta(unit_.program, unit_.base, end).value()).value();
    EXPECT_EQ(lost.norm_bits(), 0U) << "a NaN counts as no change";
    const float infinity = kernels::f32::from_bits(kernels::f32::kInfinityBits);
    std::memcpy(end.tensors[0].bytes.data(), &infinity, sizeof infinity);
    const Delta huge =
        decode(unit_.program, encode_delta(unit_.program, unit_.base, end).value()).value();
    EXPECT_EQ(values_of(huge, 0)[0], std::ldexp(7.0F, 125));
    EXPECT_FALSE(huge.norm() <= 1e30) << "no bound admits it";
}

/// By the definition: the exact sum of the squares that f32 gives.
std::uint32_t norm_bits_of(const Delta& delta) {
    std::vector<float> squares;
    for (std::size_t t = 0; t < delta.parameters(); ++t)
        for (const float value : values_of(delta, t))
            squares.push_back(kernels::f32::mul(value, value));
    return kernels::f32::to_bits(kernels::f32::sqrt(
        kernels::exact_sum(squares.data(), static_cast<std::int64_t>(squares.size()))));
}

TEST_F(DenseDelta, TheNormIsThatOfItsElements) {
    EXPECT_EQ(delta_.norm_bits(), norm_bits_of(delta_));
    std::mt19937_64 random(7);
    int decoded = 0;
    // Around the scales where squares of levels are no longer f32 numbers, too.
    for (const int scale : {1, 2, 63, 64, 65, 78, 79, 100, 127, 186, 187, 188, 251, 252}) {
        for (const unsigned spread : {1U, 4U, 40U}) {
            Bytes bytes = bytes_;
            std::uint64_t row = 1;
            for (std::size_t t = 0; t < delta_.parameters(); ++t)
                for (std::uint64_t i = 0; i < codec::rows_of(delta_.elements(t)); ++i, ++row) {
                    std::uint8_t* at = bytes.data() + codec::row_begin(row);
                    const int moved = scale - static_cast<int>(random() % spread);
                    // Rows of the smallest scale may have any levels, so no level is lost.
                    if (at[0] != 0) at[0] = static_cast<std::uint8_t>(std::max(moved, 1));
                }
            const auto delta = decode(unit_.program, std::move(bytes));
            if (!delta.ok()) continue;  // a row of small levels whose scale was the smallest
            ++decoded;
            ASSERT_EQ(delta->norm_bits(), norm_bits_of(*delta)) << scale << ", " << spread;
        }
    }
    EXPECT_GT(decoded, 30);
}

TEST_F(DenseDelta, TheOuterStepTakesTheirMean) {
    SmallUnit other{.program = testing::small_program(dense_config())};
    other.spec.slot = 1;
    const std::vector deltas{delta_,
                             Delta::decode(other.program, other.run().value().delta).value()};
    const auto made = run_aggregate(unit_.program, unit_.base, {}, deltas);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const auto a = values_of(deltas[0], 0), b = values_of(deltas[1], 0);
    for (const std::size_t i : {0U, 5U, 77U}) {
        const double mean = (double{a[i]} + double{b[i]}) / 2;
        float momentum = 0;
        std::memcpy(&momentum, made->momentum.tensors[0].bytes.data() + 4 * i, 4);
        EXPECT_NEAR(momentum, mean, 1e-9 + std::abs(mean) * 1e-5);
    }
    const Delta foreign = Delta::decode(plain_.program, plain_.run().value().delta).value();
    EXPECT_TRUE(run_aggregate(unit_.program, unit_.base, {}, std::vector{foreign}).ok())
        << "elements count; codecs are told apart where deltas are decoded";
}

}  // namespace
}  // namespace gym::engine
