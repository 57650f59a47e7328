#include "attention.hpp"

namespace gym::torch_import {
namespace {

constexpr const char* kAccepted =
    "; attention is read as q @ k.transpose(-2, -1), times a number, no mask or a causal "
    "one of -inf, softmax(dim=-1), @ v, or as torch.ops.gym.attention (docs/TORCH.md)";

Scores scores_at(const Symbols& symbols, const Tensor& tensor) {
    const Scores* scores = symbols.scores_of(tensor);
    TORCH_CHECK(scores != nullptr, "no attention scores");
    TORCH_CHECK(tensor.is_contiguous() && tensor.sizes().equals(scores->sizes),
                "attention scores in another shape", kAccepted);
    return *scores;
}

/// (windows, tokens, heads, size) of q, k or v, which is (windows, heads, tokens, size), or without
/// heads.
Tensor by_token(const Tensor& part) {
    return part.dim() == 3 ? part.unsqueeze(2) : part.transpose(1, 2);
}

bool lies_at(const Tensor& part, const Tensor& first, std::int64_t offset) {
    return part.is_alias_of(first) && part.storage_offset() == offset &&
           part.strides() == first.strides();
}

/// q, k and v beside each other, a row for each token. Where the model cut them out of such rows,
/// it is these: a copy has no gradient.
SlotId packed(Symbols& symbols, const Tensor& q, const Tensor& k, const Tensor& v) {
    const std::int64_t windows = q.size(0), tokens = q.size(1), width = q.size(2) * q.size(3);
    const Tensor row =
        at::empty_strided(q.sizes(), {tokens * 3 * width, 3 * width, q.size(3), 1}, q.options());
    const bool cut = q.strides() == row.strides() && lies_at(q, q, 0) && lies_at(k, q, width) &&
                     lies_at(v, q, 2 * width) &&
                     symbols.elements_of(q) == windows * tokens * 3 * width;
    const std::uint32_t rows = narrow(windows * tokens), columns = narrow(width);
    if (cut) {
        const Tensor whole = q.as_strided({windows * tokens, 3 * width}, {3 * width, 1}, 0);
        return symbols.shaped(whole, {rows, narrow(3 * width)});
    }
    std::vector<SlotId> parts;
    for (const Tensor& part : {q, k, v})
        parts.push_back(symbols.shaped(part, {rows, columns}));
    return symbols.builder().concat(parts);
}

/// (T, T): of a mask or bias that is the same for all windows and heads.
Tensor square_of(const Tensor& constant, std::int64_t tokens) {
    TORCH_CHECK(!Symbols::is_symbolic(constant), "an attention mask that depends on the inputs",
                kAccepted);
    TORCH_CHECK(constant.numel() == tokens * tokens && constant.size(-1) == tokens,
                "an attention mask of ", constant.sizes(), " for ", tokens, " tokens", kAccepted);
    return constant.reshape({tokens, tokens});
}

}  // namespace

bool hides(double value) {
    return value <= -1e9;
}

bool begins_attention(const Tensor& a, const Tensor& b) {
    return Symbols::is_symbolic(a) && Symbols::is_symbolic(b) && a.dim() == b.dim() &&
           (a.dim() == 3 || a.dim() == 4);
}

Tensor begin_attention(Symbols& symbols, const Tensor& a, const Tensor& b) {
    const Tensor k = b.transpose(-2, -1);
    TORCH_CHECK(a.sizes() == k.sizes(), "a product of ", a.sizes(), " and ", b.sizes(), kAccepted);
    std::vector<std::int64_t> sizes = a.sizes().vec();
    sizes.back() = a.size(-2);
    return symbols.make_scores({a, k, sizes});
}

Tensor scale_scores(Symbols& symbols, const Tensor& scores, double factor) {
    Scores scaled = scores_at(symbols, scores);
    TORCH_CHECK(!scaled.causal, "attention scores times a number after the mask", kAccepted);
    scaled.scale *= factor;
    return symbols.make_scores(std::move(scaled));
}

Tensor mask_scores(Symbols& symbols, const Tensor& scores, const Tensor& hidden) {
    Scores masked = scores_at(symbols, scores);
    const std::int64_t tokens = masked.sizes.back();
    const Tensor square = square_of(hidden, tokens).to(at::kBool);
    const Tensor later = at::ones({tokens, tokens}, at::kBool).triu(1);
    TORCH_CHECK(!masked.softmax && square.equal(later), "an attention mask that is not causal",
                kAccepted);
    masked.causal = true;
    return symbols.make_scores(std::move(masked));
}

Tensor add_to_scores(Symbols& symbols, const Tensor& scores, const Tensor& bias) {
    const Tensor square = square_of(bias, scores_at(symbols, scores).sizes.back());
    TORCH_CHECK(
        square.is_floating_point() && square.eq(0).logical_or(square.le(-1e9)).all().item<bool>(),
        "a bias on attention scores that is neither 0 nor -inf", kAccepted);
    return mask_scores(symbols, scores, square.ne(0));
}

Tensor softmax_scores(Symbols& symbols, const Tensor& scores) {
    Scores shares = scores_at(symbols, scores);
    TORCH_CHECK(!shares.softmax, "softmax of a softmax of attention scores", kAccepted);
    shares.softmax = true;
    return symbols.make_scores(std::move(shares));
}

Tensor end_attention(Symbols& symbols, const Tensor& scores, const Tensor& v) {
    const Scores shares = scores_at(symbols, scores);
    TORCH_CHECK(shares.softmax, "a product with attention scores that are no softmax", kAccepted);
    TORCH_CHECK(Symbols::is_symbolic(v) && v.sizes() == shares.q.sizes(), "attention of q ",
                shares.q.sizes(), " over v ", v.sizes(), kAccepted);
    const Tensor q = by_token(shares.q);
    const SlotId qkv = packed(symbols, q, by_token(shares.k), by_token(v));
    const SlotId out = symbols.builder().attention(
        qkv, narrow(q.size(1)), narrow(q.size(2)), shares.scale,
        shares.causal ? Builder::Reads::kEarlier : Builder::Reads::kAll);
    const Tensor tokens = symbols.make(out, q.sizes());
    return v.dim() == 3 ? tokens.squeeze(2) : tokens.transpose(1, 2);
}

std::optional<Tensor> with_scores(Symbols& symbols, program::Opcode code, const Tensor& a,
                                  const Tensor& b) {
    if (code != program::Opcode::kDiv && symbols.scores_of(b) != nullptr &&
        symbols.scores_of(a) == nullptr)
        return with_scores(symbols, code, b, a);
    if (symbols.scores_of(a) == nullptr || Symbols::is_symbolic(b)) return std::nullopt;
    if (code == program::Opcode::kAdd && b.numel() > 1) return add_to_scores(symbols, a, b);
    const bool factor =
        (code == program::Opcode::kMul || code == program::Opcode::kDiv) && b.numel() == 1;
    if (!factor) return std::nullopt;
    const double value = b.to(at::kDouble).item<double>();
    return scale_scores(symbols, a, code == program::Opcode::kMul ? value : 1 / value);
}

c10::IValue scores_masked_fill(Symbols& symbols, const std::vector<c10::IValue>& a) {
    const Tensor scores = a[0].toTensor(),
                 value = a[2].isTensor() ? a[2].toTensor()
                                         : at::scalar_tensor(a[2].toScalar(), at::kFloat);
    TORCH_CHECK(symbols.scores_of(scores) != nullptr && !Symbols::is_symbolic(value) &&
                    value.numel() == 1 && hides(value.to(at::kDouble).item<double>()),
                "masked_fill of anything but attention scores, with -inf");
    return mask_scores(symbols, scores, a[1].toTensor());
}

c10::IValue scores_where(Symbols& symbols, const std::vector<c10::IValue>& a) {
    TORCH_CHECK(a.size() == 3 && a[1].isTensor() && a[0].isTensor() &&
                    !Symbols::is_symbolic(a[0].toTensor()),
                "where() of anything but attention scores");
    return scores_masked_fill(symbols, {a[1], a[0].toTensor().logical_not(), a[2]});
}

}  // namespace gym::torch_import
