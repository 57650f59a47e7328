#include "model_writer.hpp"

namespace gym::program {
namespace {

/// Values of a feature's tokens: 0 .. levels - 1 spread evenly over -1 .. 1.
std::vector<float> feature_values(std::uint32_t levels) {
    std::vector<float> values(levels);
    for (std::uint32_t i = 0; i < levels; ++i)
        values[i] = static_cast<float>(2.0 * i / (levels - 1.0) - 1.0);
    return values;
}

}  // namespace

Body write_mlp(ModelWriter& w, SlotId tokens) {
    const ModelConfig& c = w.config;
    const std::uint32_t rows = w.b.slot(tokens).dims[0];
    const SlotId values = w.once("feature_values", [&] {
        return w.b.constant("feature_values", {c.vocabulary, 1}, feature_values(c.vocabulary));
    });
    // One value a row, then one row an example.
    const SlotId features = w.b.gather_rows(values, tokens);
    SlotId x = w.b.strided_copy(features, {rows, c.context}, 0, {c.context, 1});
    std::uint32_t inputs = c.context;
    for (std::uint32_t layer = 0; layer < c.layers; ++layer) {
        x = w.linear(x, "layers." + std::to_string(layer), {c.width, inputs}, true);
        x = w.b.unary(Opcode::kGelu, x);
        inputs = c.width;
    }
    return {x, kNoSlot};
}

}  // namespace gym::program
