// The scalar semantics evaluated on a CUDA device, through the same headers: the proof that a GPU
// gives the CPU's bits, and the reference for faster device kernels. Built with GYM_WITH_CUDA
// (target gym::kernels_cuda). Arrays are the host's; a call copies, runs and copies back.
#pragma once

#include <cstdint>
#include <string>

#include "gym/kernels/vector_ops.hpp"

namespace gym::kernels::cuda {

/// Empty if a device can run the kernels, else why not.
[[nodiscard]] std::string unavailable_reason();

/// y[i] = op(x[i]). Each function returns an empty string, or the CUDA error that stopped it.
[[nodiscard]] std::string map_unary(UnaryOp op, const float* x, float* y, int64_t count);
[[nodiscard]] std::string map_binary(BinaryOp op, const float* a, const float* b, float* y,
                                     int64_t count);
[[nodiscard]] std::string map_fma(const float* a, const float* b, const float* c, float* y,
                                  int64_t count);

/// y[r] = exact_sum of row r of x (rows, columns).
[[nodiscard]] std::string row_sums(const float* x, int64_t rows, int64_t columns, float* y);

struct ProductShape {
    int64_t m;
    int64_t n;
    int64_t k;
};
/// out (m, n) = the Q14 product of a (m, k) and b (n, k).
[[nodiscard]] std::string q14_product(const float* a, const float* b, ProductShape shape,
                                      float* out);

}  // namespace gym::kernels::cuda
