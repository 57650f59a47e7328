#pragma once

#include <functional>

#include "model.hpp"

namespace gym::program {

/// Parameters and layers that architectures share.
class ModelWriter {
  public:
    ModelWriter(Builder& builder, const ModelConfig& model, Pass pass)
        : b(builder), config(model), pass_(std::move(pass)) {}

    SlotId param(const std::string& name, const Dims& dims, Init init, ParamGroup group);
    /// Drawn at random with deviation init_std * scale.
    SlotId weight(const std::string& name, const Dims& dims, double scale = 1.0,
                  ParamGroup group = ParamGroup::kLinear);
    /// Every element begins at `value`.
    SlotId vector(const std::string& name, std::uint32_t size, float value, ParamGroup group);
    /// x weight^T [+ bias].
    SlotId linear(SlotId x, const std::string& name, const Dims& dims, bool bias,
                  double scale = 1.0);
    /// LayerNorm with parameters NAME.gamma and NAME.beta.
    SlotId layernorm(SlotId x, const std::string& name);
    /// x with a share of its values zero and the others larger, in a training pass with dropout.
    SlotId dropout(SlotId x);
    /// f32 of these dims: +0 with probability `rate`, else `value`; kNoSlot without random numbers.
    SlotId random_mask(const Dims& dims, double rate, float value);
    [[nodiscard]] std::uint32_t dropouts() const { return pass_.dropouts_before; }
    /// f32 (elements of tokens, 1): 1 where a token is `token`, else +0. `name` is the constant's
    /// that says so of the whole vocabulary.
    SlotId rows_of_token(const std::string& name, std::uint32_t token, SlotId tokens);
    /// The slot of this name, which `make` writes at the first request.
    SlotId once(const std::string& name, const std::function<SlotId()>& make);
    /// The residual stream has 2 * layers outputs added up: each starts smaller by that root.
    [[nodiscard]] double residual_scale() const;

    [[nodiscard]] std::vector<ModelParam> params() && { return std::move(params_); }

    Builder& b;
    const ModelConfig& config;

  private:
    Pass pass_;
    std::vector<ModelParam> params_;
};

/// A model up to its output layer.
struct Body {
    SlotId rows = kNoSlot;   ///< (windows * context, width), normalised; mlp: (windows, inputs)
    SlotId table = kNoSlot;  ///< the token embedding (vocabulary, width), if there is one
};

/// @param tokens i32 (windows, context).
[[nodiscard]] Body write_gpt(ModelWriter& writer, SlotId tokens);
[[nodiscard]] Body write_llama(ModelWriter& writer, SlotId tokens);
[[nodiscard]] Body write_mlp(ModelWriter& writer, SlotId tokens);
/// The logits of an imported model.
[[nodiscard]] SlotId write_forward(ModelWriter& writer, SlotId tokens);

}  // namespace gym::program
