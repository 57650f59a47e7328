#include "check.hpp"

namespace gym::program {
namespace {

void check_column_sum(Check& c) {
    c.all_f32();
    c.require(element_count(c.in(0).dims) % element_count(c.out().dims) == 0,
              "the output's elements must divide the input's");
}

void check_matmul(Check& c) {
    c.all_f32();
    c.rank(c.in(0), 2, "a");
    c.rank(c.in(1), 2, "b");
    if (!c.ok()) return;
    const bool ta = c.attribute(0) == 1, tb = c.attribute(1) == 1;
    const Dims& a = c.in(0).dims;
    const Dims& b = c.in(1).dims;
    const std::uint32_t length = a[ta ? 0 : 1];
    c.require(length == b[tb ? 0 : 1],
              "a " + to_string(a) + " and b " + to_string(b) + " do not share a dim");
    c.require(length <= kProductLengthMax, "a product longer than 2^20");
    c.dims(c.out(), {a[ta ? 1 : 0], b[tb ? 1 : 0]}, "output");
}

void check_layernorm(Check& c, bool gradient) {
    c.all_f32();
    c.rank(c.in(0), 2, "x");
    if (!c.ok()) return;
    const Dims x = c.in(0).dims;
    const Dims row{x[1]}, column{x[0], 1};
    c.dims(c.in(1), row, "gamma");
    c.dims(c.in(2), gradient ? column : row, gradient ? "mean" : "beta");
    if (gradient) {
        c.dims(c.in(3), column, "rstd");
        c.dims(c.in(4), x, "dy");
    }
    c.dims(c.out(0), x, "output 0");
    c.dims(c.out(1), gradient ? row : column, "output 1");
    c.dims(c.out(2), gradient ? row : column, "output 2");
}

void check_gelu_grad(Check& c) {
    c.all_f32();
    c.dims(c.in(1), c.in(0).dims, "dy");
    c.dims(c.out(), c.in(0).dims, "output");
}

void check_attention(Check& c, bool gradient) {
    c.all_f32();
    const Slot& qkv = c.in(0);
    c.rank(qkv, 2, "qkv");
    if (!c.ok()) return;
    const std::uint64_t context = c.attribute(0), heads = c.attribute(1);
    c.require(context >= 1 && context <= kProductLengthMax && qkv.dims[0] % context == 0,
              "the context must divide the rows of qkv");
    c.require(heads >= 1 && heads <= qkv.dims[1] && qkv.dims[1] % (3 * heads) == 0,
              "3 * heads must divide the columns of qkv");
    if (!c.ok()) return;
    c.require(qkv.dims[1] / (3 * heads) <= kProductLengthMax, "a head wider than 2^20");
    const Dims values{qkv.dims[0], qkv.dims[1] / 3};
    const Dims rows{static_cast<std::uint32_t>(qkv.dims[0] / context),
                    static_cast<std::uint32_t>(heads), static_cast<std::uint32_t>(context), 1};
    c.dims(gradient ? c.in(1) : c.out(0), values, "o");
    c.dims(gradient ? c.in(2) : c.out(1), rows, "m");
    c.dims(gradient ? c.in(3) : c.out(2), rows, "l");
    if (gradient) {
        c.dims(c.in(4), values, "do");
        c.dims(c.out(), qkv.dims, "dqkv");
    }
}

void check_cross_entropy(Check& c, bool gradient) {
    c.dtype(c.in(0), DType::f32, "logits");
    c.rank(c.in(0), 2, "logits");
    if (!c.ok()) return;
    c.indices(c.in(1), c.in(0).dims[0]);
    const Dims column{c.in(0).dims[0], 1};
    const Slot& m = gradient ? c.in(2) : c.out(1);
    const Slot& l = gradient ? c.in(3) : c.out(2);
    const Slot& loss = gradient ? c.in(4) : c.out(0);
    for (const Slot* slot : {&m, &l, &loss})
        c.dtype(*slot, DType::f32, "m, l and the loss");
    c.dims(m, column, "m");
    c.dims(l, column, "l");
    c.dims(loss, {1}, gradient ? "dloss" : "loss");
    if (!gradient) return;
    c.dtype(c.out(), DType::f32, "dlogits");
    c.dims(c.out(), c.in(0).dims, "dlogits");
}

void check_embedding_grad(Check& c) {
    c.dtype(c.in(0), DType::f32, "dy");
    c.dtype(c.out(), DType::f32, "output");
    c.rank(c.in(0), 2, "dy");
    c.rank(c.out(), 2, "output");
    if (!c.ok()) return;
    c.indices(c.in(1), c.in(0).dims[0]);
    c.require(c.out().dims[1] == c.in(0).dims[1], "table rows must be as long as dy's");
}

void check_adamw(Check& c) {
    c.all_f32();
    for (std::size_t i = 1; i < 4; ++i)
        c.dims(c.in(i), c.in(0).dims, "m, v and g");
    for (std::size_t i = 4; i < 8; ++i)
        c.count(c.in(i), 1, "lr, clip, r1 and r2");
    for (std::size_t i = 0; i < 3; ++i)
        c.dims(c.out(i), c.in(0).dims, "output " + std::to_string(i));
}

}  // namespace

void check_macro(Check& c, Opcode code) {
    using enum Opcode;
    switch (code) {
        case row_sum:
            c.all_f32();
            c.dims(c.out(), with_last(c.in(0).dims, 1), "output");
            break;
        case column_sum:
            check_column_sum(c);
            break;
        case sum_squares:
            c.all_f32();
            c.dims(c.out(), {1}, "output");
            break;
        case matmul:
            check_matmul(c);
            break;
        case layernorm:
            check_layernorm(c, false);
            break;
        case layernorm_grad:
            check_layernorm(c, true);
            break;
        case gelu_grad:
            check_gelu_grad(c);
            break;
        case attention:
            check_attention(c, false);
            break;
        case attention_grad:
            check_attention(c, true);
            break;
        case cross_entropy:
            check_cross_entropy(c, false);
            break;
        case cross_entropy_grad:
            check_cross_entropy(c, true);
            break;
        case embedding_grad:
            check_embedding_grad(c);
            break;
        case adamw:
            check_adamw(c);
            break;
        default:
            GYM_ASSERT(false, "a macro without rules");
    }
}

}  // namespace gym::program
