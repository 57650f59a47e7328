// Encoders in the style of BERT: every token reads all of its window, norms follow the residual
// sums, and the task says what comes behind the blocks.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "encoder_model.hpp"
#include "padding.hpp"

namespace gym::program {
namespace {

/// Attention and the linear layer behind it.
SlotId attended(ModelWriter& w, SlotId qkv, const std::optional<Unpadded>& padding,
                const std::string& name) {
    if (padding) return unpadded_attention(w, qkv, *padding, name);
    const ModelConfig& c = w.config;
    const SlotId h = w.b.attention(qkv, sequence_tokens(c), c.heads, Builder::Reads::kAll);
    return w.linear(h, name, {c.width, c.width}, true);
}

SlotId block(ModelWriter& w, SlotId x, const std::optional<Unpadded>& padding,
             const std::string& name) {
    const ModelConfig& c = w.config;
    const std::uint32_t width = c.width, hidden = c.hidden_width == 0 ? 4 * width : c.hidden_width;
    SlotId h = w.linear(x, name + ".attention.qkv", {3 * width, width}, true);
    h = attended(w, h, padding, name + ".attention.out");
    x = w.layernorm(w.b.add(x, w.dropout(h)), name + ".norm1");
    h = w.linear(x, name + ".mlp.up", {hidden, width}, true);
    h = w.b.unary(Opcode::kGelu, h);
    h = w.linear(h, name + ".mlp.down", {width, hidden}, true);
    return w.layernorm(w.b.add(x, w.dropout(h)), name + ".norm2");
}

/// Which tokens an evaluation hides: `mask_rate` of them, evenly spread. 1 for those, else 4.
std::vector<float> hidden_in_evaluation(std::uint32_t rows, double rate) {
    const auto share = static_cast<std::uint64_t>(rate * 0x1p32);
    std::vector<float> values(rows);
    for (std::uint64_t i = 0; i < rows; ++i)
        values[i] = ((i + 1) * share >> 32) > (i * share >> 32) ? 1.0F : 4.0F;
    return values;
}

/// [rows, 1]: 1 where a token is hidden, else +0. In training each is hidden by chance; without
/// random numbers the constant decides. The mask's 2 is above the bound times 1 or 4, its 0 is not;
/// of the constant alone only 4 is, so that an evaluation is this program without the mask, as with
/// dropout.
SlotId hidden_rows(ModelWriter& w, std::uint32_t rows) {
    const std::string name = "hidden_in_evaluation";
    SlotId shown = w.once(name, [&] {
        return w.b.constant(name, {rows, 1}, hidden_in_evaluation(rows, w.config.mask_rate));
    });
    if (const SlotId mask = w.random_mask({rows, 1}, w.config.mask_rate, 2.0F); mask != kNoSlot)
        shown = w.b.mul(shown, mask);
    const SlotId bound = w.b.scalar(2.0F);
    const SlotId kept = w.b.elementwise(Opcode::kLessEqual, {bound, shown});
    const SlotId one = w.b.scalar(1.0F);
    return w.b.sub(one, kept);
}

/// x with the embedding of the mask's token in the place of hidden ones.
SlotId with_masks(ModelWriter& w, SlotId x, SlotId table, SlotId hidden) {
    const SlotId id = w.once("mask_token", [&] {
        return w.b.indices("mask_token", {1}, {static_cast<std::int32_t>(mask_token(w.config))});
    });
    const SlotId row = w.b.gather_rows(table, id);
    const SlotId one = w.b.scalar(1.0F);
    const SlotId kept = w.b.sub(one, hidden);
    return w.b.fma(hidden, row, w.b.mul(x, kept));
}

/// Scores of every token of the vocabulary at every position.
SlotId masked_head(ModelWriter& w, const Encoded& x) {
    const ModelConfig& c = w.config;
    SlotId h = w.linear(x.rows, "transform", {c.width, c.width}, true);
    h = w.layernorm(w.b.unary(Opcode::kGelu, h), "transform_norm");
    const SlotId head = c.tied_embeddings ? x.table : w.weight("head", {c.vocabulary, c.width});
    const SlotId scores = w.b.matmul(h, head);
    return w.b.add(scores, w.vector("head.bias", c.vocabulary, 0.0F, ParamGroup::kBias));
}

/// Numbers first, first + step, ..., count of them.
SlotId numbers(ModelWriter& w, const std::string& name, std::uint32_t count, std::uint32_t first,
               std::uint32_t step) {
    return w.once(name, [&] {
        std::vector<std::int32_t> values(count);
        for (std::uint32_t i = 0; i < count; ++i)
            values[i] = static_cast<std::int32_t>(first + i * step);
        return w.b.indices(name, {count}, values);
    });
}

/// The divisor of a mean over as many rows, which no sequence has none of.
SlotId at_least_one(Builder& b, SlotId count) {
    const SlotId enough = b.elementwise(Opcode::kLessEqual, {b.scalar(1.0F), count});
    return b.add(count, without(b, enough));
}

/// One row a sequence: [sequences, width].
SlotId pooled(ModelWriter& w, const Encoded& x) {
    SlotId rows = x.rows;
    const bool pads = x.padding != kNoSlot;
    if (pads && w.config.pooling == Pooling::kMean) rows = w.b.mul(rows, without(w.b, x.padding));
    const std::uint32_t tokens = sequence_tokens(w.config), width = w.config.width;
    const std::uint32_t sequences = w.b.slot(rows).dims[0] / tokens;
    if (w.config.pooling == Pooling::kFirst)
        return w.b.gather_rows(rows, numbers(w, "first_tokens", sequences, 0, tokens));
    const SlotId columns = w.b.strided_copy(rows, {sequences, width, tokens}, 0,
                                            {std::uint64_t{tokens} * width, 1, width});
    const SlotId sums = w.b.row_sum(columns);
    if (pads) {
        const SlotId sum = w.b.strided_copy(sums, {sequences, width}, 0, {width, 1});
        return w.b.div(sum, at_least_one(w.b, real_tokens(w.b, x.padding, tokens)));
    }
    const SlotId mean = w.b.div(sums, w.b.scalar(static_cast<float>(tokens)));
    return w.b.strided_copy(mean, {sequences, width}, 0, {width, 1});
}

/// tanh of a linear layer, as BERT pools.
SlotId pooler(ModelWriter& w, SlotId x) {
    x = w.linear(x, "pooler", {w.config.width, w.config.width}, true);
    const SlotId two = w.b.scalar(2.0F);
    const SlotId s = w.b.unary(Opcode::kSigmoid, w.b.mul(x, two));
    const SlotId doubled = w.b.mul(s, two);
    return w.dropout(w.b.sub(doubled, w.b.scalar(1.0F)));
}

/// Scores of the passages of a window, [windows, passages]. A bias would change no loss.
SlotId passage_scores(ModelWriter& w, const Encoded& encoded) {
    const std::uint32_t passages = w.config.passages;
    const SlotId x = pooler(w, pooled(w, encoded));
    SlotId scores = w.b.matmul(x, w.weight("head", {1, w.config.width}));
    if (encoded.padding != kNoSlot) {
        const SlotId real = real_tokens(w.b, encoded.padding, sequence_tokens(w.config));
        scores = w.b.sub(scores, penalty_of_absence(w.b, real));
    }
    const std::uint32_t windows = w.b.slot(scores).dims[0] / passages;
    return w.b.strided_copy(scores, {windows, passages}, 0, {passages, 1});
}

/// The cosine of every query with every passage of the batch over the temperature, [windows,
/// windows * passages].
SlotId similarities(ModelWriter& w, const Encoded& encoded) {
    const ModelConfig& c = w.config;
    const std::string name = "unit_length";
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.width)));
    const SlotId gamma = w.once(
        name, [&] { return w.b.constant(name, {c.width}, std::vector<float>(c.width, scale)); });
    constexpr float kEpsilon = 1e-12F;
    const SlotId units = w.b.rmsnorm(pooled(w, encoded), gamma, kEpsilon);
    const std::uint32_t group = c.passages + 1, windows = w.b.slot(units).dims[0] / group;
    const SlotId queries = w.b.gather_rows(units, numbers(w, "queries", windows, 0, group));
    const SlotId places = w.once("passages", [&] {
        std::vector<std::int32_t> values;
        for (std::uint32_t i = 0; i < windows * group; ++i)
            if (i % group != 0) values.push_back(static_cast<std::int32_t>(i));
        return w.b.indices("passages", {windows * c.passages}, values);
    });
    const SlotId passages = w.b.gather_rows(units, places);
    const SlotId cosines = w.b.matmul(queries, passages);
    const SlotId scores = w.b.mul(cosines, w.b.scalar(static_cast<float>(1.0 / c.temperature)));
    if (encoded.padding == kNoSlot) return scores;
    const SlotId real = real_tokens(w.b, encoded.padding, sequence_tokens(c));
    const SlotId penalties = w.b.gather_rows(penalty_of_absence(w.b, real), places);
    const std::uint32_t count = windows * c.passages;
    return w.b.sub(scores, w.b.strided_copy(penalties, {count}, 0, {1}));
}

}  // namespace

Encoded write_encoder(ModelWriter& w, SlotId tokens) {
    const ModelConfig& c = w.config;
    Encoded out;
    out.table = w.weight("token_embedding", {c.vocabulary, c.width}, 1.0, ParamGroup::kEmbedding);
    const SlotId positions =
        w.weight("position_embedding", {sequence_tokens(c), c.width}, 1.0, ParamGroup::kEmbedding);
    SlotId x = w.b.gather_rows(out.table, tokens);
    if (c.padding_token) out.padding = padding_rows(w, tokens);
    if (c.task == Task::kMasked) {
        out.hidden = hidden_rows(w, w.b.slot(x).dims[0]);
        if (c.padding_token) out.hidden = w.b.mul(out.hidden, without(w.b, out.padding));
        x = with_masks(w, x, out.table, out.hidden);
    }
    std::optional<Unpadded> padding;
    if (c.padding_token) padding = unpadded(w, out.padding);
    x = w.dropout(w.layernorm(w.b.add(x, positions), "embedding_norm"));
    for (std::uint32_t layer = 0; layer < c.layers; ++layer)
        x = block(w, x, padding, "blocks." + std::to_string(layer));
    out.rows = x;
    return out;
}

SlotId encoder_logits(ModelWriter& w, const Encoded& x) {
    switch (w.config.task) {
        case Task::kMasked:
            return masked_head(w, x);
        case Task::kClassify:
            return w.linear(pooler(w, pooled(w, x)), "head", {w.config.classes, w.config.width},
                            true);
        case Task::kEmbed:
            return similarities(w, x);
        case Task::kRerank:
            return passage_scores(w, x);
    }
    return kNoSlot;
}

SlotId relevant_passages(ModelWriter& w, std::uint32_t windows) {
    return numbers(w, "relevant", windows, 0, w.config.passages);
}

SlotId counted_loss(Builder& b, const Model& model) {
    // Scores of 0 cost log(vocabulary) each and have no gradient.
    const SlotId scores = b.mul(model.logits, model.counted);
    const Dims dims = b.slot(model.logits).dims;
    const SlotId mean = b.cross_entropy(scores, model.targets);
    const SlotId rows = b.scalar(static_cast<float>(dims[0]));
    const SlotId counted = b.column_sum(model.counted, {1});
    const SlotId each = b.unary(Opcode::kLog, b.scalar(static_cast<float>(dims[1])));
    const SlotId others = b.mul(b.sub(rows, counted), each);
    const SlotId sum = b.sub(b.mul(mean, rows), others);
    constexpr float kEpsilon = 1e-5F;  // no row counts: a loss of 0
    return b.div(sum, b.add(counted, b.scalar(kEpsilon)));
}

}  // namespace gym::program
