// The Q14 product with run-time dispatch and threads: bits equal q14_dot() (q14.h) for every
// element, on every level and for any number of threads.
//
// A matrix is quantised once and then used in as many products as needed, on either side:
//
//     QuantisedMatrix x, w;
//     quantise(context, {activations, tokens, features, features}, Along::kRows, x);
//     quantise(context, {weights, outputs, features, features}, Along::kRows, w);
//     q14_product(context, x, w, {y, outputs});                   // y = x * w^T (tokens, outputs)
//
// In training, with y = x * w^T:   dx = dy * w:      quantise(dy, kRows),    quantise(w, kColumns)
//                                  dw = dy^T * x:    quantise(dy, kColumns), quantise(x, kColumns)
// kColumns quantises along the columns without forming a transpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gym/kernels/context.hpp"

namespace gym::kernels {

/// A row-major matrix inside a larger one: element (r, c) is data[r * row_stride + c].
struct MatrixView {
    const float* data;
    int64_t rows;
    int64_t columns;
    int64_t row_stride;  // >= columns
};

/// Where a product goes: element (m, n) is data[m * row_stride + n].
struct MutableMatrixView {
    float* data;
    int64_t row_stride;  // >= the product's columns
};

/// The direction that products sum over.
enum class Along {
    kRows,     // each row of the view is a vector
    kColumns,  // each column of the view is a vector
};

/// Memory aligned for every vector load. Grows, never shrinks.
class AlignedBuffer {
  public:
    static constexpr size_t kAlignment = 64;
    /// Room for `bytes`; old contents are lost when it grows.
    std::byte* reserve(size_t bytes);
    [[nodiscard]] std::byte* data() const { return data_.get(); }

  private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    std::unique_ptr<std::byte, Free> data_;
    size_t capacity_bytes_ = 0;
};

/// `vectors` quantised vectors of `length` elements, in the order that the kernels read: panels of
/// 16 vectors; inside a panel, pairs of consecutive elements of each vector side by side. Missing
/// vectors and elements are zero. Reusing an object reuses its memory.
class QuantisedMatrix {
  public:
    static constexpr int64_t kPanel = 16;

    [[nodiscard]] int64_t vectors() const { return vectors_; }
    [[nodiscard]] int64_t length() const { return length_; }
    [[nodiscard]] int64_t blocks() const { return blocks_; }
    [[nodiscard]] int64_t panels() const { return (vectors_ + kPanel - 1) / kPanel; }
    [[nodiscard]] int64_t pairs() const { return (length_ + 1) / 2; }

    /// (pairs, 16, 2) of one panel: element k of vector v of the panel is at (k / 2 * 16 + v) * 2 +
    /// k % 2.
    [[nodiscard]] const int16_t* panel(int64_t index) const { return q() + index * pairs() * 32; }
    [[nodiscard]] int16_t* panel(int64_t index) { return q() + index * pairs() * 32; }

    /// Exponents of block `index`, one a vector (padded to whole panels with -100).
    [[nodiscard]] const int32_t* block_exponents(int64_t index) const;
    [[nodiscard]] int32_t* block_exponents(int64_t index);
    /// Maxima of the exponents over a vector's blocks.
    [[nodiscard]] const int32_t* exponents() const { return block_exponents(blocks_); }
    [[nodiscard]] int32_t* exponents() { return block_exponents(blocks_); }

    /// How large partial sums of the panels can become, for the kernels: (blocks, panels).
    [[nodiscard]] uint32_t* energies() {
        return reinterpret_cast<uint32_t*>(block_exponents(blocks_ + 1));
    }

    /// Sets the shape; contents are then undefined until quantise() fills them.
    void reshape(int64_t vectors, int64_t length);

  private:
    [[nodiscard]] int16_t* q() const { return reinterpret_cast<int16_t*>(q_.data()); }

    int64_t vectors_ = 0;
    int64_t length_ = 0;
    int64_t blocks_ = 0;
    AlignedBuffer q_;
    AlignedBuffer exponents_;
};

/// Parts that the caller knows to be zero or does not need: skipped work, same bits.
enum class Q14Zeros {
    kNone,
    kRightOfDiagonal,        ///< a's element k of vector m is zero for k > m
    kLeftOfDiagonal,         ///< ... for k < m
    kOutputRightOfDiagonal,  ///< out (m, n) for n > m may be left as it is
};

/// Quantises the vectors of a view, each block with its own exponent, or all with `fixed_exponent`
/// (attention's numerators: 0), where an element that does not fit poisons its vector.
/// @pre vector length <= kQ14LengthMax.
void quantise(const Context& context, MatrixView view, Along along, QuantisedMatrix& out,
              std::optional<int32_t> fixed_exponent = std::nullopt);

/// The same on one thread, for callers that are themselves a part of a parallel loop. With `zeros`,
/// `out` only serves as the left operand of products with the same `zeros`.
void quantise_serial(Isa isa, MatrixView view, Along along, QuantisedMatrix& out,
                     std::optional<int32_t> fixed_exponent = std::nullopt,
                     Q14Zeros zeros = Q14Zeros::kNone);

/// out (a.vectors(), b.vectors()) = a * b^T. @pre a.length() == b.length().
void q14_product(const Context& context, const QuantisedMatrix& a, const QuantisedMatrix& b,
                 MutableMatrixView out);

/// The same on one thread.
void q14_product_serial(Isa isa, const QuantisedMatrix& a, const QuantisedMatrix& b,
                        MutableMatrixView out, Q14Zeros zeros = Q14Zeros::kNone);

/// A factor of a product that is still f32.
struct Q14Factor {
    MatrixView view;
    Along along;
    [[nodiscard]] int64_t vectors() const {
        return along == Along::kRows ? view.rows : view.columns;
    }
    [[nodiscard]] int64_t length() const {
        return along == Along::kRows ? view.columns : view.rows;
    }
};

/// Memory that q14_multiply() reuses from call to call.
struct Q14Buffers {
    QuantisedMatrix a, b;
    std::vector<QuantisedMatrix> parts;  // one a thread
};

/// out (a.vectors(), b.vectors()) = a * b^T, bits as with quantise() and q14_product(). A small
/// factor is quantised first; the other one by parts that go from one cache into the product.
/// @pre a.length() == b.length() <= kQ14LengthMax.
void q14_multiply(const Context& context, const Q14Factor& a, const Q14Factor& b,
                  Q14Buffers& buffers, MutableMatrixView out);

/// One of many small products (attention heads).
struct Q14BatchItem {
    MatrixView a;
    Along a_along;
    MatrixView b;
    Along b_along;
    MutableMatrixView out;
    std::optional<int32_t> a_fixed_exponent = std::nullopt;
    std::optional<int32_t> b_fixed_exponent = std::nullopt;
};

/// Independent products, whole products over the threads.
void q14_product_batch(const Context& context, std::span<const Q14BatchItem> items);

}  // namespace gym::kernels
