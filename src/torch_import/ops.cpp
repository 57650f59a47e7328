#include "ops.hpp"

#include <ATen/ExpandUtils.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attention.hpp"
#include "gym/program/validate.hpp"

namespace gym::torch_import {
namespace {

using c10::IValue;
using program::Opcode;
using Arguments = std::vector<IValue>;

Tensor tensor_of(const IValue& value) {
    if (value.isTensor()) return value.toTensor();
    TORCH_CHECK(value.isScalar(), "an operand that is neither a tensor nor a number");
    return at::scalar_tensor(value.toScalar(), at::kFloat);
}

// Elementwise.

/// The operand as an op over `sizes` reads it: copied out only where the engine's rules for
/// repeating operands do not fit torch's.
SlotId operand(Symbols& symbols, const char* what, const Tensor& tensor, at::IntArrayRef sizes) {
    at::IntArrayRef own = tensor.sizes();
    while (!own.empty() && own.front() == 1 && tensor.numel() != 1)
        own = own.slice(1);
    const bool scalar = tensor.numel() == 1;
    const bool suffix =
        own.size() <= sizes.size() && own.equals(sizes.slice(sizes.size() - own.size()));
    const bool column =
        tensor.dim() == static_cast<std::int64_t>(sizes.size()) && tensor.size(-1) == 1 &&
        tensor.sizes().slice(0, sizes.size() - 1).equals(sizes.slice(0, sizes.size() - 1));
    if (scalar || column) return symbols.dense_f32(what, tensor);
    if (suffix) return symbols.shaped(tensor, slot_dims(own));
    return symbols.dense_f32(what, tensor.expand(sizes));
}

Tensor binary(Symbols& symbols, Opcode code, const Tensor& a, const Tensor& b) {
    const std::vector<std::int64_t> sizes = at::infer_size(a.sizes(), b.sizes());
    std::int64_t count = 1;
    for (const std::int64_t size : sizes)
        count = narrow(count * std::int64_t{narrow(size)});
    // One operand must have the dims of the result.
    const Tensor left = a.numel() == count || b.numel() == count ? a : a.expand(sizes);
    const SlotId x = operand(symbols, "the first operand", left, sizes);
    const SlotId y = operand(symbols, "the second operand", b, sizes);
    return symbols.make(symbols.builder().elementwise(code, {x, y}), sizes);
}

Tensor unary(Symbols& symbols, Opcode code, const Tensor& x) {
    const SlotId slot = symbols.dense_f32("the operand", x);
    return symbols.make(symbols.builder().unary(code, slot), x.sizes());
}

Tensor number(double value) {
    return at::scalar_tensor(value, at::kFloat);
}

Translator binary_op(Opcode code) {
    return [code](Symbols& symbols, const Arguments& a) -> IValue {
        Tensor right = tensor_of(a[1]);
        if (a.size() > 2 && a[2].isScalar() && a[2].toScalar().toDouble() != 1)
            right = binary(symbols, Opcode::kMul, right, tensor_of(a[2]));  // alpha
        TORCH_CHECK(a.size() <= 2 || a[2].isScalar() || a[2].isNone(), "a rounding mode");
        if (const auto scores = with_scores(symbols, code, tensor_of(a[0]), right)) return *scores;
        return binary(symbols, code, tensor_of(a[0]), right);
    };
}

Translator unary_op(Opcode code) {
    return [code](Symbols& symbols, const Arguments& a) -> IValue {
        return unary(symbols, code, a[0].toTensor());
    };
}

IValue reversed_sub(Symbols& symbols, const Arguments& a) {
    TORCH_CHECK(a[2].toScalar().toDouble() == 1, "rsub with an alpha other than 1");
    return binary(symbols, Opcode::kSub, tensor_of(a[1]), a[0].toTensor());
}

IValue neg(Symbols& symbols, const Arguments& a) {
    return binary(symbols, Opcode::kMul, a[0].toTensor(), number(-1));
}

IValue pow(Symbols& symbols, const Arguments& a) {
    const Tensor x = a[0].toTensor();
    TORCH_CHECK(a[1].isScalar(), "pow with an exponent that is a tensor");
    const double exponent = a[1].toScalar().toDouble();
    if (exponent == 2) return binary(symbols, Opcode::kMul, x, x);
    if (exponent == 0.5) return unary(symbols, Opcode::kSqrt, x);
    TORCH_CHECK(false, "pow with exponent ", exponent, "; programs have 2 and 0.5");
}

IValue gelu(Symbols& symbols, const Arguments& a) {
    TORCH_CHECK(a.size() < 2 || a[1].toStringRef() == "tanh",
                "gelu with approximate='none'; programs have the tanh form: use "
                "nn.GELU(approximate='tanh')");
    return unary(symbols, Opcode::kGelu, a[0].toTensor());
}

IValue dropout(Symbols&, const Arguments& a) {
    TORCH_CHECK(!a[2].toBool(), "dropout while training");
    return a[0];
}

// Products and layers.

Tensor product(Symbols& symbols, const Tensor& a, const Tensor& b) {
    if (symbols.scores_of(a) != nullptr) return end_attention(symbols, a, b);
    if (begins_attention(a, b)) return begin_attention(symbols, a, b);
    TORCH_CHECK(b.dim() == 2 && a.dim() >= 1, "a product of ", a.sizes(), " and ", b.sizes(),
                "; programs have products with a matrix (attention: torch.ops.gym.attention)");
    TORCH_CHECK(a.size(-1) == b.size(0), "a product of ", a.sizes(), " and ", b.sizes());
    std::vector<std::int64_t> sizes = a.sizes().vec();
    const auto rows = narrow(a.numel() / a.size(-1));
    sizes.back() = b.size(1);
    const SlotId left = symbols.shaped(a, {rows, narrow(a.size(-1))});
    // The engine's second operand holds the columns: for x W^T that is W as it lies in memory.
    const SlotId transposed = symbols.stored_transposed(b);
    const SlotId out =
        transposed != program::kNoSlot
            ? symbols.builder().matmul(left, transposed)
            : symbols.builder().matmul(left, symbols.dense_f32("a matrix", b), false, true);
    return symbols.make(out, sizes);
}

IValue matmul(Symbols& symbols, const Arguments& a) {
    return product(symbols, a[0].toTensor(), a[1].toTensor());
}

IValue linear(Symbols& symbols, const Arguments& a) {
    const Tensor y = product(symbols, a[0].toTensor(), a[1].toTensor().t());
    return a[2].isNone() ? y : binary(symbols, Opcode::kAdd, y, a[2].toTensor());
}

IValue addmm(Symbols& symbols, const Arguments& a) {
    TORCH_CHECK(a[3].toScalar().toDouble() == 1 && a[4].toScalar().toDouble() == 1,
                "addmm with factors other than 1");
    const Tensor y = product(symbols, a[1].toTensor(), a[2].toTensor());
    return binary(symbols, Opcode::kAdd, y, a[0].toTensor());
}

IValue gym_matmul(Symbols& symbols, const Arguments& a) {
    const Tensor left = a[0].toTensor(), right = a[1].toTensor();
    return product(symbols, a[2].toBool() ? left.t() : left, a[3].toBool() ? right.t() : right);
}

Tensor layernorm(Symbols& symbols, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                 double epsilon) {
    const auto width = narrow(x.size(-1));
    const auto rows = narrow(x.numel() / x.size(-1));
    const SlotId out = symbols.builder().layernorm(
        symbols.shaped(x, {rows, width}), symbols.shaped(gamma, {width}),
        symbols.shaped(beta, {width}), static_cast<float>(epsilon));
    return symbols.make(out, x.sizes());
}

IValue layer_norm(Symbols& symbols, const Arguments& a) {
    const Tensor x = a[0].toTensor();
    TORCH_CHECK(a[1].toIntVector() == std::vector<std::int64_t>{x.size(-1)},
                "layer_norm over more than the last dim");
    const Tensor gamma = a[2].isNone() ? at::ones({x.size(-1)}) : a[2].toTensor();
    const Tensor beta = a[3].isNone() ? at::zeros({x.size(-1)}) : a[3].toTensor();
    return layernorm(symbols, x, gamma, beta, a[4].toDouble());
}

IValue gym_layernorm(Symbols& symbols, const Arguments& a) {
    return layernorm(symbols, a[0].toTensor(), a[1].toTensor(), a[2].toTensor(), a[3].toDouble());
}

IValue rmsnorm(Symbols& symbols, const Arguments& a) {
    const Tensor x = a[0].toTensor();
    const auto width = narrow(x.size(-1));
    const SlotId out = symbols.builder().rmsnorm(symbols.dense_f32("input", x),
                                                 symbols.shaped(a[1].toTensor(), {width}),
                                                 static_cast<float>(a[2].toDouble()));
    return symbols.make(out, x.sizes());
}

IValue swiglu(Symbols& symbols, const Arguments& a) {
    const Tensor gate = a[0].toTensor();
    const SlotId out = symbols.builder().swiglu(symbols.dense_f32("gate", gate),
                                                symbols.dense_f32("up", a[1].toTensor()));
    return symbols.make(out, gate.sizes());
}

IValue rope(Symbols& symbols, const Arguments& a) {
    const Tensor x = a[0].toTensor();
    const SlotId out = symbols.builder().rope(
        symbols.dense_f32("x", x), symbols.dense_f32("cosine", a[1].toTensor()),
        symbols.dense_f32("sine", a[2].toTensor()), narrow(a[3].toInt()));
    return symbols.make(out, x.sizes());
}

IValue repeat_heads(Symbols& symbols, const Arguments& a) {
    const Tensor qkv = a[0].toTensor();
    const std::int64_t heads = a[1].toInt(), kv_heads = a[2].toInt();
    TORCH_CHECK(heads >= 1 && kv_heads >= 1 && qkv.size(-1) % (heads + 2 * kv_heads) == 0,
                "repeat_heads of ", qkv.sizes());
    std::vector<std::int64_t> sizes = qkv.sizes().vec();
    sizes.back() = sizes.back() / (heads + 2 * kv_heads) * 3 * heads;
    const SlotId out = symbols.builder().repeat_heads(symbols.dense_f32("qkv", qkv), narrow(heads),
                                                      narrow(kv_heads));
    return symbols.make(out, sizes);
}

IValue attention(Symbols& symbols, const Arguments& a) {
    const Tensor qkv = a[0].toTensor();
    TORCH_CHECK(qkv.dim() == 3, "attention of ", qkv.sizes());
    const bool causal = a.size() < 3 || a[2].toBool();
    const SlotId out = symbols.builder().attention(
        symbols.dense_f32("qkv", qkv), narrow(qkv.size(1)), narrow(a[1].toInt()),
        causal ? program::Builder::Reads::kEarlier : program::Builder::Reads::kAll);
    return symbols.make(out, {qkv.size(0), qkv.size(1), qkv.size(2) / 3});
}

/// The first of consecutive numbers; -1 if they are not.
std::int64_t first_of_consecutive(const Tensor& indices) {
    const Tensor flat = indices.to(at::kLong).reshape({-1});
    const std::int64_t first = flat[0].item<std::int64_t>();
    return flat.equal(at::arange(first, first + flat.numel())) ? first : -1;
}

IValue embedding(Symbols& symbols, const Arguments& a) {
    const Tensor table = a[0].toTensor(), indices = a[1].toTensor();
    TORCH_CHECK(table.dim() == 2, "an embedding table of ", table.sizes());
    std::vector<std::int64_t> sizes = indices.sizes().vec();
    sizes.push_back(table.size(1));
    if (Symbols::is_symbolic(indices)) {
        const SlotId out = symbols.builder().gather_rows(symbols.dense_f32("the table", table),
                                                         symbols.dense(indices));
        return symbols.make(out, sizes);
    }
    // Positions, usually: rows of the table that follow each other.
    const std::int64_t first = first_of_consecutive(indices);
    TORCH_CHECK(first >= 0 && first + indices.numel() <= table.size(0),
                "an embedding of constant indices that do not follow each other");
    return table.narrow(0, first, indices.numel()).reshape(sizes);
}

// Rows.

SlotId reduced(Builder& b, Opcode code, SlotId x) {
    while (b.slot(x).dims.back() != 1) {
        Dims dims = b.slot(x).dims;
        dims.back() = static_cast<std::uint32_t>(program::block_count(dims.back()));
        const DType dtype = code == Opcode::kBlockSum ? DType::kI64 : b.slot(x).dtype;
        const SlotId out = b.temp(dtype, dims);
        b.append({code, {x}, {out}, {}});
        x = out;
    }
    return x;
}

/// The exact sum of rows of softmax numerators (docs/MACROS.md, EXACT_SUM_C(x; 1)).
SlotId numerator_sum(Builder& b, SlotId x) {
    const Dims dims = b.slot(x).dims;
    Dims blocks = dims, column = dims;
    blocks.back() = static_cast<std::uint32_t>(program::block_count(dims.back()));
    column.back() = 1;
    const SlotId exponents = b.temp(DType::kI32, blocks), q = b.temp(DType::kI32, dims);
    b.append({Opcode::kConstantExponent, {x}, {exponents}, {1}});
    const SlotId exponent = reduced(b, Opcode::kBlockMax, exponents);
    b.append({Opcode::kQuantiseI32, {x, exponent}, {q}, {}});
    SlotId sum = q;
    if (dims.back() == 1) {
        sum = b.temp(DType::kI64, column);
        b.append({Opcode::kBlockSum, {q}, {sum}, {}});
    }
    const SlotId out = b.temp(DType::kF32, column);
    b.append({Opcode::kFinishSum, {reduced(b, Opcode::kBlockSum, sum), exponent}, {out}, {}});
    return out;
}

Tensor softmax_rows(Symbols& symbols, const Tensor& x) {
    Builder& b = symbols.builder();
    const SlotId rows = symbols.dense_f32("the operand", x);
    const SlotId maximum = reduced(b, Opcode::kBlockMax, rows);
    const SlotId numerators = b.unary(Opcode::kExp, b.sub(rows, maximum));
    return symbols.make(b.div(numerators, numerator_sum(b, numerators)), x.sizes());
}

void require_last(const Tensor& x, std::int64_t dim, const char* what) {
    TORCH_CHECK(dim == -1 || dim == x.dim() - 1, what, " over dim ", dim, " of ", x.sizes(),
                "; programs have the last dim");
}

IValue softmax(Symbols& symbols, const Arguments& a) {
    require_last(a[0].toTensor(), a[1].toInt(), "softmax");
    if (symbols.scores_of(a[0].toTensor()) != nullptr)
        return softmax_scores(symbols, a[0].toTensor());
    return softmax_rows(symbols, a[0].toTensor());
}

Tensor row_sum(Symbols& symbols, const Tensor& x) {
    std::vector<std::int64_t> sizes = x.sizes().vec();
    sizes.back() = 1;
    return symbols.make(symbols.builder().row_sum(symbols.dense_f32("the operand", x)), sizes);
}

/// sum or mean over one dim: (self, dims, keepdim, dtype).
IValue over_one_dim(Symbols& symbols, const Arguments& a, bool mean) {
    TORCH_CHECK(a.size() == 4 && a[1].isIntList() && a[1].toIntVector().size() == 1,
                "a sum over all or several dims; programs have one dim");
    const std::int64_t dim = a[1].toIntVector()[0];
    const Tensor x = a[0].toTensor().movedim(dim, -1);
    Tensor y = row_sum(symbols, x);
    if (mean) y = binary(symbols, Opcode::kDiv, y, number(static_cast<double>(x.size(-1))));
    return a[2].toBool() ? y.movedim(-1, dim) : y.squeeze(-1);
}

IValue gym_row_sum(Symbols& symbols, const Arguments& a) {
    return row_sum(symbols, a[0].toTensor());
}

IValue cat(Symbols& symbols, const Arguments& a) {
    const std::vector<Tensor> parts = a[0].toTensorVector();
    TORCH_CHECK(!parts.empty() && parts.size() <= program::kOpInputsMax, "cat of ", parts.size(),
                " tensors; programs join 1 to ", program::kOpInputsMax);
    require_last(parts.front(), a[1].toInt(), "cat");
    std::vector<std::int64_t> sizes = parts.front().sizes().vec();
    sizes.back() = 0;
    std::vector<SlotId> slots;
    for (const Tensor& part : parts) {
        slots.push_back(symbols.dense_f32("a part", part));
        sizes.back() += part.size(-1);
    }
    return symbols.make(symbols.builder().concat(slots), sizes);
}

/// Adding a kind of layer to what can be imported is one line here.
std::map<std::string, Translator> make_translators() {
    return {
        {"aten::add", binary_op(Opcode::kAdd)},
        {"aten::sub", binary_op(Opcode::kSub)},
        {"aten::mul", binary_op(Opcode::kMul)},
        {"aten::div", binary_op(Opcode::kDiv)},
        {"aten::rsub", reversed_sub},
        {"aten::neg", neg},
        {"aten::pow", pow},
        {"aten::exp", unary_op(Opcode::kExp)},
        {"aten::log", unary_op(Opcode::kLog)},
        {"aten::sqrt", unary_op(Opcode::kSqrt)},
        {"aten::rsqrt", unary_op(Opcode::kRsqrt)},
        {"aten::sigmoid", unary_op(Opcode::kSigmoid)},
        {"aten::gelu", gelu},
        {"aten::silu", unary_op(Opcode::kSilu)},
        {"aten::dropout", dropout},
        {"aten::feature_dropout", dropout},
        {"aten::linear", linear},
        {"aten::matmul", matmul},
        {"aten::mm", matmul},
        {"aten::bmm", matmul},
        {"aten::masked_fill", scores_masked_fill},
        {"aten::where", scores_where},
        {"aten::addmm", addmm},
        {"aten::layer_norm", layer_norm},
        {"aten::embedding", embedding},
        {"aten::softmax", softmax},
        {"aten::cat", cat},
        {"aten::sum", [](auto& s, const auto& a) { return over_one_dim(s, a, false); }},
        {"aten::mean", [](auto& s, const auto& a) { return over_one_dim(s, a, true); }},
        {"gym::add", binary_op(Opcode::kAdd)},
        {"gym::sub", binary_op(Opcode::kSub)},
        {"gym::mul", binary_op(Opcode::kMul)},
        {"gym::div", binary_op(Opcode::kDiv)},
        {"gym::exp", unary_op(Opcode::kExp)},
        {"gym::log", unary_op(Opcode::kLog)},
        {"gym::sqrt", unary_op(Opcode::kSqrt)},
        {"gym::rsqrt", unary_op(Opcode::kRsqrt)},
        {"gym::sigmoid", unary_op(Opcode::kSigmoid)},
        {"gym::gelu", unary_op(Opcode::kGelu)},
        {"gym::matmul", gym_matmul},
        {"gym::linear", linear},
        {"gym::layernorm", gym_layernorm},
        {"gym::attention", attention},
        {"gym::rmsnorm", rmsnorm},
        {"gym::swiglu", swiglu},
        {"gym::rope", rope},
        {"gym::repeat_heads", repeat_heads},
        {"gym::embedding", embedding},
        {"gym::softmax", [](auto& s, const auto& a) { return softmax_rows(s, a[0].toTensor()); }},
        {"gym::row_sum", gym_row_sum},
    };
}

}  // namespace

const Translator* find_translator(const std::string& name) {
    static const std::map<std::string, Translator> translators = make_translators();
    const auto found = translators.find(name);
    return found == translators.end() ? nullptr : &found->second;
}

}  // namespace gym::torch_import
