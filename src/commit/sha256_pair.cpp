// SHA-256 (FIPS 180-4) with the SHA extensions of x86, two messages side by side.
#include "sha256_pair.hpp"

#include <cstring>

#include "gym/commit/merkle.hpp"
#include "gym/common/assert.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace gym::commit {

#if defined(__x86_64__)

namespace {

#define GYM_SHA static inline __attribute__((always_inline, target("sha,sse4.1,ssse3")))

constexpr std::size_t kBlockBytes = 64;

alignas(64) constexpr std::uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// A state in the order that the instructions want: words a, b, e, f and c, d, g, h.
struct State {
    __m128i abef, cdgh;
};

GYM_SHA State initial() {
    return {_mm_set_epi32(0x6a09e667, static_cast<int>(0xbb67ae85), 0x510e527f,
                          static_cast<int>(0x9b05688c)),
            _mm_set_epi32(0x3c6ef372, static_cast<int>(0xa54ff53a), 0x1f83d9ab, 0x5be0cd19)};
}

/// The schedule's next four words in place of the oldest four, w0.
GYM_SHA __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3) {
    const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
    return _mm_sha256msg2_epu32(sum, w3);
}

GYM_SHA void four_rounds(State& s, __m128i words, int first) {
    const __m128i k = _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants + first));
    const __m128i sum = _mm_add_epi32(words, k);
    s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, sum);
    s.abef = _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(sum, 0x0E));
}

GYM_SHA __m128i big_endian_words(const std::uint8_t* p) {
    const __m128i order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), order);
}

/// One block of each message.
GYM_SHA void compress(State s[2], const std::uint8_t* first, const std::uint8_t* second) {
    const std::uint8_t* const data[2] = {first, second};
    State t[2] = {s[0], s[1]};
    __m128i w[2][4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
#pragma GCC unroll 2
        for (int m = 0; m < 2; ++m) {
            w[m][i % 4] = i < 4 ? big_endian_words(data[m] + 16 * i)
                                : next_words(w[m][i % 4], w[m][(i + 1) % 4], w[m][(i + 2) % 4],
                                             w[m][(i + 3) % 4]);
            four_rounds(t[m], w[m][i % 4], 4 * i);
        }
    }
    for (int m = 0; m < 2; ++m) {
        s[m].abef = _mm_add_epi32(s[m].abef, t[m].abef);
        s[m].cdgh = _mm_add_epi32(s[m].cdgh, t[m].cdgh);
    }
}

GYM_SHA void store(const State& s, Digest& out) {
    // Back to the order a, b, ... h, then to bytes, most significant first.
    const __m128i feba = _mm_shuffle_epi32(s.abef, 0x1B), dchg = _mm_shuffle_epi32(s.cdgh, 0xB1);
    const __m128i dcba = _mm_blend_epi16(feba, dchg, 0xF0), hgfe = _mm_alignr_epi8(dchg, feba, 8);
    const __m128i order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    auto* to = reinterpret_cast<__m128i*>(out.data.data());
    _mm_storeu_si128(to, _mm_shuffle_epi8(dcba, order));
    _mm_storeu_si128(to + 1, _mm_shuffle_epi8(hgfe, order));
}

/// The block that ends a message of `size_bytes`, whose last byte it begins with.
GYM_SHA void last_block(std::uint8_t block[kBlockBytes], std::uint8_t last,
                        std::uint64_t size_bytes) {
    std::memset(block, 0, kBlockBytes);
    block[0] = last;
    block[1] = 0x80;
    for (int i = 0; i < 8; ++i)
        block[kBlockBytes - 1 - i] = static_cast<std::uint8_t>(size_bytes * 8 >> (8 * i));
}

constexpr std::uint8_t kChunkTag = 0, kNodeTag = 1;
constexpr std::size_t kChunkMessageBytes = 1 + kChunkBytes,
                      kNodeMessageBytes = 1 + 2 * Digest::kSize;
static_assert(kChunkMessageBytes % kBlockBytes == 1 && kNodeMessageBytes == kBlockBytes + 1);

bool detect() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
    constexpr unsigned kShaBit = 1U << 29;
    return (ebx & kShaBit) != 0 && __builtin_cpu_supports("sse4.1") != 0;
}

__attribute__((target("sha,sse4.1,ssse3"))) void leaf_pair(const std::uint8_t* const chunk[2],
                                                           Digest leaves[2]) {
    State state[2] = {initial(), initial()};
    // The tag moves the chunk by one byte: the first block is put together, the following ones lie
    // in the chunk as they are.
    std::uint8_t block[2][kBlockBytes];
    for (int m = 0; m < 2; ++m) {
        block[m][0] = kChunkTag;
        std::memcpy(block[m] + 1, chunk[m], kBlockBytes - 1);
    }
    compress(state, block[0], block[1]);
    for (std::size_t at = kBlockBytes - 1; at + kBlockBytes <= kChunkBytes; at += kBlockBytes)
        compress(state, chunk[0] + at, chunk[1] + at);
    for (int m = 0; m < 2; ++m)
        last_block(block[m], chunk[m][kChunkBytes - 1], kChunkMessageBytes);
    compress(state, block[0], block[1]);
    for (int m = 0; m < 2; ++m)
        store(state[m], leaves[m]);
}

__attribute__((target("sha,sse4.1,ssse3"))) void node_pair(const Digest children[4],
                                                           Digest parents[2]) {
    State state[2] = {initial(), initial()};
    std::uint8_t block[2][kBlockBytes], last[2][kBlockBytes];
    for (int m = 0; m < 2; ++m) {
        const std::uint8_t *left = children[2 * m].data.data(),
                           *right = children[2 * m + 1].data.data();
        block[m][0] = kNodeTag;
        std::memcpy(block[m] + 1, left, Digest::kSize);
        std::memcpy(block[m] + 1 + Digest::kSize, right, Digest::kSize - 1);
        last_block(last[m], right[Digest::kSize - 1], kNodeMessageBytes);
    }
    compress(state, block[0], block[1]);
    compress(state, last[0], last[1]);
    for (int m = 0; m < 2; ++m)
        store(state[m], parents[m]);
}

}  // namespace

bool has_sha256_pairs() {
    static const bool has = detect();
    return has;
}

void chunk_leaf_pair(const std::uint8_t* first, const std::uint8_t* second, Digest leaves[2]) {
    const std::uint8_t* const chunks[2] = {first, second};
    leaf_pair(chunks, leaves);
}

void merkle_node_pair(const Digest children[4], Digest parents[2]) {
    node_pair(children, parents);
}

#else

bool has_sha256_pairs() {
    return false;
}
void chunk_leaf_pair(const std::uint8_t*, const std::uint8_t*, Digest*) {
    GYM_ASSERT(false, "no SHA instructions");
}
void merkle_node_pair(const Digest*, Digest*) {
    GYM_ASSERT(false, "no SHA instructions");
}

#endif

}  // namespace gym::commit
