// Attention: products over all heads of all windows at once, as many as fit in a bounded
// workspace.
#include "gym/kernels/cuda/attention_parts.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/cuda/product.hpp"
#include "gym/kernels/programs.h"
#include "reduce.cuh"
#include "scratch.hpp"

namespace gym::kernels::cuda {

namespace {

constexpr int32_t kNumeratorExponent = 0;
/// Values over the power of two of their row lie in [-1, 1].
constexpr int32_t kFractionExponent = 0;
constexpr int32_t kNumeratorSumExponent = 1;
/// Some whole windows of the batch.
struct Part {
    int64_t first_window;
    int64_t windows;
};

/// A head's (T, K) matrix in a tensor of `columns` columns.
struct HeadLayout {
    int64_t context;
    int64_t heads;
    int64_t size;
    int64_t columns;

    HeadLayout(const AttentionShape& shape, int64_t row_columns)
        : context(shape.context), heads(shape.heads), size(shape.size), columns(row_columns) {}
    Batch batch(int64_t windows) const { return {windows * heads, heads, context * columns, size}; }
    MatrixView view(const float* data) const { return {data, context, size, columns}; }
    __device__ int64_t at(int64_t item, int64_t row, int64_t column) const {
        return (item / heads * context + row) * columns + item % heads * size + column;
    }
};

Batch packed(int64_t items, int64_t elements) {
    return {items, items, 0, elements};
}

/// y[item, t, k] = x * factor, both laid out as heads.
struct ScaleElement {
    const float* x;
    HeadLayout from;
    float factor;
    float* y;
    HeadLayout to;

    __device__ void operator()(int64_t i) const {
        const int64_t column = i % from.size, row = i / from.size % from.context;
        const int64_t item = i / (from.size * from.context);
        y[to.at(item, row, column)] = f32::mul(x[from.at(item, row, column)], factor);
    }
};

/// y = x / divisors[item, t].
struct DivideElement {
    const float* x;
    HeadLayout from;
    const float* divisors;
    float* y;
    HeadLayout to;

    __device__ void operator()(int64_t i) const {
        const int64_t column = i % from.size, item_row = i / from.size;
        const int64_t row = item_row % from.context, item = item_row / from.context;
        y[to.at(item, row, column)] = f32::div(x[from.at(item, row, column)], divisors[item_row]);
    }
};

/// Which scores (items, T, T) count: of causal ones none right of the diagonal, with `documents`
/// (windows, T) only those of keys whose number is not below the query's.
struct Counting {
    int64_t length;
    int64_t heads;
    bool causal;
    const float* documents;

    /// Of a row, all that count are below this.
    __device__ int64_t end(int64_t item_row) const {
        return causal ? item_row % length + 1 : length;
    }
    __device__ bool operator()(int64_t item_row, int64_t column) const {
        if (column >= end(item_row)) return false;
        if (documents == nullptr) return true;
        const float* window = documents + item_row / (length * heads) * length;
        return window[item_row % length] <= window[column];
    }
};

/// Scores become numerators, with their maximum and their sum; zeros where they do not count.
struct SoftmaxRow {
    float* scores;
    Counting counts;
    float* m;
    float* l;

    __device__ void operator()() const {
        const int64_t item_row = blockIdx.x, length = counts.length;
        float* x = scores + item_row * length;
        const int64_t count = counts.end(item_row);
        float best = -f32::from_bits(f32::kInfinityBits);
        for (int64_t j = threadIdx.x; j < count; j += kRowThreads)
            if (counts(item_row, j)) best = f32::max(best, x[j]);
        const float maximum = block_reduce<kRowThreads>(best, F32Maximum());
        // Unrolled, the exponentials would need more registers than there are.
        GYM_KEEP_LOOP
        for (int64_t j = threadIdx.x; j < length; j += kRowThreads) {
            x[j] = counts(item_row, j) ? f32::exp(f32::sub(x[j], maximum)) : 0.0f;
        }
        // Each thread reads what it wrote itself.
        const float sum =
            block_sum_with_exponent(count, kNumeratorSumExponent, [&](int64_t j) { return x[j]; });
        if (threadIdx.x != 0) return;
        m[item_row] = maximum;
        l[item_row] = sum;
    }
};

struct NumeratorElement {
    float* scores;
    Counting counts;
    const float* m;

    __device__ void operator()(int64_t i) const {
        const int64_t column = i % counts.length, item_row = i / counts.length;
        const bool kept = counts(item_row, column);
        scores[i] = kept ? f32::exp(f32::sub(scores[i], m[item_row])) : 0.0f;
    }
};

struct ScoresGradElement {
    const float* numerators;
    const float* delta;
    Counting counts;
    float* d_scores;

    __device__ void operator()(int64_t i) const {
        const int64_t column = i % counts.length, item_row = i / counts.length;
        const bool kept = counts(item_row, column);
        d_scores[i] = kept ? f32::mul(numerators[i], f32::sub(d_scores[i], delta[item_row])) : 0.0f;
    }
};

/// powers[item, t] = the power of two of a head's values.
struct PowerRow {
    const float* x;
    HeadLayout layout;
    float* powers;

    __device__ void operator()(int64_t item_row) const {
        const int64_t row = item_row % layout.context, item = item_row / layout.context;
        uint32_t amax = 0;
        for (int64_t k = 0; k < layout.size; ++k)
            amax = Maximum()(amax, magnitude_bits(x[layout.at(item, row, k)]));
        powers[item_row] = power_of_two(amax);
    }
};

/// numerators[item, t, j] *= powers[item, j].
struct WeightElement {
    float* numerators;
    Counting counts;
    const float* powers;

    __device__ void operator()(int64_t i) const {
        const int64_t column = i % counts.length, item_row = i / counts.length;
        if (!counts(item_row, column)) return;
        const float power = powers[item_row / counts.length * counts.length + column];
        numerators[i] = f32::mul(numerators[i], power);
    }
};

/// delta[item, t] = exact sum over k of g * o.
struct DeltaRow {
    const float* g;
    HeadLayout g_layout;
    const float* o;
    HeadLayout o_layout;
    float* delta;

    __device__ void operator()() const {
        const int64_t item_row = blockIdx.x;
        const int64_t row = item_row % g_layout.context, item = item_row / g_layout.context;
        const float sum = block_exact_sum(g_layout.size, [&](int64_t k) {
            return f32::mul(g[g_layout.at(item, row, k)], o[o_layout.at(item, row, k)]);
        });
        if (threadIdx.x == 0) delta[item_row] = sum;
    }
};

/// Shared by forward and backward, for the windows of one part.
struct Heads {
    AttentionShape shape;
    Counting counts;
    int64_t items;
    HeadLayout qkv_layout;
    HeadLayout wide_layout;
    HeadLayout own_layout;  // (items, T, K), packed: heads are items, one head each
    float* queries;
    float* scores;

    /// @param documents of all windows, or nullptr.
    Heads(Device& device, const AttentionShape& s, const float* documents, Part part)
        : shape(s),
          counts{s.context, s.heads, s.causal,
                 documents == nullptr ? nullptr : documents + part.first_window * s.context},
          items(part.windows * s.heads),
          qkv_layout(s, 3 * s.width()),
          wide_layout(s, s.width()),
          own_layout(s, s.size),
          queries(device.scratch_of<float>(kScratchMacro0, items * s.context * s.size)),
          scores(device.scratch_of<float>(kScratchMacro1, items * s.context * s.context)) {
        own_layout.heads = 1;
    }
    /// `zeros` of causal attention; the others have none.
    Q14Zeros zeros(Q14Zeros of_causal) const { return shape.causal ? of_causal : Q14Zeros::kNone; }
    int64_t rows() const { return items * shape.context; }
    int64_t values() const { return rows() * shape.size; }
    Batch qkv_batch() const { return qkv_layout.batch(items / shape.heads); }
    Batch wide_batch() const { return wide_layout.batch(items / shape.heads); }
    Batch own_batch() const { return packed(items, shape.context * shape.size); }
    Batch scores_batch() const { return packed(items, shape.context * shape.context); }
    MatrixView scores_view(const float* data) const {
        return {data, shape.context, shape.context, shape.context};
    }

    /// queries = q * scale; scores = queries * k^T, of causal ones left of the diagonal and on it.
    void compute_scores(Device& device, const float* qkv) const {
        for_each(device, values(), ScaleElement{qkv, qkv_layout, shape.scale, queries, own_layout});
        const Digits q =
            quantise(device, OperandPlace::kA, own_layout.view(queries), Along::kRows, own_batch());
        const Digits k = quantise(device, OperandPlace::kB, qkv_layout.view(qkv + shape.width()),
                                  Along::kRows, qkv_batch());
        multiply(device, q, k, {scores, shape.context}, scores_batch(),
                 zeros(Q14Zeros::kOutputRightOfDiagonal));
    }
};

/// o = numerators * v.
void weighted_values(Device& device, const Heads& heads, const float* v, float* o) {
    const Q14Zeros zeros = heads.zeros(Q14Zeros::kRightOfDiagonal);
    const MatrixView weights = heads.scores_view(heads.scores);
    const MutableMatrixView out{o, heads.shape.width()};
    if (heads.counts.documents == nullptr) {
        const Digits p = quantise(device, OperandPlace::kA, weights, Along::kRows,
                                  heads.scores_batch(), kNumeratorExponent);
        const Digits b = quantise(device, OperandPlace::kB, heads.qkv_layout.view(v),
                                  Along::kColumns, heads.qkv_batch());
        return multiply(device, p, b, out, heads.wide_batch(), zeros);
    }
    float* fractions = device.scratch_of<float>(kScratchMacro2, heads.values() + heads.rows());
    float* powers = fractions + heads.values();
    for_each(device, heads.rows(), PowerRow{v, heads.qkv_layout, powers});
    for_each(device, heads.values(),
             DivideElement{v, heads.qkv_layout, powers, fractions, heads.own_layout});
    for_each(device, heads.rows() * heads.shape.context,
             WeightElement{heads.scores, heads.counts, powers});
    const Digits p =
        quantise(device, OperandPlace::kA, weights, Along::kRows, heads.scores_batch());
    const Digits b = quantise(device, OperandPlace::kB, heads.own_layout.view(fractions),
                              Along::kColumns, heads.own_batch(), kFractionExponent);
    multiply(device, p, b, out, heads.wide_batch(), zeros);
}

void forward_part(Device& device, const AttentionForward& call, Part part) {
    const AttentionShape& shape = call.shape;
    const Heads heads(device, shape, call.documents, part);
    const int64_t first_row = part.first_window * shape.context;
    const float* qkv = call.qkv + first_row * 3 * shape.width();
    float* o = call.o + first_row * shape.width();
    float* l = call.l + first_row * shape.heads;
    heads.compute_scores(device, qkv);
    launch<kRowThreads>(
        device, {heads.rows()},
        SoftmaxRow{heads.scores, heads.counts, call.m + first_row * shape.heads, l});
    weighted_values(device, heads, qkv + 2 * shape.width(), o);
    for_each(device, heads.values(), DivideElement{o, heads.wide_layout, l, o, heads.wide_layout});
}

void backward_part(Device& device, const AttentionBackward& call, Part part) {
    const AttentionShape& shape = call.shape;
    const Heads heads(device, shape, call.documents, part);
    const int64_t length = shape.context, width = shape.width();
    const int64_t first_row = part.first_window * length, first_head_row = first_row * shape.heads;
    const float* qkv = call.qkv + first_row * 3 * width;
    float* d_qkv = call.d_qkv + first_row * 3 * width;
    const float* o = call.o + first_row * width;

    heads.compute_scores(device, qkv);
    float* p = heads.scores;
    const int64_t cells = heads.rows() * length;
    for_each(device, cells, NumeratorElement{p, heads.counts, call.m + first_head_row});

    float* g = device.scratch_of<float>(kScratchMacro2, heads.values() + heads.rows());
    float* delta = g + heads.values();
    for_each(device, heads.values(),
             DivideElement{call.d_o + first_row * width, heads.wide_layout, call.l + first_head_row,
                           g, heads.own_layout});
    launch<kRowThreads>(device, {heads.rows()},
                        DeltaRow{g, heads.own_layout, o, heads.wide_layout, delta});

    float* ds = device.scratch_of<float>(kScratchMacro3, cells);
    const MatrixView g_view = heads.own_layout.view(g);
    const auto operand_a = [&](MatrixView view, Along along, Batch batch,
                               std::optional<int32_t> exponent = std::nullopt) {
        return quantise(device, OperandPlace::kA, view, along, batch, exponent);
    };
    const auto operand_b = [&](MatrixView view, Along along, Batch batch) {
        return quantise(device, OperandPlace::kB, view, along, batch);
    };
    multiply(device, operand_a(g_view, Along::kRows, heads.own_batch()),
             operand_b(heads.qkv_layout.view(qkv + 2 * width), Along::kRows, heads.qkv_batch()),
             {ds, length}, heads.scores_batch(), heads.zeros(Q14Zeros::kOutputRightOfDiagonal));
    for_each(device, cells, ScoresGradElement{p, delta, heads.counts, ds});

    const MatrixView ds_view = heads.scores_view(ds);
    multiply(device, operand_a(ds_view, Along::kRows, heads.scores_batch()),
             operand_b(heads.qkv_layout.view(qkv + width), Along::kColumns, heads.qkv_batch()),
             {d_qkv, 3 * width}, heads.qkv_batch(), heads.zeros(Q14Zeros::kRightOfDiagonal));
    for_each(device, heads.values(),
             ScaleElement{d_qkv, heads.qkv_layout, shape.scale, d_qkv, heads.qkv_layout});
    multiply(device, operand_a(ds_view, Along::kColumns, heads.scores_batch()),
             operand_b(heads.own_layout.view(heads.queries), Along::kColumns, heads.own_batch()),
             {d_qkv + width, 3 * width}, heads.qkv_batch(), heads.zeros(Q14Zeros::kLeftOfDiagonal));
    multiply(
        device,
        operand_a(heads.scores_view(p), Along::kColumns, heads.scores_batch(), kNumeratorExponent),
        operand_b(g_view, Along::kColumns, heads.own_batch()), {d_qkv + 2 * width, 3 * width},
        heads.qkv_batch(), heads.zeros(Q14Zeros::kLeftOfDiagonal));
}

template <typename Call>
void in_parts(const AttentionShape& shape, const Call& call_part) {
    const int64_t windows = windows_at_once(shape);
    for (int64_t first = 0; first < shape.batch; first += windows) {
        call_part(Part{first, first + windows < shape.batch ? windows : shape.batch - first});
    }
}

}  // namespace

void macro_attention(Device& device, const AttentionForward& call) {
    in_parts(call.shape, [&](Part part) { forward_part(device, call, part); });
}

void macro_attention_grad(Device& device, const AttentionBackward& call) {
    in_parts(call.shape, [&](Part part) { backward_part(device, call, part); });
}

}  // namespace gym::kernels::cuda
