#include "gym/kernels/dispatch.hpp"

#include "gym/kernels/context.hpp"
#include "gym/kernels/float_environment.hpp"
#include "kernel_test_support.hpp"

#if defined(GYM_KERNELS_X86)
#include <xmmintrin.h>
#endif

namespace gym::kernels {
namespace {

TEST(Dispatch, NamesAndLevelsCorrespond) {
    for (int i = 0; i < kIsaCount; ++i) {
        const Isa isa = static_cast<Isa>(i);
        EXPECT_EQ(parse_isa(isa_name(isa)), isa);
    }
    EXPECT_EQ(parse_isa("AVX2"), std::nullopt);
    EXPECT_EQ(parse_isa(""), std::nullopt);
}

TEST(Dispatch, TheProcessBoundIsTakenOnce) {
    const Isa bound = process_isa_max();
    EXPECT_LE(bound, detect_isa());
    EXPECT_TRUE(set_process_isa_max(bound));
    const Isa other = bound == Isa::kScalar ? Isa::kAvx2 : Isa::kScalar;
    EXPECT_FALSE(set_process_isa_max(other));
    EXPECT_EQ(process_isa_max(), bound);
}

TEST(DispatchDeathTest, ALevelAboveTheCpusIsRefused) {
    if (detect_isa() == Isa::kAmx) GTEST_SKIP() << "this CPU runs every level";
    EXPECT_DEATH(Context(Isa::kAmx, 1), "precondition");
}

#if defined(GYM_KERNELS_X86)
TEST(FloatEnvironment, FlushingAndRoundingAreSeenAndUndone) {
    ASSERT_TRUE(float_environment_is_exact());
    const unsigned saved = _mm_getcsr();
    for (const unsigned bits : {1u << 15, 1u << 6, 1u << 13}) {
        _mm_setcsr(saved | bits);
        EXPECT_FALSE(float_environment_is_exact());
        {
            const ExactFloatEnvironment exact;
            EXPECT_TRUE(float_environment_is_exact());
        }
        EXPECT_FALSE(float_environment_is_exact());
        _mm_setcsr(saved);
    }
}
#endif

}  // namespace
}  // namespace gym::kernels
