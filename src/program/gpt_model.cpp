#include "documents.hpp"
#include "model_writer.hpp"

namespace gym::program {
namespace {

SlotId block(ModelWriter& w, SlotId x, SlotId documents, const std::string& name) {
    const std::uint32_t width = w.config.width, hidden = w.config.mlp_ratio * width;
    const bool bias = w.config.bias;
    SlotId h = w.layernorm(x, name + ".norm1");
    h = w.linear(h, name + ".attention.qkv", {3 * width, width}, bias);
    h = decoder_attention(w, h, documents);
    h = w.linear(h, name + ".attention.out", {width, width}, bias, w.residual_scale());
    x = w.b.add(x, w.dropout(h));
    h = w.layernorm(x, name + ".norm2");
    h = w.linear(h, name + ".mlp.up", {hidden, width}, bias);
    h = w.b.unary(Opcode::kGelu, h);
    h = w.linear(h, name + ".mlp.down", {width, hidden}, bias, w.residual_scale());
    return w.b.add(x, w.dropout(h));
}

}  // namespace

Body write_gpt(ModelWriter& w, SlotId tokens) {
    const ModelConfig& c = w.config;
    const SlotId table =
        w.weight("token_embedding", {c.vocabulary, c.width}, 1.0, ParamGroup::kEmbedding);
    const SlotId positions =
        w.weight("position_embedding", {c.context, c.width}, 1.0, ParamGroup::kEmbedding);
    SlotId x = w.dropout(w.b.add(w.b.gather_rows(table, tokens), positions));
    const SlotId documents = document_numbers(w, tokens);
    for (std::uint32_t layer = 0; layer < c.layers; ++layer)
        x = block(w, x, documents, "blocks." + std::to_string(layer));
    return {w.layernorm(x, "final_norm"), table};
}

}  // namespace gym::program
