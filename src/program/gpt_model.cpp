#include "gpt_model.hpp"

#include <bit>
#include <cmath>

namespace gym::program {
namespace {

constexpr std::uint32_t kVocabularyMax = 65536;  // token files hold u16
constexpr std::uint32_t kContextMax = 65536;
constexpr std::uint32_t kLayersMax = 256;
constexpr std::uint32_t kWidthMax = 65536;
constexpr std::uint32_t kMlpRatioMax = 64;

Init constant_init(float value) {
    return {Init::Kind::constant, std::bit_cast<std::uint32_t>(value)};
}

class ModelWriter {
  public:
    ModelWriter(Builder& builder, const GptConfig& config) : b_(builder), config_(config) {}

    GptModel write(std::uint32_t windows) {
        const std::uint32_t context = config_.context;
        const SlotId batch = b_.input(std::string(kBatchInput), DType::i32, {windows, context + 1});
        const SlotId tokens =
            b_.strided_copy(batch, {windows, context}, 0, {context + std::uint64_t{1}, 1});
        model_.targets =
            b_.strided_copy(batch, {windows, context}, 1, {context + std::uint64_t{1}, 1});
        const SlotId table =
            weight("token_embedding", {config_.vocabulary, config_.width}, 1.0, false);
        const SlotId positions = weight("position_embedding", {context, config_.width}, 1.0, false);
        SlotId x = b_.add(b_.gather_rows(table, tokens), positions);
        for (std::uint32_t layer = 0; layer < config_.layers; ++layer)
            x = block(x, "blocks." + std::to_string(layer));
        x = norm(x, "final_norm");
        const SlotId head = config_.tied_embeddings
                                ? table
                                : weight("head", {config_.vocabulary, config_.width}, 1.0, true);
        model_.logits = b_.matmul(x, head);
        return std::move(model_);
    }

  private:
    SlotId param(const std::string& name, const Dims& dims, Init init, bool decay) {
        const SlotId slot = b_.param(name, dims, init);
        model_.params.push_back({slot, name, decay});
        return slot;
    }
    SlotId weight(const std::string& name, const Dims& dims, double scale, bool decay) {
        const auto deviation = static_cast<float>(config_.init_std * scale);
        const Init init{Init::Kind::normal, std::bit_cast<std::uint32_t>(deviation)};
        return param(name, dims, init, decay);
    }
    SlotId norm(SlotId x, const std::string& name) {
        const SlotId gamma = param(name + ".gamma", {config_.width}, constant_init(1.0F), false);
        const SlotId beta = param(name + ".beta", {config_.width}, constant_init(0.0F), false);
        return b_.layernorm(x, gamma, beta, static_cast<float>(config_.layernorm_epsilon));
    }
    SlotId linear(SlotId x, const std::string& name, const Dims& dims, double scale = 1.0) {
        const SlotId y = b_.matmul(x, weight(name + ".weight", dims, scale, true));
        if (!config_.bias) return y;
        return b_.add(y, param(name + ".bias", {dims[0]}, constant_init(0.0F), false));
    }
    SlotId block(SlotId x, const std::string& name) {
        const std::uint32_t width = config_.width, hidden = config_.mlp_ratio * width;
        // 2 * layers outputs add up in the residual stream: each starts smaller by that root.
        const double residual = 1.0 / std::sqrt(2.0 * config_.layers);
        SlotId h = norm(x, name + ".norm1");
        h = linear(h, name + ".attention.qkv", {3 * width, width});
        h = b_.attention(h, config_.context, config_.heads);
        h = linear(h, name + ".attention.out", {width, width}, residual);
        x = b_.add(x, h);
        h = norm(x, name + ".norm2");
        h = linear(h, name + ".mlp.up", {hidden, width});
        h = b_.unary(Opcode::gelu, h);
        h = linear(h, name + ".mlp.down", {width, hidden}, residual);
        return b_.add(x, h);
    }

    Builder& b_;
    const GptConfig& config_;
    GptModel model_;
};

Status check_between(const char* name, std::uint64_t value, std::uint64_t min, std::uint64_t max) {
    if (value >= min && value <= max) return {};
    return fail(ErrorCode::kInvalidArgument, std::string(name) + " must be " + std::to_string(min) +
                                                 " to " + std::to_string(max) + ", not " +
                                                 std::to_string(value));
}

}  // namespace

Status check_model(const GptConfig& config) {
    GYM_CHECK(check_between("vocabulary", config.vocabulary, 2, kVocabularyMax));
    GYM_CHECK(check_between("context", config.context, 1, kContextMax));
    GYM_CHECK(check_between("layers", config.layers, 1, kLayersMax));
    GYM_CHECK(check_between("width", config.width, 1, kWidthMax));
    GYM_CHECK(check_between("heads", config.heads, 1, config.width));
    GYM_CHECK(check_between("mlp_ratio", config.mlp_ratio, 1, kMlpRatioMax));
    if (config.width % config.heads != 0)
        return fail(ErrorCode::kInvalidArgument, "width must be a multiple of heads");
    if (!(config.init_std > 0 && config.init_std <= 10))
        return fail(ErrorCode::kInvalidArgument, "init_std must be above 0 and at most 10");
    if (!(config.layernorm_epsilon > 0 && config.layernorm_epsilon <= 1))
        return fail(ErrorCode::kInvalidArgument, "layernorm_epsilon must be above 0 and at most 1");
    return {};
}

GptModel write_model(Builder& builder, const GptConfig& config, std::uint32_t windows) {
    return ModelWriter(builder, config).write(windows);
}

}  // namespace gym::program
