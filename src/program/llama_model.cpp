#include <optional>
#include <string>
#include <vector>

#include "documents.hpp"
#include "model_writer.hpp"
#include "rotary_tables.hpp"

namespace gym::program {
namespace {

/// Slots that every block reads.
struct Rotary {
    SlotId cosine;
    SlotId sine;
};
struct Shared {
    Rotary tables;
    SlotId documents;
};

/// The numbers that the tables of a scaled model follow from; empty for one without scaling. No op
/// reads them: they tell a program's reader.
std::vector<float> scaling_constant(const RotaryShape& shape) {
    const RopeScaling& s = shape.scaling;
    const auto theta = static_cast<float>(shape.theta);
    switch (s.type) {
        case RopeScaling::Type::kNone:
            return {};
        case RopeScaling::Type::kLinear:
            return {theta, s.factor};
        case RopeScaling::Type::kLlama3:
            return {theta, s.factor, s.low_frequency_factor, s.high_frequency_factor,
                    static_cast<float>(s.original_context)};
    }
    return {};
}

Rotary rotary(ModelWriter& w) {
    const RotaryShape shape = rotary_shape(w.config);
    const Dims dims{shape.positions, shape.frequencies};
    std::optional<RotaryTables> tables;  // later micro-batches use the slots of the first
    const auto table = [&](const char* name, std::vector<float> RotaryTables::*values) {
        return w.once(name, [&] {
            if (!tables) tables = rotary_tables(shape);
            return w.b.constant(name, dims, *tables.*values);
        });
    };
    const SlotId cosine = table("rope.cos", &RotaryTables::cosine);
    const SlotId sine = table("rope.sin", &RotaryTables::sine);
    const std::vector<float> scaling = scaling_constant(shape);
    const std::string name(kRopeScaling);
    if (!scaling.empty())
        w.once(name, [&] {
            return w.b.constant(name, {static_cast<std::uint32_t>(scaling.size())}, scaling);
        });
    return {cosine, sine};
}

SlotId norm(ModelWriter& w, SlotId x, const std::string& name) {
    const SlotId gamma = w.vector(name + ".gamma", w.config.width, 1.0F, ParamGroup::kNorm);
    return w.b.rmsnorm(x, gamma, static_cast<float>(w.config.layernorm_epsilon));
}

/// Heads of queries or keys, each normalised by itself: (rows, heads * size).
SlotId normed_heads(ModelWriter& w, SlotId x, const std::string& name, std::uint32_t size) {
    const Dims dims = w.b.slot(x).dims;
    const std::uint32_t heads = dims[1] / size;
    const SlotId gamma = w.vector(name + ".gamma", size, 1.0F, ParamGroup::kNorm);
    const SlotId rows = w.b.strided_copy(x, {dims[0] * heads, size}, 0, {size, 1});
    const SlotId y = w.b.rmsnorm(rows, gamma, static_cast<float>(w.config.layernorm_epsilon));
    return w.b.strided_copy(y, dims, 0, {dims[1], 1});
}

/// Queries, keys and values beside each other: (rows, (heads + 2 kv_heads) * size).
SlotId queries_keys_values(ModelWriter& w, SlotId x, const std::string& name,
                           std::uint32_t kv_heads, std::uint32_t size) {
    const ModelConfig& c = w.config;
    if (!c.qk_norm)
        return w.linear(x, name + ".qkv", {(c.heads + 2 * kv_heads) * size, c.width}, c.qkv_bias);
    SlotId q = w.linear(x, name + ".q", {c.heads * size, c.width}, c.qkv_bias);
    q = normed_heads(w, q, name + ".q_norm", size);
    SlotId k = w.linear(x, name + ".k", {kv_heads * size, c.width}, c.qkv_bias);
    k = normed_heads(w, k, name + ".k_norm", size);
    const SlotId v = w.linear(x, name + ".v", {kv_heads * size, c.width}, c.qkv_bias);
    return w.b.concat({q, k, v});
}

SlotId attention(ModelWriter& w, const Shared& shared, SlotId x, const std::string& name) {
    const ModelConfig& c = w.config;
    const std::uint32_t kv_heads = c.kv_heads == 0 ? c.heads : c.kv_heads;
    const std::uint32_t size = c.head_width == 0 ? c.width / c.heads : c.head_width;
    SlotId h = queries_keys_values(w, x, name, kv_heads, size);
    h = w.b.rope(h, shared.tables.cosine, shared.tables.sine, c.heads + kv_heads);
    if (kv_heads != c.heads) h = w.b.repeat_heads(h, c.heads, kv_heads);
    h = decoder_attention(w, h, shared.documents);
    return w.linear(h, name + ".out", {c.width, c.heads * size}, false, w.residual_scale());
}

SlotId mlp(ModelWriter& w, SlotId x, const std::string& name) {
    const std::uint32_t width = w.config.width;
    const std::uint32_t hidden = w.config.hidden_width == 0 ? 4 * width : w.config.hidden_width;
    const SlotId gate = w.linear(x, name + ".gate", {hidden, width}, false);
    const SlotId up = w.linear(x, name + ".up", {hidden, width}, false);
    return w.linear(w.b.swiglu(gate, up), name + ".down", {width, hidden}, false,
                    w.residual_scale());
}

}  // namespace

Body write_llama(ModelWriter& w, SlotId tokens) {
    const ModelConfig& c = w.config;
    const Rotary tables = rotary(w);
    const SlotId table =
        w.weight("token_embedding", {c.vocabulary, c.width}, 1.0, ParamGroup::kEmbedding);
    SlotId x = w.dropout(w.b.gather_rows(table, tokens));
    const Shared shared{tables, document_numbers(w, tokens)};
    for (std::uint32_t layer = 0; layer < c.layers; ++layer) {
        const std::string name = "blocks." + std::to_string(layer);
        const SlotId a = attention(w, shared, norm(w, x, name + ".norm1"), name + ".attention");
        x = w.b.add(x, w.dropout(a));
        const SlotId h = mlp(w, norm(w, x, name + ".norm2"), name + ".mlp");
        x = w.b.add(x, w.dropout(h));
    }
    return {norm(w, x, "final_norm"), table};
}

}  // namespace gym::program
