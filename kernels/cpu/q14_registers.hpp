// Dot products of a few vectors of `a` with a panel or two of b, in registers.
//
// The inner loop is multiply-add of i16 pairs into i32 and nothing else. |q| <= 2^13, so a carry
// below 2^16 and fifteen pairs (15 * 2^27) fit an i32; then the upper half of the partial sum goes
// into a second i32 (a multiply-add with (0, 1) of its own halves), and the lower half stays as the
// carry. The sum is 2^16 * high + low. Most data are far from the worst case: where the operands'
// sums of squares show that 64 pairs fit as well, there is a carry every 64.
#pragma once

#include "cpu/q14_lanes.hpp"
#include "cpu/q14_tasks.hpp"

namespace gym::kernels::GYM_KERNEL_ISA {

/// Pairs whose dot product, together with a carry, fits an i32.
inline constexpr int64_t kExactPairs = 15;
static_assert(kExactPairs * 2 * kQ14Max * kQ14Max + 65535 <= INT32_MAX);

/// Sums of sixteen products: 2^16 * high + low with 0 <= low < 2^16.
struct Sums {
    Ints high, low;
};

#if GYM_KERNEL_LEVEL >= 2
inline constexpr int kRegisterRows = 8;
inline constexpr int kRegisterPanels = 2;
#else
inline constexpr int kRegisterRows = 4;
inline constexpr int kRegisterPanels = 1;
#endif

/// Sums of kRegisterRows vectors with `Panels` panels, meant for registers: index only by
/// constants (for_each_sum).
template <int Panels>
struct RegisterSums {
    Ints at[kRegisterRows * Panels];
};

/// f(row, panel) for every sum, both an Index.
template <int Panels, typename F>
GYM_LANES void for_each_sum(const F& f) {
    unrolled<kRegisterRows>([&](auto row) __attribute__((always_inline)) {
        unrolled<Panels>([&](auto panel) __attribute__((always_inline)) { f(row, panel); });
    });
}

template <int Panels>
GYM_LANES void clear(RegisterSums<Panels>& sums) {
    unrolled<kRegisterRows * Panels>([&](auto i) __attribute__((always_inline)) {
        sums.at[i.value] = splat(0);
    });
}

/// Adds the products of kRegisterRows vectors of a panel (a points at the first one's first pair)
/// with those of `Panels` panels over `Count` pairs, and moves on.
template <int Count, int Panels>
GYM_LANES void add_pairs(const int16_t*& a, const int16_t*& b, int64_t b_stride,
                         RegisterSums<Panels>& sums) {
    unrolled<Count>([&](auto p) __attribute__((always_inline)) {
        Ints y[Panels];
        unrolled<Panels>([&](auto j) __attribute__((always_inline)) {
            y[j.value] = load(
                reinterpret_cast<const int32_t*>(b + j.value * b_stride + p.value * kQ14PanelRow));
        });
        const int32_t* pair = reinterpret_cast<const int32_t*>(a + p.value * kQ14PanelRow);
        unrolled<kRegisterRows>([&](auto r) __attribute__((always_inline)) {
            const Pair x = splat_pair(pair[r.value]);
            unrolled<Panels>([&](auto j) __attribute__((always_inline)) {
                add_pair_products(sums.at[r.value * Panels + j.value], y[j.value], x);
            });
        });
    });
    a += Count * kQ14PanelRow;
    b += Count * kQ14PanelRow;
}

/// The same over any number of pairs.
template <int Panels>
GYM_LANES void add_many_pairs(const int16_t*& a, const int16_t*& b, int64_t b_stride, int64_t count,
                              RegisterSums<Panels>& sums) {
    for (; count >= 8; count -= 8)
        add_pairs<8>(a, b, b_stride, sums);
    if (count & 4) add_pairs<4>(a, b, b_stride, sums);
    if (count & 2) add_pairs<2>(a, b, b_stride, sums);
    if (count & 1) add_pairs<1>(a, b, b_stride, sums);
}

/// The same into sums in memory, with a carry every `interval` pairs. `fresh`: the sums are zero,
/// whatever the memory holds.
template <int Panels>
GYM_LANES void add_products(const int16_t* a, const int16_t* b, int64_t b_stride, int64_t pairs,
                            int64_t interval, bool fresh, Sums* sums) {
    constexpr int kSums = kRegisterRows * Panels;
    RegisterSums<Panels> sum;
    unrolled<kSums>([&](auto i) __attribute__((always_inline)) {
        sum.at[i.value] = load_unless(fresh, &sums[i.value].low);
    });
    const Ints lower = splat(0x0000FFFF);
    for (; pairs > 0; pairs -= interval) {
        add_many_pairs(a, b, b_stride, pairs < interval ? pairs : interval, sum);
        unrolled<kSums>([&](auto i) __attribute__((always_inline)) {
            Ints high = load_unless(fresh, &sums[i.value].high);
            add_upper_half(high, sum.at[i.value]);
            sums[i.value].high = high;
            sum.at[i.value] = sum.at[i.value] & lower;
        });
        fresh = false;
    }
    unrolled<kSums>([&](auto i)
                        __attribute__((always_inline)) { sums[i.value].low = sum.at[i.value]; });
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
