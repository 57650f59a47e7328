#include "gym/kernels/cuda/checks.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/cuda/product.hpp"

namespace gym::kernels::cuda {

void macro_matmul(Device& device, MatmulShape shape, const float* a, const float* b, float* out) {
    const MatrixView a_view = shape.transpose_a ? MatrixView{a, shape.k, shape.m, shape.m}
                                                : MatrixView{a, shape.m, shape.k, shape.k};
    const MatrixView b_view = shape.transpose_b ? MatrixView{b, shape.k, shape.n, shape.n}
                                                : MatrixView{b, shape.n, shape.k, shape.k};
    const Digits a_digits = quantise(device, OperandPlace::kA, a_view,
                                     shape.transpose_a ? Along::kColumns : Along::kRows);
    const Digits b_digits = quantise(device, OperandPlace::kB, b_view,
                                     shape.transpose_b ? Along::kColumns : Along::kRows);
    expect_unchanged_later(device, multiply(device, a_digits, b_digits, {out, shape.n}));
}

}  // namespace gym::kernels::cuda
