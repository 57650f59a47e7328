#include "gym/program/recognise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "little_endian.hpp"
#include "recognise_parts.hpp"
#include "rotary_tables.hpp"

namespace gym::program {
namespace {

using recognise::blocks_of;
using recognise::find;
using recognise::first_op;

/// `value` with so many significant decimal digits.
double rounded(double value, int digits) {
    const double scale = std::pow(10.0, digits - 1 - std::floor(std::log10(value)));
    return std::round(value * scale) / scale;
}

/// The rotary tables of a program, and what it says of them.
struct Tables {
    const Slot& cosine;
    const Slot& sine;

    [[nodiscard]] bool are(const RotaryShape& shape) const {
        const RotaryTables tables = rotary_tables(shape);
        return little_endian(tables.cosine) == cosine.value &&
               little_endian(tables.sine) == sine.value;
    }
};

/// Of tables that are not scaled: the base of their frequencies, from the sines of position 1. The
/// shortest decimal number that gives exactly these tables; the default where nothing depends on
/// it.
std::optional<double> unscaled_theta(const Tables& tables) {
    const RotaryShape any{tables.sine.dims[0], tables.sine.dims[1], ModelConfig{}.rope_theta};
    const std::uint32_t last = any.frequencies - 1;
    if (any.positions < 2 || last == 0)
        return tables.are(any) ? std::optional(any.theta) : std::nullopt;
    // Its sine has 24 bits, and theta = frequency^(-frequencies / last).
    const double frequency = std::asin(double{f32_at(tables.sine.value, any.frequencies + last)});
    const double theta = std::pow(frequency, -static_cast<double>(any.frequencies) / last);
    constexpr double kTolerance = 1e-6;
    constexpr int kDigitsMax = 9;
    if (!(theta > 1 - kTolerance) || !(theta < 1.1e12)) return std::nullopt;
    double tried = 0;
    for (int digits = 1; digits <= kDigitsMax; ++digits) {
        const double candidate = rounded(theta, digits);
        if (candidate == tried || !(std::abs(candidate / theta - 1) < kTolerance)) continue;
        tried = candidate;
        if (tables.are({any.positions, any.frequencies, candidate})) return candidate;
    }
    return std::nullopt;
}

/// Theta and scaling of the constant that scaled tables stand beside.
bool read_scaling(const Slot& constant, ModelConfig& config) {
    std::vector<float> numbers;
    for (std::size_t i = 0; i < constant.value.size() / sizeof(float); ++i)
        numbers.push_back(f32_at(constant.value, i));
    RopeScaling& scaling = config.rope_scaling;
    if (numbers.size() != 2 && numbers.size() != 5) return false;
    config.rope_theta = numbers[0];
    scaling.factor = numbers[1];
    scaling.type = RopeScaling::Type::kLinear;
    if (numbers.size() == 2) return true;
    scaling.type = RopeScaling::Type::kLlama3;
    scaling.low_frequency_factor = numbers[2];
    scaling.high_frequency_factor = numbers[3];
    scaling.original_context = static_cast<std::uint32_t>(numbers[4]);
    return true;
}

bool read_rotary(const Program& program, ModelConfig& config) {
    const Slot *cosine = find(program, "rope.cos"), *sine = find(program, "rope.sin");
    if (cosine == nullptr || sine == nullptr || sine->dims.size() != 2 ||
        sine->dtype != DType::kF32 || sine->dims != cosine->dims)
        return false;
    if (const Slot* constant = find(program, std::string(kRopeScaling)))
        return read_scaling(*constant, config);  // the tables are compared with the model's
    const auto theta = unscaled_theta({*cosine, *sine});
    if (theta) config.rope_theta = *theta;
    return theta.has_value();
}

bool read_gpt(const Program& program, ModelConfig& config) {
    const Slot* up = find(program, "blocks.0.mlp.up.weight");
    const Op* norm = first_op(program, Opcode::kLayernorm);
    if (up == nullptr || norm == nullptr || up->dims.size() != 2) return false;
    config.architecture = Architecture::kGpt;
    config.mlp_ratio = up->dims[0] / config.width;
    config.layernorm_epsilon = norm->f32(0);
    config.bias = find(program, "blocks.0.mlp.up.bias") != nullptr;
    return true;
}

bool is_matrix(const Slot* slot) {
    return slot != nullptr && slot->dims.size() == 2;
}

/// Rows of keys, and whether queries and keys are normalised by heads; 0 where it is no attention.
std::uint32_t read_keys(const Program& program, std::uint32_t queries, ModelConfig& config) {
    const std::string name = "blocks.0.attention.";
    config.qk_norm = find(program, name + "q_norm.gamma") != nullptr;
    const Slot* keys = find(program, name + (config.qk_norm ? "k.weight" : "qkv.weight"));
    if (!is_matrix(keys)) return 0;
    config.qkv_bias = find(program, name + (config.qk_norm ? "k.bias" : "qkv.bias")) != nullptr;
    if (config.qk_norm) return keys->dims[0];
    return keys->dims[0] > queries ? (keys->dims[0] - queries) / 2 : 0;
}

bool read_llama(const Program& program, ModelConfig& config) {
    const Slot* gate = find(program, "blocks.0.mlp.gate.weight");
    const Slot* out = find(program, "blocks.0.attention.out.weight");
    const Op* norm = first_op(program, Opcode::kRmsnorm);
    if (!is_matrix(gate) || !is_matrix(out) || norm == nullptr || !read_rotary(program, config))
        return false;
    const std::uint32_t queries = out->dims[1], size = queries / config.heads;
    const std::uint32_t keys = read_keys(program, queries, config);
    if (size == 0 || keys == 0) return false;
    config.architecture = Architecture::kLlama;
    config.hidden_width = gate->dims[0];
    config.layernorm_epsilon = norm->f32(0);
    config.kv_heads = keys / size;
    config.head_width = queries == config.width ? 0 : size;
    return true;
}

/// What parameters and ops say. Not checked.
std::optional<ModelConfig> read_config(const Program& program) {
    const Slot* table = find(program, "token_embedding");
    const Op* attention = first_op(program, Opcode::kAttention);
    if (table == nullptr || table->dims.size() != 2 || attention == nullptr) return std::nullopt;
    ModelConfig config;
    config.vocabulary = table->dims[0];
    config.width = table->dims[1];
    config.context = static_cast<std::uint32_t>(attention->attributes[0]);
    config.heads = static_cast<std::uint32_t>(attention->attributes[1]);
    if (config.heads == 0 || config.heads > config.width) return std::nullopt;
    config.layers = blocks_of(program);
    config.tied_embeddings = find(program, "head") == nullptr;
    if (const Op* mask = first_op(program, Opcode::kRandomMask))
        config.dropout = static_cast<double>(mask->attributes[1]) * 0x1p-32;
    if (read_gpt(program, config) || read_llama(program, config)) return config;
    return std::nullopt;
}

}  // namespace

std::optional<ModelConfig> recognise_decoder(const Program& program) {
    if (has_labels(program)) return std::nullopt;  // a classifier
    const auto logits = logits_program(program);
    if (!logits.ok()) return std::nullopt;
    auto config = read_config(program);
    const SlotId out = logits->find_output(kLogitsOutput);
    if (!config || config->context == 0) return std::nullopt;
    config->padding_token = recognise::padding_of(program);
    const std::uint32_t windows = logits->slot(out).dims.front() / config->context;
    const auto rewritten = logits_program(*config, windows);
    if (!rewritten.ok() || !recognise::Comparison(*logits, *rewritten).equal()) return std::nullopt;
    return config;
}

}  // namespace gym::program
