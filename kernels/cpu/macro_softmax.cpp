// Attention's and cross-entropy's row loops: compiled once a level (multiversion.hpp).
#include "cpu/macro_rows.hpp"
#include "cpu/maps.hpp"
#include "cpu/ordinary.hpp"
#include "gym/kernels/programs.h"
#include "gym/kernels/rows.h"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

/// Softmax numerators are at most 1, so their sum has the constant exponent 1.
constexpr int32_t kNumeratorExponent = 1;

inline __attribute__((always_inline)) void clear(float* x, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
        x[i] = 0.0f;
}

/// y[i] = exp(x[i] - m).
inline __attribute__((always_inline)) void exp_below(const float* x, float m, float* y,
                                                     int64_t count) {
    map_blocks(
        0, count, {0.0f, f32::kExpOrdinaryMax},
        y, [=](int64_t i) __attribute__((always_inline)) { return x[i] - m; },
        [](int64_t, float v) __attribute__((always_inline)) { return f32::exp_ordinary(v); },
        [](int64_t, float v) __attribute__((always_inline)) { return f32::exp(v); });
}

/// The exact sum of numerators.
inline __attribute__((always_inline)) float sum_of_numerators(const float* y, int64_t count) {
    // rint(y * 2^29) as scale2 has it: a single normal factor. Above 1 there is only NaN.
    constexpr float kScale = 0x1p29f;
    int64_t total = 0;
    uint32_t amax = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = magnitude_bits(y[i]);
        amax = bits > amax ? bits : amax;
        total += static_cast<int32_t>(f32::raw_rint(y[i] * kScale));
    }
    const bool poisoned = amax >= f32::kInfinityBits;
    return sum_finish(poisoned ? 0 : total, poisoned ? kExponentPoisoned : kNumeratorExponent);
}

inline __attribute__((always_inline)) int64_t clamped(int32_t index, int64_t count) {
    const int64_t low = index < 0 ? 0 : index;
    return low < count ? low : count - 1;
}

/// Causal rows are worked on up to a whole vector: half of them would spend more time on the rest
/// than on vectors. What is computed right of the diagonal is cleared afterwards.
inline __attribute__((always_inline)) int64_t padded(int64_t count, int64_t length) {
    constexpr int64_t kVector = GYM_KERNEL_LEVEL == 0 ? 1 : 16;
    const int64_t end = (count + kVector - 1) / kVector * kVector;
    return end < length ? end : length;
}

/// The scores that count, from the first row to the last: of each row some of begin <= j < count.
class Counting {
  public:
    explicit Counting(const ScoresShape& shape) : shape_(shape) {}

    inline __attribute__((always_inline)) void next_row() {
        ++row_;
        count_ = shape_.causal ? row_ + 1 : shape_.length;
        if (shape_.documents == nullptr || document_goes_on()) return;
        begin_ = 0;
        while (begin_ < count_ && !counts(begin_))
            ++begin_;
        gaps_ = false;
        for (int64_t j = begin_; j < count_; ++j)
            gaps_ |= !counts(j);
    }
    [[nodiscard]] int64_t begin() const { return begin_; }
    [[nodiscard]] int64_t count() const { return count_; }
    /// Of the scores that are worked on: none if none counts.
    [[nodiscard]] int64_t end() const {
        return begin_ == count_ ? count_ : padded(count_, shape_.length);
    }
    /// `value` wherever a score between them does not count.
    inline __attribute__((always_inline)) void fill_gaps(float* row, float value) const {
        if (!gaps_) return;
        for (int64_t j = begin_; j < count_; ++j)
            if (!counts(j)) row[j] = value;
    }

  private:
    [[nodiscard]] bool counts(int64_t j) const {
        return shape_.documents[row_] <= shape_.documents[j];
    }
    /// The scores that counted in the row before do, and one more.
    [[nodiscard]] bool document_goes_on() const {
        return row_ > 0 && shape_.documents[row_] == shape_.documents[row_ - 1];
    }

    const ScoresShape& shape_;
    int64_t row_ = -1, begin_ = 0, count_ = 0;
    bool gaps_ = false;
};

/// Fills the padding with what changes no maximum.
inline __attribute__((always_inline)) void pad(float* row, const Counting& keys) {
    for (int64_t j = keys.count(); j < keys.end(); ++j)
        row[j] = row[keys.begin()];
}

/// +0 wherever a score does not count.
inline __attribute__((always_inline)) void clear_others(float* row, const Counting& keys,
                                                        int64_t length) {
    clear(row, 0, keys.begin());
    keys.fill_gaps(row, 0.0f);
    clear(row, keys.count(), length);
}

}  // namespace

void softmax_rows(float* scores, ScoresShape shape, float* m, float* l) {
    const int64_t length = shape.length;
    Counting keys(shape);
    for (int64_t i = 0; i < length; ++i) {
        keys.next_row();
        float* row = scores + i * length;
        const int64_t begin = keys.begin(), end = keys.end();
        pad(row, keys);
        keys.fill_gaps(row, -f32::from_bits(f32::kInfinityBits));
        m[i] = row_max(row + begin, end - begin);
        exp_below(row + begin, m[i], row + begin, end - begin);
        clear_others(row, keys, length);
        l[i] = sum_of_numerators(row + begin, end - begin);
    }
}

void numerator_rows(float* scores, ScoresShape shape, const float* m) {
    const int64_t length = shape.length;
    Counting keys(shape);
    for (int64_t i = 0; i < length; ++i) {
        keys.next_row();
        float* row = scores + i * length;
        const int64_t begin = keys.begin(), end = keys.end();
        pad(row, keys);
        exp_below(row + begin, m[i], row + begin, end - begin);
        clear_others(row, keys, length);
    }
}

void scores_grad_rows(const float* p, const float* delta, ScoresShape shape, float* d_scores) {
    const int64_t length = shape.length;
    Counting keys(shape);
    for (int64_t i = 0; i < length; ++i) {
        keys.next_row();
        const float* numerator = p + i * length;
        float* row = d_scores + i * length;
        const float shift = delta[i];
        const int64_t begin = keys.begin(), end = keys.end();
        GYM_VECTOR_LOOP
        for (int64_t j = begin; j < end; ++j)
            row[j] = f32::mul(numerator[j], row[j] - shift);
        clear_others(row, keys, length);
    }
}

void weigh_rows(float* numerators, const float* scales, ScoresShape shape) {
    const int64_t length = shape.length;
    Counting keys(shape);
    for (int64_t i = 0; i < length; ++i) {
        keys.next_row();
        float* row = numerators + i * length;
        const int64_t begin = keys.begin(), end = keys.end();
        GYM_VECTOR_LOOP
        for (int64_t j = begin; j < end; ++j)
            row[j] = f32::mul(row[j], scales[j]);
        clear_others(row, keys, length);
    }
}

void row_powers(const float* from, MacroBlock block, float* powers) {
    for (int64_t r = 0; r < block.rows; ++r)
        powers[r] = power_of_two(row_magnitude_bits(from + r * block.from_stride, block.columns));
}

void scale_block(const float* from, float factor, float* to, MacroBlock block) {
    for (int64_t r = 0; r < block.rows; ++r) {
        const float* x = from + r * block.from_stride;
        float* y = to + r * block.to_stride;
        GYM_VECTOR_LOOP
        for (int64_t c = 0; c < block.columns; ++c)
            y[c] = f32::mul(x[c], factor);
    }
}

void divide_block(const float* from, const float* divisors, float* to, MacroBlock block) {
    for (int64_t r = 0; r < block.rows; ++r) {
        const float* x = from + r * block.from_stride;
        float* y = to + r * block.to_stride;
        const float divisor = divisors[r];
        GYM_VECTOR_LOOP
        for (int64_t c = 0; c < block.columns; ++c)
            y[c] = f32::div(x[c], divisor);
    }
}

void row_dots(const float* g, const float* o, MacroBlock block, float* delta) {
    for (int64_t r = 0; r < block.rows; ++r) {
        delta[r] =
            row_sum_of_products(g + r * block.from_stride, o + r * block.to_stride, block.columns);
    }
}

void cross_entropy_rows(const CrossEntropyForward& call, MacroRange rows, float* losses,
                        float* scratch) {
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float* x = call.logits + r * call.width;
        const float m = row_max(x, call.width);
        exp_below(x, m, scratch, call.width);
        const float l = sum_of_numerators(scratch, call.width);
        const float target = x[clamped(call.targets[r], call.width)];
        losses[r] = f32::sub(f32::log(l), f32::sub(target, m));
        call.m[r] = m;
        call.l[r] = l;
    }
}

void cross_entropy_grad_rows(const CrossEntropyBackward& call, MacroRange rows) {
    const float scale = f32::div(call.d_loss, static_cast<float>(call.rows));
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float* x = call.logits + r * call.width;
        float* dx = call.d_logits + r * call.width;
        const float m = call.m[r], l = call.l[r];
        GYM_VECTOR_LOOP
        for (int64_t v = 0; v < call.width; ++v) {
            dx[v] = f32::mul(f32::exp(x[v] - m) / l - 0.0f, scale);  // no target: +0 is subtracted
        }
        const int64_t hot = clamped(call.targets[r], call.width);
        dx[hot] = f32::mul(f32::exp(x[hot] - m) / l - 1.0f, scale);
    }
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
