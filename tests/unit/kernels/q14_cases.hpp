// Operands that exercise every rule of the Q14 product, and a reference that shares no code with
// the kernels: __int128, long double, frexp.
#pragma once

#include <cmath>
#include <limits>

#include "kernel_test_support.hpp"

namespace gym::kernels {

struct Q14Case {
    std::string name;
    int64_t m, n, k;
    std::vector<float> a;  // (m, k)
    std::vector<float> b;  // (n, k)
};

namespace q14_reference {

constexpr int64_t kBlock = 1024;

inline int exponent_of(const float* x, int64_t count) {
    long double amax = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (!std::isfinite(x[i])) return 129;
        amax = std::max(amax, std::fabs(static_cast<long double>(x[i])));
    }
    if (amax == 0) return -100;
    int exponent = 0;
    std::frexp(amax, &exponent);
    return std::max(exponent, -100);
}

inline int32_t quantised(float x, int e) {
    if (e == 129) return 0;
    return static_cast<int32_t>(std::nearbyint(std::ldexp(static_cast<long double>(x), 13 - e)));
}

/// numerator / 2^shift, ties to even.
inline Int128 rounded_shift(Int128 numerator, int shift) {
    if (shift >= 100) return 0;
    const Int128 unit = static_cast<Int128>(1) << shift;
    Int128 quotient = numerator / unit;
    Int128 rest = numerator % unit;
    if (rest < 0) {
        rest += unit;
        --quotient;
    }
    const bool odd = quotient % 2 != 0;
    if (2 * rest > unit || (2 * rest == unit && odd)) ++quotient;
    return quotient;
}

/// A vector in integers: an exponent and the quantised values of each block.
struct Vector {
    std::vector<int> exponents;
    std::vector<int32_t> values;
    int exponent = -100;
};

inline Vector quantised_vector(const float* x, int64_t k) {
    Vector v;
    for (int64_t first = 0; first < k; first += kBlock) {
        const int64_t count = std::min(kBlock, k - first);
        const int e = exponent_of(x + first, count);
        for (int64_t i = first; i < first + count; ++i)
            v.values.push_back(quantised(x[i], e));
        v.exponents.push_back(e);
        v.exponent = std::max(v.exponent, e);
    }
    return v;
}

inline float dot(const Vector& a, const Vector& b) {
    if (a.exponent == 129 || b.exponent == 129) return number(f32::kNanBits);
    Int128 total = 0;
    for (size_t block = 0; block < a.exponents.size(); ++block) {
        const size_t first = block * kBlock, last = std::min(first + kBlock, a.values.size());
        Int128 sum = 0;
        for (size_t i = first; i < last; ++i)
            sum += static_cast<Int128>(a.values[i]) * b.values[i];
        total += rounded_shift(
            sum * 65536, (a.exponent - a.exponents[block]) + (b.exponent - b.exponents[block]));
    }
    const auto value = static_cast<float>(static_cast<long double>(total));
    return static_cast<float>(
        std::ldexp(static_cast<long double>(value), a.exponent + b.exponent - 42));
}

inline std::vector<float> product(const Q14Case& c) {
    std::vector<Vector> a, b;
    for (int64_t i = 0; i < c.m; ++i)
        a.push_back(quantised_vector(c.a.data() + i * c.k, c.k));
    for (int64_t j = 0; j < c.n; ++j)
        b.push_back(quantised_vector(c.b.data() + j * c.k, c.k));
    std::vector<float> out;
    for (const Vector& x : a) {
        for (const Vector& y : b)
            out.push_back(dot(x, y));
    }
    return out;
}

}  // namespace q14_reference

class Q14CaseMaker {
  public:
    explicit Q14CaseMaker(uint64_t seed) : generator_(seed) {}

    std::vector<Q14Case> all() {
        std::vector<Q14Case> cases;
        const int64_t shapes[][3] = {{1, 1, 0},     {3, 5, 0},    {1, 1, 1},      {17, 18, 1},
                                     {0, 3, 5},     {3, 0, 5},    {16, 16, 16},   {2, 33, 31},
                                     {35, 15, 32},  {19, 21, 33}, {5, 70, 100},   {33, 17, 1023},
                                     {8, 16, 1024}, {7, 9, 1025}, {20, 19, 2048}, {6, 17, 3001},
                                     {560, 3, 7},   {3, 90, 1026}};
        for (const auto& shape : shapes) {
            cases.push_back(make("normal", shape, [&](int64_t) { return normal_(generator_); }));
            cases.push_back(make("wide", shape, [&](int64_t) { return wide(40); }));
        }
        const int64_t several[3] = {18, 20, 2100}, one[3] = {21, 19, 130};
        for (const int64_t* shape : {several, one}) {
            cases.push_back(make("ties", shape, [&](int64_t) {
                return (static_cast<float>(generator_() % 16384) - 8192.0f + 0.5f) * 0x1p-13f;
            }));
            cases.push_back(make("powers of two", shape, [&](int64_t) {
                return std::ldexp(1.0f, static_cast<int>(generator_() % 10));
            }));
            cases.push_back(make("extreme", shape, [&](int64_t) { return wide(130); }));
            cases.push_back(make("subnormal", shape, [&](int64_t) {
                return number(static_cast<uint32_t>(generator_() % 0x00800000u));
            }));
            cases.push_back(make("zero", shape, [](int64_t) { return -0.0f; }));
            cases.push_back(make("largest", shape, [&](int64_t) {
                return generator_() % 2 == 0 ? std::numeric_limits<float>::max()
                                             : -std::numeric_limits<float>::max();
            }));
            cases.push_back(ratio(shape, false));
            cases.push_back(ratio(shape, true));
            cases.push_back(poisoned(shape));
            cases.push_back(zero_rows(shape));
            cases.push_back(full_scale(shape));
        }
        // Sums of 128 products just below and just above 2^31: |q| is 4095 or 4096 throughout, but
        // for a first group that only sets the exponent.
        const int64_t groups[3] = {37, 66, 1400};
        for (const float limit : {4095.0f, 4096.0f}) {
            cases.push_back(make("group limit", groups, [&](int64_t k) {
                if (k % 1024 < 128) return k % 1024 == 0 ? 0.75f : 0.0f;
                return limit * 0x1p-13f;
            }));
        }
        return cases;
    }

  private:
    template <typename Value>
    Q14Case make(std::string name, const int64_t shape[3], Value value) {
        Q14Case c{std::move(name), shape[0], shape[1], shape[2], {}, {}};
        for (int64_t i = 0; i < c.m * c.k; ++i)
            c.a.push_back(value(i % c.k));
        for (int64_t i = 0; i < c.n * c.k; ++i)
            c.b.push_back(value(i % c.k));
        return c;
    }

    float wide(int range) {
        return std::ldexp(
            normal_(generator_),
            static_cast<int>(generator_() % static_cast<uint64_t>(2 * range)) - range);
    }

    /// Blocks of one operand, then of the other, are far below its largest.
    Q14Case ratio(const int64_t shape[3], bool second) {
        Q14Case c = make(second ? "ratio in b" : "ratio in a", shape,
                         [&](int64_t) { return normal_(generator_); });
        std::vector<float>& x = second ? c.b : c.a;
        for (size_t i = 0; i < x.size(); ++i) {
            const auto k = static_cast<int64_t>(i) % c.k;
            const auto row = static_cast<int64_t>(i) / c.k;
            if (k < 1024) x[i] = std::ldexp(x[i], -static_cast<int>(row * 3 + 5));
        }
        return c;
    }

    Q14Case poisoned(const int64_t shape[3]) {
        Q14Case c = make("poisoned", shape, [&](int64_t) { return normal_(generator_); });
        const auto at = [&](int64_t row, int64_t k) { return static_cast<size_t>(row * c.k + k); };
        c.a[at(2, c.k - 1)] = number(0xFFC12345u);
        c.a[at(17, 0)] = std::numeric_limits<float>::infinity();
        c.b[at(0, c.k / 2)] = -std::numeric_limits<float>::infinity();
        return c;
    }

    Q14Case zero_rows(const int64_t shape[3]) {
        Q14Case c = make("zero rows", shape, [&](int64_t) { return wide(20); });
        for (int64_t k = 0; k < c.k; ++k) {
            c.a[static_cast<size_t>(3 * c.k + k)] = 0.0f;
            c.b[static_cast<size_t>(k)] = -0.0f;
            if (k >= 1024) c.a[static_cast<size_t>(4 * c.k + k)] = 0.0f;
        }
        return c;
    }

    /// Every q is +-8192 and every product has one sign: the largest sums there are.
    Q14Case full_scale(const int64_t shape[3]) {
        return make("full scale", shape, [](int64_t) { return 0x1.fffffep0f; });
    }

    std::mt19937_64 generator_;
    std::normal_distribution<float> normal_;
};

}  // namespace gym::kernels
