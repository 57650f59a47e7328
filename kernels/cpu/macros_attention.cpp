// Attention, one head of one window after another: everything of a head stays in the
// second-level cache. Heads are shared out over the threads.
#include "cpu/macro_rows.hpp"
#include "gym/kernels/macros.hpp"

namespace gym::kernels {
namespace {

/// Numerators of softmax lie in [0, 1].
constexpr int32_t kNumeratorExponent = 0;
/// Values over the power of two of their row lie in [-1, 1].
constexpr int32_t kFractionExponent = 0;

/// Where one head of one window lies in tensors of 3 * H * K and of H * K columns.
struct Head {
    int64_t qkv;   // element of q; k and v follow after width and 2 * width elements
    int64_t wide;  // element in (batch * T, H * K)
    int64_t row;   // element in (batch, H, T)
};

Head head_at(const AttentionShape& shape, int64_t index) {
    const int64_t batch = index / shape.heads, head = index % shape.heads;
    const int64_t row = batch * shape.context;
    return {row * 3 * shape.width() + head * shape.size, row * shape.width() + head * shape.size,
            index * shape.context};
}

MatrixView part(const AttentionShape& shape, const float* data, int64_t stride) {
    return {data, shape.context, shape.size, stride};
}

/// Buffers of MacroWorkspace::Thread.
enum Buffer { kQueries, kScores, kScoresGrad, kValues, kDelta, kPowers };

/// @param documents of the call. @param index of the head, as head_at() has it.
ScoresShape scores_shape(const AttentionShape& shape, const float* documents, int64_t index) {
    const int64_t row = index / shape.heads * shape.context;
    return {shape.context, shape.causal, documents == nullptr ? nullptr : documents + row};
}

/// `zeros` of causal attention; the others have none.
Q14Zeros zeros_of(const AttentionShape& shape, Q14Zeros zeros) {
    return shape.causal ? zeros : Q14Zeros::kNone;
}

/// Those of a product's factors that are not measured.
struct Exponents {
    std::optional<int32_t> a = std::nullopt;
    std::optional<int32_t> b = std::nullopt;
};

struct Products {
    Isa isa;
    MacroWorkspace::Thread& thread;

    /// out = a * b^T
    void operator()(MatrixView a, Along a_along, MatrixView b, Along b_along, MutableMatrixView out,
                    Q14Zeros zeros, Exponents exponents = {}) const {
        quantise_serial(isa, a, a_along, thread.matrices[0], exponents.a, zeros);
        quantise_serial(isa, b, b_along, thread.matrices[1], exponents.b);
        q14_product_serial(isa, thread.matrices[0], thread.matrices[1], out, zeros);
    }
};

/// q * scale (T, K) and the scores (T, T) of a head.
struct Scores {
    float* queries;
    float* scores;
};

Scores scores_of(Isa isa, MacroWorkspace::Thread& thread, const AttentionShape& shape,
                 const float* qkv) {
    const int64_t length = shape.context, stride = 3 * shape.width();
    const Scores out{thread.floats(kQueries, length * shape.size),
                     thread.floats(kScores, length * length)};
    GYM_SELECT_KERNEL(isa, scale_block)
    (qkv, shape.scale, out.queries, {length, shape.size, stride, shape.size});
    Products{isa, thread}(part(shape, out.queries, shape.size), Along::kRows,
                          part(shape, qkv + shape.width(), stride), Along::kRows,
                          {out.scores, length}, zeros_of(shape, Q14Zeros::kOutputRightOfDiagonal));
    return out;
}

/// o (T, K) = numerators * v.
void weighted_values(Isa isa, MacroWorkspace::Thread& thread, const AttentionForward& call,
                     ScoresShape scores, float* numerators, const float* v, float* o) {
    const AttentionShape& shape = call.shape;
    const int64_t length = shape.context, size = shape.size, stride = 3 * shape.width();
    const MatrixView weights{numerators, length, length, length};
    const Products product{isa, thread};
    const Q14Zeros zeros = zeros_of(shape, Q14Zeros::kRightOfDiagonal);
    if (scores.documents == nullptr)
        return product(weights, Along::kRows, part(shape, v, stride), Along::kColumns,
                       {o, shape.width()}, zeros, {.a = kNumeratorExponent});
    float* powers = thread.floats(kPowers, length);
    float* fractions = thread.floats(kValues, length * size);
    const MacroBlock block{length, size, stride, size};
    GYM_SELECT_KERNEL(isa, row_powers)(v, block, powers);
    GYM_SELECT_KERNEL(isa, divide_block)(v, powers, fractions, block);
    GYM_SELECT_KERNEL(isa, weigh_rows)(numerators, powers, scores);
    product(weights, Along::kRows, part(shape, fractions, size), Along::kColumns,
            {o, shape.width()}, zeros, {.b = kFractionExponent});
}

void forward_head(Isa isa, MacroWorkspace::Thread& thread, const AttentionForward& call,
                  int64_t index) {
    const AttentionShape& shape = call.shape;
    const Head head = head_at(shape, index);
    const int64_t length = shape.context;
    const float* qkv = call.qkv + head.qkv;
    float* l = call.l + head.row;
    float* o = call.o + head.wide;
    const Scores s = scores_of(isa, thread, shape, qkv);
    const ScoresShape scores = scores_shape(shape, call.documents, index);
    GYM_SELECT_KERNEL(isa, softmax_rows)(s.scores, scores, call.m + head.row, l);
    weighted_values(isa, thread, call, scores, s.scores, qkv + 2 * shape.width(), o);
    GYM_SELECT_KERNEL(isa, divide_block)
    (o, l, o, {length, shape.size, shape.width(), shape.width()});
}

void backward_head(Isa isa, MacroWorkspace::Thread& thread, const AttentionBackward& call,
                   int64_t index) {
    const AttentionShape& shape = call.shape;
    const Head head = head_at(shape, index);
    const int64_t length = shape.context, size = shape.size, width = shape.width();
    const int64_t stride = 3 * width;
    const float* qkv = call.qkv + head.qkv;
    float* d_qkv = call.d_qkv + head.qkv;
    const Products product{isa, thread};

    const Scores s = scores_of(isa, thread, shape, qkv);
    float* p = s.scores;
    const ScoresShape scores = scores_shape(shape, call.documents, index);
    GYM_SELECT_KERNEL(isa, numerator_rows)(p, scores, call.m + head.row);

    float* g = thread.floats(kValues, length * size);
    float* delta = thread.floats(kDelta, length);
    GYM_SELECT_KERNEL(isa, divide_block)
    (call.d_o + head.wide, call.l + head.row, g, {length, size, width, size});
    GYM_SELECT_KERNEL(isa, row_dots)(g, call.o + head.wide, {length, size, size, width}, delta);

    float* ds = thread.floats(kScoresGrad, length * length);
    const MatrixView g_view = part(shape, g, size);
    product(g_view, Along::kRows, part(shape, qkv + 2 * width, stride), Along::kRows, {ds, length},
            zeros_of(shape, Q14Zeros::kOutputRightOfDiagonal));
    GYM_SELECT_KERNEL(isa, scores_grad_rows)(p, delta, scores, ds);

    const MatrixView ds_view{ds, length, length, length};
    product(ds_view, Along::kRows, part(shape, qkv + width, stride), Along::kColumns,
            {d_qkv, stride}, zeros_of(shape, Q14Zeros::kRightOfDiagonal));
    GYM_SELECT_KERNEL(isa, scale_block)
    (d_qkv, shape.scale, d_qkv, {length, size, stride, stride});
    const Q14Zeros above = zeros_of(shape, Q14Zeros::kLeftOfDiagonal);
    product(ds_view, Along::kColumns, part(shape, s.queries, size), Along::kColumns,
            {d_qkv + width, stride}, above);
    product({p, length, length, length}, Along::kColumns, g_view, Along::kColumns,
            {d_qkv + 2 * width, stride}, above, {.a = kNumeratorExponent});
}

}  // namespace

void macro_attention(const Context& context, MacroWorkspace& workspace,
                     const AttentionForward& call) {
    workspace.prepare(context);
    context.pool().parallel_for_dynamic(
        call.shape.batch * call.shape.heads, 1, [&](LoopChunk chunk) {
            for (int64_t i = chunk.begin; i < chunk.end; ++i)
                forward_head(context.isa(), workspace.thread(chunk.thread), call, i);
        });
}

void macro_attention_grad(const Context& context, MacroWorkspace& workspace,
                          const AttentionBackward& call) {
    workspace.prepare(context);
    context.pool().parallel_for_dynamic(
        call.shape.batch * call.shape.heads, 1, [&](LoopChunk chunk) {
            for (int64_t i = chunk.begin; i < chunk.end; ++i)
                backward_head(context.isa(), workspace.thread(chunk.thread), call, i);
        });
}

}  // namespace gym::kernels
