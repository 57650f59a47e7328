#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "gym/commit/sha256.hpp"
#include "gym/interchange/weights.hpp"
#include "gym/program/builder.hpp"
#include "gym/program/train_program.hpp"

namespace gym::interchange {
namespace {

using program::Init;
using program::Program;

Program gpt(bool bias, bool tied) {
    program::TrainConfig config;
    config.batch = 2;
    config.model.vocabulary = 11;
    config.model.context = 5;
    config.model.layers = 12;  // numbers of one and two digits
    config.model.heads = 2;
    config.model.width = 4;
    config.model.bias = bias;
    config.model.tied_embeddings = tied;
    return program::train_program(config).value();
}

/// Two heads, one of keys and values.
Program llama(bool qkv_bias = false, std::uint32_t head_width = 0) {
    program::TrainConfig config;
    config.model.qkv_bias = qkv_bias;
    config.model.head_width = head_width;
    config.batch = 2;
    config.model.architecture = program::Architecture::kLlama;
    config.model.vocabulary = 11;
    config.model.context = 5;
    config.model.layers = 1;
    config.model.heads = 2;
    config.model.kv_heads = 1;
    config.model.width = 8;
    config.model.hidden_width = 12;
    config.model.tied_embeddings = false;
    return program::train_program(config).value();
}

engine::State random_base(const Program& program) {
    const auto state = engine::initial_state(program, commit::sha256(as_bytes("weights"))).value();
    return engine::base_of(program, state).value();
}

std::vector<SafetensorsEntry> entries_of(const std::vector<NamedWeights>& weights) {
    std::vector<SafetensorsEntry> entries;
    for (const NamedWeights& tensor : weights)
        entries.push_back({tensor.name, "F32", tensor.dims, tensor.bytes});
    return entries;
}

const NamedWeights& find(const std::vector<NamedWeights>& weights, const std::string& name) {
    const auto found = std::ranges::find(weights, name, &NamedWeights::name);
    GYM_ASSERT(found != weights.end(), name.c_str());
    return *found;
}

float value_at(ByteView bytes, std::size_t index) {
    float value = 0;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
}

TEST(Weights, ComeBackAsTheyWentUnderEveryNaming) {
    for (const bool bias : {false, true}) {
        for (const bool tied : {false, true}) {
            const Program program = gpt(bias, tied);
            EXPECT_EQ(naming_of(program), "gpt2");
            for (const char* naming : {"gpt2", "gym"}) {
                const engine::State base = random_base(program);
                const auto weights = export_weights(program, base, naming).value();
                const auto again = import_weights(program, entries_of(weights), naming).value();
                EXPECT_EQ(engine::state_root(again), engine::state_root(base)) << naming;
                EXPECT_EQ(again, base);
            }
        }
    }
}

TEST(Weights, HaveTheNamesAndLayoutOfGpt2) {
    const Program program = gpt(false, true);
    const engine::State base = random_base(program);
    const auto weights = export_weights(program, base, "gpt2").value();
    EXPECT_EQ(weights.size(), 2 + 12 * 12 + 2U);  // as in the published file, biases included
    EXPECT_EQ(find(weights, "transformer.wte.weight").dims, (std::vector<std::uint64_t>{11, 4}));
    EXPECT_EQ(find(weights, "transformer.h.11.mlp.c_fc.bias").dims,
              (std::vector<std::uint64_t>{16}));
    // Conv1D holds (inputs, outputs).
    const NamedWeights& qkv = find(weights, "transformer.h.10.attn.c_attn.weight");
    EXPECT_EQ(qkv.dims, (std::vector<std::uint64_t>{4, 12}));
    const Bytes& ours = base.find("blocks.10.attention.qkv.weight")->bytes;
    for (std::size_t in = 0; in < 4; ++in) {
        for (std::size_t out = 0; out < 12; ++out)
            EXPECT_EQ(value_at(qkv.bytes, in * 12 + out), value_at(ours, out * 4 + in));
    }
}

TEST(Weights, HaveTheNamesAndLayoutOfLlama) {
    const Program program = llama();
    EXPECT_EQ(naming_of(program), "llama");
    const engine::State base = random_base(program);
    const auto weights = export_weights(program, base, "llama").value();
    EXPECT_EQ(weights.size(), 12U);
    const Bytes& qkv = base.find("blocks.0.attention.qkv.weight")->bytes;
    const std::string attention = "model.layers.0.self_attn.";
    const NamedWeights& q = find(weights, attention + "q_proj.weight");
    const NamedWeights& k = find(weights, attention + "k_proj.weight");
    const NamedWeights& v = find(weights, attention + "v_proj.weight");
    EXPECT_EQ(q.dims, (std::vector<std::uint64_t>{8, 8}));
    EXPECT_EQ(k.dims, (std::vector<std::uint64_t>{4, 8}));
    EXPECT_EQ(value_at(q.bytes, 63), value_at(qkv, 63));
    EXPECT_EQ(value_at(k.bytes, 0), value_at(qkv, 64));
    EXPECT_EQ(value_at(v.bytes, 31), value_at(qkv, 127));
    auto entries = entries_of(weights);
    const Bytes inverse(16);
    entries.push_back({attention + "rotary_emb.inv_freq", "F32", {4}, inverse});  // no weight
    EXPECT_EQ(import_weights(program, entries, "llama").value(), base);
    EXPECT_FALSE(export_weights(program, base, "gpt2").ok());
}

TEST(Weights, HaveTheNamesAndLayoutOfQwen2) {
    const Program program = llama(true);
    EXPECT_EQ(naming_of(program), "qwen2");
    engine::State base = random_base(program);
    for (auto& tensor : base.tensors)
        for (std::size_t i = 0; i < tensor.bytes.size(); i += 4)
            if (tensor.name.ends_with("qkv.bias"))
                tensor.bytes[i + 1] = static_cast<std::uint8_t>(i);
    const auto weights = export_weights(program, base, "qwen2").value();
    EXPECT_EQ(weights.size(), 15U);
    const Bytes& bias = base.find("blocks.0.attention.qkv.bias")->bytes;
    const std::string attention = "model.layers.0.self_attn.";
    EXPECT_EQ(find(weights, attention + "q_proj.bias").dims, (std::vector<std::uint64_t>{8}));
    const NamedWeights& k = find(weights, attention + "k_proj.bias");
    const NamedWeights& v = find(weights, attention + "v_proj.bias");
    EXPECT_EQ(k.dims, (std::vector<std::uint64_t>{4}));
    EXPECT_EQ(value_at(k.bytes, 0), value_at(bias, 8));
    EXPECT_EQ(value_at(v.bytes, 3), value_at(bias, 15));
    EXPECT_EQ(import_weights(program, entries_of(weights), "qwen2").value(), base);
    EXPECT_FALSE(export_weights(program, base, "llama").ok()) << "has no place for the biases";
}

TEST(Weights, OfALlamaAreThoseOfAQwen2WhoseBiasesAreZero) {
    const Program program = llama();
    const engine::State base = random_base(program);
    auto weights = export_weights(program, base, "qwen2").value();
    EXPECT_EQ(find(weights, "model.layers.0.self_attn.v_proj.bias").bytes, Bytes(16));
    EXPECT_EQ(import_weights(program, entries_of(weights), "qwen2").value(), base);
    for (NamedWeights& tensor : weights)
        if (tensor.name.ends_with("v_proj.bias")) tensor.bytes[7] = 1;
    EXPECT_NE(
        import_weights(program, entries_of(weights), "qwen2").error().message.find("qkv_bias"),
        std::string::npos);
}

TEST(Weights, OfHeadsWiderThanTheirShareAreCutAtTheQueries) {
    const Program program = llama(false, 6);
    EXPECT_EQ(naming_of(program), "llama");
    const engine::State base = random_base(program);
    const auto weights = export_weights(program, base, "llama").value();
    const std::string attention = "model.layers.0.self_attn.";
    EXPECT_EQ(find(weights, attention + "q_proj.weight").dims, (std::vector<std::uint64_t>{12, 8}));
    EXPECT_EQ(find(weights, attention + "v_proj.weight").dims, (std::vector<std::uint64_t>{6, 8}));
    EXPECT_EQ(find(weights, attention + "o_proj.weight").dims, (std::vector<std::uint64_t>{8, 12}));
    EXPECT_EQ(import_weights(program, entries_of(weights), "llama").value(), base);
}

TEST(Weights, OfPublishedFilesAreUnderstood) {
    const Program program = gpt(true, true);
    const engine::State base = random_base(program);
    auto weights = export_weights(program, base, "gpt2").value();
    for (NamedWeights& tensor : weights)  // the published gpt2 has no prefix
        tensor.name = tensor.name.substr(std::string("transformer.").size());
    auto entries = entries_of(weights);
    const Bytes mask(25, 1);
    entries.push_back({"h.0.attn.bias", "U8", {1, 1, 5, 5}, mask});
    entries.push_back({"lm_head.weight", "F32", weights[0].dims, weights[0].bytes});
    EXPECT_EQ(import_weights(program, entries, "gpt2").value(), base);
    Bytes other = weights[0].bytes;
    other[2] ^= 1;
    entries.back().bytes = other;
    EXPECT_NE(import_weights(program, entries, "gpt2").error().message.find("tied_embeddings"),
              std::string::npos);
}

Program bert(program::Task task) {
    program::TrainConfig config;
    config.batch = 2;
    config.model.architecture = program::Architecture::kEncoder;
    config.model.task = task;
    config.model.vocabulary = 11;
    config.model.context = 8;
    config.model.layers = 1;
    config.model.heads = 2;
    config.model.width = 4;
    if (task == program::Task::kClassify) config.model.classes = 3;
    if (task == program::Task::kRerank) config.model.passages = 2;
    return program::train_program(config).value();
}

/// The bits of one f32 everywhere.
Bytes filled(std::size_t count, float value) {
    Bytes bytes(count * sizeof value);
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    return bytes;
}

TEST(Weights, HaveTheNamesOfTheBertOfTheirTask) {
    using program::Task;
    const std::pair<Task, const char*> tasks[] = {{Task::kMasked, "bert"},
                                                  {Task::kClassify, "bert-classifier"},
                                                  {Task::kRerank, "bert-classifier"},
                                                  {Task::kEmbed, "bert-embedding"}};
    for (const auto& [task, naming] : tasks) {
        const Program program = bert(task);
        ASSERT_EQ(naming_of(program), naming);
        const engine::State base = random_base(program);
        const auto weights = export_weights(program, base, naming).value();
        const NamedWeights& segments =
            find(weights, "bert.embeddings.token_type_embeddings.weight");
        EXPECT_EQ(segments.dims, (std::vector<std::uint64_t>{2, 4}));
        EXPECT_EQ(segments.bytes, Bytes(32)) << "a program does not tell segments apart";
        EXPECT_EQ(find(weights, "bert.encoder.layer.0.attention.self.value.bias").dims,
                  (std::vector<std::uint64_t>{4}));
        EXPECT_EQ(import_weights(program, entries_of(weights), naming).value(), base) << naming;
        if (task == Task::kRerank) {
            EXPECT_EQ(find(weights, "classifier.bias").bytes, Bytes(4)) << "of one score";
        }
        if (task == Task::kMasked) {
            EXPECT_EQ(find(weights, "cls.predictions.bias").dims, (std::vector<std::uint64_t>{11}));
        }
    }
}

TEST(Weights, OfABertTakeTheFirstSegmentIntoThePositions) {
    const Program program = bert(program::Task::kEmbed);
    const engine::State base = random_base(program);
    const auto weights = export_weights(program, base, "bert-embedding").value();
    auto entries = entries_of(weights);
    Bytes rows = filled(8, 0.5F);
    const Bytes second = filled(4, -3.0F);
    std::copy(second.begin(), second.end(), rows.begin() + 16);
    std::ranges::find(entries, "bert.embeddings.token_type_embeddings.weight",
                      &SafetensorsEntry::name)
        ->bytes = rows;
    const auto imported = import_weights(program, entries, "bert-embedding").value();
    const Bytes& before = base.find("position_embedding")->bytes;
    const Bytes& after = imported.find("position_embedding")->bytes;
    for (std::size_t i = 0; i < before.size() / 4; ++i)
        EXPECT_EQ(value_at(after, i), value_at(before, i) + 0.5F);
}

TEST(Weights, OfABertThatTellsTheTextsOfAPairApartAreRefused) {
    const Program program = bert(program::Task::kRerank);
    const auto weights = export_weights(program, random_base(program), "bert-classifier").value();
    auto entries = entries_of(weights);
    Bytes rows = filled(8, 0.5F);
    SafetensorsEntry& types = *std::ranges::find(
        entries, "bert.embeddings.token_type_embeddings.weight", &SafetensorsEntry::name);
    types.bytes = rows;
    EXPECT_TRUE(import_weights(program, entries, "bert-classifier").ok()) << "equal rows";
    rows.back() ^= 1;
    const auto refused = import_weights(program, entries, "bert-classifier");
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("token_type_embeddings"), std::string::npos);
    types.dims = {8, 1};
    EXPECT_EQ(import_weights(program, entries, "bert-classifier").error().code,
              ErrorCode::kShapeMismatch);
}

TEST(Weights, HaveTheNamesOfQwen3) {
    program::TrainConfig config;
    config.model.architecture = program::Architecture::kLlama;
    config.model.vocabulary = 11;
    config.model.context = 5;
    config.model.layers = 1;
    config.model.heads = 2;
    config.model.kv_heads = 1;
    config.model.width = 8;
    config.model.hidden_width = 12;
    config.model.qk_norm = true;
    const Program program = program::train_program(config).value();
    EXPECT_EQ(naming_of(program), "qwen3");
    const engine::State base = random_base(program);
    const auto weights = export_weights(program, base, "qwen3").value();
    const std::string attention = "model.layers.0.self_attn.";
    EXPECT_EQ(find(weights, attention + "q_norm.weight").dims, (std::vector<std::uint64_t>{4}));
    EXPECT_EQ(find(weights, attention + "k_proj.weight").dims, (std::vector<std::uint64_t>{4, 8}));
    EXPECT_EQ(import_weights(program, entries_of(weights), "qwen3").value(), base);
}

/// Imports an altered export; the error must hold every word.
class WrongWeights : public ::testing::Test {
  protected:
    void expect_error(ErrorCode code, std::initializer_list<const char*> words) {
        const auto result = import_weights(program_, entries_, "gpt2");
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, code) << result.error().message;
        for (const char* word : words)
            EXPECT_NE(result.error().message.find(word), std::string::npos)
                << result.error().message << " lacks " << word;
    }
    SafetensorsEntry& entry(const std::string& name) {
        return *std::ranges::find(entries_, name, &SafetensorsEntry::name);
    }
    Program program_ = gpt(false, true);
    std::vector<NamedWeights> weights_ =
        export_weights(program_, random_base(program_), "gpt2").value();
    std::vector<SafetensorsEntry> entries_ = entries_of(weights_);
};

TEST_F(WrongWeights, Missing) {
    std::erase_if(entries_, [](const auto& e) { return e.name == "transformer.h.3.ln_2.bias"; });
    expect_error(ErrorCode::kNotFound, {"transformer.h.3.ln_2.bias", "[4]"});
}

TEST_F(WrongWeights, WithoutAPlace) {
    entries_.push_back({"transformer.h.12.ln_1.weight", "F32", {4}, entries_[3].bytes});
    expect_error(ErrorCode::kMalformed, {"no place", "transformer.h.12.ln_1.weight"});
}

TEST_F(WrongWeights, OfAnotherShape) {
    SafetensorsEntry& tensor = entry("transformer.h.0.attn.c_attn.weight");
    tensor.dims = {12, 4};  // not transposed
    expect_error(ErrorCode::kShapeMismatch, {"c_attn.weight", "[12, 4]", "[4, 12]"});
}

TEST_F(WrongWeights, OfAnotherDtype) {
    entry("transformer.wpe.weight").dtype = "I32";
    expect_error(ErrorCode::kMalformed, {"transformer.wpe.weight", "I32", "BF16"});
}

TEST_F(WrongWeights, BiasesThatWouldBeLost) {
    Bytes ones(16, 0x3F);
    entry("transformer.h.7.mlp.c_proj.bias").bytes = ones;
    expect_error(ErrorCode::kMalformed, {"transformer.h.7.mlp.c_proj.bias", "bias: true"});
}

TEST_F(WrongWeights, InTwoFiles) {
    entries_.push_back(entries_.front());
    expect_error(ErrorCode::kMalformed, {"two files", "wte"});
}

TEST_F(WrongWeights, UnderNamesThatDoNotExist) {
    EXPECT_EQ(import_weights(program_, entries_, "bert").error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(import_weights(program_, entries_, "llama").error().code,
              ErrorCode::kInvalidArgument);
}

TEST_F(WrongWeights, MissingBiasesAreZeros) {
    std::erase_if(entries_, [](const auto& e) { return e.name.ends_with("c_fc.bias"); });
    EXPECT_TRUE(import_weights(program_, entries_, "gpt2").ok());
}

// All 65,536 halves and all bfloats, by the definition of the formats.
TEST(Weights, OfTwoBytesAreWidenedExactly) {
    program::Builder b;
    const auto slot = b.param("w", {65536}, {Init::Kind::kConstant, 0});
    b.output("s", b.sum_squares(slot));
    const Program program = b.build().value();
    Bytes bytes(65536 * 2);
    for (std::size_t i = 0; i < 65536; ++i) {
        bytes[2 * i] = static_cast<std::uint8_t>(i);
        bytes[2 * i + 1] = static_cast<std::uint8_t>(i >> 8);
    }
    const auto widened = [&](const char* dtype) {
        const SafetensorsEntry entry{"w", dtype, {65536}, bytes};
        return import_weights(program, {&entry, 1}, "gym").value().tensors[0].bytes;
    };
    const Bytes halves = widened("F16"), brains = widened("BF16");
    for (std::uint32_t i = 0; i < 65536; ++i) {
        const int exponent = static_cast<int>(i >> 10 & 31), fraction = static_cast<int>(i & 1023);
        const double sign = i >> 15 == 1 ? -1.0 : 1.0;
        const float half = value_at(halves, i);
        if (exponent == 31) {
            if (fraction == 0)
                EXPECT_EQ(half, sign * INFINITY);
            else
                EXPECT_EQ(std::bit_cast<std::uint32_t>(half), 0x7FC00000U);
        } else {
            const double want = exponent == 0 ? std::ldexp(fraction, -24)
                                              : std::ldexp(1024 + fraction, exponent - 25);
            EXPECT_EQ(half, sign * want);
            EXPECT_EQ(std::signbit(half), sign < 0);
        }
        const std::uint32_t bits = i << 16;
        const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
        EXPECT_EQ(std::bit_cast<std::uint32_t>(value_at(brains, i)), nan ? 0x7FC00000U : bits);
    }
}

}  // namespace
}  // namespace gym::interchange
