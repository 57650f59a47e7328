// A kernel that makes two reductions of one kind one after the other, which kernels/cuda/reduce.cuh
// allows and no kernel there does.
#pragma once

#include <cstdint>

#include "gym/kernels/cuda/device.hpp"

namespace gym::kernels::cuda {

inline constexpr int kTwoMaximaThreads = 256;

/// out[k] = the largest of x[k], for k of 0 and 1. @param x (2, kTwoMaximaThreads).
void two_maxima(Device& device, const uint32_t* x, uint32_t* out);

}  // namespace gym::kernels::cuda
