// Blocks of deltas of codec 2: compiled once a level (multiversion.hpp).
#include "cpu/delta_levels.hpp"

namespace gym::kernels::GYM_KERNEL_ISA {
namespace {

/// Columns of a block of 16 rows: their maxima bound the sixteenth largest element from below.
constexpr int32_t kColumns = 64;
constexpr int32_t kRows = kDeltaBlock / kColumns;

void column_maxima(const int32_t* y, int32_t* maxima) {
    for (int32_t c = 0; c < kColumns; ++c)
        maxima[c] = 0;
    for (int32_t r = 0; r < kRows; ++r) {
        GYM_VECTOR_LOOP
        for (int32_t c = 0; c < kColumns; ++c) {
            const int32_t m = magnitude(y[r * kColumns + c]);
            maxima[c] = m > maxima[c] ? m : maxima[c];
        }
    }
}

int32_t count_from(const int32_t* maxima, int32_t bound) {
    int32_t count = 0;
    GYM_VECTOR_LOOP
    for (int32_t c = 0; c < kColumns; ++c)
        count += maxima[c] >= bound ? 1 : 0;
    return count;
}

/// The sixteenth largest of the maxima, found bit by bit: at least sixteen elements of the block
/// reach it.
int32_t sixteenth(const int32_t* maxima, int32_t amax) {
    int32_t bit = 1;
    while (2 * bit <= amax)
        bit *= 2;
    int32_t bound = 0;
    for (; bit > 0; bit /= 2)
        if (count_from(maxima, bound + bit) >= kSparseKept) bound += bit;
    return bound;
}

int32_t largest(const int32_t* values, int32_t count) {
    int32_t most = 0;
    GYM_VECTOR_LOOP
    for (int32_t i = 0; i < count; ++i) {
        const int32_t m = magnitude(values[i]);
        most = m > most ? m : most;
    }
    return most;
}

/// Elements that may be among the first sixteen, by ascending index.
class Candidates {
  public:
    /// The elements of the block that reach the bound. Few do: flags for all are made in vector
    /// code, and read eight at a time.
    void collect(const int32_t* y, int32_t bound) {
        uint8_t reaches[kDeltaBlock];
        GYM_VECTOR_LOOP
        for (int32_t i = 0; i < kDeltaBlock; ++i)
            reaches[i] = magnitude(y[i]) >= bound ? 1 : 0;
        for (int32_t begin = 0; begin < kDeltaBlock; begin += 8) {
            uint64_t any = 0;
            __builtin_memcpy(&any, reaches + begin, sizeof any);
            if (any == 0) continue;
            for (int32_t i = begin; i < begin + 8; ++i) {
                index_[count_] = static_cast<uint16_t>(i);
                count_ += reaches[i];
            }
        }
    }
    /// Drops all but the first sixteen by rank: those above the sixteenth's magnitude, and of equal
    /// ones those of the lowest indices.
    void keep_sixteen(const int32_t* y, int32_t bound) {
        if (count_ <= kSparseKept) return;
        int32_t above = 0;
        const int32_t last = sixteenth_magnitude(y, bound, above);
        int32_t equal = kSparseKept - above;
        int32_t kept = 0;
        for (int32_t i = 0; i < count_; ++i) {
            const int32_t m = magnitude(y[index_[i]]);
            const bool keeps = m > last || (m == last && equal-- > 0);
            index_[kept] = index_[i];
            kept += keeps ? 1 : 0;
        }
        count_ = kept;
    }
    [[nodiscard]] int32_t count() const { return count_; }
    [[nodiscard]] int32_t index(int32_t i) const { return index_[i]; }

  private:
    /// The magnitude of rank 15, at least `from`, and how many are above it: the first magnitude,
    /// from the smallest, that fewer than sixteen exceed.
    [[nodiscard]] int32_t sixteenth_magnitude(const int32_t* y, int32_t from,
                                              int32_t& above) const {
        for (int32_t smallest = from;;) {
            int32_t next = INT32_MAX;
            above = 0;
            for (int32_t i = 0; i < count_; ++i) {
                const int32_t m = magnitude(y[index_[i]]);
                above += m > smallest ? 1 : 0;
                next = m > smallest && m < next ? m : next;
            }
            if (above < kSparseKept) return smallest;
            smallest = next;
        }
    }

    int32_t count_ = 0;
    uint16_t index_[kDeltaBlock + 1];
};

}  // namespace

void fixed_block(const float* x, int64_t count, int32_t grid, const ResidualBlock& residual,
                 int32_t* y) {
    if (residual.levels == nullptr) {
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < count; ++i)
            y[i] = fixed_point(x[i], grid);
    } else {
        const int32_t unit = 1 << residual.scale;
        const int8_t* const levels = residual.levels;
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < count; ++i)
            y[i] = fixed_point(x[i], grid) + levels[i] * unit;
    }
    for (int64_t i = count; i < kDeltaBlock; ++i)
        y[i] = 0;
}

SparseBlock sparse_block(const int32_t* y) {
    int32_t maxima[kColumns];
    column_maxima(y, maxima);
    SparseBlock block;
    const int32_t amax = largest(maxima, kColumns);
    if (amax == 0) return block;
    const int32_t bound = sixteenth(maxima, amax);
    Candidates first;
    first.collect(y, bound);
    first.keep_sixteen(y, bound);
    block.scale = sparse_scale(amax);
    for (int32_t i = 0; i < first.count(); ++i) {
        const int32_t value = y[first.index(i)];
        const int32_t level = sparse_level(magnitude(value), block.scale);
        if (level == 0) continue;
        block.index[block.count] = static_cast<uint16_t>(first.index(i));
        block.level[block.count++] = static_cast<int8_t>(with_sign_of(value, level));
    }
    if (block.count == 0) block.scale = 0;
    return block;
}

int32_t residual_block(const int32_t* y, int64_t count, int8_t* levels) {
    const int32_t t = residual_scale(largest(y, kDeltaBlock));
    GYM_VECTOR_LOOP
    for (int64_t i = 0; i < count; ++i)
        levels[i] = static_cast<int8_t>(residual_level(y[i], t));
    return t;
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
