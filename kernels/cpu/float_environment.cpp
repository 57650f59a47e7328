#include "gym/kernels/float_environment.hpp"

#include <cfenv>

#if defined(GYM_KERNELS_X86)
#include <xmmintrin.h>
#endif

namespace gym::kernels {

#if defined(GYM_KERNELS_X86)

namespace {
constexpr unsigned kDefaultControl = 0x1F80;  // all exceptions masked, round to nearest
constexpr unsigned kFlushToZero = 1u << 15, kDenormalsAreZero = 1u << 6, kRounding = 3u << 13;
}  // namespace

bool float_environment_is_exact() {
    return (_mm_getcsr() & (kFlushToZero | kDenormalsAreZero | kRounding)) == 0;
}

ExactFloatEnvironment::ExactFloatEnvironment() : saved_(_mm_getcsr()) {
    _mm_setcsr(kDefaultControl);
}

ExactFloatEnvironment::~ExactFloatEnvironment() {
    _mm_setcsr(saved_);
}

#else

bool float_environment_is_exact() {
    volatile float smallest = 0x1p-149f;
    volatile float product = smallest * 1.0f;
    return std::fegetround() == FE_TONEAREST && product == smallest && product != 0.0f;
}

ExactFloatEnvironment::ExactFloatEnvironment() : saved_(static_cast<unsigned>(std::fegetround())) {
    std::fesetround(FE_TONEAREST);
}

ExactFloatEnvironment::~ExactFloatEnvironment() {
    std::fesetround(static_cast<int>(saved_));
}

#endif

}  // namespace gym::kernels
