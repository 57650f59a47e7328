#include "gym/interchange/hf_config.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "gym/common/json_fields.hpp"

namespace gym::interchange {
namespace {

namespace json = boost::json;
using program::Architecture;
using program::ModelConfig;
using program::RopeScaling;

/// A member that is a number of the model, the same in both directions.
struct Whole {
    const char* theirs;
    std::uint32_t ModelConfig::*ours;
    std::optional<std::uint32_t> absent;  ///< its value in a config without it; none: required
};
struct Real {
    const char* theirs;
    double ModelConfig::*ours;
    double absent;
};
/// A member that decides what the model computes and has one form here: any other is refused.
struct Fixed {
    const char* theirs;
    json::value ours;
    std::vector<json::value> also;  ///< values that mean the same
    bool written = true;
};

/// One model type: everything that is to be known about its config.
struct Family {
    std::string_view type;
    const char* model;  ///< its class with an output layer over the vocabulary
    Architecture architecture;
    std::vector<Whole> wholes;
    std::vector<Real> reals;
    std::vector<Fixed> fixed;
    bool tied;                                  ///< of a config that does not say it
    std::vector<const char*> also_models = {};  ///< other classes that a program can be
};

Family gpt2_family() {
    return {"gpt2",
            "GPT2LMHeadModel",
            Architecture::kGpt,
            {{"vocab_size", &ModelConfig::vocabulary, {}},
             {"n_positions", &ModelConfig::context, 1024},
             {"n_embd", &ModelConfig::width, {}},
             {"n_layer", &ModelConfig::layers, {}},
             {"n_head", &ModelConfig::heads, {}}},
            {{"layer_norm_epsilon", &ModelConfig::layernorm_epsilon, 1e-5},
             {"initializer_range", &ModelConfig::init_std, 0.02}},
            {{"activation_function", "gelu_new", {"gelu_pytorch_tanh"}},
             {"scale_attn_weights", true, {}},
             {"scale_attn_by_inverse_layer_idx", false, {}},
             {"add_cross_attention", false, {}}},
            true};
}

/// LlamaConfig and what is like it, with the members that they have in common.
Family llama_family(std::string_view type, const char* model, std::uint32_t positions,
                    std::vector<Fixed> fixed) {
    fixed.push_back({"hidden_act", "silu", {"swish"}});
    fixed.push_back({"partial_rotary_factor", 1.0, {1}, false});
    return {type,
            model,
            Architecture::kLlama,
            {{"vocab_size", &ModelConfig::vocabulary, {}},
             {"max_position_embeddings", &ModelConfig::context, positions},
             {"hidden_size", &ModelConfig::width, {}},
             {"intermediate_size", &ModelConfig::hidden_width, {}},
             {"num_hidden_layers", &ModelConfig::layers, {}},
             {"num_attention_heads", &ModelConfig::heads, {}}},
            {{"rms_norm_eps", &ModelConfig::layernorm_epsilon, 1e-6},
             {"initializer_range", &ModelConfig::init_std, 0.02}},
            std::move(fixed),
            false};
}

/// Classes of a BERT, by what it is trained for (program::Task).
constexpr const char* kMaskedModel = "BertForMaskedLM";
constexpr const char* kPretrainedModel = "BertForPreTraining";  // of which one part is masked
constexpr const char* kClassifierModel = "BertForSequenceClassification";
constexpr const char* kBareModel = "BertModel";
constexpr const char* kPadding = "padding_token";

Family bert_family() {
    return {"bert",
            kMaskedModel,
            Architecture::kEncoder,
            {{"vocab_size", &ModelConfig::vocabulary, {}},
             {"max_position_embeddings", &ModelConfig::context, 512},
             {"hidden_size", &ModelConfig::width, {}},
             {"intermediate_size", &ModelConfig::hidden_width, {}},
             {"num_hidden_layers", &ModelConfig::layers, {}},
             {"num_attention_heads", &ModelConfig::heads, {}}},
            {{"layer_norm_eps", &ModelConfig::layernorm_epsilon, 1e-12},
             {"initializer_range", &ModelConfig::init_std, 0.02}},
            {{"hidden_act", "gelu_new", {"gelu_pytorch_tanh"}},
             {"position_embedding_type", "absolute", {}},
             {"is_decoder", false, {}},
             {"add_cross_attention", false, {}}},
            true,
            {kPretrainedModel, kClassifierModel, kBareModel}};
}

std::span<const Family> families() {
    static const std::vector<Family> all{
        gpt2_family(),
        llama_family("llama", "LlamaForCausalLM", 2048,
                     {{"attention_bias", false, {}}, {"mlp_bias", false, {}}}),
        llama_family("mistral", "MistralForCausalLM", 131072, {{"attention_bias", false, {}}}),
        llama_family("qwen2", "Qwen2ForCausalLM", 32768, {}),
        llama_family("qwen3", "Qwen3ForCausalLM", 32768, {{"attention_bias", false, {}}}),
        bert_family()};
    return all;
}

const Family* family_of(std::string_view type) {
    const auto found = std::ranges::find(families(), type, &Family::type);
    return found == families().end() ? nullptr : &*found;
}

// Theirs -> ours. Functions below throw what json_fields throws; model_config_of() catches it.

[[noreturn]] void refuse(const std::string& reason) {
    throw std::runtime_error(reason);
}

/// Absent and null mean the same: a default.
const json::value* member(const json::object& config, std::string_view name) {
    const json::value* value = config.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
}

template <class T>
T number_or(const json::object& config, std::string_view name, T absent) {
    return member(config, name) == nullptr ? absent : json_fields::number_of<T>(config, name);
}

bool flag_or(const json::object& config, std::string_view name, bool absent) {
    return member(config, name) == nullptr ? absent : json_fields::flag_of(config, name);
}

void check_fixed(const json::object& config, const Family& family) {
    for (const Fixed& fixed : family.fixed) {
        const json::value* value = member(config, fixed.theirs);
        if (family.type == "bert" && fixed.theirs == std::string_view("hidden_act") &&
            (value == nullptr || *value == json::value("gelu")))
            refuse(
                "hidden_act is \"gelu\", the form with erf; a program has the tanh form, "
                "\"gelu_new\", which differs by up to 0.0005 a value: write that into config.json "
                "if the difference does not matter, as for fine-tuning");
        if (value == nullptr || *value == fixed.ours || std::ranges::count(fixed.also, *value) > 0)
            continue;
        refuse(std::string(fixed.theirs) + " is " + json::serialize(*value) +
               "; a program has it as " + json::serialize(fixed.ours) + " alone");
    }
    if (member(config, "quantization_config") != nullptr)
        refuse(
            "quantization_config: quantised weights cannot be trained; take the model's files "
            "in float32, float16 or bfloat16");
    const json::value* classes = member(config, "architectures");
    if (classes == nullptr || !classes->is_array() || classes->get_array().empty()) return;
    const json::value& name = classes->get_array().front();
    std::string known(family.model);
    bool is_known = name == json::value(family.model);
    for (const char* other : family.also_models) {
        is_known = is_known || name == json::value(other);
        known += std::string(", ") + other;
    }
    if (!is_known)
        refuse("architectures is " + json::serialize(*classes) + "; a program can be a " + known);
}

/// Positions of the config, or fewer.
void choose_context(std::uint32_t context, ModelConfig& model) {
    const bool gpt = model.architecture == Architecture::kGpt;
    if (context != 0 && context != model.context &&
        (gpt || model.architecture == Architecture::kEncoder))
        refuse(
            std::string(gpt ? "n_positions" : "max_position_embeddings") + " gives a context of " +
            std::to_string(model.context) + ": a " + (gpt ? "GPT-2" : "BERT") +
            " has a weight for each position, so its context cannot be " + std::to_string(context));
    if (context > model.context)
        refuse("max_position_embeddings is " + std::to_string(model.context) +
               ", less than the context of " + std::to_string(context));
    if (context != 0) model.context = context;
    if (model.context > program::kContextMax)
        refuse("max_position_embeddings is " + std::to_string(model.context) +
               "; a program has at most " + std::to_string(program::kContextMax) +
               ": choose a shorter context");
}

/// Attention here sees the whole context, which is the same within one window.
void check_window(const json::object& config, const Family& family, const ModelConfig& model) {
    const bool mistral = family.type == "mistral", qwen = family.type.starts_with("qwen");
    if (!mistral && !(qwen && flag_or(config, "use_sliding_window", false))) return;
    if (mistral && config.contains("sliding_window") && member(config, "sliding_window") == nullptr)
        return;  // null: none
    if (qwen && number_or<std::uint32_t>(config, "max_window_layers", 28) >= model.layers) return;
    const auto window = number_or<std::uint32_t>(config, "sliding_window", 4096);
    if (window >= model.context) return;
    refuse("sliding_window is " + std::to_string(window) + " and the context " +
           std::to_string(model.context) +
           ": attention in a program sees the whole context, so choose one of at most " +
           std::to_string(window));
}

float f32_of(const json::object& object, std::string_view name) {
    return static_cast<float>(json_fields::number_of<double>(object, name));
}

RopeScaling scaling_of(const json::object& scaling) {
    const char* key = member(scaling, "rope_type") != nullptr ? "rope_type" : "type";
    const std::string type = json_fields::text_of(scaling, key);
    RopeScaling out;
    if (type == "default") return out;
    if (type != "linear" && type != "llama3")
        refuse(std::string(key) + " is \"" + type + "\"; a program can have linear and llama3");
    out.type = type == "linear" ? RopeScaling::Type::kLinear : RopeScaling::Type::kLlama3;
    out.factor = f32_of(scaling, "factor");
    if (type == "linear") return out;
    out.low_frequency_factor = f32_of(scaling, "low_freq_factor");
    out.high_frequency_factor = f32_of(scaling, "high_freq_factor");
    out.original_context =
        json_fields::number_of<std::uint32_t>(scaling, "original_max_position_embeddings");
    return out;
}

void read_rotary(const json::object& config, ModelConfig& model) {
    model.rope_theta = number_or(config, "rope_theta", 10000.0);
    // Later versions have both in one member.
    for (const char* name : {"rope_scaling", "rope_parameters"}) {
        if (member(config, name) == nullptr) continue;
        json_fields::object_of(config, name, [&](const json::object& scaling) {
            model.rope_theta = number_or(scaling, "rope_theta", model.rope_theta);
            model.rope_scaling = scaling_of(scaling);
            return true;
        });
    }
}

constexpr std::uint32_t kQwen3HeadWidth = 128;  // where its config does not say

void read_llama(const json::object& config, const Family& family, ModelConfig& model) {
    const std::uint32_t kv_heads = family.type == "mistral"          ? 8
                                   : family.type.starts_with("qwen") ? 32
                                                                     : model.heads;
    model.kv_heads = number_or(config, "num_key_value_heads", kv_heads);
    model.qk_norm = family.type == "qwen3";
    model.head_width =
        number_or<std::uint32_t>(config, "head_dim", model.qk_norm ? kQwen3HeadWidth : 0);
    if (std::uint64_t{model.head_width} * model.heads == model.width) model.head_width = 0;
    model.qkv_bias = family.type == "qwen2";
    read_rotary(config, model);
    check_window(config, family, model);
}

void read_gpt2(const json::object& config, ModelConfig& model) {
    model.bias = true;
    const auto inner = number_or(config, "n_inner", 4 * model.width);
    if (model.width == 0 || inner % model.width != 0)
        refuse("n_inner is " + std::to_string(inner) + ", not a multiple of n_embd");
    model.mlp_ratio = inner / model.width;
}

/// Sequences of a window: each has all positions.
std::uint32_t sequences_of(const ModelConfig& model) {
    if (model.task == program::Task::kRerank) return model.passages;
    return model.task == program::Task::kEmbed ? model.passages + 1 : 1;
}

std::uint32_t labels_of(const json::object& config) {
    constexpr std::uint32_t kLabels = 2;  // where a config does not say
    if (member(config, "id2label") == nullptr) return number_or(config, "num_labels", kLabels);
    return json_fields::object_of(config, "id2label", [](const json::object& labels) {
        return static_cast<std::uint32_t>(labels.size());
    });
}

/// The task, and windows as short as the task allows: a config does not say how many passages
/// training compares.
void read_bert(const json::object& config, ModelConfig& model) {
    using program::Task;
    const json::value* classes = member(config, "architectures");
    const json::value name =
        classes != nullptr && classes->is_array() && !classes->get_array().empty()
            ? classes->get_array().front()
            : json::value(kMaskedModel);
    const auto is = [&](const char* model_class) { return name == json::value(model_class); };
    model.mask_token = number_or<std::uint32_t>(config, "mask_token_id", 0);
    model.task = Task::kMasked;
    if (is(kBareModel)) model.task = Task::kEmbed;
    if (is(kClassifierModel)) {
        const std::uint32_t labels = labels_of(config);
        model.task = labels == 1 ? Task::kRerank : Task::kClassify;
        if (labels > 1) model.classes = labels;
        if (labels == 1) model.passages = 2;
    }
    if (std::uint64_t{model.context} * sequences_of(model) > program::kContextMax)
        refuse("max_position_embeddings is " + std::to_string(model.context) +
               ", and a window has " + std::to_string(sequences_of(model)) +
               " sequences: a program has at most " + std::to_string(program::kContextMax) +
               " tokens of a window");
    model.context *= sequences_of(model);
}

ModelConfig read_config(const json::object& config, std::uint32_t context) {
    const std::string type = json_fields::text_of(config, "model_type");
    const Family* family = family_of(type);
    if (family == nullptr)
        refuse("model_type is \"" + type +
               "\"; a program can be a gpt2, llama, mistral, qwen2, qwen3 or bert");
    check_fixed(config, *family);
    ModelConfig model;
    model.architecture = family->architecture;
    for (const Whole& field : family->wholes)
        model.*field.ours = field.absent
                                ? number_or(config, field.theirs, *field.absent)
                                : json_fields::number_of<std::uint32_t>(config, field.theirs);
    for (const Real& field : family->reals)
        model.*field.ours = number_or(config, field.theirs, field.absent);
    model.tied_embeddings = flag_or(config, "tie_word_embeddings", family->tied);
    if (model.vocabulary > program::kVocabularyMax)
        refuse("vocab_size is " + std::to_string(model.vocabulary) + "; a program has at most " +
               std::to_string(program::kVocabularyMax));
    if (family->architecture == Architecture::kEncoder) read_bert(config, model);
    choose_context(context, model);
    // Ours: published configs have a pad_token_id whether or not their model was ever padded.
    if (member(config, kPadding) != nullptr)
        model.padding_token = json_fields::number_of<std::uint32_t>(config, kPadding);
    if (family->architecture == Architecture::kEncoder) return model;
    if (family->architecture == Architecture::kGpt)
        read_gpt2(config, model);
    else
        read_llama(config, *family, model);
    return model;
}

// Ours -> theirs.

/// Of a number that a program keeps as f32, the shortest decimal one that becomes it; any other as
/// it is.
double shortest(double value) {
    const auto single = static_cast<float>(value);
    if (double{single} != value) return value;
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, single).ptr;
    double decimal = value;
    std::from_chars(digits, end, decimal);
    return decimal;
}

json::object json_of(const RopeScaling& scaling) {
    if (scaling.type == RopeScaling::Type::kLinear)
        return {{"rope_type", "linear"}, {"type", "linear"}, {"factor", shortest(scaling.factor)}};
    return {{"rope_type", "llama3"},
            {"factor", shortest(scaling.factor)},
            {"low_freq_factor", shortest(scaling.low_frequency_factor)},
            {"high_freq_factor", shortest(scaling.high_frequency_factor)},
            {"original_max_position_embeddings", scaling.original_context}};
}

void write_llama(const ModelConfig& model, json::object& out) {
    out["num_key_value_heads"] = model.kv_heads == 0 ? model.heads : model.kv_heads;
    if (model.hidden_width == 0) out["intermediate_size"] = 4 * model.width;
    out["head_dim"] = model.head_width == 0 ? model.width / model.heads : model.head_width;
    out["rope_theta"] = shortest(model.rope_theta);
    out["rope_scaling"] = nullptr;
    if (model.rope_scaling.type != RopeScaling::Type::kNone)
        out["rope_scaling"] = json_of(model.rope_scaling);
    if (model.qkv_bias || model.qk_norm) out["use_sliding_window"] = false;
}

void write_bert(const ModelConfig& model, json::object& out) {
    using program::Task;
    out["max_position_embeddings"] = model.context / sequences_of(model);
    if (model.hidden_width == 0) out["intermediate_size"] = 4 * model.width;
    out["type_vocab_size"] = 2;  // of zeros: a program does not tell them apart
    for (const char* name : {"hidden_dropout_prob", "attention_probs_dropout_prob"})
        out[name] = 0.0;  // a choice of each training, not a part of the model
    out["classifier_dropout"] = nullptr;
    if (model.task == Task::kMasked)
        out["mask_token_id"] = model.mask_token == 0 ? model.vocabulary - 1 : model.mask_token;
    if (model.task == Task::kEmbed) out["architectures"] = json::array{kBareModel};
    if (model.task != Task::kClassify && model.task != Task::kRerank) return;
    out["architectures"] = json::array{kClassifierModel};
    const std::uint32_t labels = model.task == Task::kRerank ? 1 : model.classes;
    json::object names, numbers;
    for (std::uint32_t label = 0; label < labels; ++label) {
        const std::string name = "LABEL_" + std::to_string(label);
        names[std::to_string(label)] = name;
        numbers[name] = label;
    }
    out["id2label"] = std::move(names);
    out["label2id"] = std::move(numbers);
}

/// Why an encoder or decoder has no config; empty: it has one.
std::string why_not(const ModelConfig& model) {
    using program::Task;
    const bool encoder = model.architecture == Architecture::kEncoder;
    if (!encoder && model.architecture != Architecture::kGpt &&
        model.architecture != Architecture::kLlama)
        return "only gpt2, llama and bert models have a config.json, not mlp or imported ones";
    if (model.qk_norm && model.qkv_bias)
        return "a Qwen3 with biases has one on the output of attention, too, which a program has "
               "not";
    if (!encoder && model.classes != 0)
        return "a classifier has no config.json: Transformers takes another position's output";
    if (encoder && model.pooling == program::Pooling::kMean &&
        (model.task == Task::kClassify || model.task == Task::kRerank))
        return "a BERT classifies by its first token, not by the mean of all";
    return {};
}

void write_gpt2(const ModelConfig& model, json::object& out) {
    out["n_ctx"] = model.context;
    out["n_inner"] = model.mlp_ratio * model.width;
    for (const char* name : {"resid_pdrop", "embd_pdrop", "attn_pdrop"})
        out[name] = 0.0;  // a choice of each training, not a part of the model
}

}  // namespace

Result<ModelConfig> model_config_of(const json::object& config, std::uint32_t context) {
    try {
        return read_config(config, context);
    } catch (const std::exception& error) {
        return fail(ErrorCode::kInvalidArgument, std::string("config.json: ") + error.what());
    }
}

Result<ModelConfig> parse_hf_config(std::string_view text, std::uint32_t context) {
    json::error_code error;
    const json::value parsed = json::parse(json::string_view(text.data(), text.size()), error);
    if (error || !parsed.is_object())
        return fail(ErrorCode::kMalformed, "config.json is not a JSON object" +
                                               (error ? ": " + error.message() : std::string()));
    return model_config_of(parsed.get_object(), context);
}

Result<json::object> hf_config_of(const ModelConfig& model) {
    if (const std::string why = why_not(model); !why.empty())
        return fail(ErrorCode::kInvalidArgument, why);
    const bool gpt = model.architecture == Architecture::kGpt;
    const bool encoder = model.architecture == Architecture::kEncoder;
    const Family& family = *family_of(gpt              ? "gpt2"
                                      : encoder        ? "bert"
                                      : model.qk_norm  ? "qwen3"
                                      : model.qkv_bias ? "qwen2"
                                                       : "llama");
    json::object out{{"architectures", json::array{family.model}},
                     {"model_type", json::string_view(family.type.data(), family.type.size())}};
    for (const Whole& field : family.wholes)
        out[field.theirs] = model.*field.ours;
    for (const Real& field : family.reals)
        out[field.theirs] = shortest(model.*field.ours);
    for (const Fixed& fixed : family.fixed)
        if (fixed.written) out[fixed.theirs] = fixed.ours;
    out["tie_word_embeddings"] = model.tied_embeddings;
    out["torch_dtype"] = "float32";
    if (model.padding_token) out["pad_token_id"] = out[kPadding] = *model.padding_token;
    if (gpt)
        write_gpt2(model, out);
    else if (encoder)
        write_bert(model, out);
    else
        write_llama(model, out);
    return out;
}

}  // namespace gym::interchange
