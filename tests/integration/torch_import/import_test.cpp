// `gym program import` on models that Debian's PyTorch scripted and traced.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "command.hpp"
#include "gym/common/file.hpp"
#include "gym/engine/engine.hpp"
#include "gym/program/codec.hpp"
#include "python.hpp"

namespace gym::testing {
namespace {

constexpr int kUsage = 2, kFailed = 1;

/// The models are written once for all tests.
class TorchImport : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        models_ = new TemporaryFolder();
        written_ = new PythonRun(run_python(GYM_SOURCE, "tests/integration/torch_import/models.py",
                                            {GYM_OPS_LIBRARY, models_->path().string()}));
    }
    static void TearDownTestSuite() {
        delete models_;
        delete written_;
    }
    void SetUp() override {
        ASSERT_NE(written_->exit_code, kNoTorch) << kTorchRemedy;
        ASSERT_EQ(written_->exit_code, 0) << written_->output;
    }

    [[nodiscard]] Outcome import(const std::string& model, const std::string& sample) const {
        return run(place_, {"program", "import", model_file(model), "--sample-input", sample, "-o",
                            path("p.gym"), "--state", path("weights"), "--json"});
    }
    static std::string model_file(const std::string& model) {
        return (*models_ / (model + ".pt")).string();
    }
    [[nodiscard]] std::string path(const char* name) const { return (place_ / name).string(); }

    /// The imported program's output for the model's input.
    [[nodiscard]] std::vector<float> run_imported(const std::string& model) const {
        const auto program = program::decode(read_file(path("p.gym")).value()).value();
        auto state = engine::decode_state(read_file(path("weights")).value()).value();
        auto engine = engine::Engine::create(program).value();
        const Bytes input = read_file(*models_ / (model + ".in")).value();
        const engine::NamedTensorView view{"input0", input};
        const Status status = engine.run(state, {&view, 1});
        EXPECT_TRUE(status.ok()) << status.error().message;
        return floats(engine.output("output").value());
    }
    [[nodiscard]] std::vector<float> expected(const std::string& model) const {
        return floats(read_file(*models_ / (model + ".out")).value());
    }
    static std::vector<float> floats(ByteView bytes) {
        std::vector<float> values(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }
    void expect_close(const std::string& model, const std::string& file, const char* sample) const {
        const auto imported = import(file, sample);
        ASSERT_EQ(imported.exit_code, 0) << imported.out << imported.err;
        const auto ours = run_imported(model), theirs = expected(model);
        ASSERT_EQ(ours.size(), theirs.size());
        double error = 0, size = 0;
        for (std::size_t i = 0; i < ours.size(); ++i) {
            error += std::pow(double{ours[i]} - theirs[i], 2);
            size += std::pow(double{theirs[i]}, 2);
        }
        EXPECT_LT(std::sqrt(error / size), 1e-3) << file;
    }
    void expect_refused(const char* model, const char* sample,
                        std::initializer_list<const char*> words, int exit_code = kUsage) const {
        const auto outcome = import(model, sample);
        EXPECT_EQ(outcome.exit_code, exit_code) << model << outcome.out;
        for (const char* word : words)
            EXPECT_NE(outcome.out.find(word), std::string::npos)
                << model << ": " << outcome.out << " lacks " << word;
        EXPECT_FALSE(std::filesystem::exists(path("p.gym")));
        EXPECT_FALSE(std::filesystem::exists(path("weights")));
    }

    TemporaryFolder place_;

  private:
    static TemporaryFolder* models_;
    static PythonRun* written_;
};

TemporaryFolder* TorchImport::models_ = nullptr;
PythonRun* TorchImport::written_ = nullptr;

TEST_F(TorchImport, AScriptedModelComputesTheSame) {
    expect_close("classifier", "classifier", "f32[3,5,20]");
    expect_close("tokens", "tokens", "i64[2,8]");
}

TEST_F(TorchImport, ATracedModelComputesTheSame) {
    expect_close("classifier", "classifier_traced", "f32[3,5,20]");
    expect_close("tokens", "tokens_traced", "i64[2,8]");
}

TEST_F(TorchImport, AModelOfExactOpsHasTheSameBits) {
    const auto imported = import("gpt", "i64[2,16]");
    ASSERT_EQ(imported.exit_code, 0) << imported.out << imported.err;
    const auto ours = run_imported("gpt"), theirs = expected("gpt");
    ASSERT_EQ(ours.size(), theirs.size());
    EXPECT_EQ(std::memcmp(ours.data(), theirs.data(), ours.size() * sizeof(float)), 0);
}

TEST_F(TorchImport, ParametersKeepTheirNamesAndValues) {
    ASSERT_EQ(import("classifier", "f32[3,5,20]").exit_code, 0);
    const auto program = program::decode(read_file(path("p.gym")).value()).value();
    const auto weights = engine::decode_state(read_file(path("weights")).value()).value();
    EXPECT_TRUE(engine::base_of(program, weights).ok());
    for (const char* name : {"body.0.weight", "body.0.bias", "body.2.weight", "head.weight"})
        EXPECT_NE(weights.find(name), nullptr) << name;
    EXPECT_EQ(weights.find("body.0.weight")->dims, (std::vector<std::uint64_t>{32, 20}));
    EXPECT_EQ(weights.find("shift"), nullptr);  // a buffer is no parameter
}

TEST_F(TorchImport, AttentionAsPeopleWriteItComputesTheSame) {
    for (const char* form : {"packed", "separate", "added", "chosen", "one"}) {
        const std::string name = std::string("attention_") + form;
        expect_close(name, name, "f32[2,7,24]");
        const auto program = program::decode(read_file(path("p.gym")).value()).value();
        EXPECT_TRUE(std::ranges::any_of(program.ops(), [](const program::Op& op) {
            return op.code == program::Opcode::kAttention;
        })) << form;
        expect_close(name, name + "_traced", "f32[2,7,24]");
    }
}

TEST_F(TorchImport, AttentionWithoutAMaskReadsBothWays) {
    for (const char* model : {"no_mask", "no_mask_traced"}) {
        expect_close("no_mask", model, "f32[2,7,24]");
        const auto program = program::decode(read_file(path("p.gym")).value()).value();
        EXPECT_TRUE(std::ranges::any_of(program.ops(), [](const program::Op& op) {
            return op.code == program::Opcode::kAttention && op.attributes[3] == 1;
        })) << model;
    }
}

TEST_F(TorchImport, RowsAreCutOutAndSumsAreOverAnyDim) {
    expect_close("pooled", "pooled", "f32[2,7,24]");
    expect_close("pooled", "pooled_traced", "f32[2,7,24]");
}

TEST_F(TorchImport, AModelThatReadsWhatItPredictsIsNotTrained) {
    const auto model = import("both_ways", "i64[4,16]");
    ASSERT_EQ(model.exit_code, 0) << model.out;
    EXPECT_NE(model.out.find("\"trainable\":false"), std::string::npos) << model.out;
    EXPECT_NE(model.out.find("needs a causal mask"), std::string::npos) << model.out;
}

TEST_F(TorchImport, ABatchedProductThatIsNoAttentionIsRefused) {
    expect_refused("wrong_mask", "f32[2,7,24]", {"not causal", "models.py"});
}

TEST_F(TorchImport, ImportSaysWhatCanBeDoneWithTheModel) {
    const auto model = import("bytes", "i64[4,16]");
    EXPECT_NE(model.out.find("\"trainable\":true"), std::string::npos) << model.out;
    const auto other = import("classifier", "f32[3,5,20]");
    ASSERT_EQ(other.exit_code, 0);
    EXPECT_NE(other.out.find("\"trainable\":false"), std::string::npos) << other.out;
    EXPECT_NE(other.out.find("\"not_trainable_because\":\"the imported model must have one input"),
              std::string::npos)
        << other.out;
    const auto text = run(place_, {"program", "import", model_file("classifier"), "--sample-input",
                                   "f32[3,5,20]", "-o", path("p.gym"), "--state", path("weights")});
    EXPECT_NE(text.out.find("No command of gym runs it"), std::string::npos) << text.out;
}

class TrainedImport : public TorchImport, public ::testing::WithParamInterface<const char*> {};

TEST_P(TrainedImport, LearnsAndWrites) {
    ASSERT_EQ(import(GetParam(), "i64[4,16]").exit_code, 0);
    std::string text;
    for (int i = 0; i < 300; ++i)
        text += "the same line again and again\n";
    spill(place_ / "text", text);
    spill(place_ / "train.yaml", "batch: 4\noptimizer: {learning_rate: 1.0e-2}\n");
    const auto gym = [&](std::vector<std::string> arguments) {
        return run(place_, std::move(arguments));
    };
    const auto built = gym({"program", "build", path("train.yaml"), "--forward", path("p.gym"),
                            "-o", path("train.gym")});
    ASSERT_EQ(built.exit_code, 0) << built.err;
    const auto trained =
        gym({"program", "run", path("train.gym"), "--data", path("text"), "--steps", "300",
             "--from", path("weights"), "--state", path("state")});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    const auto evaluated = gym({"program", "evaluate", path("train.gym"), "--data", path("text"),
                                "--state", path("state"), "--windows", "4"});
    ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
    double loss = 100;
    ASSERT_EQ(std::sscanf(evaluated.out.c_str(), "validation loss %lf", &loss), 1);
    EXPECT_LT(loss, 1.5);  // 5.5 is all bytes alike
    const auto written = gym({"generate", path("train.gym"), "--state", path("state"), "--prompt",
                              "the same l", "--tokens", "4", "--temperature", "0"});
    EXPECT_EQ(written.exit_code, 0) << written.err;
}

INSTANTIATE_TEST_SUITE_P(Models, TrainedImport,
                         ::testing::Values("bytes", "attention_bytes", "attention_parts"));

TEST_F(TorchImport, AModelOrASettingThatCannotBeTrainedIsRefused) {
    const auto build = [&](const char* yaml) {
        spill(place_ / "train.yaml", yaml);
        return run(place_, {"program", "build", path("train.yaml"), "--forward", path("p.gym"),
                            "-o", path("train.gym")});
    };
    const auto expect_error = [](const Outcome& outcome, const char* word) {
        EXPECT_EQ(outcome.exit_code, kUsage) << outcome.err;
        EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
    };
    ASSERT_EQ(import("bytes", "i64[4,16]").exit_code, 0);
    expect_error(build("batch: 8\n"), "set batch to that");
    expect_error(build("batch: 4\nmodel: {vocabulary: 256}\n"), "leave `model` out");
    ASSERT_EQ(import("classifier", "f32[3,5,20]").exit_code, 0);
    expect_error(build("batch: 4\n"), "tokens (windows, context)");
}

TEST_F(TorchImport, TheFirstOpThatProgramsLackIsNamedWithItsPlace) {
    std::ifstream source(std::string(GYM_SOURCE) + "/tests/integration/torch_import/models.py");
    int line = 0;
    for (std::string text; std::getline(source, text);) {
        ++line;
        if (text.find("the line that an error must name") != std::string::npos) break;
    }
    const std::string place = "models.py:" + std::to_string(line);
    expect_refused("lacking", "f32[2,4]", {"programs have no op for aten::cumsum", place.c_str()});
}

TEST_F(TorchImport, WhatCannotBeAProgramIsRefusedWithTheReason) {
    expect_refused("erf", "f32[2,4]", {"tanh", "activation.py", ", from ", "models.py"});
    expect_refused("values", "f32[2,4]", {"models.py"});
    expect_refused("pair", "f32[2,4]", {"Tuple", "one tensor"});
    expect_refused("batched", "f32[2,4,4]", {"docs/TORCH.md"});
    expect_refused("double", "f32[2,4]", {"'layer.weight'", "Double", ".float()"});
    expect_refused("lacking", "f32[2,5]", {"[2, 5]", "aten::linear"});
    expect_refused("classifier", "f32[2,0]", {"f32[2,0]", "f32[8,20]"});
    expect_refused("classifier", "f32[4294967300,8]", {"2^31 elements"});
    expect_refused("classifier", "f32[65536,65536]", {"2^31 elements"});
    expect_refused("classifier", "f32[99999999999999999999]", {"2^31 elements"});
    expect_refused("nothing-here", "f32[2,4]", {"nothing-here.pt"}, kFailed);
}

}  // namespace
}  // namespace gym::testing
