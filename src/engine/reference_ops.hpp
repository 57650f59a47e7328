#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "gym/common/assert.hpp"
#include "gym/engine/reference.hpp"
#include "gym/kernels/philox.h"
#include "gym/kernels/programs.h"
#include "gym/kernels/q14.h"
#include "gym/program/validate.hpp"

namespace gym::engine {

/// A primitive with its operands, and the loops that define the ops. Each method runs one op (or
/// one form of op) and returns true. Nothing here is tuned: what counts is that it can be read
/// against the tables of docs/NUMERICS.md.
class PrimitiveCall {
  public:
    PrimitiveCall(const SlotTable& slots, const program::Op& op, const SlotPointers& memory,
                  kernels::ThreadPool* pool)
        : slots_(slots), op_(op), memory_(memory), pool_(pool) {}

    [[nodiscard]] const program::Op& op() const { return op_; }

    /// out[i] = f(x), where x(k) is what operand k has for element i.
    template <class F>
    bool map(F f) const {
        float* out = output<float>();
        const std::uint64_t count = program::element_count(output_slot().dims);
        std::array<program::Broadcast, 3> broadcasts;
        for (std::size_t k = 0; k < op_.inputs.size(); ++k) {
            const auto found = program::broadcast(input_slot(k).dims, output_slot().dims);
            GYM_ASSERT(found.has_value(), "operands of a legal op broadcast");
            broadcasts[k] = *found;
        }
        return each(count, [&](std::uint64_t i) {
            out[i] = f([&](std::size_t k) {
                return input<float>(k)[i / broadcasts[k].divisor % broadcasts[k].period];
            });
        });
    }

    bool strided_copy() const;
    bool concat() const;
    bool gather_rows() const;
    bool pick() const;
    bool one_hot() const;
    bool causal_fill() const;
    bool random_mask() const;

    bool block_max() const;
    bool block_exponent() const;
    bool constant_exponent() const;
    bool block_sum() const;
    bool select_sum() const;
    bool finish_sum() const;
    bool block_dot() const;
    bool rescale_dot() const;
    bool finish_product() const;

    /// out[r, i] = f(x[r, i], exponent of the row or of the element's block).
    template <class Integer, class F>
    bool quantise(F f) const {
        const Rows rows = rows_of(input_slot(0));
        const std::uint64_t exponents = rows_of(input_slot(1)).length;
        const std::int32_t* e = input<std::int32_t>(1);
        return each(rows.count, [&](std::uint64_t r) {
            for (std::uint64_t i = 0; i < rows.length; ++i) {
                const std::uint64_t block = exponents == 1 ? 0 : i / program::kBlockElements;
                const std::uint64_t at = r * rows.length + i;
                output<Integer>()[at] = f(input<float>(0)[at], e[r * exponents + block]);
            }
        });
    }

  private:
    /// f(begin, end) for parts of [0, count) that have nothing to do with each other.
    template <class F>
    bool parts(std::uint64_t count, F f) const {
        if (pool_ == nullptr) {
            f(std::uint64_t{0}, count);
            return true;
        }
        pool_->parallel_for(static_cast<std::int64_t>(count), 1, [&](kernels::LoopChunk chunk) {
            f(static_cast<std::uint64_t>(chunk.begin), static_cast<std::uint64_t>(chunk.end));
        });
        return true;
    }
    /// f(i) for each i < count.
    template <class F>
    bool each(std::uint64_t count, F f) const {
        return parts(count, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i)
                f(i);
        });
    }

    struct Rows {
        std::uint64_t count = 1;
        std::uint64_t length = 1;  ///< the last dim
    };
    static Rows rows_of(const program::Slot& slot) {
        const std::uint64_t length = slot.dims.back();
        return {program::element_count(slot.dims) / length, length};
    }

    [[nodiscard]] const program::Slot& input_slot(std::size_t k) const {
        return slots_[op_.inputs[k]];
    }
    [[nodiscard]] const program::Slot& output_slot() const { return slots_[op_.outputs[0]]; }
    template <class T>
    [[nodiscard]] const T* input(std::size_t k) const {
        return reinterpret_cast<const T*>(memory_[op_.inputs[k]]);
    }
    template <class T>
    [[nodiscard]] T* output() const {
        return reinterpret_cast<T*>(memory_[op_.outputs[0]]);
    }
    /// Index `r` of operand `k`, clamped into [0, n).
    [[nodiscard]] std::uint64_t index(std::size_t k, std::uint64_t r, std::uint64_t n) const {
        const auto last = static_cast<std::int64_t>(n) - 1;
        return static_cast<std::uint64_t>(
            std::clamp<std::int64_t>(input<std::int32_t>(k)[r], 0, last));
    }
    /// f(r, b, first, count) for each block b of each row r of operand 0.
    template <class F>
    bool each_block(F f) const {
        const Rows rows = rows_of(input_slot(0));
        const std::uint64_t blocks = program::block_count(rows.length);
        return each(rows.count, [&](std::uint64_t r) {
            for (std::uint64_t b = 0; b < blocks; ++b) {
                const std::uint64_t begin = b * program::kBlockElements;
                const std::uint64_t end = std::min(begin + program::kBlockElements, rows.length);
                f(r * blocks + b, r * rows.length + begin, end - begin);
            }
        });
    }

    const SlotTable& slots_;
    const program::Op& op_;
    const SlotPointers& memory_;
    kernels::ThreadPool* pool_;
};

}  // namespace gym::engine
