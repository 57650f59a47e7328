// Sixteen 32-bit lanes, for sources compiled at GYM_KERNEL_LEVEL 1 (two AVX2 registers) or 2 (one
// AVX-512 register): what the Q14 kernels need and no more. Lane i of a vector is element i in
// memory.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define GYM_LANES [[maybe_unused]] static inline __attribute__((always_inline))
#define GYM_LANES_MEMBER inline __attribute__((always_inline))

namespace gym::kernels::GYM_KERNEL_ISA {

/// A compile-time index.
template <int I>
struct Index {
    static constexpr int value = I;
};
/// f(Index<0>()), ..., f(Index<Count - 1>()). A loop over an array of registers is unrolled too
/// late: GCC 12 then keeps the array in memory and copies it every few products.
template <int Count, int First = 0, typename F>
GYM_LANES void unrolled(const F& f) {
    if constexpr (First < Count) {
        f(Index<First>());
        unrolled<Count, First + 1>(f);
    }
}

/// Towards the second-level cache; p may be anything.
GYM_LANES void prefetch(const float* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
}
GYM_LANES void end_stores_past_caches() {
    _mm_sfence();
}

#if GYM_KERNEL_LEVEL >= 2

struct Floats {
    __m512 v;
};
struct Ints {
    __m512i v;
};

GYM_LANES Floats load(const float* p) {
    return {_mm512_loadu_ps(p)};
}
/// The first `count` lanes from memory, the others zero; no byte beyond them is read.
GYM_LANES Floats load_first(const float* p, int64_t count) {
    const uint32_t bits = count >= 16 ? 0xFFFFu : (count <= 0 ? 0u : (1u << count) - 1u);
    return {_mm512_maskz_loadu_ps(static_cast<__mmask16>(bits), p)};
}
GYM_LANES void store_first(float* p, Floats x, int64_t count) {
    const uint32_t bits = count >= 16 ? 0xFFFFu : (1u << count) - 1u;
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>(bits), x.v);
}
GYM_LANES void store(float* p, Floats x) {
    _mm512_storeu_ps(p, x.v);
}
/// p aligned to 64. Before another thread may read it: end_stores_past_caches().
GYM_LANES void store_past_caches(float* p, Floats x) {
    _mm512_stream_ps(p, x.v);
}
GYM_LANES Floats splat(float x) {
    return {_mm512_set1_ps(x)};
}
GYM_LANES Floats operator*(Floats a, Floats b) {
    return {_mm512_mul_ps(a.v, b.v)};
}

GYM_LANES Ints load(const int32_t* p) {
    return {_mm512_loadu_si512(p)};
}
GYM_LANES void store(void* p, Ints x) {
    _mm512_storeu_si512(p, x.v);
}
GYM_LANES Ints splat(int32_t x) {
    return {_mm512_set1_epi32(x)};
}
GYM_LANES Ints bits(Floats x) {
    return {_mm512_castps_si512(x.v)};
}
GYM_LANES Floats floats(Ints x) {
    return {_mm512_castsi512_ps(x.v)};
}
GYM_LANES Ints operator+(Ints a, Ints b) {
    return {_mm512_add_epi32(a.v, b.v)};
}
GYM_LANES Ints operator-(Ints a, Ints b) {
    return {_mm512_sub_epi32(a.v, b.v)};
}
GYM_LANES Ints operator&(Ints a, Ints b) {
    return {_mm512_and_si512(a.v, b.v)};
}
GYM_LANES Ints operator|(Ints a, Ints b) {
    return {_mm512_or_si512(a.v, b.v)};
}
GYM_LANES Ints max(Ints a, Ints b) {
    return {_mm512_max_epi32(a.v, b.v)};
}
GYM_LANES Ints min(Ints a, Ints b) {
    return {_mm512_min_epi32(a.v, b.v)};
}
template <int N>
GYM_LANES Ints shift_left(Ints a) {
    return {_mm512_slli_epi32(a.v, N)};
}
template <int N>
GYM_LANES Ints shift_right(Ints a) {
    return {_mm512_srli_epi32(a.v, N)};
}
template <int N>
GYM_LANES Ints shift_right_signed(Ints a) {
    return {_mm512_srai_epi32(a.v, N)};
}
/// All ones where a > b.
GYM_LANES Ints greater(Ints a, Ints b) {
    return {_mm512_movm_epi32(_mm512_cmpgt_epi32_mask(a.v, b.v))};
}
GYM_LANES Ints select(Ints mask, Ints yes, Ints no) {
    return {_mm512_ternarylogic_epi32(mask.v, yes.v, no.v, 0xCA)};
}
GYM_LANES int32_t largest(Ints a) {
    return _mm512_reduce_max_epi32(a.v);
}
/// rint to i32 (values in range).
GYM_LANES Ints round(Floats x) {
    return {_mm512_cvtps_epi32(x.v)};
}

/// Elements 0..15 (low) and 16..31 as i16, two neighbours in a lane: pair i is in lane
/// packed_position(i).
GYM_LANES Ints pack(Ints low, Ints high) {
    return {_mm512_packs_epi32(low.v, high.v)};
}
constexpr int64_t packed_position(int64_t i) {
    return i % 8 / 2 * 4 + i / 8 * 2 + i % 2;
}

/// Sum of squares of the two i16 of each lane.
GYM_LANES Ints square_pairs(Ints a) {
    return {_mm512_madd_epi16(a.v, a.v)};
}

/// Sixteen vectors of sixteen lanes, rows and columns exchanged.
GYM_LANES void transpose(Ints r[16]) {
    __m512i t[16], u[16];
    unrolled<8>([&](auto n) __attribute__((always_inline)) {
        constexpr int i = 2 * n.value;
        t[i] = _mm512_unpacklo_epi32(r[i].v, r[i + 1].v);
        t[i + 1] = _mm512_unpackhi_epi32(r[i].v, r[i + 1].v);
    });
    unrolled<4>([&](auto n) __attribute__((always_inline)) {
        constexpr int i = 4 * n.value;
        u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    });
    // u[4 g + j] holds, in its 128-bit part p, lane 4 p + j of rows 4 g .. 4 g + 3.
    unrolled<4>([&](auto n) __attribute__((always_inline)) {
        constexpr int j = n.value;
        const __m512i a = _mm512_shuffle_i32x4(u[j], u[4 + j], 0x88);
        const __m512i b = _mm512_shuffle_i32x4(u[8 + j], u[12 + j], 0x88);
        const __m512i c = _mm512_shuffle_i32x4(u[j], u[4 + j], 0xDD);
        const __m512i d = _mm512_shuffle_i32x4(u[8 + j], u[12 + j], 0xDD);
        r[j].v = _mm512_shuffle_i32x4(a, b, 0x88);
        r[4 + j].v = _mm512_shuffle_i32x4(c, d, 0x88);
        r[8 + j].v = _mm512_shuffle_i32x4(a, b, 0xDD);
        r[12 + j].v = _mm512_shuffle_i32x4(c, d, 0xDD);
    });
}

#else

struct Floats {
    __m256 a, b;
};
struct Ints {
    __m256i a, b;
};

GYM_LANES Floats load(const float* p) {
    return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
GYM_LANES __m256i first_lanes(int64_t count) {
    const int32_t lanes = count >= 8 ? 8 : (count <= 0 ? 0 : static_cast<int32_t>(count));
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/// The first `count` lanes from memory, the others zero; no byte beyond them is read.
GYM_LANES Floats load_first(const float* p, int64_t count) {
    return {_mm256_maskload_ps(p, first_lanes(count)),
            _mm256_maskload_ps(p + 8, first_lanes(count - 8))};
}
GYM_LANES void store_first(float* p, Floats x, int64_t count) {
    _mm256_maskstore_ps(p, first_lanes(count), x.a);
    _mm256_maskstore_ps(p + 8, first_lanes(count - 8), x.b);
}
GYM_LANES void store(float* p, Floats x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
/// p aligned to 64. Before another thread may read it: end_stores_past_caches().
GYM_LANES void store_past_caches(float* p, Floats x) {
    _mm256_stream_ps(p, x.a);
    _mm256_stream_ps(p + 8, x.b);
}
GYM_LANES Floats splat(float x) {
    return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
GYM_LANES Floats operator*(Floats x, Floats y) {
    return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}

GYM_LANES Ints load(const int32_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
GYM_LANES void store(void* p, Ints x) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), x.a);
    _mm256_storeu_si256(static_cast<__m256i*>(p) + 1, x.b);
}
GYM_LANES Ints splat(int32_t x) {
    return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
GYM_LANES Ints bits(Floats x) {
    return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)};
}
GYM_LANES Floats floats(Ints x) {
    return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)};
}
GYM_LANES Ints operator+(Ints x, Ints y) {
    return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
}
GYM_LANES Ints operator-(Ints x, Ints y) {
    return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)};
}
GYM_LANES Ints operator&(Ints x, Ints y) {
    return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)};
}
GYM_LANES Ints operator|(Ints x, Ints y) {
    return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
}
GYM_LANES Ints max(Ints x, Ints y) {
    return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)};
}
GYM_LANES Ints min(Ints x, Ints y) {
    return {_mm256_min_epi32(x.a, y.a), _mm256_min_epi32(x.b, y.b)};
}
template <int N>
GYM_LANES Ints shift_left(Ints x) {
    return {_mm256_slli_epi32(x.a, N), _mm256_slli_epi32(x.b, N)};
}
template <int N>
GYM_LANES Ints shift_right(Ints x) {
    return {_mm256_srli_epi32(x.a, N), _mm256_srli_epi32(x.b, N)};
}
template <int N>
GYM_LANES Ints shift_right_signed(Ints x) {
    return {_mm256_srai_epi32(x.a, N), _mm256_srai_epi32(x.b, N)};
}
/// All ones where x > y.
GYM_LANES Ints greater(Ints x, Ints y) {
    return {_mm256_cmpgt_epi32(x.a, y.a), _mm256_cmpgt_epi32(x.b, y.b)};
}
GYM_LANES Ints select(Ints mask, Ints yes, Ints no) {
    return {_mm256_blendv_epi8(no.a, yes.a, mask.a), _mm256_blendv_epi8(no.b, yes.b, mask.b)};
}
GYM_LANES int32_t largest(Ints x) {
    const __m256i both = _mm256_max_epi32(x.a, x.b);
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
    return _mm_cvtsi128_si32(m);
}
/// rint to i32 (values in range).
GYM_LANES Ints round(Floats x) {
    return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)};
}

/// Elements 0..15 (low) and 16..31 as i16, two neighbours in a lane: pair i is in lane
/// packed_position(i).
GYM_LANES Ints pack(Ints low, Ints high) {
    return {_mm256_packs_epi32(low.a, low.b), _mm256_packs_epi32(high.a, high.b)};
}
constexpr int64_t packed_position(int64_t i) {
    return i / 8 * 8 + i % 4 / 2 * 4 + i % 8 / 4 * 2 + i % 2;
}

/// Sum of squares of the two i16 of each lane.
GYM_LANES Ints square_pairs(Ints x) {
    return {_mm256_madd_epi16(x.a, x.a), _mm256_madd_epi16(x.b, x.b)};
}

/// Eight registers of eight lanes, rows and columns exchanged.
GYM_LANES void transpose8(__m256i r[8]) {
    __m256i t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        u[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int j = 0; j < 4; ++j) {
        r[j] = _mm256_permute2x128_si256(u[j], u[4 + j], 0x20);
        r[4 + j] = _mm256_permute2x128_si256(u[j], u[4 + j], 0x31);
    }
}

/// Sixteen vectors of sixteen lanes, rows and columns exchanged.
GYM_LANES void transpose(Ints r[16]) {
    __m256i quarter[4][8];
    for (int i = 0; i < 8; ++i) {
        quarter[0][i] = r[i].a;
        quarter[1][i] = r[i].b;
        quarter[2][i] = r[8 + i].a;
        quarter[3][i] = r[8 + i].b;
    }
    for (auto& part : quarter)
        transpose8(part);
    for (int i = 0; i < 8; ++i) {
        r[i] = {quarter[0][i], quarter[2][i]};
        r[8 + i] = {quarter[1][i], quarter[3][i]};
    }
}

#endif

}  // namespace gym::kernels::GYM_KERNEL_ISA
