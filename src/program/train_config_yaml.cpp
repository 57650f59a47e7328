#include "gym/program/train_config_yaml.hpp"

#include <concepts>
#include <limits>
#include <optional>

#include "gym/program/codec.hpp"
#include "gym/program/presets.hpp"
#include "gym/program/program_text.hpp"

namespace gym::program {
namespace {

constexpr double kAnyReal = std::numeric_limits<double>::max();

/// The values that train_program() takes, where no other setting narrows them.
struct Range {
    std::uint32_t min;
    std::uint32_t max;
};

/// Reads keys into fields that hold their defaults; the first error is kept. Bounds of numbers that
/// are not whole are train_program()'s, which every way of making a program passes.
class Keys {
  public:
    /// @param preset the fields hold a preset's values: no key is required.
    explicit Keys(YamlMap& map, bool preset = false) : map_(map), preset_(preset) {}

    Keys& integer(std::string_view key, std::uint32_t& field, Range range) {
        keep(map_.integer_or(key, range.min, range.max, field), field);
        return *this;
    }
    Keys& required_integer(std::string_view key, std::uint32_t& field, Range range) {
        if (preset_) return integer(key, field, range);
        keep(map_.integer(key, range.min, range.max), field);
        return *this;
    }
    template <std::floating_point T>
    Keys& real(std::string_view key, T& field) {
        keep(map_.real_or(key, -kAnyReal, kAnyReal, field), field);
        return *this;
    }
    Keys& boolean(std::string_view key, bool& field) {
        keep(map_.boolean_or(key, field), field);
        return *this;
    }
    /// Unknown keys are errors.
    [[nodiscard]] Status finish() {
        if (!status_.ok()) return status_;
        return map_.finish();
    }

  private:
    template <class Read, class Field>
    void keep(Read&& read, Field& field) {
        if (read.ok())
            field = static_cast<Field>(*read);
        else if (status_.ok())
            status_ = read.error();
    }
    YamlMap& map_;
    bool preset_;
    Status status_;
};

/// Keys that stand for a choice even where they are 0.
Status read_tokens(YamlMap& map, ModelConfig& model) {
    const auto read = [&](std::string_view key, std::optional<std::uint32_t>& field) -> Status {
        if (!map.has(key)) return {};
        GYM_TRY(const std::int64_t token, map.integer(key, 0, kVocabularyMax - 1));
        field = static_cast<std::uint32_t>(token);
        return {};
    };
    GYM_CHECK(read("padding_token", model.padding_token));
    return read("document_separator", model.document_separator);
}

/// Keys of transformers of every style.
Keys& read_decoder(Keys& keys, ModelConfig& model) {
    return keys.required_integer("vocabulary", model.vocabulary, {2, kVocabularyMax})
        .required_integer("context", model.context, {1, kContextMax})
        .required_integer("layers", model.layers, {1, kLayersMax})
        .required_integer("heads", model.heads, {1, kWidthMax})
        .required_integer("width", model.width, {1, kWidthMax})
        .integer("classes", model.classes, {0, kVocabularyMax})
        .boolean("tied_embeddings", model.tied_embeddings)
        .real("dropout", model.dropout)
        .real("init_std", model.init_std);
}

Status read_gpt(YamlMap& map, bool preset, ModelConfig& model) {
    GYM_CHECK(read_tokens(map, model));
    Keys keys(map, preset);
    return read_decoder(keys, model)
        .integer("mlp_ratio", model.mlp_ratio, {1, kMlpRatioMax})
        .boolean("bias", model.bias)
        .real("layernorm_epsilon", model.layernorm_epsilon)
        .finish();
}

Status read_rope_scaling(YamlMap& map, RopeScaling& scaling) {
    scaling = {};
    GYM_TRY(const std::string type, map.choice("type", {"none", "linear", "llama3"}));
    if (type == "none") return map.finish();
    Keys keys(map);
    keys.real("factor", scaling.factor);
    scaling.type = RopeScaling::Type::kLinear;
    if (type == "linear") return keys.finish();
    scaling.type = RopeScaling::Type::kLlama3;
    return keys.real("low_frequency_factor", scaling.low_frequency_factor)
        .real("high_frequency_factor", scaling.high_frequency_factor)
        .integer("original_context", scaling.original_context, {1, kOriginalContextMax})
        .finish();
}

Status read_llama(YamlMap& map, bool preset, ModelConfig& model) {
    if (map.has("rope_scaling")) {
        GYM_TRY(YamlMap scaling, map.map("rope_scaling"));
        GYM_CHECK(read_rope_scaling(scaling, model.rope_scaling));
    }
    GYM_CHECK(read_tokens(map, model));
    Keys keys(map, preset);
    return read_decoder(keys, model)
        .integer("kv_heads", model.kv_heads, {0, kWidthMax})
        .integer("hidden_width", model.hidden_width, {0, kHiddenWidthMax})
        .integer("head_width", model.head_width, {0, kHeadWidthMax})
        .boolean("qkv_bias", model.qkv_bias)
        .boolean("qk_norm", model.qk_norm)
        .real("rope_theta", model.rope_theta)
        .real("rmsnorm_epsilon", model.layernorm_epsilon)
        .finish();
}

Status read_encoder(YamlMap& map, bool preset, ModelConfig& model) {
    if (map.has("task")) {
        GYM_TRY(const std::string task,
                map.choice("task", {"masked", "classify", "embed", "rerank"}));
        model.task = task == "masked"     ? Task::kMasked
                     : task == "classify" ? Task::kClassify
                     : task == "embed"    ? Task::kEmbed
                                          : Task::kRerank;
    }
    if (map.has("pooling")) {
        GYM_TRY(const std::string pooling, map.choice("pooling", {"first", "mean"}));
        model.pooling = pooling == "first" ? Pooling::kFirst : Pooling::kMean;
    }
    GYM_CHECK(read_tokens(map, model));
    Keys keys(map, preset);
    return read_decoder(keys, model)
        .integer("hidden_width", model.hidden_width, {0, kHiddenWidthMax})
        .real("layernorm_epsilon", model.layernorm_epsilon)
        .integer("passages", model.passages, {1, kPassagesMax})
        .real("mask_rate", model.mask_rate)
        .integer("mask_token", model.mask_token, {0, kVocabularyMax - 1})
        .real("temperature", model.temperature)
        .finish();
}

/// `forward` and `context` are for the one who imports the file; of what a network is given, only
/// the program counts.
Status read_imported(YamlMap& map, ModelConfig& model) {
    GYM_TRY(const std::string forward, map.string_or("forward", ""));
    if (!map.has("program"))
        return map.error_at("program",
                            forward.empty()
                                ? "is missing: a model file names `forward`, a TorchScript file or "
                                  "an imported program, and `gym job submit` puts it in"
                                : "is missing: `gym job submit` imports " + forward +
                                      "; here, `gym program import` and `gym program build "
                                      "--forward` do");
    GYM_TRY(const std::string text, map.string("program"));
    auto program = parse_program_text(text);
    if (!program.ok()) return map.error_at("program", "cannot be used: " + program.error().message);
    const std::string root = program_root(*program).hex();
    GYM_TRY(const std::string named, map.string_or("root", root));
    if (named != root)
        return map.error_at("root", "is " + named + ", but the program's is " + root);
    auto config = imported_model(std::make_shared<const Program>(*std::move(program)));
    if (!config.ok())
        return map.error_at("program", "cannot be trained: " + config.error().message);
    model = *std::move(config);
    GYM_TRY(const std::int64_t context, map.integer_or("context", 1, kContextMax, model.context));
    if (context != model.context)
        return map.error_at("context", "is " + std::to_string(context) +
                                           ", but the program reads " +
                                           std::to_string(model.context) + " tokens at a time");
    return map.finish();
}

Status read_mlp(Keys keys, ModelConfig& model) {
    return keys.required_integer("levels", model.vocabulary, {2, kVocabularyMax})
        .required_integer("features", model.context, {1, kContextMax})
        .required_integer("classes", model.classes, {2, kVocabularyMax})
        .integer("layers", model.layers, {0, kLayersMax})
        .required_integer("width", model.width, {1, kWidthMax})
        .real("init_std", model.init_std)
        .finish();
}

constexpr std::string_view kGpt = "gpt2", kLlama = "llama", kMlp = "mlp", kEncoder = "bert",
                           kImported = "imported";

std::string_view name_of(Architecture architecture) {
    switch (architecture) {
        case Architecture::kLlama:
            return kLlama;
        case Architecture::kMlp:
            return kMlp;
        case Architecture::kEncoder:
            return kEncoder;
        case Architecture::kImported:
            return kImported;
        default:
            return kGpt;
    }
}

/// @param preset `model` holds a preset's, whose architecture stays.
Status read_model(YamlMap& map, bool preset, ModelConfig& model) {
    std::string architecture(name_of(model.architecture));
    if (map.has("architecture")) {
        GYM_TRY(const std::string chosen,
                map.choice("architecture", {"gpt2", "llama", "bert", "mlp", "imported"}));
        if (preset && chosen != architecture)
            return map.error_at("architecture", "is " + chosen +
                                                    ", but the preset is of the architecture " +
                                                    architecture + ": leave the key out");
        architecture = chosen;
    }
    if (architecture == kLlama) {
        model.architecture = Architecture::kLlama;
        return read_llama(map, preset, model);
    }
    if (architecture == kImported) return read_imported(map, model);
    if (architecture == kEncoder) {
        model.architecture = Architecture::kEncoder;
        return read_encoder(map, preset, model);
    }
    if (architecture == kMlp) {
        model.architecture = Architecture::kMlp;
        return read_mlp(Keys(map, preset), model);
    }
    return read_gpt(map, preset, model);
}

Status read_guard(YamlMap& map, GuardConfig& guard) {
    guard.enabled = true;
    return Keys(map)
        .real("loss_factor", guard.loss_factor)
        .real("loss_decay", guard.loss_decay)
        .finish();
}

Status read_optimizer(YamlMap& map, OptimizerConfig& optimizer) {
    if (map.has("schedule")) {
        GYM_TRY(const std::string name, map.choice("schedule", {"cosine", "linear", "constant"}));
        optimizer.schedule = name == "cosine"   ? Schedule::kCosine
                             : name == "linear" ? Schedule::kLinear
                                                : Schedule::kConstant;
    }
    if (map.has("guard")) {
        GYM_TRY(YamlMap guard, map.map("guard"));
        GYM_CHECK(read_guard(guard, optimizer.guard));
    }
    return Keys(map)
        .real("learning_rate", optimizer.learning_rate)
        .real("learning_rate_min", optimizer.learning_rate_min)
        .integer("warmup_steps", optimizer.warmup_steps, {0, kScheduleStepsMax})
        .integer("total_steps", optimizer.total_steps, {1, kScheduleStepsMax})
        .integer("inner_warmup_steps", optimizer.inner_warmup_steps, {0, kScheduleStepsMax})
        .real("beta1", optimizer.beta1)
        .real("beta2", optimizer.beta2)
        .real("epsilon", optimizer.epsilon)
        .real("weight_decay", optimizer.weight_decay)
        .boolean("decay_embeddings", optimizer.decay_embeddings)
        .boolean("decay_norms", optimizer.decay_norms)
        .boolean("decay_biases", optimizer.decay_biases)
        .real("clip_norm", optimizer.clip_norm)
        .finish();
}

Status read_outer(YamlMap& map, OuterConfig& outer) {
    return Keys(map)
        .real("learning_rate", outer.learning_rate)
        .real("momentum", outer.momentum)
        .finish();
}

/// Everything but the model.
Status read_training(YamlMap& map, bool preset, TrainConfig& config) {
    if (map.has("optimizer")) {
        GYM_TRY(YamlMap optimizer, map.map("optimizer"));
        GYM_CHECK(read_optimizer(optimizer, config.optimizer));
    }
    if (map.has("outer")) {
        GYM_TRY(YamlMap outer, map.map("outer"));
        GYM_CHECK(read_outer(outer, config.outer));
    }
    if (map.has("compression")) {
        GYM_TRY(const std::string name, map.choice("compression", {"none", "dense-4bit"}));
        GYM_TRY(config.compression, delta_codec_named(name));
    }
    if (map.has("update")) {
        GYM_TRY(const std::string name, map.choice("update", {"none", "dense-4bit"}));
        GYM_TRY(config.update, update_codec_named(name));
    }
    return Keys(map, preset)
        .required_integer("batch", config.batch, {1, kBatchMax})
        .integer("micro_batches", config.micro_batches, {1, kMicroBatchesMax})
        .finish();
}

/// Of a mapping with the key `preset`. @errors kInvalidArgument at the key.
Result<TrainConfig> read_preset(YamlMap& map, std::string_view key) {
    GYM_TRY(const std::string name, map.string(key));
    auto config = preset_config(name);
    if (config.ok()) return config;
    return map.error_at(key, "names no preset: " + config.error().message);
}

}  // namespace

Result<TrainConfig> read_train_config(YamlMap& map) {
    std::optional<TrainConfig> preset;
    std::optional<YamlMap> model;
    const auto read = [&](YamlMap& from, std::string_view key) -> Status {
        if (preset) return from.error_at(key, "is a second preset: name one");
        GYM_TRY(preset, read_preset(from, key));
        return {};
    };
    if (map.has(kPresetKey)) GYM_CHECK(read(map, kPresetKey));
    if (map.has("model") || !preset) {
        auto keys = map.map("model");
        const bool name = !keys.ok() && map.string("model").ok();
        if (!keys.ok() && !name) return keys.error();
        if (name)
            GYM_CHECK(read(map, "model"));
        else
            model.emplace(std::move(keys).value());
    }
    if (model && model->has(kPresetKey)) GYM_CHECK(read(*model, kPresetKey));
    TrainConfig config = preset.value_or(TrainConfig{});
    if (model) GYM_CHECK(read_model(*model, preset.has_value(), config.model));
    GYM_CHECK(read_training(map, preset.has_value(), config));
    return config;
}

Result<TrainConfig> load_train_config(const std::string& path,
                                      std::shared_ptr<const Program> forward) {
    TrainConfig config;
    GYM_TRY(config.model, imported_model(std::move(forward)));
    GYM_TRY(YamlMap map, YamlMap::load_file(path));
    if (map.has("model"))
        return fail(ErrorCode::kInvalidArgument,
                    path + ": leave `model` out: the imported program is the model");
    GYM_CHECK(read_training(map, false, config));
    return config;
}

Result<TrainConfig> load_train_config(const std::string& path) {
    if (const Preset* preset = find_preset(path)) return preset->config;
    auto map = YamlMap::load_file(path);
    if (!map.ok()) return with_presets(map.error(), path);
    return read_train_config(*map);
}

Result<TrainConfig> parse_train_config(const std::string& text, const std::string& origin) {
    GYM_TRY(YamlMap map, YamlMap::parse(text, origin));
    return read_train_config(map);
}

}  // namespace gym::program
