#include "check.hpp"

namespace gym::program {
namespace {

void check_elementwise(Check& c) {
    c.all_f32();
    for (std::size_t i = 0; i < c.inputs(); ++i)
        c.require(broadcast(c.in(i).dims, c.out().dims).has_value(),
                  "input " + std::to_string(i) + " " + to_string(c.in(i).dims) +
                      " cannot be repeated over " + to_string(c.out().dims));
}

void check_strided_copy(Check& c) {
    c.dtype(c.out(), c.in(0).dtype, "output");
    const Dims& dims = c.out().dims;
    std::uint64_t last = c.attribute(0);
    for (std::size_t k = 0; k < kRankMax; ++k) {
        const std::uint64_t stride = c.attribute(1 + k);
        c.require(stride <= kSlotElementsMax && last <= kSlotElementsMax,
                  "offset or stride too large");
        if (!c.ok()) return;
        if (k < dims.size())
            last += (dims[k] - std::uint64_t{1}) * stride;
        else
            c.require(stride == 0, "a stride without a dim");
    }
    c.require(last < element_count(c.in(0).dims), "the copy runs outside its input");
}

void check_concat(Check& c) {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < c.inputs(); ++i) {
        const Slot& part = c.in(i);
        c.dtype(part, c.out().dtype, "input " + std::to_string(i));
        c.dims(part, with_last(c.in(0).dims, part.dims.back()), "input " + std::to_string(i));
        last += part.dims.back();
    }
    c.require(last <= kSlotElementsMax, "too long");
    if (c.ok()) c.dims(c.out(), with_last(c.in(0).dims, last), "output");
}

void check_gather_rows(Check& c) {
    c.dtype(c.in(0), DType::kF32, "table");
    c.dtype(c.out(), DType::kF32, "output");
    c.rank(c.in(0), 2, "table");
    c.rank(c.out(), 2, "output");
    if (!c.ok()) return;
    c.indices(c.in(1), c.out().dims[0]);
    c.require(c.out().dims[1] == c.in(0).dims[1], "output rows must be as long as table rows");
}

void check_pick(Check& c) {
    c.dtype(c.in(0), DType::kF32, "input 0");
    c.dtype(c.out(), DType::kF32, "output");
    c.rank(c.in(0), 2, "input 0");
    if (!c.ok()) return;
    c.indices(c.in(1), c.in(0).dims[0]);
    c.dims(c.out(), {c.in(0).dims[0], 1}, "output");
}

void check_one_hot(Check& c) {
    c.dtype(c.out(), DType::kF32, "output");
    c.rank(c.out(), 2, "output");
    if (c.ok()) c.indices(c.in(0), c.out().dims[0]);
}

void check_causal_fill(Check& c) {
    c.all_f32();
    const Dims& dims = c.in(0).dims;
    c.require(dims.size() >= 2 && dims.back() == dims[dims.size() - 2],
              "the last two dims must be equal: " + to_string(dims));
    c.dims(c.out(), dims, "output");
}

void check_random_mask(Check& c) {
    c.dtype(c.in(0), DType::kI32, "position");
    c.dims(c.in(0), {kRandomWords}, "position");
    c.dtype(c.out(), DType::kF32, "output");
    c.require(c.attribute(0) < (1U << 24), "op must be below 2^24");
    c.require(c.attribute(1) <= 0xFFFFFFFFU, "threshold must be below 2^32");
}

/// [.., n] -> [.., blocks(n)].
void check_blocks(Check& c, DType from, DType to) {
    c.dtype(c.in(0), from, "input");
    c.dtype(c.out(), to, "output");
    c.dims(c.out(), with_last(c.in(0).dims, block_count(c.in(0).dims.back())), "output");
}

void check_quantise(Check& c, DType to) {
    const Slot& x = c.in(0);
    const Slot& e = c.in(1);
    c.dtype(x, DType::kF32, "input 0");
    c.dtype(e, DType::kI32, "exponents");
    c.dtype(c.out(), to, "output");
    c.require(
        e.dims == with_last(x.dims, 1) || e.dims == with_last(x.dims, block_count(x.dims.back())),
        "one exponent for each row or each block: " + to_string(e.dims));
    c.dims(c.out(), x.dims, "output");
}

void check_select_sum(Check& c) {
    c.dtype(c.in(0), DType::kI32, "input 0");
    c.dtype(c.out(), DType::kI64, "output");
    c.rank(c.in(0), 2, "input 0");
    c.rank(c.out(), 3, "output");
    if (!c.ok()) return;
    const Dims& q = c.in(0).dims;
    c.indices(c.in(1), q[1]);
    c.dims(c.out(), {c.out().dims[0], q[0], static_cast<std::uint32_t>(block_count(q[1]))},
           "output");
}

void check_finish_sum(Check& c) {
    c.dtype(c.in(0), DType::kI64, "sums");
    c.dtype(c.in(1), DType::kI32, "exponents");
    c.dtype(c.out(), DType::kF32, "output");
    const std::uint64_t count = element_count(c.in(0).dims);
    c.require(count % element_count(c.in(1).dims) == 0, "exponents must divide the sums");
    c.count(c.out(), count, "output");
}

/// [.., M, K] and [.., N, K] -> [.., M, N, last].
Dims product_dims(const Dims& a, const Dims& b, std::uint64_t last) {
    Dims dims(a.begin(), a.end() - 1);
    dims.push_back(b[b.size() - 2]);
    dims.push_back(static_cast<std::uint32_t>(last));
    return dims;
}

/// Same rank (2 to 4), same leading dims and, if asked, same last dim.
void check_pair(Check& c, const Slot& a, const Slot& b, bool same_last) {
    c.require(a.dims.size() == b.dims.size() && a.dims.size() >= 2 && a.dims.size() < kRankMax,
              "both operands must have the same rank, 2 to 4");
    if (!c.ok()) return;
    Dims wanted = a.dims;
    wanted[wanted.size() - 2] = b.dims[b.dims.size() - 2];
    if (!same_last) wanted.back() = b.dims.back();
    c.dims(b, wanted, "second operand");
}

void check_block_dot(Check& c) {
    c.dtype(c.in(0), DType::kI16, "input 0");
    c.dtype(c.in(1), DType::kI16, "input 1");
    c.dtype(c.out(), DType::kI64, "output");
    check_pair(c, c.in(0), c.in(1), true);
    if (!c.ok()) return;
    const std::uint32_t length = c.in(0).dims.back();
    c.require(length <= kProductLengthMax, "a product longer than 2^20");
    c.dims(c.out(), product_dims(c.in(0).dims, c.in(1).dims, block_count(length)), "output");
}

void check_rescale_dot(Check& c) {
    c.dtype(c.in(0), DType::kI64, "sums");
    c.dtype(c.out(), DType::kI64, "output");
    for (std::size_t i = 1; i < 5; ++i)
        c.dtype(c.in(i), DType::kI32, "exponents");
    check_pair(c, c.in(1), c.in(3), true);
    if (!c.ok()) return;
    c.dims(c.in(2), with_last(c.in(1).dims, 1), "row exponents of a");
    c.dims(c.in(4), with_last(c.in(3).dims, 1), "row exponents of b");
    c.dims(c.in(0), product_dims(c.in(1).dims, c.in(3).dims, c.in(1).dims.back()), "sums");
    c.dims(c.out(), c.in(0).dims, "output");
}

void check_finish_product(Check& c) {
    c.dtype(c.in(0), DType::kI64, "sums");
    c.dtype(c.in(1), DType::kI32, "exponents of a");
    c.dtype(c.in(2), DType::kI32, "exponents of b");
    c.dtype(c.out(), DType::kF32, "output");
    check_pair(c, c.in(1), c.in(2), true);
    if (!c.ok()) return;
    c.require(c.in(1).dims.back() == 1, "one exponent a row");
    c.dims(c.in(0), product_dims(c.in(1).dims, c.in(2).dims, 1), "sums");
    c.count(c.out(), element_count(c.in(0).dims), "output");
}

}  // namespace

void check_primitive(Check& c, Opcode code) {
    using enum Opcode;
    switch (code) {
        case kStridedCopy:
            check_strided_copy(c);
            break;
        case kConcat:
            check_concat(c);
            break;
        case kGatherRows:
            check_gather_rows(c);
            break;
        case kPick:
            check_pick(c);
            break;
        case kOneHot:
            check_one_hot(c);
            break;
        case kCausalFill:
            check_causal_fill(c);
            break;
        case kRandomMask:
            check_random_mask(c);
            break;
        case kBlockMax:
            c.require(c.in(0).dtype == DType::kF32 || c.in(0).dtype == DType::kI32,
                      "input must be f32 or i32");
            check_blocks(c, c.in(0).dtype, c.in(0).dtype);
            break;
        case kConstantExponent:
            c.require(c.attribute(0) <= 127, "the exponent must be at most 127");
            check_blocks(c, DType::kF32, DType::kI32);
            break;
        case kBlockExponent:
            check_blocks(c, DType::kF32, DType::kI32);
            break;
        case kQuantiseI32:
            check_quantise(c, DType::kI32);
            break;
        case kQuantiseI16:
            check_quantise(c, DType::kI16);
            break;
        case kBlockSum:
            c.require(c.in(0).dtype == DType::kI64 || c.in(0).dtype == DType::kI32,
                      "input must be i32 or i64");
            check_blocks(c, c.in(0).dtype, DType::kI64);
            break;
        case kSelectSum:
            check_select_sum(c);
            break;
        case kFinishSum:
            check_finish_sum(c);
            break;
        case kBlockDot:
            check_block_dot(c);
            break;
        case kRescaleDot:
            check_rescale_dot(c);
            break;
        case kFinishProduct:
            check_finish_product(c);
            break;
        default:
            check_elementwise(c);
            break;
    }
}

}  // namespace gym::program
