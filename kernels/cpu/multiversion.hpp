// How one source becomes a kernel for every instruction set.
//
// A source listed in gym_kernel_sources of kernels/CMakeLists.txt is compiled once a level, with
// that level's flags, GYM_KERNEL_ISA set to the level's namespace (scalar, avx2, avx512) and
// GYM_KERNEL_LEVEL to 0, 1 or 2. Write plain loops over the functions of f32.h and programs.h
// inside `namespace gym::kernels::GYM_KERNEL_ISA`, mark them with GYM_VECTOR_LOOP, and the compiler
// makes the vector code; bits cannot differ, since the operations are the same. Declare the
// function once with GYM_DECLARE_KERNEL and call it as GYM_SELECT_KERNEL(isa, name)(arguments).
//
// Rule for such sources: no function or template of the standard library that could be emitted as a
// shared inline symbol (std::vector, std::min): the linker would keep one copy of it, perhaps the
// AVX-512 one.
#pragma once

#include "gym/kernels/dispatch.hpp"

#define GYM_DECLARE_KERNEL(...) \
    namespace scalar {          \
    __VA_ARGS__;                \
    }                           \
    namespace avx2 {            \
    __VA_ARGS__;                \
    }                           \
    namespace avx512 {          \
    __VA_ARGS__;                \
    }

#if defined(GYM_KERNELS_X86)
#define GYM_SELECT_KERNEL(isa, name)                                       \
    ((isa) >= ::gym::kernels::Isa::kAvx512 ? &::gym::kernels::avx512::name \
     : (isa) == ::gym::kernels::Isa::kAvx2 ? &::gym::kernels::avx2::name   \
                                           : &::gym::kernels::scalar::name)
#else
#define GYM_SELECT_KERNEL(isa, name) (static_cast<void>(isa), &::gym::kernels::scalar::name)
#endif

// Before a loop whose iterations are independent, also when an output is the same array as an
// input.
#if !defined(GYM_KERNEL_LEVEL) || GYM_KERNEL_LEVEL == 0
#define GYM_VECTOR_LOOP
#elif defined(__clang__)
#define GYM_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define GYM_VECTOR_LOOP _Pragma("GCC ivdep")
#endif
