// Macros with which a header compiles under a C++ compiler and under nvcc.
//
// Every function in the scalar semantics headers is always inlined and has internal linkage: the
// same header is compiled several times with different instruction sets (kernels/cpu), and a linker
// that merged those copies could run AVX-512 code on a CPU that has none.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define GYM_HD [[maybe_unused]] static __host__ __device__ __forceinline__
#else
#define GYM_HD [[maybe_unused]] static inline __attribute__((always_inline))
#endif
