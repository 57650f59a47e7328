// Training, units and evaluation on a device give the CPU's records and roots.
#include <gtest/gtest.h>

#include "gym/commit/sha256.hpp"
#include "gym/engine/cuda_engine.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/codec.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

using testing::seed_of;

constexpr std::uint32_t kSteps = 3;

class DeviceTraining : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string reason = cuda_unavailable_reason();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }
    static EngineOptions on(const std::string& device) {
        EngineOptions options;
        options.device = device;
        return options;
    }
    [[nodiscard]] Result<UnitResult> unit(const std::string& device,
                                          UnitPosition* resume = nullptr) const {
        UnitSpec spec;
        spec.job_seed = seed_of("device training");
        spec.steps = kSteps;
        spec.checkpoint_every = 2;
        spec.program_root = program::program_root(program_);
        spec.dataset_root = dataset_.root();
        spec.base_state_root = state_root(base_);
        RunOptions options;
        options.engine = on(device);
        options.resume = resume;
        return run_unit({program_, base_, dataset_, spec}, options);
    }

    program::Program program_ = testing::small_program();
    blob::Dataset dataset_ = testing::counting_dataset();
    State base_ = base_of(program_, initial_state(program_, seed_of("device")).value()).value();
};

TEST_F(DeviceTraining, AUnitHasTheRecordsOfTheCpu) {
    const auto host = unit("cpu");
    const auto device = unit("cuda");
    ASSERT_TRUE(host.ok());
    ASSERT_TRUE(device.ok()) << device.error().message;
    EXPECT_EQ(device->records, host->records);
    EXPECT_EQ(device->records_root, host->records_root);
    EXPECT_EQ(device->final_state, host->final_state);
    EXPECT_EQ(device->delta.root(), host->delta.root());
}

TEST_F(DeviceTraining, AnEncoderHasTheRecordsOfTheCpu) {
    program::TrainConfig config = testing::full_training_config();
    config.model.architecture = program::Architecture::kEncoder;
    config.model.heads = 2;
    program_ = program::train_program(config).value();
    base_ = base_of(program_, initial_state(program_, seed_of("device")).value()).value();
    const auto host = unit("cpu");
    const auto device = unit("cuda");
    ASSERT_TRUE(host.ok()) << host.error().message;
    ASSERT_TRUE(device.ok()) << device.error().message;
    EXPECT_EQ(device->records, host->records);
    EXPECT_EQ(device->delta.root(), host->delta.root());
}

TEST_F(DeviceTraining, AUnitMovesBetweenDevices) {
    const auto whole = unit("cpu");
    ASSERT_TRUE(whole.ok());
    TrainSpec spec{{seed_of("device training"), 0, 0}, kSteps, 2, 0};
    auto trainer = Trainer::create(program_, with_fresh_optimizer(program_, base_).value(),
                                   dataset_, spec, on("cuda:0"));
    ASSERT_TRUE(trainer.ok()) << trainer.error().message;
    UnitPosition position;
    position.records = {trainer->step().value(), trainer->step().value()};
    position.state = *trainer->state().value();
    const auto rest = unit("cpu", &position);
    ASSERT_TRUE(rest.ok()) << rest.error().message;
    EXPECT_EQ(rest->records_root, whole->records_root);
}

TEST_F(DeviceTraining, EvaluatesLikeTheCpu) {
    const auto host = evaluate(program_, base_, dataset_, 4, on("cpu"));
    const auto device = evaluate(program_, base_, dataset_, 4, on("cuda"));
    ASSERT_TRUE(host.ok());
    ASSERT_TRUE(device.ok()) << device.error().message;
    EXPECT_EQ(device->mean_loss, host->mean_loss);
}

TEST_F(DeviceTraining, DevicesAreNamedOrRefused) {
    EXPECT_FALSE(device_model("cuda").value().empty());
    EXPECT_EQ(unit("cuda:99").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace gym::engine
