#include "model.hpp"

#include <string>

#include "encoder_model.hpp"
#include "model_writer.hpp"
#include "padding.hpp"

namespace gym::program {
namespace {

Status check_between(const char* name, std::uint64_t value, std::uint64_t min, std::uint64_t max) {
    if (value >= min && value <= max) return {};
    return fail(ErrorCode::kInvalidArgument, std::string(name) + " must be " + std::to_string(min) +
                                                 " to " + std::to_string(max) + ", not " +
                                                 std::to_string(value));
}

Status require(bool condition, const std::string& rule) {
    if (condition) return {};
    return fail(ErrorCode::kInvalidArgument, rule);
}

Status check_rope_scaling(const RopeScaling& s) {
    if (s.type == RopeScaling::Type::kNone) return {};
    GYM_CHECK(require(s.factor >= 1 && s.factor <= kRopeFactorMax,
                      "rope_scaling factor must be 1 to 1e6"));
    if (s.type == RopeScaling::Type::kLinear) return {};
    GYM_CHECK(require(s.low_frequency_factor > 0 &&
                          s.high_frequency_factor > s.low_frequency_factor &&
                          s.high_frequency_factor <= kRopeFactorMax,
                      "rope_scaling low_frequency_factor must be above 0 and "
                      "high_frequency_factor above it, at most 1e6"));
    return check_between("rope_scaling original_context", s.original_context, 1,
                         kOriginalContextMax);
}

/// The columns of a head, and those of all of them.
Status check_head_width(const ModelConfig& c) {
    if (c.head_width == 0)
        return require(c.width / c.heads % 2 == 0,
                       "width / heads must be even: rotary positions turn pairs");
    GYM_CHECK(check_between("head_width", c.head_width, 2, kHeadWidthMax));
    GYM_CHECK(
        require(c.head_width % 2 == 0, "head_width must be even: rotary positions turn pairs"));
    return require(std::uint64_t{c.heads} * c.head_width <= kHiddenWidthMax,
                   "heads * head_width must be at most " + std::to_string(kHiddenWidthMax));
}

Status check_llama(const ModelConfig& c) {
    GYM_CHECK(check_between("kv_heads", c.kv_heads, 0, c.heads));
    GYM_CHECK(require(c.kv_heads == 0 || c.heads % c.kv_heads == 0,
                      "heads must be a multiple of kv_heads"));
    GYM_CHECK(check_head_width(c));
    GYM_CHECK(check_between("hidden_width", c.hidden_width, 0, kHiddenWidthMax));
    // Two tables of rotary positions, made before anything looks at their size.
    const std::uint64_t size = c.head_width == 0 ? c.width / c.heads : c.head_width;
    const std::uint64_t table_bytes = std::uint64_t{c.context} * (size / 2) * 4;
    GYM_CHECK(require(table_bytes <= kConstantBytesMax / 2,
                      "context * width / heads is too large: its rotary positions take " +
                          std::to_string(2 * table_bytes) +
                          " bytes, a program's constants at most " +
                          std::to_string(kConstantBytesMax)));
    GYM_CHECK(require(c.rope_theta >= 1 && c.rope_theta <= 1e12, "rope_theta must be 1 to 1e12"));
    return check_rope_scaling(c.rope_scaling);
}

/// That the sequences of a window share its context.
Status check_passages(const ModelConfig& c, std::uint32_t passages_min, std::uint32_t sequences) {
    GYM_CHECK(check_between("passages", c.passages, passages_min, kPassagesMax));
    return require(c.context % sequences == 0,
                   "context, the tokens of a whole row, must be a multiple of its " +
                       std::to_string(sequences) + " sequences, not " + std::to_string(c.context));
}

Status check_encoder(const ModelConfig& c) {
    GYM_CHECK(check_between("hidden_width", c.hidden_width, 0, kHiddenWidthMax));
    if (c.task != Task::kClassify)
        GYM_CHECK(require(c.classes == 0, "classes are of the task classify alone"));
    switch (c.task) {
        case Task::kMasked:
            GYM_CHECK(require(c.mask_rate >= 0.01 && c.mask_rate <= 0.9,
                              "mask_rate must be 0.01 to 0.9"));
            GYM_CHECK(require(c.mask_rate * c.context >= 1,
                              "mask_rate * context must be at least 1: a window hides a token"));
            return require(c.mask_token < c.vocabulary, "mask_token must be below vocabulary");
        case Task::kClassify:
            return check_between("classes", c.classes, 2, kVocabularyMax);
        case Task::kEmbed:
            GYM_CHECK(require(c.temperature >= 1e-3 && c.temperature <= 100,
                              "temperature must be 0.001 to 100"));
            return check_passages(c, 1, c.passages + 1);
        case Task::kRerank:
            return check_passages(c, 2, c.passages);
    }
    return {};
}

Status check_padding(const ModelConfig& c) {
    if (!c.padding_token) return {};
    const bool encodes = c.architecture == Architecture::kEncoder;
    GYM_CHECK(require(*c.padding_token < c.vocabulary, "padding_token must be below vocabulary"));
    GYM_CHECK(require(encodes || c.classes == 0,
                      "padding_token: a decoder with classes reads the last token of its window, "
                      "which padding would be; an encoder (architecture: bert) can have both"));
    GYM_CHECK(require(c.context >= 2, "context must be at least 2 with a padding_token"));
    return require(!encodes || c.task != Task::kMasked || *c.padding_token != mask_token(c),
                   "padding_token and mask_token must be two tokens");
}

Status check_decoder(const ModelConfig& c) {
    GYM_CHECK(check_padding(c));
    GYM_CHECK(check_between("heads", c.heads, 1, c.width));
    const bool own_heads = c.architecture == Architecture::kLlama && c.head_width != 0;
    GYM_CHECK(require(own_heads || c.width % c.heads == 0,
                      c.architecture == Architecture::kLlama
                          ? "width must be a multiple of heads, unless head_width is set"
                          : "width must be a multiple of heads"));
    GYM_CHECK(require(c.layernorm_epsilon > 0 && c.layernorm_epsilon <= 1,
                      "layernorm_epsilon must be above 0 and at most 1"));
    GYM_CHECK(require(c.dropout >= 0 && c.dropout <= 0.9, "dropout must be 0 to 0.9"));
    if (c.architecture == Architecture::kLlama) return check_llama(c);
    if (c.architecture == Architecture::kEncoder) return check_encoder(c);
    return check_between("mlp_ratio", c.mlp_ratio, 1, kMlpRatioMax);
}

/// Whether a window is a row of the dataset, whose last token is its label.
bool has_label(const ModelConfig& c) {
    const bool encodes = c.architecture == Architecture::kEncoder;
    return c.classes != 0 || (encodes && (c.task == Task::kEmbed || c.task == Task::kRerank));
}

/// The targets: the tokens after the inputs or, of a row with a label, the last of each window.
SlotId targets_of(Builder& b, const ModelConfig& c, SlotId batch) {
    const std::uint32_t windows = b.slot(batch).dims[0];
    const std::uint64_t row = std::uint64_t{c.context} + 1;
    if (has_label(c)) return b.strided_copy(batch, {windows}, c.context, {row});
    return b.strided_copy(batch, {windows, c.context}, 1, {row, 1});
}

/// Of rows (windows * context, ..), the last of each window.
SlotId last_positions(ModelWriter& w, SlotId x, std::uint32_t windows) {
    const SlotId last = w.once("last_positions", [&] {
        std::vector<std::int32_t> positions(windows);
        for (std::uint32_t i = 0; i < windows; ++i)
            positions[i] = static_cast<std::int32_t>((i + 1) * w.config.context - 1);
        return w.b.indices("last_positions", {windows}, positions);
    });
    return w.b.gather_rows(x, last);
}

SlotId logits_of(ModelWriter& w, const Body& body, std::uint32_t windows) {
    const ModelConfig& c = w.config;
    if (c.architecture == Architecture::kImported || c.architecture == Architecture::kEncoder)
        return body.rows;
    if (c.architecture == Architecture::kMlp) {
        const std::uint32_t inputs = w.b.slot(body.rows).dims[1];
        return w.linear(body.rows, "head", {c.classes, inputs}, true);
    }
    if (c.classes != 0) {
        // One op a statement: compilers order a call's arguments as they like, and the order of
        // slots is hashed into the program's root.
        const SlotId head = w.weight("head", {c.classes, c.width});
        return w.b.matmul(last_positions(w, body.rows, windows), head);
    }
    const SlotId head = c.tied_embeddings ? body.table : w.weight("head", {c.vocabulary, c.width});
    return w.b.matmul(body.rows, head);
}

}  // namespace

bool is_random(const ModelConfig& config) {
    const bool encodes = config.architecture == Architecture::kEncoder;
    return config.dropout != 0 || (encodes && config.task == Task::kMasked);
}

std::uint32_t sequence_tokens(const ModelConfig& config) {
    switch (config.task) {
        case Task::kMasked:
        case Task::kClassify:
            return config.context;
        case Task::kEmbed:
            return config.context / (config.passages + 1);
        case Task::kRerank:
            return config.context / config.passages;
    }
    return config.context;
}

std::uint32_t mask_token(const ModelConfig& config) {
    return config.mask_token == 0 ? config.vocabulary - 1 : config.mask_token;
}

SlotId loss_of(Builder& builder, const Model& model) {
    if (model.counted == kNoSlot) return builder.cross_entropy(model.logits, model.targets);
    return counted_loss(builder, model);
}

Status check_model(const ModelConfig& config) {
    if (config.architecture == Architecture::kImported) return {};  // check_imported() is asked
    const bool mlp = config.architecture == Architecture::kMlp;
    GYM_CHECK(check_between(mlp ? "levels" : "vocabulary", config.vocabulary, 2, kVocabularyMax));
    GYM_CHECK(check_between(mlp ? "features" : "context", config.context, 1, kContextMax));
    GYM_CHECK(check_between("layers", config.layers, mlp ? 0 : 1, kLayersMax));
    GYM_CHECK(check_between("width", config.width, 1, kWidthMax));
    if (mlp || config.classes != 0)
        GYM_CHECK(check_between("classes", config.classes, 2, kVocabularyMax));
    if (!mlp) GYM_CHECK(check_decoder(config));
    if (!(config.init_std > 0 && config.init_std <= 10))
        return fail(ErrorCode::kInvalidArgument, "init_std must be above 0 and at most 10");
    return {};
}

Status check_windows(const ModelConfig& config, std::uint32_t windows) {
    const std::uint64_t tokens = std::uint64_t{windows} * (std::uint64_t{config.context} + 1);
    return require(tokens <= kSlotElementsMax, "a batch of " + std::to_string(windows) +
                                                   " windows of " + std::to_string(config.context) +
                                                   " has more than 2^31 tokens");
}

SlotId batch_input(Builder& builder, const ModelConfig& config, std::uint32_t windows) {
    return builder.input(std::string(kBatchInput), DType::kI32, {windows, config.context + 1});
}

Model write_model(Builder& builder, const ModelConfig& config, SlotId batch, Pass pass) {
    const std::uint32_t windows = builder.slot(batch).dims[0];
    const SlotId tokens = builder.strided_copy(batch, {windows, config.context}, 0,
                                               {config.context + std::uint64_t{1}, 1});
    Model model;
    const bool encodes = config.architecture == Architecture::kEncoder;
    const bool masked = encodes && config.task == Task::kMasked;
    const bool in_batch = encodes && config.task == Task::kEmbed;
    if (masked) model.targets = tokens;
    if (!masked && !in_batch) model.targets = targets_of(builder, config, batch);
    ModelWriter writer(builder, config, std::move(pass));
    if (has_label(config) || config.padding_token) {
        const std::string stride(kBatchStride);
        writer.once(stride, [&] {
            return builder.constant(stride, {1}, {static_cast<float>(config.context + 1)});
        });
    }
    if (config.padding_token && !has_label(config)) {
        const std::string padding(kBatchPadding);
        writer.once(padding, [&] {
            return builder.constant(padding, {1}, {static_cast<float>(*config.padding_token)});
        });
    }
    Body body;
    switch (config.architecture) {
        case Architecture::kGpt:
            body = write_gpt(writer, tokens);
            break;
        case Architecture::kLlama:
            body = write_llama(writer, tokens);
            break;
        case Architecture::kMlp:
            body = write_mlp(writer, tokens);
            break;
        case Architecture::kImported:
            body.rows = write_forward(writer, tokens);
            break;
        case Architecture::kEncoder: {
            if (in_batch) model.targets = relevant_passages(writer, windows);
            const Encoded encoded = write_encoder(writer, tokens);
            model.counted = encoded.hidden;
            body.rows = encoder_logits(writer, encoded);
            break;
        }
    }
    model.logits = logits_of(writer, body, windows);
    if (config.padding_token && !encodes)
        model.counted = without(builder, padding_rows(writer, model.targets));
    model.dropouts = writer.dropouts();
    model.params = std::move(writer).params();
    return model;
}

}  // namespace gym::program
