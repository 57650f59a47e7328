#include <limits>
#include <utility>
#include <vector>

#include "macro.hpp"

namespace gym::program {
namespace {

// Numerators lie in [0, 1], values over the power of two of their row in [-1, 1].
constexpr int kNumeratorExponent = 0;
constexpr int kFractionExponent = 0;

bool of_documents(const Op& op) {
    return op.code == Opcode::kAttentionDocuments || op.code == Opcode::kAttentionDocumentsGrad;
}

/// The last input of attention within documents.
SlotId documents_of(const Op& op) {
    return op.inputs.back();
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
    const std::size_t documents = gradient ? 5 : 1;
    if (c.inputs() > documents) c.dims(c.in(documents), {qkv.dims[0], 1}, "documents");
}

/// How (batch * context, width) rows split into heads.
struct Heads {
    std::uint32_t batch, heads, context, size;

    Heads(const Expander& e, const Op& op)
        : heads(static_cast<std::uint32_t>(op.attributes[1])),
          context(static_cast<std::uint32_t>(op.attributes[0])) {
        const Dims& qkv = e.dims(op.inputs[0]);
        batch = qkv[0] / context;
        size = qkv[1] / (3 * heads);
    }
    [[nodiscard]] std::uint32_t width() const { return heads * size; }

    /// Part 0 (q), 1 (k) or 2 (v) of qkv as [batch, heads, context, size].
    [[nodiscard]] Expander::Layout of_qkv(std::uint64_t part) const {
        const std::uint64_t row = 3 * std::uint64_t{width()};
        return {{batch, heads, context, size}, part * width(), {context * row, size, row, 1}};
    }
    /// The same of a tensor of `width` columns.
    [[nodiscard]] Expander::Layout split() const {
        const std::uint64_t row = width();
        return {{batch, heads, context, size}, 0, {context * row, size, row, 1}};
    }
    /// Back from [batch, heads, context, size] to [batch * context, width]: as four dims, since
    /// (batch, context) does not have a single stride there.
    [[nodiscard]] Expander::Layout joined() const {
        const std::uint64_t head = std::uint64_t{context} * size;
        return {{batch, context, heads, size}, 0, {heads * head, size, head, 1}};
    }
};

/// Which scores count.
class Mask {
  public:
    Mask(Expander& e, const Op& op, const Heads& heads) : e_(e), causal_(op.attributes[3] == 0) {
        if (of_documents(op)) own_ = same_document(documents_of(op), heads);
    }
    /// x, with `value` where the score does not count.
    SlotId operator()(SlotId x, float value) {
        if (own_ == kNoSlot) return causal_ ? e_.causal_fill(x, value) : x;
        const SlotId other = e_.number(value);
        return e_.map(Opcode::kSelect, {own_, x, other});
    }

  private:
    /// [batch, heads, context, context]: 1 where the key is none behind the query and its document
    /// has no lower number, else +0.
    SlotId same_document(SlotId documents, const Heads& heads) {
        const std::uint32_t context = heads.context;
        const SlotId query = e_.copy(documents, {{heads.batch, context, 1}, 0, {context, 1, 0}});
        const SlotId key =
            e_.copy(documents, {{heads.batch, context, context}, 0, {context, 0, 1}});
        const SlotId reached = e_.map(Opcode::kLessEqual, {query, key});
        const SlotId own = e_.causal_fill(reached, 0.0F);
        const std::uint64_t window = std::uint64_t{context} * context;
        return e_.copy(own,
                       {{heads.batch, heads.heads, context, context}, 0, {window, 0, context, 1}});
    }

    Expander& e_;
    bool causal_;
    SlotId own_ = kNoSlot;
};

/// Shared by forward and backward: operands and softmax numerators.
struct Scores {
    SlotId q_scaled, k, v;
    SlotId grown;       ///< numerators, and anything where a score does not count
    SlotId numerators;  ///< +0 there
};

struct Row {
    SlotId max;         ///< given or computed
    SlotId max_target;  ///< where to write it, if computed
};

Scores scores(Expander& e, const Op& op, const Heads& heads, Mask& mask, Row& row) {
    const SlotId qkv = op.inputs[0];
    const SlotId q = e.copy(qkv, heads.of_qkv(0));
    const SlotId k = e.copy(qkv, heads.of_qkv(1));
    const SlotId v = e.copy(qkv, heads.of_qkv(2));
    const SlotId scale = e.number_bits(static_cast<std::uint32_t>(op.attributes[2]));
    const SlotId q_scaled = e.mul(q, scale);
    const SlotId seen = mask(e.product(q_scaled, k), -std::numeric_limits<float>::infinity());
    if (row.max == kNoSlot) row.max = e.reduce(Opcode::kBlockMax, seen, row.max_target);
    const SlotId grown = e.map(Opcode::kExp, {e.sub(seen, row.max)});
    return {q_scaled, k, v, grown, mask(grown, 0.0F)};
}

/// The numerators' sums of values. Those of a column share an exponent.
SlotId weighted_values(Expander& e, const Scores& s) {
    return e.product(s.numerators, e.transpose(s.v), {.a = kNumeratorExponent});
}

/// The same without a token's rounding by values that it does not read: every token's values have
/// an exponent of their own, which goes into the numerators.
SlotId weighted_values(Expander& e, const Scores& s, Mask& mask, const Heads& heads) {
    const SlotId scale = e.powers_of_two(e.row_exponents(s.v));
    const SlotId fractions = e.div(s.v, scale);
    const std::uint32_t context = heads.context;
    const SlotId wide = e.copy(scale, {{heads.batch, heads.heads, context, context},
                                       0,
                                       {std::uint64_t{heads.heads} * context, context, 0, 1}});
    const SlotId weights = mask(e.mul(s.grown, wide), 0.0F);
    return e.product(weights, e.transpose(fractions), {.b = kFractionExponent});
}

SlotId joined(Expander& e, SlotId x, const Heads& heads, SlotId target = kNoSlot) {
    const SlotId four = e.copy(x, heads.joined());
    const std::uint64_t row = heads.width();
    return e.copy(four, {{heads.batch * heads.context, heads.width()}, 0, {row, 1}}, target);
}

void expand_attention(Expander& e, const Op& op) {
    const Heads heads(e, op);
    Row row{kNoSlot, op.outputs[1]};
    Mask mask(e, op, heads);
    const Scores s = scores(e, op, heads, mask, row);
    const SlotId sum = e.exact_sum(s.numerators, op.outputs[2], 1);
    const SlotId weighted =
        of_documents(op) ? weighted_values(e, s, mask, heads) : weighted_values(e, s);
    const SlotId values = e.div(weighted, sum);
    joined(e, values, heads, op.outputs[0]);
}

void expand_attention_grad(Expander& e, const Op& op) {
    const Heads heads(e, op);
    Row row{op.inputs[2], kNoSlot};
    Mask mask(e, op, heads);
    const Scores s = scores(e, op, heads, mask, row);
    const SlotId scale = e.number_bits(static_cast<std::uint32_t>(op.attributes[2]));
    const SlotId o = e.copy(op.inputs[1], heads.split());
    const SlotId d_out = e.copy(op.inputs[4], heads.split());
    const SlotId g = e.div(d_out, op.inputs[3]);
    const SlotId delta = e.exact_sum(e.mul(g, o));
    const SlotId d_scores = mask(e.mul(s.numerators, e.sub(e.product(g, s.v), delta)), 0.0F);
    const SlotId dq = e.mul(e.product(d_scores, e.transpose(s.k)), scale);
    // One call a line wherever two operands are computed: C++ leaves the order of arguments open,
    // and the order of ops is part of the definition.
    const SlotId d_scores_t = e.transpose(d_scores);
    const SlotId dk = e.product(d_scores_t, e.transpose(s.q_scaled));
    const SlotId numerators_t = e.transpose(s.numerators);
    const SlotId dv = e.product(numerators_t, e.transpose(g), {.a = kNumeratorExponent});
    e.emit(Opcode::kConcat, {joined(e, dq, heads), joined(e, dk, heads), joined(e, dv, heads)},
           op.outputs[0]);
}

void differentiate_attention(Backward& back, const Op& op, SlotId dy) {
    const SlotId qkv = op.inputs[0];
    const SlotId dqkv = back.b.temp(DType::kF32, back.b.slot(qkv).dims);
    std::vector<SlotId> inputs{qkv, op.outputs[0], op.outputs[1], op.outputs[2], dy};
    if (of_documents(op)) inputs.push_back(documents_of(op));
    const Opcode code = of_documents(op) ? Opcode::kAttentionDocumentsGrad : Opcode::kAttentionGrad;
    back.b.append({code, std::move(inputs), {dqkv}, op.attributes});
    back.contribute(qkv, dqkv);
}

}  // namespace

const Macro kAttention{Opcode::kAttention, [](Check& c) { check_attention(c, false); },
                       expand_attention, differentiate_attention};
const Macro kAttentionGrad{Opcode::kAttentionGrad, [](Check& c) { check_attention(c, true); },
                           expand_attention_grad};
const Macro kAttentionDocuments{Opcode::kAttentionDocuments,
                                [](Check& c) { check_attention(c, false); }, expand_attention,
                                differentiate_attention};
const Macro kAttentionDocumentsGrad{Opcode::kAttentionDocumentsGrad,
                                    [](Check& c) { check_attention(c, true); },
                                    expand_attention_grad};

}  // namespace gym::program
