#include <array>
#include <charconv>
#include <concepts>
#include <string>

#include "gym/common/assert.hpp"
#include "gym/program/presets.hpp"
#include "gym/program/train_config_yaml.hpp"

namespace gym::program {
namespace {

/// The shortest digits that read as `value`, in a form that YAML 1.1 takes for a number, too: with
/// a dot before an exponent.
template <std::floating_point T>
std::string text_of(T value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    std::string text(digits.data(), end);
    const std::size_t exponent = text.find('e');
    if (exponent != std::string::npos && text.find('.') == std::string::npos)
        text.insert(exponent, ".0");
    return text;
}

class Writer {
  public:
    void section(const char* name) {
        text_ += indent_ + name + ":\n";
        indent_ += "  ";
    }
    void end_section() { indent_.resize(indent_.size() - 2); }
    void key(const char* name, std::uint32_t value) { line(name, std::to_string(value)); }
    void key(const char* name, double value) { line(name, text_of(value)); }
    void key(const char* name, float value) { line(name, text_of(value)); }
    void key(const char* name, bool value) { line(name, value ? "true" : "false"); }
    void key(const char* name, const char* value) { line(name, value); }
    [[nodiscard]] std::string text() && { return std::move(text_); }

  private:
    void line(const char* name, const std::string& value) {
        text_ += indent_ + name + ": " + value + "\n";
    }
    std::string text_, indent_;
};

void write_decoder(Writer& w, const ModelConfig& m) {
    w.key("vocabulary", m.vocabulary);
    w.key("context", m.context);
    w.key("layers", m.layers);
    w.key("heads", m.heads);
    w.key("width", m.width);
    w.key("classes", m.classes);
    w.key("tied_embeddings", m.tied_embeddings);
    w.key("dropout", m.dropout);
    if (m.padding_token) w.key("padding_token", *m.padding_token);
    if (m.document_separator) w.key("document_separator", *m.document_separator);
}

void write_rope_scaling(Writer& w, const RopeScaling& s) {
    if (s.type == RopeScaling::Type::kNone) return;
    const bool linear = s.type == RopeScaling::Type::kLinear;
    w.section("rope_scaling");
    w.key("type", linear ? "linear" : "llama3");
    w.key("factor", s.factor);
    if (!linear) {
        w.key("low_frequency_factor", s.low_frequency_factor);
        w.key("high_frequency_factor", s.high_frequency_factor);
        w.key("original_context", s.original_context);
    }
    w.end_section();
}

void write_llama(Writer& w, const ModelConfig& m) {
    w.key("architecture", "llama");
    w.key("init_std", m.init_std);
    write_decoder(w, m);
    w.key("kv_heads", m.kv_heads);
    w.key("hidden_width", m.hidden_width);
    w.key("head_width", m.head_width);
    w.key("qkv_bias", m.qkv_bias);
    if (m.qk_norm) w.key("qk_norm", m.qk_norm);
    w.key("rope_theta", m.rope_theta);
    w.key("rmsnorm_epsilon", m.layernorm_epsilon);
    write_rope_scaling(w, m.rope_scaling);
}

const char* name_of(Task task) {
    switch (task) {
        case Task::kMasked:
            return "masked";
        case Task::kClassify:
            return "classify";
        case Task::kEmbed:
            return "embed";
        case Task::kRerank:
            return "rerank";
    }
    return "masked";
}

void write_encoder(Writer& w, const ModelConfig& m) {
    w.key("architecture", "bert");
    w.key("task", name_of(m.task));
    w.key("init_std", m.init_std);
    write_decoder(w, m);
    w.key("hidden_width", m.hidden_width);
    w.key("layernorm_epsilon", m.layernorm_epsilon);
    w.key("pooling", m.pooling == Pooling::kFirst ? "first" : "mean");
    w.key("passages", m.passages);
    w.key("mask_rate", m.mask_rate);
    w.key("mask_token", m.mask_token);
    w.key("temperature", m.temperature);
}

void write_model(Writer& w, const ModelConfig& m) {
    if (m.architecture == Architecture::kLlama) return write_llama(w, m);
    if (m.architecture == Architecture::kEncoder) return write_encoder(w, m);
    if (m.architecture == Architecture::kMlp) {
        w.key("architecture", "mlp");
        w.key("init_std", m.init_std);
        w.key("levels", m.vocabulary);
        w.key("features", m.context);
        w.key("classes", m.classes);
        w.key("layers", m.layers);
        w.key("width", m.width);
        return;
    }
    w.key("architecture", "gpt2");
    w.key("init_std", m.init_std);
    write_decoder(w, m);
    w.key("mlp_ratio", m.mlp_ratio);
    w.key("bias", m.bias);
    w.key("layernorm_epsilon", m.layernorm_epsilon);
}

void write_optimizer(Writer& w, const OptimizerConfig& o) {
    w.key("learning_rate", o.learning_rate);
    w.key("learning_rate_min", o.learning_rate_min);
    w.key("schedule", o.schedule == Schedule::kCosine   ? "cosine"
                      : o.schedule == Schedule::kLinear ? "linear"
                                                        : "constant");
    w.key("warmup_steps", o.warmup_steps);
    w.key("total_steps", o.total_steps);
    w.key("inner_warmup_steps", o.inner_warmup_steps);
    w.key("beta1", o.beta1);
    w.key("beta2", o.beta2);
    w.key("epsilon", o.epsilon);
    w.key("weight_decay", o.weight_decay);
    w.key("decay_embeddings", o.decay_embeddings);
    w.key("decay_norms", o.decay_norms);
    w.key("decay_biases", o.decay_biases);
    w.key("clip_norm", o.clip_norm);
    if (!o.guard.enabled) return;
    w.section("guard");
    w.key("loss_factor", o.guard.loss_factor);
    w.key("loss_decay", o.guard.loss_decay);
    w.end_section();
}

}  // namespace

std::string train_config_text(const TrainConfig& config) {
    GYM_ASSERT(config.model.architecture != Architecture::kImported,
               "imported models have no file");
    Writer w;
    w.key("batch", config.batch);
    w.key("micro_batches", config.micro_batches);
    w.section("model");
    write_model(w, config.model);
    w.end_section();
    w.section("optimizer");
    write_optimizer(w, config.optimizer);
    w.end_section();
    w.section("outer");
    w.key("learning_rate", config.outer.learning_rate);
    w.key("momentum", config.outer.momentum);
    w.end_section();
    if (config.compression != DeltaCodec::kFloat)
        w.key("compression", std::string(name_of(config.compression)).c_str());
    if (config.update != UpdateCodec::kNone)
        w.key("update", std::string(name_of(config.update)).c_str());
    return std::move(w).text();
}

Result<std::string> preset_text(std::string_view name) {
    const Preset* preset = find_preset(name);
    if (preset == nullptr) return preset_config(name).error();
    std::string text =
        "# " + std::string(preset->summary) + ". Shape: " + std::string(preset->source) + ".\n";
    if (preset->published_vocabulary != 0)
        text += "# Published with " + std::to_string(preset->published_vocabulary) +
                " tokens; `vocabulary` is what a dataset's 16-bit tokens can hold.\n";
    return text + train_config_text(preset->config);
}

}  // namespace gym::program
