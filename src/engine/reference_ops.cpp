#include "reference_ops.hpp"

namespace gym::engine {

using commit::DType;
using program::element_count;

bool PrimitiveCall::strided_copy() const {
    const auto& dims = output_slot().dims;
    const std::uint64_t size = commit::size_bytes(output_slot().dtype);
    const std::uint8_t* x = memory_[op_.inputs[0]];
    std::uint8_t* out = memory_[op_.outputs[0]];
    return parts(element_count(dims), [&](std::uint64_t begin, std::uint64_t end) {
        std::array<std::uint64_t, program::kRankMax> at{};
        std::uint64_t rest = begin;
        for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d])
            at[d] = rest % dims[d];
        for (std::uint64_t i = begin; i < end; ++i) {
            std::uint64_t from = op_.attributes[0];
            for (std::size_t d = 0; d < dims.size(); ++d)
                from += at[d] * op_.attributes[1 + d];
            std::memcpy(out + i * size, x + from * size, size);
            for (std::size_t d = dims.size(); d-- > 0;) {
                if (++at[d] < dims[d]) break;
                at[d] = 0;
            }
        }
    });
}

bool PrimitiveCall::concat() const {
    const Rows out_rows = rows_of(output_slot());
    const std::uint64_t size = commit::size_bytes(output_slot().dtype);
    std::uint8_t* out = memory_[op_.outputs[0]];
    for (std::uint64_t r = 0; r < out_rows.count; ++r) {
        for (std::size_t k = 0; k < op_.inputs.size(); ++k) {
            const std::uint64_t bytes = rows_of(input_slot(k)).length * size;
            std::memcpy(out, memory_[op_.inputs[k]] + r * bytes, bytes);
            out += bytes;
        }
    }
    return true;
}

bool PrimitiveCall::gather_rows() const {
    const Rows table = rows_of(input_slot(0));
    const std::uint64_t count = element_count(input_slot(1).dims);
    return each(count, [&](std::uint64_t r) {
        std::memcpy(output<float>() + r * table.length,
                    input<float>(0) + index(1, r, table.count) * table.length,
                    table.length * sizeof(float));
    });
}

bool PrimitiveCall::pick() const {
    const Rows x = rows_of(input_slot(0));
    for (std::uint64_t r = 0; r < x.count; ++r)
        output<float>()[r] = input<float>(0)[r * x.length + index(1, r, x.length)];
    return true;
}

bool PrimitiveCall::one_hot() const {
    const Rows out = rows_of(output_slot());
    return each(out.count, [&](std::uint64_t r) {
        const std::uint64_t hot = index(0, r, out.length);
        for (std::uint64_t v = 0; v < out.length; ++v)
            output<float>()[r * out.length + v] = v == hot ? 1.0f : 0.0f;
    });
}

bool PrimitiveCall::causal_fill() const {
    const Rows x = rows_of(input_slot(0));
    const float value = kernels::f32::canonical(op_.f32(0));
    return each(x.count, [&](std::uint64_t r) {
        for (std::uint64_t j = 0; j < x.length; ++j) {
            const std::uint64_t at = r * x.length + j;
            output<float>()[at] = j <= r % x.length ? input<float>(0)[at] : value;
        }
    });
}

bool PrimitiveCall::random_mask() const {
    const kernels::RandomMask mask{static_cast<std::uint32_t>(op_.attributes[0]),
                                   static_cast<std::uint32_t>(op_.attributes[1]), op_.f32(2)};
    return each(element_count(output_slot().dims), [&](std::uint64_t i) {
        output<float>()[i] = kernels::random_mask_element(input<std::int32_t>(0), mask, i);
    });
}

bool PrimitiveCall::block_max() const {
    if (input_slot(0).dtype == DType::kF32) {
        return each_block([&](std::uint64_t out, std::uint64_t first, std::uint64_t count) {
            const float* x = input<float>(0) + first;
            float best = kernels::f32::canonical(x[0]);
            for (std::uint64_t i = 1; i < count; ++i)
                best = kernels::f32::max(best, x[i]);
            output<float>()[out] = best;
        });
    }
    return each_block([&](std::uint64_t out, std::uint64_t first, std::uint64_t count) {
        const std::int32_t* x = input<std::int32_t>(0) + first;
        output<std::int32_t>()[out] = *std::max_element(x, x + count);
    });
}

bool PrimitiveCall::block_exponent() const {
    return each_block([&](std::uint64_t out, std::uint64_t first, std::uint64_t count) {
        output<std::int32_t>()[out] =
            kernels::row_exponent(input<float>(0) + first, static_cast<std::int64_t>(count));
    });
}

bool PrimitiveCall::constant_exponent() const {
    const auto exponent = static_cast<std::int32_t>(op_.attributes[0]);
    return each_block([&](std::uint64_t out, std::uint64_t first, std::uint64_t count) {
        const float* x = input<float>(0) + first;
        const bool fits = std::all_of(
            x, x + count, [&](float element) { return kernels::q14_fits(element, exponent); });
        output<std::int32_t>()[out] = fits ? exponent : kernels::kExponentPoisoned;
    });
}

bool PrimitiveCall::block_sum() const {
    const bool wide = input_slot(0).dtype == DType::kI64;
    return each_block([&](std::uint64_t out, std::uint64_t first, std::uint64_t count) {
        std::uint64_t total = 0;  // unsigned: wraps by definition
        for (std::uint64_t i = first; i < first + count; ++i) {
            const std::int64_t term = wide ? input<std::int64_t>(0)[i] : input<std::int32_t>(0)[i];
            total += static_cast<std::uint64_t>(term);
        }
        output<std::int64_t>()[out] = static_cast<std::int64_t>(total);
    });
}

bool PrimitiveCall::select_sum() const {
    const Rows q = rows_of(input_slot(0));
    const auto& dims = output_slot().dims;  // (V, D, blocks)
    const std::uint64_t blocks = dims[2];
    std::int64_t* out = output<std::int64_t>();
    std::fill_n(out, element_count(dims), 0);
    return each(q.count, [&](std::uint64_t d) {
        for (std::uint64_t r = 0; r < q.length; ++r) {
            const std::uint64_t v = index(1, r, dims[0]);
            out[(v * q.count + d) * blocks + r / program::kBlockElements] +=
                input<std::int32_t>(0)[d * q.length + r];
        }
    });
}

bool PrimitiveCall::finish_sum() const {
    const std::uint64_t count = element_count(output_slot().dims);
    const std::uint64_t exponents = element_count(input_slot(1).dims);
    return each(count, [&](std::uint64_t i) {
        output<float>()[i] =
            kernels::sum_finish(input<std::int64_t>(0)[i],
                                kernels::bounded_exponent(input<std::int32_t>(1)[i % exponents]));
    });
}

bool PrimitiveCall::block_dot() const {
    const auto& a_dims = input_slot(0).dims;
    const auto& b_dims = input_slot(1).dims;
    const std::uint64_t length = a_dims.back();
    const std::uint64_t m_count = a_dims[a_dims.size() - 2], n_count = b_dims[b_dims.size() - 2];
    const std::uint64_t batches = element_count(a_dims) / (m_count * length);
    const std::uint64_t blocks = program::block_count(length);
    std::int64_t* out = output<std::int64_t>();
    return each(batches * m_count * n_count, [&](std::uint64_t row) {
        const std::uint64_t batch = row / (m_count * n_count);
        const std::uint64_t m = row / n_count % m_count, n = row % n_count;
        const std::int16_t* a = input<std::int16_t>(0) + (batch * m_count + m) * length;
        const std::int16_t* b = input<std::int16_t>(1) + (batch * n_count + n) * length;
        for (std::uint64_t block = 0; block < blocks; ++block) {
            const std::uint64_t begin = block * program::kBlockElements;
            const std::uint64_t end = std::min(begin + program::kBlockElements, length);
            std::int64_t dot = 0;
            for (std::uint64_t k = begin; k < end; ++k)
                dot += std::int64_t{a[k]} * b[k];
            out[row * blocks + block] = dot;
        }
    });
}

bool PrimitiveCall::rescale_dot() const {
    const auto& dims = output_slot().dims;  // (.., M, N, B)
    const std::size_t rank = dims.size();
    const std::uint64_t m_count = dims[rank - 3], n_count = dims[rank - 2], blocks = dims[rank - 1];
    const auto* ea_block = input<std::int32_t>(1);
    const auto* ea = input<std::int32_t>(2);
    const auto* eb_block = input<std::int32_t>(3);
    const auto* eb = input<std::int32_t>(4);
    return each(element_count(dims), [&](std::uint64_t i) {
        const std::uint64_t block = i % blocks, n = i / blocks % n_count;
        const std::uint64_t a_row = i / (blocks * n_count);  // batch * M + m
        const std::uint64_t b_row = a_row / m_count * n_count + n;
        const std::int64_t shift = std::int64_t{ea[a_row]} - ea_block[a_row * blocks + block] +
                                   eb[b_row] - eb_block[b_row * blocks + block];
        output<std::int64_t>()[i] = kernels::q14_block_term(input<std::int64_t>(0)[i], shift);
    });
}

bool PrimitiveCall::finish_product() const {
    const auto& dims = input_slot(0).dims;  // (.., M, N, 1)
    const std::uint64_t m_count = dims[dims.size() - 3], n_count = dims[dims.size() - 2];
    return each(element_count(dims), [&](std::uint64_t i) {
        const std::uint64_t a_row = i / n_count;
        const std::uint64_t b_row = a_row / m_count * n_count + i % n_count;
        output<float>()[i] =
            kernels::q14_finish_any(input<std::int64_t>(0)[i], input<std::int32_t>(1)[a_row],
                                    input<std::int32_t>(2)[b_row]);
    });
}

}  // namespace gym::engine
