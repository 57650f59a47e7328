#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gym/common/result.hpp"
#include "gym/program/delta_codec.hpp"
#include "gym/program/delta_groups.hpp"
#include "gym/program/program.hpp"
#include "gym/program/update_codec.hpp"

namespace gym::program {

enum class Architecture : std::uint8_t {
    kGpt,       ///< decoder: pre-norm blocks with LayerNorm, learned positions, GELU (GPT-2)
    kLlama,     ///< decoder: RMSNorm, rotary positions, SwiGLU, grouped-query attention; so are
                ///< Mistral and, with qkv_bias, Qwen2
    kMlp,       ///< classifier of rows of numbers: linear layers with GELU between them
    kImported,  ///< a forward pass made elsewhere (imported_model())
    kEncoder,   ///< bidirectional, post-norm blocks with LayerNorm, learned positions, GELU (BERT)
};

/// What an encoder learns, and so what a window is (docs/PROGRAMS.md, "Encoders").
enum class Task : std::uint8_t {
    kMasked,    ///< the tokens of a text that are hidden from it
    kClassify,  ///< the class of a row
    kEmbed,     ///< vectors: a query's passage is nearer to it than all others of the batch
    kRerank,    ///< scores: of the passages of a row the relevant one has the highest
};

/// One vector for a sequence of tokens.
enum class Pooling : std::uint8_t {
    kFirst,  ///< the first token's
    kMean,   ///< the mean over all tokens
};

/// Rotary frequencies that are lowered, so that a context longer than the pretraining's turns by
/// the angles which that one knew (docs/PROGRAMS.md, "Rotary tables").
struct RopeScaling {
    enum class Type : std::uint8_t {
        kNone,
        kLinear,  ///< all of them, by factor
        kLlama3,  ///< by factor where they turn slowly, not at all where they turn fast
    };
    Type type = Type::kNone;
    float factor = 1;                       ///< at least 1
    float low_frequency_factor = 1;         ///< llama3: turns in original_context, above 0
    float high_frequency_factor = 4;        ///< llama3: above low_frequency_factor
    std::uint32_t original_context = 8192;  ///< llama3: of the pretraining
    friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// A model. Fields that an architecture does not name are not read.
struct ModelConfig {
    std::uint32_t vocabulary = 256;  ///< tokens; mlp: values that a feature can have
    std::uint32_t context = 128;     ///< tokens per window (of all its sequences together); mlp:
                                     ///< features per row
    std::uint32_t layers = 4;        ///< blocks; mlp: hidden layers
    std::uint32_t heads = 4;         ///< gpt, llama
    std::uint32_t width = 128;       ///< d_model, a multiple of heads unless head_width is set;
                                     ///< mlp: of hidden layers
    std::uint32_t mlp_ratio = 4;     ///< gpt: hidden width of the MLP = mlp_ratio * width
    bool tied_embeddings = true;     ///< gpt, llama: the output layer is the token embedding
    bool bias = false;       ///< gpt: biases on the linear layers (LayerNorm always has one)
    double init_std = 0.02;  ///< deviation of weights; residual outputs: / sqrt(2 * layers)
    double layernorm_epsilon = 1e-5;  ///< gpt, llama: of LayerNorm or RMSNorm
    Architecture architecture = Architecture::kGpt;
    std::uint32_t kv_heads = 0;      ///< llama: heads of keys and values; 0: as many as heads
    std::uint32_t hidden_width = 0;  ///< llama, encoder: of the MLP; 0: 4 * width
    double rope_theta = 10000;       ///< llama: base of the rotary frequencies
    /// 0: predicts the next token at every position. Else a classifier of so many classes: a window
    /// is one row of the dataset, `context` tokens and then the row's class. mlp: at least 2.
    std::uint32_t classes = 0;
    /// gpt, llama, encoder: share of the values of embeddings and of each block's two outputs that
    /// a training step sets to zero; never in evaluation.
    double dropout = 0;
    std::shared_ptr<const Program> forward;  ///< imported: the model; never null then
    bool qkv_bias = false;                   ///< llama: biases on queries, keys and values alone
    std::uint32_t head_width = 0;            ///< llama: columns of a head, even; 0: width / heads
    RopeScaling rope_scaling;                ///< llama
    /// llama: RMSNorm on every head of queries and keys (Qwen3); q, k and v are linears of their
    /// own then.
    bool qk_norm = false;
    Task task = Task::kMasked;          ///< encoder
    Pooling pooling = Pooling::kFirst;  ///< encoder: of classify, embed and rerank
    /// encoder: passages of a row. embed: a query, then the relevant one, then others. rerank:
    /// each with its query; the label says which is relevant.
    std::uint32_t passages = 1;
    double mask_rate = 0.15;       ///< encoder, masked: share of the tokens that are hidden
    std::uint32_t mask_token = 0;  ///< encoder, masked: stands for them; 0: the last one
    double temperature = 0.05;     ///< encoder, embed: cosines are divided by it
    /// gpt, llama without classes, encoder: fills windows whose text is shorter. No other token
    /// reads it and no loss counts it; a window is then a row of the dataset, as with classes.
    std::optional<std::uint32_t> padding_token;
    /// gpt, llama without classes: ends a document, and stands between those that share a window.
    /// No token reads another document than its own, to which the separator at its end belongs.
    std::optional<std::uint32_t> document_separator;
};

/// The model that `forward` is: one input, tokens i32 (windows, context); one output, f32 (windows
/// * context, vocabulary) or, of a classifier, (windows, classes). Training takes its parameters,
/// names and initial values; weights of rank 2 and more decay, embedding tables do not.
/// @errors kInvalidArgument saying what else `forward` is.
[[nodiscard]] Result<ModelConfig> imported_model(std::shared_ptr<const Program> forward);

/// The learning rate after its linear warm-up, over the job's steps.
enum class Schedule : std::uint8_t {
    kCosine,    ///< half a cosine from the peak to the minimum
    kLinear,    ///< a straight line from the peak to the minimum
    kConstant,  ///< the peak
};

/// Steps that are not made: parameters and optimizer state stay as they are, and the record says
/// so (docs/PROGRAMS.md, "Skipped steps").
struct GuardConfig {
    bool enabled = false;  ///< skips steps whose loss or gradient norm is not finite
    /// Also those whose loss is above loss_factor times the running mean of the unit; 0: none.
    double loss_factor = 0;
    double loss_decay = 0.9;  ///< weight of the past in the running mean
};

/// AdamW with global-norm clipping and a learning rate schedule.
struct OptimizerConfig {
    double learning_rate = 1e-3;  ///< peak
    double learning_rate_min = 1e-4;
    std::uint32_t warmup_steps = 20;   ///< linear, over the job's steps
    std::uint32_t total_steps = 1000;  ///< the schedule ends here; later steps use its last rate
    std::uint32_t inner_warmup_steps =
        5;  ///< linear again at the start of every unit (fresh moments)
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weight_decay = 0.1;  ///< on the weights of linear layers and on what is chosen below
    double clip_norm = 1.0;
    Schedule schedule = Schedule::kCosine;
    bool decay_embeddings = false;
    bool decay_norms = false;
    bool decay_biases = false;
    GuardConfig guard;
};

/// The outer optimizer: Nesterov momentum over the mean of the workers' deltas.
struct OuterConfig {
    double learning_rate = 0.7;
    double momentum = 0.9;
};

// The largest values of settings.
inline constexpr std::uint32_t kBatchMax = 65536;
inline constexpr std::uint32_t kMicroBatchesMax = kOpInputsMax;  // their gradients: one sum
inline constexpr std::uint32_t kVocabularyMax = 1U << 20;        // a product's length; token files
inline constexpr std::uint32_t kContextMax = 65536;
inline constexpr std::uint32_t kLayersMax = 256;
inline constexpr std::uint32_t kWidthMax = 65536;
inline constexpr std::uint32_t kMlpRatioMax = 64;
inline constexpr std::uint32_t kHiddenWidthMax = 1U << 20;
inline constexpr std::uint32_t kHeadWidthMax = 4096;
inline constexpr std::uint32_t kPassagesMax = 256;
inline constexpr std::uint32_t kOriginalContextMax = 1U << 24;  // exact in f32
inline constexpr float kRopeFactorMax = 1e6;
inline constexpr std::uint32_t kScheduleStepsMax = 1000000;

struct TrainConfig {
    ModelConfig model;
    OptimizerConfig optimizer;
    OuterConfig outer;
    DeltaCodec compression = DeltaCodec::kFloat;  ///< of the deltas that workers send
    UpdateCodec update = UpdateCodec::kNone;      ///< of what moves the base; needs compression
    std::uint32_t batch = 8;                      ///< windows per step, at most kBatchMax
    /// The step's windows go through the model in so many parts, whose gradients are summed
    /// exactly: less memory. Divides batch.
    std::uint32_t micro_batches = 1;
};

// Names that engine and network rely on.
/// Input, i32 (batch, context + 1): windows of tokens; inputs are [:, :-1], targets [:, 1:] or, of
/// a classifier, [:, -1].
inline constexpr std::string_view kBatchInput = "batch";
/// Input, i32 (2): {step of the job = round * steps per unit + step of the unit, step of the unit}.
inline constexpr std::string_view kClockInput = "clock";
/// Input, i32 (5): where random numbers are drawn: the two words of the Philox key of the job's
/// seed, round, worker slot, step of the unit. Only programs with dropout have it.
inline constexpr std::string_view kRandomInput = "random";
/// f32 (1): 1 if the step was skipped. Only programs with a guard have it.
inline constexpr std::string_view kSkippedOutput = "skipped";
inline constexpr std::string_view kLossOutput = "loss";           ///< f32 (1), nats per token
inline constexpr std::string_view kGradNormOutput = "grad_norm";  ///< f32 (1), before clipping
/// f32 (batch * context, vocabulary); of a classifier (batch, classes); of the first micro-batch.
inline constexpr std::string_view kLogitsOutput = "logits";
/// Constant, f32 (1): windows begin at multiples of so many tokens of the dataset; 1 without it.
/// The last token of a window is then its label, unless kBatchPadding is there.
inline constexpr std::string_view kBatchStride = "batch.stride";
/// Constant, f32 (1): windows are rows without a label, which this token fills up.
inline constexpr std::string_view kBatchPadding = "batch.padding";
/// Constant of a llama with scaled rotary frequencies, f32: theta, factor (2 of them: linear) and
/// low frequency factor, high frequency factor, original context (5: llama3).
inline constexpr std::string_view kRopeScaling = "rope.scaling";
/// Outputs "gradient.<param>" of a train program, before clipping: what a gradient root covers.
inline constexpr std::string_view kGradientPrefix = "gradient.";
/// Constants of a train program that the aggregate program is made from.
inline constexpr std::string_view kOuterLearningRate = "outer.learning_rate";
inline constexpr std::string_view kOuterMomentum = "outer.momentum";
/// Inputs "delta.<param>" (n, dims...) of an aggregate program: the n deltas, stacked.
inline constexpr std::string_view kDeltaPrefix = "delta.";
/// States "momentum.<param>" of an aggregate program.
inline constexpr std::string_view kMomentumPrefix = "momentum.";
/// The op field of the n-th dropout's random positions is this + n (docs/NUMERICS.md,
/// "Randomness").
inline constexpr std::uint32_t kRandomOpDropoutFirst = 1U << 23;
/// Deltas of an aggregate.
inline constexpr std::uint32_t kDeltasMax = 8192;

/// Whether windows are rows of the dataset whose last token is a label.
[[nodiscard]] bool has_labels(const Program& program);

/// One optimizer step: inputs batch and clock, outputs loss, grad_norm, logits, gradient.*.
/// @errors kInvalidArgument naming the setting that is out of bounds.
[[nodiscard]] Result<Program> train_program(const TrainConfig& config);

/// The part of `train` that the loss needs (input batch, output loss); parameters never change.
/// @errors kInvalidArgument if `train` has no such output.
[[nodiscard]] Result<Program> evaluation_program(const Program& train);

/// Logits for `windows` windows: input "batch" (windows, context + 1), output "logits"; the last
/// token of each window has no influence on them.
[[nodiscard]] Result<Program> logits_program(const ModelConfig& config, std::uint32_t windows);
/// The same cut out of a train program, with its batch size.
[[nodiscard]] Result<Program> logits_program(const Program& train);

/// The outer step over `deltas` accepted deltas: exact mean, then Nesterov
/// (momentum' = mu * momentum + mean; base' = base + lr * (mean + mu * momentum')).
/// A delta is final - base. Params: the base, in aggregate_parts(); next = the new base.
/// @param groups what each delta counts, and what the sum is divided by.
/// @param elements_max of a tensor. Fewer make more parts, and the same bits.
[[nodiscard]] Result<Program> aggregate_program(const Program& train, std::uint32_t deltas,
                                                const DeltaGroups& groups = {},
                                                std::uint64_t elements_max = kSlotElementsMax);

}  // namespace gym::program
