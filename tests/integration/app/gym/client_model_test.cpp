// `gym job submit --model FILE.pt`: TorchScript models that the client imports and a network
// trains, against a real gym-api.
#include "gym/blob/dataset.hpp"
#include "gym/coordinator/adapters/engine_compute.hpp"
#include "gym/engine/state.hpp"
#include "gym/execution/run.hpp"
#include "gym/program/codec.hpp"
#include "gym/registry/job_spec.hpp"
#include "job_commands_fixture.hpp"
#include "python.hpp"

namespace gym::api {
namespace {

using gym::testing::run_python;
using gym::testing::spill;

class JobModelTest : public testing::JobCommandsTest {
  protected:
    void SetUp() override {
        JobCommandsTest::SetUp();
        const auto written =
            run_python(GYM_SOURCE, "tests/integration/app/gym/torchscript_models.py",
                       {place_.path().string()});
        ASSERT_NE(written.exit_code, gym::testing::kNoTorch) << gym::testing::kTorchRemedy;
        ASSERT_EQ(written.exit_code, 0) << written.output;
        deposit(owner_, "200", "d1");
    }
    gym::testing::Outcome submit(const std::string& model, const std::string& context = "16",
                                 const std::vector<std::string>& more = {}) {
        std::vector<std::string> command{
            "job",       "submit", job_file(), "--model", (place_ / model).string(),
            "--licence", "MIT",    "--json"};
        if (!context.empty())
            command.insert(command.end(), {"--set", "model.model.context=" + context});
        command.insert(command.end(), more.begin(), more.end());
        return gym(std::move(command));
    }
    /// Lists leave the job file out.
    registry::Job newest() {
        const Digest id = backend().jobs({}).value().front().id;
        return backend().job(id).value().job;
    }
    /// As a coordinator reads it and a worker runs it. @return the losses.
    std::vector<float> trained(const registry::Job& job, std::uint64_t steps) {
        const auto compute = coordinator::make_engine_compute({1, "auto"});
        const std::string text = gym::testing::slurp(place_ / "text.txt");
        const auto dataset = blob::Dataset::build_from_text(as_bytes(text)).value();
        EXPECT_EQ(dataset.root(), job.dataset_root);
        const Bytes weights = blobs_.get(job.init->blob).value();
        const coordinator::Compute::GivenState given{job.init->root, weights};
        const auto prepared =
            compute->prepare(job.spec_yaml, dataset.encode(), dataset.root(), Digest{}, given);
        EXPECT_TRUE(prepared.ok()) << (prepared.ok() ? "" : prepared.error().message);
        if (!prepared.ok()) return {};
        EXPECT_EQ(prepared->base.root, job.init->root);
        EXPECT_TRUE(compute->round_roots(prepared->program.bytes, prepared->base.bytes).ok())
            << "a dispute about it can be decided";
        protocol::RoundRecord record;
        record.round = 1;
        record.base_state_root = prepared->base.root;
        record.program_root = prepared->program.root;
        record.dataset_root = dataset.root();
        record.checkpoint_every = static_cast<std::uint32_t>(steps);
        record.slots = {{0, testing::address_of(1), kPpm, record.checkpoint_every}};
        const auto program = program::decode(prepared->program.bytes).value();
        const auto base = engine::decode_state(prepared->base.bytes).value();
        const auto result = engine::run_unit(
            {program, base, dataset, execution::unit_spec(record, record.slots.at(0))}, {});
        EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
        std::vector<float> losses;
        for (const auto& step : result->records)
            losses.push_back(std::bit_cast<float>(step.loss_bits));
        return losses;
    }
};

TEST_F(JobModelTest, AModelIsSubmittedAsItsProgramAndBeginsFromItsWeights) {
    const auto submitted =
        submit("next-byte.pt", "16", {"--set", "model.optimizer.learning_rate=0.01"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    const registry::Job job = newest();
    const auto spec = registry::parse_submitted_spec(job.spec_yaml, "stored");
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    EXPECT_EQ(job.spec_yaml.find((place_ / "").string()), std::string::npos)
        << "the job says nothing about its owner's disk";
    EXPECT_NE(job.spec_yaml.find("forward: next-byte.pt"), std::string::npos);
    ASSERT_TRUE(job.init) << "TorchScript files have weights";
    const auto losses = trained(job, 60);
    ASSERT_EQ(losses.size(), 60U);
    EXPECT_NEAR(losses.front(), 5.6F, 1.0F);
    EXPECT_LT(losses.back(), 2.0F);
}

TEST_F(JobModelTest, AClassifierThatReadsBothWaysIsTrainedToo) {
    // Rows of 16 letters and a class.
    std::string rows;
    for (int r = 0; r < 400; ++r) {
        const int label = r * 7 % 4;
        rows += std::string(8, static_cast<char>('a' + r % 20)) +
                std::string(8, static_cast<char>('A' + label)) + static_cast<char>(label);
    }
    spill(place_ / "text.txt", rows);
    const auto submitted = submit("classes.pt");
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    const auto losses = trained(newest(), 120);
    ASSERT_EQ(losses.size(), 120U);
    EXPECT_LT(losses.back(), 0.5F * losses.front());
}

TEST_F(JobModelTest, AModelFileNamesTheTorchScriptBesideIt) {
    std::filesystem::create_directory(place_ / "models");
    std::filesystem::rename(place_ / "next-byte.pt", place_ / "models/next-byte.pt");
    spill(place_ / "models/train.yaml",
          "model: {architecture: imported, forward: next-byte.pt, context: 8}\nbatch: 4\n"
          "micro_batches: 2\n");
    const auto submitted = submit("models/train.yaml", "");
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    const auto losses = trained(newest(), 2);
    EXPECT_EQ(losses.size(), 2U);
}

TEST_F(JobModelTest, WhatCannotBeTrainedIsRefusedWithTheReason) {
    const auto expect_refused = [&](const gym::testing::Outcome& outcome, const char* reason) {
        EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
        EXPECT_NE(outcome.out.find(reason), std::string::npos) << outcome.out;
    };
    expect_refused(submit("lacking.pt"), "programs have no op for aten::cumsum");
    expect_refused(submit("lacking.pt"), "torchscript_models.py");
    expect_refused(submit("next-byte.pt", ""), "model.model.context=128");
    expect_refused(submit("large.pt", "16", {"--set", "model.batch=64"}),
                   "bytes of constants (buffers and tables of the model)");
    spill(place_ / "broken.pt", std::string("PK\x03\x04", 4) + "no archive");
    EXPECT_NE(submit("broken.pt").out.find("broken.pt is not a TorchScript file"),
              std::string::npos);
    EXPECT_EQ(count("registry.job"), 0U);
}

}  // namespace
}  // namespace gym::api
