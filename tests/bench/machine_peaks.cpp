#include "machine_peaks.hpp"

#include <algorithm>

#include "bench_support.hpp"

#if defined(GYM_KERNELS_X86)
#include <immintrin.h>
#endif

namespace gym::bench {
namespace {

// Short pieces and many of them: on a machine that others use too, some run undisturbed.
constexpr int kTries = 200;

/// The shortest of kTries runs.
template <typename Work>
double best_seconds(const Work& work) {
    double best = 1e9;
    for (int i = 0; i < kTries; ++i) {
        const double start = seconds_now();
        work();
        best = std::min(best, seconds_now() - start);
    }
    return best;
}

#if defined(GYM_KERNELS_X86)

constexpr int kChains = 12;  // enough to hide the latency of two units
constexpr std::int64_t kRounds = 50'000;

__attribute__((target("avx512f,avx512vnni"))) void multiply_add_avx512() {
    __m512i sum[kChains];
    const __m512i x = _mm512_set1_epi32(0x00030005);
#pragma GCC unroll 12  // an index that varies would keep the sums in memory
    for (int c = 0; c < kChains; ++c)
        sum[c] = _mm512_setzero_si512();
    for (std::int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c)
            __asm__ volatile("vpdpwssd %1, %1, %0" : "+v"(sum[c]) : "v"(x));
    }
}

__attribute__((target("avx2"))) void multiply_add_avx2() {
    __m256i sum[kChains];
    const __m256i x = _mm256_set1_epi32(0x00030005);
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c)
        sum[c] = _mm256_setzero_si256();
    for (std::int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) {
            __m256i product;
            __asm__ volatile("vpmaddwd %1, %1, %0" : "=x"(product) : "x"(x));
            __asm__ volatile("vpaddd %1, %0, %0" : "+x"(sum[c]) : "x"(product));
        }
    }
}

#endif

}  // namespace

double integer_peak(const kernels::Context& context) {
#if defined(GYM_KERNELS_X86)
    if (context.isa() == kernels::Isa::kScalar) return 0;
    const bool avx512 = context.isa() >= kernels::Isa::kAvx512;
    const double seconds = best_seconds([&] {
        context.pool().parallel_for(context.threads(), 1, [&](kernels::LoopChunk) {
            avx512 ? multiply_add_avx512() : multiply_add_avx2();
        });
    });
    const double lanes = avx512 ? 32 : 16;
    return lanes * kChains * static_cast<double>(kRounds) * context.threads() / seconds;
#else
    return 0 * context.threads();
#endif
}

}  // namespace gym::bench
