// Fused kernels of the macros (docs/MACROS.md): each gives exactly the bits of the
// macro's expansion, for every level and number of threads. Shapes stand beside the pointers;
// outputs must not overlap inputs unless it is said.
#pragma once

#include <cstdint>
#include <vector>

#include "gym/kernels/context.hpp"
#include "gym/kernels/host_device.h"
#include "gym/kernels/philox.h"
#include "gym/kernels/q14_product.hpp"
#include "gym/kernels/rows.h"

namespace gym::kernels {

/// Memory that the macros of one context reuse from call to call.
class MacroWorkspace {
  public:
    /// Buffers of one thread; `index` separates those that are in use at the same time.
    static constexpr int kBuffers = 8;
    static constexpr int kMatrices = 4;
    struct Thread {
        AlignedBuffer buffers[kBuffers];
        QuantisedMatrix matrices[kMatrices];
        float* floats(int index, int64_t count) {
            return reinterpret_cast<float*>(
                buffers[index].reserve(static_cast<size_t>(count) * sizeof(float)));
        }
    };
    /// The buffers of thread `index` of `context`'s pool.
    [[nodiscard]] Thread& thread(int index) { return threads_[static_cast<size_t>(index)]; }
    void prepare(const Context& context) {
        if (threads_.size() < static_cast<size_t>(context.threads()))
            threads_.resize(static_cast<size_t>(context.threads()));
    }

    Q14Buffers factors;    ///< of products that all threads share
    AlignedBuffer shared;  ///< arrays that all threads share
    AlignedBuffer shared_index;

  private:
    std::vector<Thread> threads_;
};

/// out (rows): exact sums of the rows of x (rows, length).
void macro_row_sum(const Context& context, const float* x, int64_t rows, int64_t length,
                   float* out);

/// out (columns): exact sums of the columns of x (rows, columns).
void macro_column_sum(const Context& context, const float* x, int64_t rows, int64_t columns,
                      float* out);

/// out (1): exact sum of x[i] * x[i] over x (count).
void macro_sum_squares(const Context& context, MacroWorkspace& workspace, const float* x,
                       int64_t count, float* out);

/// out[i] = exact sum of x[k][i] over k.
struct TensorSum {
    static constexpr int kPartsMax = 12;
    int64_t count;
    int parts;  // 1 to kPartsMax
    const float* x[kPartsMax];
    float* out;
};
GYM_HD float sum_of_element(const TensorSum& call, int64_t i) {
    uint32_t amax = 0;
    for (int k = 0; k < call.parts; ++k) {
        const uint32_t bits = magnitude_bits(call.x[k][i]);
        amax = bits > amax ? bits : amax;
    }
    const int32_t exponent = row_exponent_from_bits(amax);
    int64_t total = 0;
    for (int k = 0; k < call.parts; ++k)
        total += sum_term(call.x[k][i], exponent);
    return sum_finish(total, exponent);
}
void macro_sum_tensors(const Context& context, const TensorSum& call);

/// out (m, n) = a (m, k) * b (n, k)^T; transposed operands are stored (k, m) and (k, n).
struct MatmulShape {
    int64_t m;
    int64_t n;
    int64_t k;
    bool transpose_a;
    bool transpose_b;
};
void macro_matmul(const Context& context, MacroWorkspace& workspace, MatmulShape shape,
                  const float* a, const float* b, float* out);

struct LayernormForward {
    int64_t rows;
    int64_t width;
    float epsilon;
    const float* x;      // (rows, width)
    const float* gamma;  // (width)
    const float* beta;   // (width)
    float* y;            // (rows, width)
    float* mean;         // (rows)
    float* rstd;         // (rows)
};
void macro_layernorm(const Context& context, MacroWorkspace& workspace,
                     const LayernormForward& call);

struct LayernormBackward {
    int64_t rows;
    int64_t width;
    const float* x;      // (rows, width)
    const float* gamma;  // (width)
    const float* mean;   // (rows)
    const float* rstd;   // (rows)
    const float* dy;     // (rows, width)
    float* dx;           // (rows, width)
    float* dgamma;       // (width)
    float* dbeta;        // (width)
};
void macro_layernorm_grad(const Context& context, MacroWorkspace& workspace,
                          const LayernormBackward& call);

/// dx (count) of gelu at x (count).
void macro_gelu_grad(const Context& context, const float* x, const float* dy, float* dx,
                     int64_t count);

struct RmsnormForward {
    int64_t rows;
    int64_t width;
    float epsilon;
    const float* x;      // (rows, width)
    const float* gamma;  // (width)
    float* y;            // (rows, width)
    float* rstd;         // (rows)
};
void macro_rmsnorm(const Context& context, const RmsnormForward& call);

struct RmsnormBackward {
    int64_t rows;
    int64_t width;
    const float* x;      // (rows, width)
    const float* gamma;  // (width)
    const float* rstd;   // (rows)
    const float* dy;     // (rows, width)
    float* dx;           // (rows, width)
    float* dgamma;       // (width)
};
void macro_rmsnorm_grad(const Context& context, MacroWorkspace& workspace,
                        const RmsnormBackward& call);

/// The first `heads` heads of a row are turned, the columns behind them copied.
struct Rotation {
    int64_t rows;     // a multiple of `context`
    int64_t columns;  // at least heads * 2 * half
    int64_t context;
    int64_t heads;
    int64_t half;  // half the size of a head
    bool inverse;
    const float* x;       // (rows, columns)
    const float* cosine;  // (context, half)
    const float* sine;    // (context, half)
    float* y;             // (rows, columns)
};
void macro_rope(const Context& context, const Rotation& call);

/// 2 to the row exponent of values whose largest magnitude bits are these.
GYM_HD float power_of_two(uint32_t amax_bits) {
    return sum_finish(int64_t{1} << 30, row_exponent_from_bits(amax_bits));
}

/// Rows of `heads` query heads and twice `kv_heads` key and value heads (few), and rows in which
/// each query head has its own (many: 3 * heads * size columns).
struct HeadGroups {
    int64_t rows;
    int64_t heads;
    int64_t kv_heads;  // divides heads
    int64_t size;      // values of a head
};
GYM_HD int64_t heads_per_group(const HeadGroups& shape) {
    return shape.heads / shape.kv_heads;
}
GYM_HD int64_t few_columns(const HeadGroups& shape) {
    return (shape.heads + 2 * shape.kv_heads) * shape.size;
}
GYM_HD int64_t many_columns(const HeadGroups& shape) {
    return 3 * shape.heads * shape.size;
}
void macro_repeat_heads(const Context& context, const HeadGroups& shape, const float* few,
                        float* many);
/// Gradients of shared heads are exact sums over their group.
void macro_repeat_heads_grad(const Context& context, const HeadGroups& shape, const float* many,
                             float* few);

/// y (count) = silu(gate) * up.
void macro_swiglu(const Context& context, const float* gate, const float* up, float* y,
                  int64_t count);

struct SwigluBackward {
    int64_t count;
    const float* gate;
    const float* up;
    const float* dy;
    float* d_gate;
    float* d_up;
};
void macro_swiglu_grad(const Context& context, const SwigluBackward& call);

struct AttentionShape {
    int64_t batch;
    int64_t context;  // T
    int64_t heads;    // H
    int64_t size;     // values of a head, K
    float scale;
    bool causal = true;  // else every token reads all of its window
    [[nodiscard]] int64_t width() const { return heads * size; }
};
struct AttentionForward {
    AttentionShape shape;
    const float* qkv;  // (batch * T, 3 * H * K)
    float* o;          // (batch * T, H * K)
    float* m;          // (batch, H, T)
    float* l;          // (batch, H, T)
    /// (batch * T), of attention_documents, else nullptr: a token reads those of which the number
    /// is not below its own; values have exponents of their own.
    const float* documents = nullptr;
};
void macro_attention(const Context& context, MacroWorkspace& workspace,
                     const AttentionForward& call);

struct AttentionBackward {
    AttentionShape shape;
    const float* qkv;                  // (batch * T, 3 * H * K)
    const float* o;                    // (batch * T, H * K)
    const float* m;                    // (batch, H, T)
    const float* l;                    // (batch, H, T)
    const float* d_o;                  // (batch * T, H * K)
    float* d_qkv;                      // (batch * T, 3 * H * K)
    const float* documents = nullptr;  // as AttentionForward::documents
};
void macro_attention_grad(const Context& context, MacroWorkspace& workspace,
                          const AttentionBackward& call);

struct CrossEntropyForward {
    int64_t rows;
    int64_t width;           // V
    const float* logits;     // (rows, V)
    const int32_t* targets;  // (rows), clamped into [0, V)
    float* loss;             // (1)
    float* m;                // (rows)
    float* l;                // (rows)
};
void macro_cross_entropy(const Context& context, MacroWorkspace& workspace,
                         const CrossEntropyForward& call);

struct CrossEntropyBackward {
    int64_t rows;
    int64_t width;
    const float* logits;     // (rows, V)
    const int32_t* targets;  // (rows)
    const float* m;          // (rows)
    const float* l;          // (rows)
    float d_loss;
    float* d_logits;  // (rows, V)
};
void macro_cross_entropy_grad(const Context& context, const CrossEntropyBackward& call);

struct EmbeddingBackward {
    int64_t rows;
    int64_t width;           // D
    int64_t vocabulary;      // V
    const float* dy;         // (rows, D)
    const int32_t* indices;  // (rows), clamped into [0, V)
    float* d_table;          // (V, D)
};
void macro_embedding_grad(const Context& context, MacroWorkspace& workspace,
                          const EmbeddingBackward& call);

struct AdamwStep {
    int64_t count;
    const float* p;
    const float* m;
    const float* v;
    const float* g;
    float learning_rate, clip, r1, r2;
    float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, weight_decay;
    float* p_next;  // each output may be the array of its old value
    float* m_next;
    float* v_next;
};
void macro_adamw(const Context& context, const AdamwStep& call);

/// The same if `keep`, else the old values (NaNs canonical).
void macro_adamw_guarded(const Context& context, const AdamwStep& call, bool keep);

/// out (count): the mask of a random_mask op. @param position (5), as random_mask_element() has it.
void fill_random_mask(const Context& context, const int32_t* position, RandomMask mask, float* out,
                      int64_t count);

}  // namespace gym::kernels
