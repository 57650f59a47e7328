#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gym/codec/row_layout.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/rows.h"
#include "gym/program/builder.hpp"
#include "gym/program/update_codec.hpp"
#include "noise.hpp"
#include "small_model.hpp"

// The update of a round (docs/PROTOCOL.md, "Aggregation"): rows of what moves the base, and the
// residual that they leave.
namespace gym::engine {
namespace {

using program::Init;
using testing::base_of_noise;
using testing::bytes_of;
using testing::floats;
using ::testing::HasSubstr;
using testing::noisy_deltas;

constexpr float kRate = 0.7F, kMu = 0.9F;
/// Rows that are full, cut, of one element, and more than one tile.
constexpr std::array<std::uint32_t, 7> kSizes{1, 63, 64, 65, 511, 513, 1300};

/// A train program as far as the outer step is concerned.
program::Program odd_program(bool has_update = true) {
    program::Builder b;
    for (const std::uint32_t size : kSizes)
        b.param("p" + std::to_string(size), {size}, Init{Init::Kind::kConstant, 0});
    b.constant(std::string(program::kOuterLearningRate), {1}, {kRate});
    b.constant(std::string(program::kOuterMomentum), {1}, {kMu});
    b.constant(std::string(program::kDeltaCodec), {1}, {1});
    if (has_update) b.constant(std::string(program::kUpdateCodec), {1}, {1});
    b.output(std::string(program::kLossOutput), b.scalar(0));
    return b.build().value();
}

/// The rules as PROTOCOL.md says them, one element at a time, in the C library's arithmetic. Finite
/// numbers alone.
class Plain {
  public:
    explicit Plain(const State& base) {
        for (const StateTensor& tensor : base.tensors) {
            base_.push_back(floats(tensor.bytes));
            momentum_.emplace_back(base_.back().size());
            residual_.emplace_back(base_.back().size());
        }
    }

    void round(std::span<const Delta> deltas) {
        // Row 0: magic, codec 1, number of tensors.
        update_ = {'G', 'Y', 'M', 'D', 'L', 'T', 'A', '1', 0, 0, 0, 1, 0, 0, 0};
        update_.push_back(static_cast<std::uint8_t>(base_.size()));
        update_.resize(33);
        for (std::size_t t = 0; t < base_.size(); ++t) {
            for (std::size_t first = 0; first < base_[t].size(); first += 64)
                row(t, first, deltas);
        }
        if (update_.size() % 1024 == 1023) update_.push_back(0);
    }
    [[nodiscard]] State base(State like) const { return filled(std::move(like), base_); }
    [[nodiscard]] State outer(const State& base) const {
        State out;
        const auto add = [&](const char* prefix, const std::vector<std::vector<float>>& values) {
            for (std::size_t t = 0; t < values.size(); ++t)
                out.tensors.push_back({prefix + base.tensors[t].name, base.tensors[t].dtype,
                                       base.tensors[t].dims, bytes_of(values[t])});
        };
        add("momentum.", momentum_);
        add("residual.", residual_);
        out.tensors.push_back({"update", commit::DType::kU8, {update_.size()}, update_});
        return out;
    }

  private:
    static State filled(State like, const std::vector<std::vector<float>>& values) {
        for (std::size_t t = 0; t < values.size(); ++t)
            like.tensors[t].bytes = bytes_of(values[t]);
        return like;
    }
    void row(std::size_t t, std::size_t first, std::span<const Delta> deltas) {
        if (update_.size() % 1024 == 1023) update_.push_back(0);
        const std::size_t count = std::min<std::size_t>(64, base_[t].size() - first);
        std::vector<float> u(count);
        for (std::size_t i = 0; i < count; ++i)
            u[i] = moved(t, first + i, deltas);
        const int scale = scale_of(u);
        const std::size_t begin = update_.size();
        update_.resize(begin + 33);
        bool has_level = false;
        for (std::size_t i = 0; i < count; ++i) {
            const int level = std::clamp(
                static_cast<int>(std::nearbyint(std::ldexp(double{u[i]}, 127 - scale))), -7, 7);
            has_level = has_level || level != 0;
            update_[begin + 1 + i / 2] |= static_cast<std::uint8_t>((level & 15) << (i % 2 * 4));
            const float d = level == 0 ? 0.0F : std::ldexp(static_cast<float>(level), scale - 127);
            base_[t][first + i] = base_[t][first + i] + d;
            residual_[t][first + i] = u[i] - d;
        }
        if (has_level) update_[begin] = static_cast<std::uint8_t>(scale);
    }
    float moved(std::size_t t, std::size_t i, std::span<const Delta> deltas) {
        std::vector<float> column(deltas.size());
        for (std::size_t k = 0; k < deltas.size(); ++k)
            deltas[k].read(t, i, {&column[k], 1});
        const float sum =
            kernels::exact_sum(column.data(), static_cast<std::int64_t>(column.size()));
        const float mean = sum / static_cast<float>(deltas.size());
        momentum_[t][i] = std::fma(momentum_[t][i], kMu, mean);
        return std::fma(std::fma(momentum_[t][i], kMu, mean), kRate, residual_[t][i]);
    }
    /// The smallest s from 1 to 252 with |u| < 7.5 * 2^(s - 127) for all of them.
    static int scale_of(const std::vector<float>& u) {
        double largest = 0;
        for (const float value : u)
            largest = std::max(largest, std::abs(double{value}));
        int s = 1;
        while (s < 252 && largest >= 7.5 * std::ldexp(1.0, s - 127))
            ++s;
        return s;
    }
    std::vector<std::vector<float>> base_, momentum_, residual_;
    Bytes update_;
};

EngineOptions options_of(const char* isa, unsigned threads) {
    EngineOptions options;
    options.isa = isa;
    options.threads = threads;
    return options;
}

class OuterUpdate : public ::testing::Test {
  protected:
    const program::Program train_ = odd_program();
    const State base_ = base_of_noise(train_, 7);

    [[nodiscard]] Delta update(const State& outer) const {
        const ByteView bytes = update_of(outer);
        return Delta::decode(train_, blob::VerifiedBlob::hash({bytes.begin(), bytes.end()}))
            .value();
    }
};

TEST_F(OuterUpdate, IsWhatAPlainRenderingOfTheRulesGives) {
    Plain plain(base_);
    State base = base_, outer;
    for (std::uint64_t round = 1; round <= 6; ++round) {
        const auto deltas = noisy_deltas(train_, base, 1 + round % 3, round);
        plain.round(deltas);
        const auto made = run_aggregate(train_, base, outer, deltas);
        ASSERT_TRUE(made.ok()) << made.error().message;
        ASSERT_EQ(made->momentum, plain.outer(base)) << "round " << round;
        ASSERT_EQ(made->base, plain.base(base)) << "round " << round;
        base = made->base;
        outer = made->momentum;
    }
}

TEST_F(OuterUpdate, IsTheSameOnEveryInstructionSetAndThreadCount) {
    const auto first = run_aggregate(train_, base_, {}, noisy_deltas(train_, base_, 3, 1)).value();
    const auto deltas = noisy_deltas(train_, first.base, 5, 2);
    const auto expected = run_aggregate(train_, first.base, first.momentum, deltas, 2).value();
    for (int isa = 0; isa <= static_cast<int>(kernels::detect_isa()); ++isa)
        for (const unsigned threads : {1U, 4U}) {
            const std::string name(kernels::isa_name(static_cast<kernels::Isa>(isa)));
            const auto made = run_aggregate(train_, first.base, first.momentum, deltas, 2,
                                            options_of(name.c_str(), threads));
            ASSERT_TRUE(made.ok()) << made.error().message;
            EXPECT_EQ(made->base_root, expected.base_root) << name;
            EXPECT_EQ(made->momentum_root, expected.momentum_root) << name;
            EXPECT_EQ(made->records_root, expected.records_root) << name;
        }
}

TEST_F(OuterUpdate, CommitsToTheOuterState) {
    const auto made = run_aggregate(train_, base_, {}, noisy_deltas(train_, base_, 2, 1)).value();
    const std::size_t p = base_.tensors.size();
    ASSERT_EQ(made.momentum.tensors.size(), 2 * p + 1);
    EXPECT_EQ(made.momentum.tensors[0].name, "momentum.p1");
    EXPECT_EQ(made.momentum.tensors[p].name, "residual.p1");
    EXPECT_EQ(made.momentum.tensors[2 * p].name, "update");
    EXPECT_EQ(made.momentum_root, state_root(made.momentum));
    EXPECT_EQ(made.base_root, state_root(made.base));
    State all = made.base;
    all.tensors.insert(all.tensors.end(), made.momentum.tensors.begin(),
                       made.momentum.tensors.end());
    EXPECT_EQ(made.records[0].state_root, state_root(all));
    EXPECT_EQ(decode_state(encode_state(made.momentum)).value(), made.momentum);
    const Delta rows = update(made.momentum);
    EXPECT_EQ(rows.root(), state_root({{made.momentum.tensors.back()}}))
        << "a delta's root is its tensor's, and so a tree of one leaf";
    EXPECT_EQ(with_update(train_, encode_state(base_), rows).value(), encode_state(made.base))
        << "what a worker makes of the update";
    EXPECT_NE(rows.norm_bits(), 0U);
}

TEST_F(OuterUpdate, WithoutItTheStepIsAsBefore) {
    const program::Program plain = odd_program(false);
    const auto deltas = noisy_deltas(plain, base_, 2, 1);
    const auto made = run_aggregate(plain, base_, {}, deltas).value();
    EXPECT_EQ(made.momentum.tensors.size(), base_.tensors.size());
    EXPECT_TRUE(update_of(made.momentum).empty());
    EXPECT_EQ(zero_outer_state(plain, base_).value(), zero_momentum(base_));
    const auto packed = run_aggregate(train_, base_, {}, deltas).value();
    for (std::size_t t = 0; t < base_.tensors.size(); ++t)
        EXPECT_EQ(packed.momentum.tensors[t], made.momentum.tensors[t]);
    EXPECT_NE(packed.base_root, made.base_root);
}

TEST_F(OuterUpdate, ItsBytesAreKnownBefore) {
    EXPECT_EQ(state_bytes_max(train_).value(),
              encode_state(zero_outer_state(train_, base_).value()).size());
    const program::Program plain = odd_program(false);
    EXPECT_EQ(state_bytes_max(plain).value(), encode_state(zero_momentum(base_)).size());
    const testing::SmallUnit unit;
    EXPECT_EQ(state_bytes_max(unit.program).value(), encode_state(zero_momentum(unit.base)).size());
}

TEST_F(OuterUpdate, BeginsWithZeros) {
    const State zero = zero_outer_state(train_, base_).value();
    ASSERT_EQ(zero.tensors.size(), 2 * base_.tensors.size() + 1);
    for (std::size_t t = 0; t + 1 < zero.tensors.size(); ++t) {
        EXPECT_THAT(zero.tensors[t].bytes, ::testing::Each(0));
        EXPECT_EQ(zero.tensors[t].dims, base_.tensors[t % base_.tensors.size()].dims);
    }
    EXPECT_EQ(zero.tensors.back().bytes.size(), delta_bytes(train_).value());
    EXPECT_EQ(update(zero).norm_bits(), 0U);
    EXPECT_EQ(with_update(train_, encode_state(base_), update(zero)).value(), encode_state(base_));
    const auto deltas = noisy_deltas(train_, base_, 2, 1);
    EXPECT_EQ(run_aggregate(train_, base_, zero, deltas)->records_root,
              run_aggregate(train_, base_, {}, deltas)->records_root);
    State strange = base_;
    const float nan = kernels::f32::from_bits(kernels::f32::kNanBits);
    std::memcpy(strange.tensors[3].bytes.data() + 40, &nan, sizeof nan);
    EXPECT_EQ(zero_outer_state(train_, strange).value(), zero) << "whatever the base holds";
}

TEST_F(OuterUpdate, TheResidualIsNotLost) {
    // One change, and then rounds without any: momentum and residual bring what the first left out.
    State outer = run_aggregate(train_, base_, {}, noisy_deltas(train_, base_, 1, 1))->momentum;
    for (StateTensor& tensor : outer.tensors)
        if (tensor.name.starts_with("momentum.")) std::ranges::fill(tensor.bytes, std::uint8_t{0});
    const State left = outer;
    State base = base_;
    const auto zero =
        Delta::decode(train_, blob::VerifiedBlob::hash(encode_delta(train_, base_, base_).value()));
    const auto made = run_aggregate(train_, base, outer, std::vector{zero.value()}).value();
    const std::size_t p = base.tensors.size();
    for (std::size_t t = 0; t < p; ++t) {
        const auto before = floats(left.tensors[p + t].bytes);
        const auto after = floats(made.momentum.tensors[p + t].bytes);
        std::vector<float> sent(before.size());
        update(made.momentum).read(t, 0, sent);
        for (std::size_t i = 0; i < before.size(); ++i)
            ASSERT_EQ(kernels::f32::add(sent[i], after[i]), before[i]) << t << ", " << i;
    }
}

TEST_F(OuterUpdate, RefusesAnotherOuterState) {
    const auto deltas = noisy_deltas(train_, base_, 2, 1);
    const State right = run_aggregate(train_, base_, {}, deltas)->momentum;
    const std::size_t p = base_.tensors.size();
    const auto refusal = [&](const State& outer) {
        const auto made = run_aggregate(train_, base_, outer, deltas);
        EXPECT_FALSE(made.ok());
        EXPECT_EQ(made.error().code, ErrorCode::kShapeMismatch);
        return made.ok() ? std::string() : made.error().message;
    };
    EXPECT_THAT(refusal(zero_momentum(base_)), HasSubstr("no tensor 'residual.p1'"));
    for (const std::size_t missing : {std::size_t{0}, p, 2 * p}) {
        State outer = right;
        outer.tensors.erase(outer.tensors.begin() + static_cast<std::ptrdiff_t>(missing));
        EXPECT_THAT(refusal(outer), HasSubstr("'" + right.tensors[missing].name + "'"));
    }
    State outer = right;
    outer.tensors[p + 2].dims = {8, 8};
    EXPECT_THAT(refusal(outer), HasSubstr("'residual.p64' does not have"));
    outer = right;
    outer.tensors[p + 1].dtype = commit::DType::kI32;
    EXPECT_THAT(refusal(outer), HasSubstr("'residual.p63'"));
    outer = right;
    outer.tensors.back().bytes.assign(outer.tensors.back().bytes.size(), 0xFF);
    EXPECT_EQ(run_aggregate(train_, base_, outer, deltas)->records_root,
              run_aggregate(train_, base_, right, deltas)->records_root)
        << "nothing of the last update is in the next one, whatever its head and padding are";
    outer = right;
    outer.tensors.back().bytes.pop_back();
    EXPECT_THAT(refusal(outer), HasSubstr("'update'"));
    EXPECT_EQ(run_aggregate(train_, base_, right, deltas)->records_root, [&] {
        outer = right;
        std::ranges::reverse(outer.tensors);
        return run_aggregate(train_, base_, outer, deltas)->records_root;
    }()) << "tensors are found by name";
}

TEST_F(OuterUpdate, AnUpdateOfAnotherProgramIsNotApplied) {
    const testing::SmallUnit other;
    const Delta foreign = Delta::decode(other.program, other.run().value().delta).value();
    EXPECT_EQ(with_update(train_, encode_state(base_), foreign).error().code,
              ErrorCode::kShapeMismatch);
    EXPECT_EQ(with_update(train_, {}, foreign).error().code, ErrorCode::kMalformed);
}

// publish_rows() on numbers of every kind.

float any_float(std::mt19937_64& rng) {
    switch (rng() % 8) {
        case 0:
            return kernels::f32::canonical(
                kernels::f32::from_bits(static_cast<std::uint32_t>(rng())));
        case 1:
            return kernels::f32::from_bits(static_cast<std::uint32_t>(rng()) & 0x807FFFFF);
        case 2:
            return rng() % 2 == 0 ? 0.0F : -0.0F;
        default:
            return std::ldexp(static_cast<float>(static_cast<std::int32_t>(rng())),
                              -31 - static_cast<int>(rng() % 3));
    }
}

TEST(PublishRows, WhatIsSentAndWhatIsLeftAddUpForEveryFiniteNumber) {
    const kernels::ExactFloatEnvironment environment;
    std::mt19937_64 rng(11);
    for (int trial = 0; trial < 4000; ++trial) {
        const std::size_t count = 1 + rng() % 200;
        // Rows of one kind of magnitude, from subnormal to the largest, and mixed ones.
        const int exponent = trial % 3 == 0 ? 0 : static_cast<int>(rng() % 280) - 150;
        std::vector<float> u(count), base(count), none(count);
        for (std::size_t i = 0; i < count; ++i) {
            u[i] = kernels::f32::canonical(std::ldexp(any_float(rng), exponent));
            base[i] = any_float(rng);
        }
        const std::vector<float> before = base;
        std::vector<float> left = u;
        Bytes rows(codec::row_begin(codec::rows_of(count)), 0xAA);
        publish_rows(kernels::detect_isa(), left, base, rows, 0);
        Bytes again(rows.size(), 0xAA);
        std::vector<float> sum(count);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint8_t* row = rows.data() + codec::row_begin(i / 64);
            const float d =
                kernels::row_value(kernels::row_level_at(row, static_cast<int>(i % 64)), row[0]);
            ASSERT_TRUE(std::isfinite(d));
            sum[i] = kernels::f32::add(d, left[i]);
            ASSERT_EQ(kernels::f32::to_bits(left[i]),
                      kernels::f32::to_bits(kernels::f32::sub(u[i], d)));
            ASSERT_EQ(kernels::f32::to_bits(base[i]),
                      kernels::f32::to_bits(kernels::f32::add(before[i], d)));
            if (u[i] == 0)
                ASSERT_EQ(sum[i], 0);
            else
                ASSERT_EQ(kernels::f32::to_bits(sum[i]), kernels::f32::to_bits(u[i])) << u[i];
        }
        // So the rows can be checked from what was sent and left alone.
        publish_rows(kernels::Isa::kScalar, sum, none, again, 0);
        ASSERT_EQ(rows, again);
    }
}

TEST(PublishRows, WhatIsNotFiniteStaysInTheResidual) {
    const kernels::ExactFloatEnvironment environment;
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = kernels::f32::from_bits(kernels::f32::kNanBits);
    std::vector<float> u{nan, 3.0F, inf, -inf}, base{1, 1, 1, 1};
    Bytes rows(codec::row_begin(1));
    publish_rows(kernels::detect_isa(), {u.data(), 2}, {base.data(), 2}, rows, 0);
    EXPECT_EQ(kernels::f32::to_bits(u[0]), kernels::f32::kNanBits);
    EXPECT_EQ(base[0], 1) << "a NaN moves nothing";
    EXPECT_EQ(base[1], 4);
    EXPECT_EQ(u[1], 0);
    publish_rows(kernels::detect_isa(), {u.data() + 2, 2}, {base.data() + 2, 2}, rows, 0);
    EXPECT_EQ(rows[0], 252);
    EXPECT_EQ(u[2], inf);
    EXPECT_EQ(u[3], -inf);
    EXPECT_EQ(base[2], std::ldexp(7.0F, 125));
    const float most = std::numeric_limits<float>::max();
    u = {most, -most};
    base = {0, 0};
    publish_rows(kernels::detect_isa(), u, base, rows, 0);
    EXPECT_EQ(kernels::f32::add(std::ldexp(7.0F, 125), u[0]), most) << "saturated, not lost";
    EXPECT_EQ(kernels::f32::add(std::ldexp(-7.0F, 125), u[1]), -most);
}

}  // namespace
}  // namespace gym::engine
