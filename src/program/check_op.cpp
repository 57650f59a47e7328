#include <string>

#include "gym/program/validate.hpp"

namespace gym::program {
namespace {

/// Dims with the last one replaced.
Dims with_last(Dims dims, std::uint64_t last) {
    dims.back() = static_cast<std::uint32_t>(last);
    return dims;
}

/// The slots of one op, and the rules they are tested with; the first broken one is kept.
class Check {
  public:
    Check(std::span<const Slot> slots, const Op& op) : slots_(slots), op_(op) {}

    [[nodiscard]] const Slot& in(std::size_t i) const { return slots_[op_.inputs[i]]; }
    [[nodiscard]] const Slot& out(std::size_t i = 0) const { return slots_[op_.outputs[i]]; }
    [[nodiscard]] std::uint64_t attribute(std::size_t i) const { return op_.attributes[i]; }
    [[nodiscard]] std::size_t inputs() const { return op_.inputs.size(); }
    [[nodiscard]] bool ok() const { return status_.ok(); }
    [[nodiscard]] Status status() const { return status_; }

    void require(bool condition, const std::string& rule) {
        if (!condition && status_.ok()) status_ = fail(ErrorCode::kShapeMismatch, rule);
    }
    void dtype(const Slot& slot, DType wanted, const std::string& what) {
        require(slot.dtype == wanted, what + " must be " + std::string(to_string(wanted)) +
                                          ", not " + std::string(to_string(slot.dtype)));
    }
    void rank(const Slot& slot, std::size_t wanted, const std::string& what) {
        require(slot.dims.size() == wanted,
                what + " must have rank " + std::to_string(wanted) + ": " + to_string(slot.dims));
    }
    void dims(const Slot& slot, const Dims& wanted, const std::string& what) {
        require(slot.dims == wanted,
                what + " must be " + to_string(wanted) + ", not " + to_string(slot.dims));
    }
    void count(const Slot& slot, std::uint64_t wanted, const std::string& what) {
        require(element_count(slot.dims) == wanted, what + " must have " + std::to_string(wanted) +
                                                        " elements: " + to_string(slot.dims));
    }
    /// Every input and output is f32.
    void all_f32() {
        for (std::size_t i = 0; i < inputs(); ++i)
            dtype(in(i), DType::f32, "input " + std::to_string(i));
        for (std::size_t i = 0; i < op_.outputs.size(); ++i)
            dtype(out(i), DType::f32, "output " + std::to_string(i));
    }
    void indices(const Slot& slot, std::uint64_t wanted) {
        dtype(slot, DType::i32, "indices");
        count(slot, wanted, "indices");
    }

  private:
    std::span<const Slot> slots_;
    const Op& op_;
    Status status_;
};

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
    c.dtype(c.in(0), DType::f32, "table");
    c.dtype(c.out(), DType::f32, "output");
    c.rank(c.in(0), 2, "table");
    c.rank(c.out(), 2, "output");
    if (!c.ok()) return;
    c.indices(c.in(1), c.out().dims[0]);
    c.require(c.out().dims[1] == c.in(0).dims[1], "output rows must be as long as table rows");
}

void check_pick(Check& c) {
    c.dtype(c.in(0), DType::f32, "input 0");
    c.dtype(c.out(), DType::f32, "output");
    c.rank(c.in(0), 2, "input 0");
    if (!c.ok()) return;
    c.indices(c.in(1), c.in(0).dims[0]);
    c.dims(c.out(), {c.in(0).dims[0], 1}, "output");
}

void check_one_hot(Check& c) {
    c.dtype(c.out(), DType::f32, "output");
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

/// [.., n] -> [.., blocks(n)].
void check_blocks(Check& c, DType from, DType to) {
    c.dtype(c.in(0), from, "input");
    c.dtype(c.out(), to, "output");
    c.dims(c.out(), with_last(c.in(0).dims, block_count(c.in(0).dims.back())), "output");
}

void check_quantise(Check& c, DType to) {
    const Slot& x = c.in(0);
    const Slot& e = c.in(1);
    c.dtype(x, DType::f32, "input 0");
    c.dtype(e, DType::i32, "exponents");
    c.dtype(c.out(), to, "output");
    c.require(
        e.dims == with_last(x.dims, 1) || e.dims == with_last(x.dims, block_count(x.dims.back())),
        "one exponent for each row or each block: " + to_string(e.dims));
    c.dims(c.out(), x.dims, "output");
}

void check_select_sum(Check& c) {
    c.dtype(c.in(0), DType::i32, "input 0");
    c.dtype(c.out(), DType::i64, "output");
    c.rank(c.in(0), 2, "input 0");
    c.rank(c.out(), 3, "output");
    if (!c.ok()) return;
    const Dims& q = c.in(0).dims;
    c.indices(c.in(1), q[1]);
    c.dims(c.out(), {c.out().dims[0], q[0], static_cast<std::uint32_t>(block_count(q[1]))},
           "output");
}

void check_finish_sum(Check& c) {
    c.dtype(c.in(0), DType::i64, "sums");
    c.dtype(c.in(1), DType::i32, "exponents");
    c.dtype(c.out(), DType::f32, "output");
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
    c.dtype(c.in(0), DType::i16, "input 0");
    c.dtype(c.in(1), DType::i16, "input 1");
    c.dtype(c.out(), DType::i64, "output");
    check_pair(c, c.in(0), c.in(1), true);
    if (!c.ok()) return;
    const std::uint32_t length = c.in(0).dims.back();
    c.require(length <= kProductLengthMax, "a product longer than 2^20");
    c.dims(c.out(), product_dims(c.in(0).dims, c.in(1).dims, block_count(length)), "output");
}

void check_rescale_dot(Check& c) {
    c.dtype(c.in(0), DType::i64, "sums");
    c.dtype(c.out(), DType::i64, "output");
    for (std::size_t i = 1; i < 5; ++i)
        c.dtype(c.in(i), DType::i32, "exponents");
    check_pair(c, c.in(1), c.in(3), true);
    if (!c.ok()) return;
    c.dims(c.in(2), with_last(c.in(1).dims, 1), "row exponents of a");
    c.dims(c.in(4), with_last(c.in(3).dims, 1), "row exponents of b");
    c.dims(c.in(0), product_dims(c.in(1).dims, c.in(3).dims, c.in(1).dims.back()), "sums");
    c.dims(c.out(), c.in(0).dims, "output");
}

void check_finish_product(Check& c) {
    c.dtype(c.in(0), DType::i64, "sums");
    c.dtype(c.in(1), DType::i32, "exponents of a");
    c.dtype(c.in(2), DType::i32, "exponents of b");
    c.dtype(c.out(), DType::f32, "output");
    check_pair(c, c.in(1), c.in(2), true);
    if (!c.ok()) return;
    c.require(c.in(1).dims.back() == 1, "one exponent a row");
    c.dims(c.in(0), product_dims(c.in(1).dims, c.in(2).dims, 1), "sums");
    c.count(c.out(), element_count(c.in(0).dims), "output");
}

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

std::uint64_t block_count(std::uint64_t n) {
    return (n + kBlockElements - 1) / kBlockElements;
}

std::optional<Broadcast> broadcast(const Dims& operand, const Dims& output) {
    const std::uint64_t count = element_count(operand), total = element_count(output);
    if (count == total) return Broadcast{1, count};
    if (count == 1) return Broadcast{1, 1};
    if (operand == with_last(output, 1)) return Broadcast{output.back(), count};
    if (operand.back() == output.back() && total % count == 0) return Broadcast{1, count};
    return std::nullopt;
}

Status check_op(std::span<const Slot> slots, const Op& op) {
    Check c(slots, op);
    using enum Opcode;
    switch (op.code) {
        case fill:
        case add:
        case sub:
        case mul:
        case div:
        case min:
        case fma:
        case sqrt:
        case rsqrt:
        case exp:
        case log:
        case sigmoid:
        case gelu:
            check_elementwise(c);
            break;
        case strided_copy:
            check_strided_copy(c);
            break;
        case concat:
            check_concat(c);
            break;
        case gather_rows:
            check_gather_rows(c);
            break;
        case pick:
            check_pick(c);
            break;
        case one_hot:
            check_one_hot(c);
            break;
        case causal_fill:
            check_causal_fill(c);
            break;
        case block_max:
            c.require(c.in(0).dtype == DType::f32 || c.in(0).dtype == DType::i32,
                      "input must be f32 or i32");
            check_blocks(c, c.in(0).dtype, c.in(0).dtype);
            break;
        case constant_exponent:
            c.require(c.attribute(0) <= 127, "the exponent must be at most 127");
            check_blocks(c, DType::f32, DType::i32);
            break;
        case block_exponent:
            check_blocks(c, DType::f32, DType::i32);
            break;
        case quantise_i32:
            check_quantise(c, DType::i32);
            break;
        case quantise_i16:
            check_quantise(c, DType::i16);
            break;
        case block_sum:
            c.require(c.in(0).dtype == DType::i64 || c.in(0).dtype == DType::i32,
                      "input must be i32 or i64");
            check_blocks(c, c.in(0).dtype, DType::i64);
            break;
        case select_sum:
            check_select_sum(c);
            break;
        case finish_sum:
            check_finish_sum(c);
            break;
        case block_dot:
            check_block_dot(c);
            break;
        case rescale_dot:
            check_rescale_dot(c);
            break;
        case finish_product:
            check_finish_product(c);
            break;
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
    }
    return c.status();
}

}  // namespace gym::program
