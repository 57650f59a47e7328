#include "torch_llama.hpp"
#include "torch_training.hpp"

namespace gym::program {
namespace {

TrainConfig llama_config() {
    TrainConfig config;
    config.batch = 2;
    config.model = {
        .vocabulary = 40, .context = 12, .layers = 2, .heads = 4, .width = 24, .init_std = 0.2};
    config.model.architecture = Architecture::kLlama;
    config.model.kv_heads = 2;
    config.model.hidden_width = 40;
    config.optimizer.warmup_steps = 2;
    config.optimizer.total_steps = 20;
    config.optimizer.inner_warmup_steps = 3;
    config.optimizer.clip_norm = 0.5;
    return config;
}

using Llama = testing::Both<testing::TorchLlama>;

void expect_parity(const TrainConfig& config) {
    Llama both(config);
    both.run(0);
    testing::expect_equal_gradients(both);
}

TEST(TorchLlamaParity, LossAndEveryGradient) {
    expect_parity(llama_config());
}

TEST(TorchLlamaParity, LossAndEveryGradientUntiedWithAHeadOfItsOwnEach) {
    TrainConfig config = llama_config();
    config.model.tied_embeddings = false;
    config.model.kv_heads = 0;
    config.model.hidden_width = 0;
    config.model.rope_theta = 500000;
    expect_parity(config);
}

TEST(TorchLlamaParity, LossAndEveryGradientWithDocumentsApart) {
    TrainConfig config = llama_config();
    config.model.vocabulary = 6;  // a separator in six tokens
    config.model.document_separator = 5;
    expect_parity(config);
}

TEST(TorchLlamaParity, LossAndEveryGradientWithOneHeadForAll) {
    TrainConfig config = llama_config();
    config.model.kv_heads = 1;
    expect_parity(config);
}

TEST(TorchLlamaParity, LossAndEveryGradientOfAClassifier) {
    TrainConfig config = llama_config();
    config.model.classes = 40;  // the test draws every token below 40
    expect_parity(config);
}

TEST(TorchLlamaParity, LossAndEveryGradientWithBiasesOnQueriesKeysAndValues) {
    TrainConfig config = llama_config();
    config.model.qkv_bias = true;
    expect_parity(config);
}

TEST(TorchLlamaParity, LossAndEveryGradientWithHeadsWiderThanTheirShare) {
    TrainConfig config = llama_config();
    config.model.head_width = 10;
    expect_parity(config);
}

TEST(TorchLlamaParity, LossAndEveryGradientWithScaledRotaryFrequencies) {
    TrainConfig config = llama_config();
    config.model.head_width = 16;
    config.model.rope_scaling = {.type = RopeScaling::Type::kLinear, .factor = 2.5};
    expect_parity(config);
    // Of the eight frequencies some are kept, some divided, and some between.
    config.model.rope_scaling = {
        .type = RopeScaling::Type::kLlama3, .factor = 8, .original_context = 64};
    expect_parity(config);
}

TEST(TorchLlamaParity, LossAndEveryGradientWithNormsOnHeads) {
    TrainConfig config = llama_config();
    config.model.qk_norm = true;
    expect_parity(config);
    config.model.head_width = 10;
    config.model.qkv_bias = true;
    expect_parity(config);
}

TEST(TorchLlamaParity, TrainsAlike) {
    testing::expect_equal_training<testing::TorchLlama>(llama_config());
}

}  // namespace
}  // namespace gym::program
