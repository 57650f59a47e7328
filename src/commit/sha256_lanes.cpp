// SHA-256 (FIPS 180-4), one message a lane: word i of all sixteen messages is one register.
#include "sha256_lanes.hpp"

#include <cstring>

#include "gym/commit/merkle.hpp"
#include "gym/common/assert.hpp"
#include "sha256_constants.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gym::commit {

#if defined(__x86_64__)

namespace {

#define GYM_LANES static inline __attribute__((always_inline, target("avx512f,avx512bw")))

struct Lanes {
    __m512i word[8];
};

GYM_LANES __m512i add(__m512i a, __m512i b) {
    return _mm512_add_epi32(a, b);
}
GYM_LANES __m512i xor3(__m512i a, __m512i b, __m512i c) {
    return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}
GYM_LANES __m512i big_sigma0(__m512i a) {
    return xor3(_mm512_ror_epi32(a, 2), _mm512_ror_epi32(a, 13), _mm512_ror_epi32(a, 22));
}
GYM_LANES __m512i big_sigma1(__m512i e) {
    return xor3(_mm512_ror_epi32(e, 6), _mm512_ror_epi32(e, 11), _mm512_ror_epi32(e, 25));
}
GYM_LANES __m512i small_sigma0(__m512i w) {
    return xor3(_mm512_ror_epi32(w, 7), _mm512_ror_epi32(w, 18), _mm512_srli_epi32(w, 3));
}
GYM_LANES __m512i small_sigma1(__m512i w) {
    return xor3(_mm512_ror_epi32(w, 17), _mm512_ror_epi32(w, 19), _mm512_srli_epi32(w, 10));
}

/// Sixteen rows of sixteen words, rows and columns exchanged.
GYM_LANES void transpose(__m512i r[16]) {
    __m512i t[16], u[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int j = 0; j < 4; ++j) {
        const __m512i a = _mm512_shuffle_i32x4(u[j], u[4 + j], 0x88);
        const __m512i b = _mm512_shuffle_i32x4(u[8 + j], u[12 + j], 0x88);
        const __m512i c = _mm512_shuffle_i32x4(u[j], u[4 + j], 0xDD);
        const __m512i d = _mm512_shuffle_i32x4(u[8 + j], u[12 + j], 0xDD);
        r[j] = _mm512_shuffle_i32x4(a, b, 0x88);
        r[4 + j] = _mm512_shuffle_i32x4(c, d, 0x88);
        r[8 + j] = _mm512_shuffle_i32x4(a, b, 0xDD);
        r[12 + j] = _mm512_shuffle_i32x4(c, d, 0xDD);
    }
}

GYM_LANES __m512i swap_bytes(__m512i x) {
    const __m128i order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(order));
}

/// One block of each message: message m's lies at data + m * stride.
GYM_LANES void compress(Lanes& state, const std::uint8_t* data, std::size_t stride) {
    __m512i w[16];
#pragma GCC unroll 16
    for (int m = 0; m < 16; ++m)
        w[m] = swap_bytes(_mm512_loadu_si512(data + static_cast<std::size_t>(m) * stride));
    transpose(w);
    __m512i s[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
        s[i] = state.word[i];
#pragma GCC unroll 64
    for (int t = 0; t < 64; ++t) {
        if (t >= 16) {
            w[t % 16] = add(add(w[t % 16], small_sigma0(w[(t + 1) % 16])),
                            add(w[(t + 9) % 16], small_sigma1(w[(t + 14) % 16])));
        }
        // The letters a to h move by one word a round; instead, their names do.
        const auto at = [t](int letter) { return (letter - t % 8 + 8) % 8; };
        const __m512i a = s[at(0)], b = s[at(1)], c = s[at(2)];
        const __m512i e = s[at(4)], f = s[at(5)], g = s[at(6)], h = s[at(7)];
        const __m512i constant = _mm512_set1_epi32(static_cast<int>(kSha256RoundConstants[t]));
        const __m512i choose = _mm512_ternarylogic_epi32(e, f, g, 0xCA);
        const __m512i majority = _mm512_ternarylogic_epi32(a, b, c, 0xE8);
        const __m512i t1 = add(add(add(h, add(w[t % 16], constant)), choose), big_sigma1(e));
        s[at(3)] = add(s[at(3)], t1);
        s[at(7)] = add(t1, add(big_sigma0(a), majority));
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
        state.word[i] = add(state.word[i], s[i]);
}

GYM_LANES Lanes initial() {
    Lanes state;
    for (int i = 0; i < 8; ++i)
        state.word[i] = _mm512_set1_epi32(static_cast<int>(kSha256Initial[i]));
    return state;
}

GYM_LANES void store(const Lanes& state, Digest* out) {
    __m512i rows[16];
    for (int i = 0; i < 16; ++i)
        rows[i] = i < 8 ? swap_bytes(state.word[i]) : _mm512_setzero_si512();
    transpose(rows);
    for (int m = 0; m < 16; ++m)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out[m].data.data()),
                            _mm512_castsi512_si256(rows[m]));
}

constexpr std::size_t kBlockBytes = kSha256BlockBytes;
constexpr std::uint8_t kChunkTag = 0, kNodeTag = 1;
constexpr std::size_t kChunkMessageBytes = 1 + kChunkBytes;
constexpr std::size_t kNodeMessageBytes = 1 + 2 * Digest::kSize;
static_assert(kChunkMessageBytes % kBlockBytes == 1 && kNodeMessageBytes == kBlockBytes + 1);
static_assert(sizeof(Digest) == Digest::kSize);

/// Not inlined: one copy of a few thousand instructions.
__attribute__((noinline, target("avx512f,avx512bw"))) void compress_blocks(Lanes& state,
                                                                           const std::uint8_t* data,
                                                                           std::size_t stride,
                                                                           std::size_t blocks) {
    for (std::size_t i = 0; i < blocks; ++i)
        compress(state, data + i * kBlockBytes, stride);
}

__attribute__((target("avx512f,avx512bw"))) void leaf_lanes(const std::uint8_t* chunks,
                                                            Digest* leaves) {
    Lanes state = initial();
    // The tag moves the chunk by one byte: the first block is put together, the following ones lie
    // in the chunk as they are.
    std::uint8_t block[kSha256Lanes][kBlockBytes];
    for (std::size_t m = 0; m < kSha256Lanes; ++m) {
        block[m][0] = kChunkTag;
        std::memcpy(block[m] + 1, chunks + m * kChunkBytes, kBlockBytes - 1);
    }
    compress_blocks(state, block[0], kBlockBytes, 1);
    compress_blocks(state, chunks + kBlockBytes - 1, kChunkBytes, kChunkBytes / kBlockBytes - 1);
    for (std::size_t m = 0; m < kSha256Lanes; ++m)
        sha256_last_block(block[m], chunks[(m + 1) * kChunkBytes - 1], kChunkMessageBytes);
    compress_blocks(state, block[0], kBlockBytes, 1);
    store(state, leaves);
}

__attribute__((target("avx512f,avx512bw"))) void node_lanes(const Digest* children,
                                                            Digest* parents) {
    Lanes state = initial();
    std::uint8_t block[kSha256Lanes][kBlockBytes], last[kSha256Lanes][kBlockBytes];
    for (std::size_t m = 0; m < kSha256Lanes; ++m) {
        const std::uint8_t* both = children[2 * m].data.data();  // left, then right
        block[m][0] = kNodeTag;
        std::memcpy(block[m] + 1, both, kBlockBytes - 1);
        sha256_last_block(last[m], both[kBlockBytes - 1], kNodeMessageBytes);
    }
    compress_blocks(state, block[0], kBlockBytes, 1);
    compress_blocks(state, last[0], kBlockBytes, 1);
    store(state, parents);
}

}  // namespace

bool has_sha256_lanes() {
    static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    return has;
}

void chunk_leaf_lanes(const std::uint8_t* chunks, Digest leaves[kSha256Lanes]) {
    leaf_lanes(chunks, leaves);
}

void merkle_node_lanes(const Digest children[2 * kSha256Lanes], Digest parents[kSha256Lanes]) {
    node_lanes(children, parents);
}

#else

bool has_sha256_lanes() {
    return false;
}
void chunk_leaf_lanes(const std::uint8_t*, Digest*) {
    GYM_ASSERT(false, "no AVX-512");
}
void merkle_node_lanes(const Digest*, Digest*) {
    GYM_ASSERT(false, "no AVX-512");
}

#endif

}  // namespace gym::commit
