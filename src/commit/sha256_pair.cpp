// SHA-256 (FIPS 180-4) with the SHA extensions of x86, two messages side by side.
#include "sha256_pair.hpp"

#include <cstddef>
#include <cstring>

#include "gym/commit/merkle.hpp"
#include "gym/common/assert.hpp"
#include "sha256_constants.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace gym::commit {

#if defined(__x86_64__)

namespace {

#define GYM_SHA static inline __attribute__((always_inline, target("sha,sse4.1,ssse3")))

constexpr std::size_t kBlockBytes = kSha256BlockBytes;

/// A state in the order that the instructions want: words a, b, e, f and c, d, g, h.
struct State {
    __m128i abef, cdgh;
};

GYM_SHA State initial() {
    const auto word = [](int i) { return static_cast<int>(kSha256Initial[i]); };
    return {_mm_set_epi32(word(0), word(1), word(4), word(5)),
            _mm_set_epi32(word(2), word(3), word(6), word(7))};
}

/// The schedule's next four words in place of the oldest four, w0.
GYM_SHA __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3) {
    const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
    return _mm_sha256msg2_epu32(sum, w3);
}

GYM_SHA void four_rounds(State& s, __m128i words, int first) {
    const __m128i k =
        _mm_load_si128(reinterpret_cast<const __m128i*>(kSha256RoundConstants + first));
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
            w[m][i % 4] = i < 4 ? big_endian_words(data[m] + std::ptrdiff_t{16} * i)
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
        sha256_last_block(block[m], chunk[m][kChunkBytes - 1], kChunkMessageBytes);
    compress(state, block[0], block[1]);
    for (int m = 0; m < 2; ++m)
        store(state[m], leaves[m]);
}

__attribute__((target("sha,sse4.1,ssse3"))) void node_pair(const Digest children[4],
                                                           Digest parents[2]) {
    State state[2] = {initial(), initial()};
    std::uint8_t block[2][kBlockBytes], last[2][kBlockBytes];
    for (std::size_t m = 0; m < 2; ++m) {
        const std::uint8_t *left = children[2 * m].data.data(),
                           *right = children[2 * m + 1].data.data();
        block[m][0] = kNodeTag;
        std::memcpy(block[m] + 1, left, Digest::kSize);
        std::memcpy(block[m] + 1 + Digest::kSize, right, Digest::kSize - 1);
        sha256_last_block(last[m], right[Digest::kSize - 1], kNodeMessageBytes);
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
