#include "machine_peaks.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench_support.hpp"

#if defined(GYM_KERNELS_X86)
#include <immintrin.h>
#endif

namespace gym::bench {
namespace {

constexpr int kTries = 9;

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
constexpr std::int64_t kRounds = 1'000'000;

__attribute__((target("avx512f,avx512vnni"))) void multiply_add_avx512() {
    __m512i sum[kChains];
    const __m512i x = _mm512_set1_epi32(0x00030005);
    for (__m512i& s : sum)
        s = _mm512_setzero_si512();
    for (std::int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c)
            __asm__ volatile("vpdpwssd %1, %1, %0" : "+v"(sum[c]) : "v"(x));
    }
}

__attribute__((target("avx2"))) void multiply_add_avx2() {
    __m256i sum[kChains];
    const __m256i x = _mm256_set1_epi32(0x00030005);
    for (__m256i& s : sum)
        s = _mm256_setzero_si256();
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

double memory_bandwidth(const kernels::Context& context) {
    constexpr std::int64_t kBytes = std::int64_t{1} << 28;
    std::vector<char> from(kBytes, 1), to(kBytes, 2);
    const double seconds = best_seconds([&] {
        context.pool().parallel_for(kBytes, 4096, [&](kernels::LoopChunk chunk) {
            std::memcpy(to.data() + chunk.begin, from.data() + chunk.begin,
                        static_cast<std::size_t>(chunk.end - chunk.begin));
        });
    });
    return 2.0 * static_cast<double>(kBytes) / seconds;
}

}  // namespace gym::bench
