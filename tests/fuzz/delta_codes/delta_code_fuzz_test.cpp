// The decoders of codec 2, fed with mutated codes, random bytes and random tensors: no
// crash; what is accepted is what an encoder writes for the decoded values (one value, one
// encoding), so a delta has one root.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "gym/codec/encode.hpp"
#include "gym/codec/residual.hpp"
#include "gym/codec/sparse_code.hpp"
#include "random_seed.hpp"

namespace gym::codec {
namespace {

constexpr std::int32_t kGrid = -20;

class DeltaCodeFuzz : public ::testing::Test {
  protected:
    std::uint64_t seed_ = testing::random_seed();
    std::mt19937_64 random_{seed_};

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    std::size_t some_elements() {
        const std::size_t sizes[] = {1 + below(20), 1 + below(200), 1000 + below(50),
                                     3000 + below(100), 41 * kBlock};
        return sizes[below(std::size(sizes))];
    }
    std::vector<float> some_tensor(std::size_t elements) {
        std::vector<float> x(elements);
        std::normal_distribution<float> deviation(0,
                                                  std::ldexp(1.0F, -static_cast<int>(below(20))));
        for (float& value : x)
            value = below(50) == 0 ? kernels::f32::from_bits(static_cast<std::uint32_t>(random_()))
                                   : deviation(random_);
        return x;
    }
    Bytes mutate(Bytes bytes) {
        for (std::uint64_t n = 1 + below(3); n > 0 && !bytes.empty(); --n) {
            const std::size_t at = below(bytes.size());
            const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
            switch (below(6)) {
                case 0:
                    bytes[at] ^= static_cast<std::uint8_t>(1U << below(8));
                    break;
                case 1:
                    bytes[at] = static_cast<std::uint8_t>(random_());
                    break;
                case 2:
                    bytes.resize(at);
                    break;
                case 3:
                    bytes.insert(here, static_cast<std::uint8_t>(random_()));
                    break;
                case 4:
                    std::swap(bytes[at], bytes[below(bytes.size())]);
                    break;
                default:
                    std::fill_n(here, std::min<std::size_t>(25, bytes.size() - at),
                                std::uint8_t{0});
            }
        }
        return bytes;
    }
    Bytes random_bytes(std::size_t size) {
        Bytes bytes(size);
        for (auto& byte : bytes)
            byte = static_cast<std::uint8_t>(random_());
        return bytes;
    }

    /// The values' own code: every integer that a code can hold is a float.
    static Bytes encoded_again(const std::vector<std::int64_t>& values) {
        std::vector<float> x(values.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = std::ldexp(static_cast<float>(values[i]), kGrid);
        return encode({x.size(), kGrid}, x, kNoBound, nullptr).code;
    }
    void expect_canonical(std::size_t elements, const Bytes& bytes, std::uint64_t& accepted) {
        const auto code = SparseCode::decode({elements, kGrid}, bytes);
        if (!code.ok()) {
            ASSERT_FALSE(code.error().message.empty());
            return;
        }
        ++accepted;
        std::vector<std::int64_t> values(elements);
        code->add_to(values, 1);
        std::uint64_t norm = 0;
        for (const std::int64_t value : values)
            norm += static_cast<std::uint64_t>(value * value);
        ASSERT_EQ(code->squared_norm(), norm) << "seed " << seed_;
        ASSERT_EQ(encoded_again(values), bytes) << "seed " << seed_;
    }
};

TEST_F(DeltaCodeFuzz, Sparse) {
    std::uint64_t accepted = 0;
    for (std::uint64_t i = 0; i < 3'000 * testing::test_scale(); ++i) {
        const std::size_t elements = some_elements();
        const Bytes valid =
            encode({elements, kGrid}, some_tensor(elements), kNoBound, nullptr).code;
        expect_canonical(elements, valid, accepted);
        expect_canonical(elements, mutate(valid), accepted);
        expect_canonical(elements, random_bytes(valid.size()), accepted);
        if (HasFatalFailure()) return;
    }
    EXPECT_GE(accepted, 3'000 * testing::test_scale());
}

/// A residual that check() accepts is safe to encode with, whatever its bytes.
TEST_F(DeltaCodeFuzz, Residuals) {
    std::uint64_t accepted = 0;
    for (std::uint64_t i = 0; i < 3'000 * testing::test_scale(); ++i) {
        const std::size_t elements = some_elements();
        const TensorGrid tensor{elements, kGrid};
        const std::vector<float> x = some_tensor(elements);
        const Residual zero = Residual::zero(elements);
        const Residual valid = *encode(tensor, x, kNoBound, &zero).residual;
        ASSERT_TRUE(check(tensor, valid).ok());
        const Residual mutated{mutate(valid.levels), mutate(valid.scales)};
        if (!check(tensor, mutated).ok()) continue;
        ++accepted;
        ASSERT_TRUE(check(tensor, *encode(tensor, x, below(1000), &mutated).residual).ok());
    }
    EXPECT_GT(accepted, 0U);
}

}  // namespace
}  // namespace gym::codec
