#include "torch_gpt.hpp"
#include "torch_training.hpp"

namespace gym::program {
namespace {

TrainConfig base_config() {
    TrainConfig config;
    config.batch = 2;
    config.model = {
        .vocabulary = 40, .context = 12, .layers = 2, .heads = 2, .width = 16, .init_std = 0.2};
    config.optimizer.warmup_steps = 2;
    config.optimizer.total_steps = 20;
    config.optimizer.inner_warmup_steps = 3;
    config.optimizer.clip_norm = 0.5;  // clips at first
    return config;
}

using Gpt = testing::Both<testing::TorchGpt>;

TEST(TorchGptParity, LossAndEveryGradient) {
    Gpt both(base_config());
    both.run(0);
    testing::expect_equal_gradients(both);
}

TEST(TorchGptParity, LossAndEveryGradientUntiedWithBiases) {
    TrainConfig config = base_config();
    config.model.tied_embeddings = false;
    config.model.bias = true;
    Gpt both(config);
    both.run(0);
    testing::expect_equal_gradients(both);
}

TEST(TorchGptParity, LossAndEveryGradientWithDocumentsApart) {
    TrainConfig config = base_config();
    config.model.vocabulary = 6;  // a separator in six tokens
    config.model.document_separator = 2;
    Gpt both(config);
    both.run(0);
    testing::expect_equal_gradients(both);
}

TEST(TorchGptParity, TrainsAlikeWithDocumentsApart) {
    TrainConfig config = base_config();
    config.model.vocabulary = 8;
    config.model.document_separator = 0;
    config.batch = 4;
    config.micro_batches = 2;
    testing::expect_equal_training<testing::TorchGpt>(config);
}

TEST(TorchGptParity, TrainsAlike) {
    testing::expect_equal_training<testing::TorchGpt>(base_config());
}

TEST(TorchGptParity, TrainsAlikeInMicroBatchesWithMoreDecayed) {
    TrainConfig config = base_config();
    config.batch = 6;
    config.micro_batches = 3;
    config.optimizer.decay_embeddings = true;
    config.optimizer.decay_norms = true;
    config.optimizer.schedule = Schedule::kLinear;
    config.optimizer.guard = {.enabled = true, .loss_factor = 4};
    testing::expect_equal_training<testing::TorchGpt>(config);
}

TEST(TorchGptParity, TrainsAlikeAtAConstantRate) {
    TrainConfig config = base_config();
    config.optimizer.schedule = Schedule::kConstant;
    testing::expect_equal_training<testing::TorchGpt>(config);
}

}  // namespace
}  // namespace gym::program
