// The Q14 product through oneDNN's int8 matrix multiplication, the way to AMX tiles. In a build
// without oneDNN nothing here is available.
#pragma once

#include "cpu/q14_tasks.hpp"
#include "gym/kernels/dispatch.hpp"
#include "gym/kernels/thread_pool.hpp"

namespace gym::kernels {

[[nodiscard]] bool onednn_available();

/// @return false if oneDNN was used already, or its bound is fixed. True in a build without oneDNN.
bool onednn_set_isa_max(Isa isa);

/// out = a * b^T by digit products: three (Karatsuba) where oneDNN cannot saturate, else four.
/// @pre onednn_available(), at least one block, vector and output column.
void onednn_q14_product(ThreadPool& pool, const Q14Operand& a, const Q14Operand& b, float* out,
                        int64_t out_stride);

}  // namespace gym::kernels
