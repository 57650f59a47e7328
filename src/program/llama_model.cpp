#include "model_writer.hpp"
#include "rotary_tables.hpp"

namespace gym::program {
namespace {

/// Slots that every block reads.
struct Rotary {
    SlotId cosine;
    SlotId sine;
};

Rotary rotary(ModelWriter& w) {
    const ModelConfig& c = w.config;
    const RotaryShape shape{c.context, c.width / c.heads / 2, c.rope_theta};
    const Dims dims{shape.positions, shape.frequencies};
    const SlotId cosine = w.once(
        "rope.cos", [&] { return w.b.constant("rope.cos", dims, rotary_tables(shape).cosine); });
    const SlotId sine = w.once(
        "rope.sin", [&] { return w.b.constant("rope.sin", dims, rotary_tables(shape).sine); });
    return {cosine, sine};
}

SlotId norm(ModelWriter& w, SlotId x, const std::string& name) {
    const SlotId gamma = w.vector(name + ".gamma", w.config.width, 1.0F, ParamGroup::kNorm);
    return w.b.rmsnorm(x, gamma, static_cast<float>(w.config.layernorm_epsilon));
}

SlotId attention(ModelWriter& w, const Rotary& tables, SlotId x, const std::string& name) {
    const ModelConfig& c = w.config;
    const std::uint32_t kv_heads = c.kv_heads == 0 ? c.heads : c.kv_heads;
    const std::uint32_t size = c.width / c.heads;
    SlotId h = w.linear(x, name + ".qkv", {(c.heads + 2 * kv_heads) * size, c.width}, false);
    h = w.b.rope(h, tables.cosine, tables.sine, c.heads + kv_heads);
    if (kv_heads != c.heads) h = w.b.repeat_heads(h, c.heads, kv_heads);
    h = w.b.attention(h, c.context, c.heads);
    return w.linear(h, name + ".out", {c.width, c.width}, false, w.residual_scale());
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
    for (std::uint32_t layer = 0; layer < c.layers; ++layer) {
        const std::string name = "blocks." + std::to_string(layer);
        const SlotId a = attention(w, tables, norm(w, x, name + ".norm1"), name + ".attention");
        x = w.b.add(x, w.dropout(a));
        const SlotId h = mlp(w, norm(w, x, name + ".norm2"), name + ".mlp");
        x = w.b.add(x, w.dropout(h));
    }
    return {norm(w, x, "final_norm"), table};
}

}  // namespace gym::program
