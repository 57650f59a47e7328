// Attention: products over all heads of all windows at once, as many as fit in a bounded
// workspace.
#include <array>
#include <optional>

#include "gym/kernels/cuda/attention_parts.hpp"
#include "gym/kernels/cuda/checks.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/cuda/product.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "gym/kernels/programs.h"
#include "reduce.cuh"

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

/// The parts of SoftmaxRow that need no exponentials, each into memory of its own.
struct MaximumRow {
    const float* scores;
    Counting counts;
    float* m;

    __device__ void operator()() const {
        const int64_t item_row = blockIdx.x;
        const float* x = scores + item_row * counts.length;
        float best = -f32::from_bits(f32::kInfinityBits);
        for (int64_t j = threadIdx.x; j < counts.end(item_row); j += kRowThreads)
            if (counts(item_row, j)) best = f32::max(best, x[j]);
        best = block_reduce<kRowThreads>(best, F32Maximum());
        if (threadIdx.x == 0) m[item_row] = best;
    }
};
struct NumeratorSumRow {
    const float* numerators;
    Counting counts;
    float* l;

    __device__ void operator()() const {
        const int64_t item_row = blockIdx.x;
        const float* x = numerators + item_row * counts.length;
        const float sum = block_sum_with_exponent(counts.end(item_row), kNumeratorSumExponent,
                                                  [&](int64_t j) { return x[j]; });
        if (threadIdx.x == 0) l[item_row] = sum;
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

/// A product leaves some of it as it is, and the copy before the next op reads all of it.
void clear_for_copy(Device& device, const Region& whole) {
    if (device.checks() == nullptr) return;
    device.clear(const_cast<void*>(whole.data), static_cast<std::size_t>(whole.bytes));
}

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

    static Region region(const float* data, int64_t count) {
        return {data, count * static_cast<int64_t>(sizeof(float))};
    }
    Region queries_region() const { return region(queries, values()); }
    Region scores_region(const float* data) const { return region(data, rows() * shape.context); }

    /// Writes over `data`, which holds these results of a product.
    Checks::Overwritten over(Device& device, float* data, const Region& whole,
                             const ProductResults& results) const {
        const auto verify = [&device, results, data](const void* copy) {
            Checks& checks = *device.checks();
            const auto offset = results.out.data - data;
            checks.expect_equal(
                checks.sum_results(results, static_cast<const float*>(copy) + offset), results.sum,
                "a product's results are not what was stored");
        };
        return {data, whole.bytes, verify};
    }

    /// queries = q * scale, with their sum in `queries_sum`; returns scores = queries * k^T, of
    /// causal ones left of the diagonal and on it.
    ProductResults compute_scores(Device& device, const float* qkv, Sums& queries_sum) const {
        queries_sum = run_checked(device, {queries_region()}, [&] {
            for_each(device, values(),
                     ScaleElement{qkv, qkv_layout, shape.scale, queries, own_layout});
        });
        const Digits q =
            quantise(device, OperandPlace::kA, own_layout.view(queries), Along::kRows, own_batch());
        const Digits k = quantise(device, OperandPlace::kB, qkv_layout.view(qkv + shape.width()),
                                  Along::kRows, qkv_batch());
        clear_for_copy(device, scores_region(scores));
        const ProductResults results =
            multiply(device, q, k, {scores, shape.context}, scores_batch(),
                     zeros(Q14Zeros::kOutputRightOfDiagonal));
        expect_unchanged(device, queries_region(), queries_sum, 0);
        return results;
    }
};

/// o = numerators * v, of values over their powers of two. @param scores_sum of the numerators.
ProductResults weighted_fractions(Device& device, const Heads& heads, const float* v,
                                  MutableMatrixView out, const Sums& scores_sum) {
    float* fractions = device.scratch_of<float>(kScratchMacro2, heads.values() + heads.rows());
    float* powers = fractions + heads.values();
    const Region all_powers = Heads::region(powers, heads.rows());
    const Region all_fractions = Heads::region(fractions, heads.values());
    const Region numerators = heads.scores_region(heads.scores);
    const Sums powers_sum = run_checked(device, {all_powers}, [&] {
        for_each(device, heads.rows(), PowerRow{v, heads.qkv_layout, powers});
    });
    const Sums fractions_sum = run_checked(device, {all_fractions}, [&] {
        for_each(device, heads.values(),
                 DivideElement{v, heads.qkv_layout, powers, fractions, heads.own_layout});
    });
    const auto were_numerators = [&](const void* copy) {
        expect_unchanged(device, {copy, numerators.bytes}, scores_sum, 0);
    };
    const Sums weighted_sum =
        run_checked(device, {numerators},
                    [&] {
                        for_each(device, heads.rows() * heads.shape.context,
                                 WeightElement{heads.scores, heads.counts, powers});
                    },
                    {{heads.scores, numerators.bytes, were_numerators}});
    const Digits p = quantise(device, OperandPlace::kA, heads.scores_view(heads.scores),
                              Along::kRows, heads.scores_batch());
    const Digits b = quantise(device, OperandPlace::kB, heads.own_layout.view(fractions),
                              Along::kColumns, heads.own_batch(), kFractionExponent);
    const ProductResults results =
        multiply(device, p, b, out, heads.wide_batch(), heads.zeros(Q14Zeros::kRightOfDiagonal));
    expect_unchanged(device, numerators, weighted_sum, 0);
    expect_unchanged(device, all_fractions, fractions_sum, 0);
    expect_unchanged(device, all_powers, powers_sum, 0);
    return results;
}

/// o = numerators * v.
ProductResults weighted_values(Device& device, const Heads& heads, const float* v, float* o,
                               const Sums& scores_sum) {
    const MutableMatrixView out{o, heads.shape.width()};
    if (heads.counts.documents != nullptr)
        return weighted_fractions(device, heads, v, out, scores_sum);
    const Digits p = quantise(device, OperandPlace::kA, heads.scores_view(heads.scores),
                              Along::kRows, heads.scores_batch(), kNumeratorExponent);
    const Digits b = quantise(device, OperandPlace::kB, heads.qkv_layout.view(v), Along::kColumns,
                              heads.qkv_batch());
    const ProductResults results =
        multiply(device, p, b, out, heads.wide_batch(), heads.zeros(Q14Zeros::kRightOfDiagonal));
    expect_unchanged(device, heads.scores_region(heads.scores), scores_sum, 0);
    return results;
}

/// Scores become numerators; of those, m and l the sums.
Sums softmax(Device& device, const Heads& heads, const ProductResults& products, float* m,
             float* l) {
    const Region scores = heads.scores_region(heads.scores);
    const Region all_m = Heads::region(m, heads.rows()), all_l = Heads::region(l, heads.rows());
    const auto run = [&] {
        launch<kRowThreads>(device, {heads.rows()}, SoftmaxRow{heads.scores, heads.counts, m, l});
    };
    Checks* const checks = device.checks();
    if (checks == nullptr || !checks->computed_again())
        return run_checked(device, {scores, all_m, all_l}, run,
                           {heads.over(device, heads.scores, scores, products)});
    // The gradient computes the numerators again. What it does not, the maxima and the sums, is
    // computed here, from scores that are seen to be the product's only after their maxima were
    // taken: a bit that flips before is in them, one that flips later is not.
    auto* const m_again = device.scratch_of<float>(kScratchCheck, 2 * heads.rows());
    float* const l_again = m_again + heads.rows();
    launch<kRowThreads>(device, {heads.rows()}, MaximumRow{heads.scores, heads.counts, m_again});
    expect_unchanged(device, products);
    run();
    launch<kRowThreads>(device, {heads.rows()},
                        NumeratorSumRow{heads.scores, heads.counts, l_again});
    const std::array<Region, 5> regions{scores, all_m, all_l, Heads::region(m_again, heads.rows()),
                                        Heads::region(l_again, heads.rows())};
    const Sums sums = checks->sums(regions);
    checks->expect_equal(sums[1], sums[3], "it gave two results");
    checks->expect_equal(sums[2], sums[4], "it gave two results");
    checks->keep(m, sums[0]);
    return {sums[0], sums[1], sums[2]};
}

/// Scores become the numerators of the forward pass.
Sums numerators_again(Device& device, const Heads& heads, const ProductResults& products,
                      const float* m) {
    const Region numerators = heads.scores_region(heads.scores);
    const auto run = [&] {
        for_each(device, heads.rows() * heads.shape.context,
                 NumeratorElement{heads.scores, heads.counts, m});
    };
    Checks* const checks = device.checks();
    const auto expected = checks == nullptr ? std::nullopt : checks->take(m);
    if (!expected)
        return run_checked(device, {numerators}, run,
                           {heads.over(device, heads.scores, numerators, products)});
    expect_unchanged(device, products);
    run();
    const Sums sums{checks->sum(numerators)};
    checks->expect_equal(sums[0], *expected, "the forward pass had other numerators");
    return sums;
}

void forward_part(Device& device, const AttentionForward& call, Part part) {
    const AttentionShape& shape = call.shape;
    const Heads heads(device, shape, call.documents, part);
    const int64_t first_row = part.first_window * shape.context;
    const float* qkv = call.qkv + first_row * 3 * shape.width();
    float* o = call.o + first_row * shape.width();
    float* m = call.m + first_row * shape.heads;
    float* l = call.l + first_row * shape.heads;
    const Region all_m = Heads::region(m, heads.rows()), all_l = Heads::region(l, heads.rows());
    const Region all_o = Heads::region(o, heads.values());
    Sums queries_sum;
    const ProductResults products = heads.compute_scores(device, qkv, queries_sum);
    const Sums softmax_sums = softmax(device, heads, products, m, l);
    const ProductResults values =
        weighted_values(device, heads, qkv + 2 * shape.width(), o, softmax_sums);
    const Sums o_sum =
        run_checked(device, {all_o},
                    [&] {
                        for_each(device, heads.values(),
                                 DivideElement{o, heads.wide_layout, l, o, heads.wide_layout});
                    },
                    {heads.over(device, o, all_o, values)});
    expect_unchanged_later(device, all_o, o_sum, 0);
    expect_unchanged_later(device, all_m, softmax_sums, 1);
    expect_unchanged_later(device, all_l, softmax_sums, 2);
}

/// What a part of the gradient reads and writes.
struct BackwardPart {
    const float *qkv, *o, *m, *l, *d_o;
    float* d_qkv;
    float *g, *delta, *ds;  // scratch

    BackwardPart(Device& device, const AttentionBackward& call, Part part, const Heads& heads) {
        const int64_t width = call.shape.width(), row = part.first_window * call.shape.context;
        qkv = call.qkv + row * 3 * width;
        o = call.o + row * width;
        m = call.m + row * call.shape.heads;
        l = call.l + row * call.shape.heads;
        d_o = call.d_o + row * width;
        d_qkv = call.d_qkv + row * 3 * width;
        g = device.scratch_of<float>(kScratchMacro2, heads.values() + heads.rows());
        delta = g + heads.values();
        ds = device.scratch_of<float>(kScratchMacro3, heads.rows() * call.shape.context);
    }
};

/// The gradient of the scores, from the products of g and v.
Sums scores_gradient(Device& device, const Heads& heads, const BackwardPart& at,
                     const Sums& numerators_sum, const Sums& g_sum, const Sums& delta_sum) {
    const int64_t length = heads.shape.context, width = heads.shape.width();
    const int64_t cells = heads.rows() * length;
    const Region ds = heads.scores_region(at.ds);
    const Digits g = quantise(device, OperandPlace::kA, heads.own_layout.view(at.g), Along::kRows,
                              heads.own_batch());
    const Digits v = quantise(device, OperandPlace::kB, heads.qkv_layout.view(at.qkv + 2 * width),
                              Along::kRows, heads.qkv_batch());
    clear_for_copy(device, ds);
    const ProductResults products = multiply(device, g, v, {at.ds, length}, heads.scores_batch(),
                                             heads.zeros(Q14Zeros::kOutputRightOfDiagonal));
    const Sums sum = run_checked(
        device, {ds},
        [&] {
            for_each(device, cells, ScoresGradElement{heads.scores, at.delta, heads.counts, at.ds});
        },
        {heads.over(device, at.ds, ds, products)});
    expect_unchanged(device, heads.scores_region(heads.scores), numerators_sum, 0);
    expect_unchanged(device, Heads::region(at.g, heads.values()), g_sum, 0);
    expect_unchanged(device, Heads::region(at.delta, heads.rows()), delta_sum, 0);
    return sum;
}

/// d_qkv = gradients of queries, keys and values, side by side.
void operand_gradients(Device& device, const Heads& heads, const BackwardPart& at,
                       const Sums& ds_sum) {
    const int64_t width = heads.shape.width();
    const MatrixView ds = heads.scores_view(at.ds);
    const Batch qkv = heads.qkv_batch(), scores = heads.scores_batch(), own = heads.own_batch();
    const Digits by_rows = quantise(device, OperandPlace::kA, ds, Along::kRows, scores);
    const Digits k = quantise(device, OperandPlace::kB, heads.qkv_layout.view(at.qkv + width),
                              Along::kColumns, qkv);
    clear_for_copy(device, Heads::region(at.d_qkv, 3 * heads.values()));
    ProductResults dq = multiply(device, by_rows, k, {at.d_qkv, 3 * width}, qkv,
                                 heads.zeros(Q14Zeros::kRightOfDiagonal));
    const auto scale = [&] {
        for_each(device, heads.values(),
                 ScaleElement{at.d_qkv, heads.qkv_layout, heads.shape.scale, at.d_qkv,
                              heads.qkv_layout});
    };
    if (Checks* const checks = device.checks()) {
        const Region all = Heads::region(at.d_qkv, 3 * heads.values());
        const Checks::Overwritten over = heads.over(device, at.d_qkv, all, dq);
        dq.sum =
            checks
                ->twice([&] { return Sums{checks->sum_results(dq, at.d_qkv)}; }, scale, {&over, 1})
                .front();
    } else {
        scale();
    }
    const Digits by_columns = quantise(device, OperandPlace::kA, ds, Along::kColumns, scores);
    const Digits q = quantise(device, OperandPlace::kB, heads.own_layout.view(heads.queries),
                              Along::kColumns, own);
    const ProductResults dk = multiply(device, by_columns, q, {at.d_qkv + width, 3 * width}, qkv,
                                       heads.zeros(Q14Zeros::kLeftOfDiagonal));
    expect_unchanged(device, heads.scores_region(at.ds), ds_sum, 0);
    const Digits p = quantise(device, OperandPlace::kA, heads.scores_view(heads.scores),
                              Along::kColumns, scores, kNumeratorExponent);
    const Digits g =
        quantise(device, OperandPlace::kB, heads.own_layout.view(at.g), Along::kColumns, own);
    const ProductResults dv = multiply(device, p, g, {at.d_qkv + 2 * width, 3 * width}, qkv,
                                       heads.zeros(Q14Zeros::kLeftOfDiagonal));
    for (const ProductResults& results : {dq, dk, dv})
        expect_unchanged_later(device, results);
}

void backward_part(Device& device, const AttentionBackward& call, Part part) {
    const Heads heads(device, call.shape, call.documents, part);
    const BackwardPart at(device, call, part, heads);
    const Region numerators = heads.scores_region(heads.scores);
    const Region g = Heads::region(at.g, heads.values());
    const Region delta = Heads::region(at.delta, heads.rows());
    Sums queries_sum;
    const ProductResults products = heads.compute_scores(device, at.qkv, queries_sum);
    const Sums numerators_sum = numerators_again(device, heads, products, at.m);
    const Sums g_sum = run_checked(device, {g}, [&] {
        for_each(device, heads.values(),
                 DivideElement{at.d_o, heads.wide_layout, at.l, at.g, heads.own_layout});
    });
    const Sums delta_sum = run_checked(device, {delta}, [&] {
        launch<kRowThreads>(device, {heads.rows()},
                            DeltaRow{at.g, heads.own_layout, at.o, heads.wide_layout, at.delta});
    });
    const Sums ds_sum = scores_gradient(device, heads, at, numerators_sum, g_sum, delta_sum);
    operand_gradients(device, heads, at, ds_sum);
    expect_unchanged(device, heads.queries_region(), queries_sum, 0);
    expect_unchanged(device, numerators, numerators_sum, 0);
    expect_unchanged(device, g, g_sum, 0);
}

template <typename Call>
void in_parts(const Device& device, const AttentionShape& shape, const Call& call_part) {
    const int64_t windows = windows_at_once(shape, device.attention_limits());
    for (int64_t first = 0; first < shape.batch; first += windows) {
        call_part(Part{first, first + windows < shape.batch ? windows : shape.batch - first});
    }
}

}  // namespace

void macro_attention(Device& device, const AttentionForward& call) {
    in_parts(device, call.shape, [&](Part part) { forward_part(device, call, part); });
}

void macro_attention_grad(Device& device, const AttentionBackward& call) {
    in_parts(device, call.shape, [&](Part part) { backward_part(device, call, part); });
}

}  // namespace gym::kernels::cuda
