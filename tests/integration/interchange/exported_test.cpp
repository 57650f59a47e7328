// A folder as `gym job export` and `gym program export` write it, read by PyTorch and by plain
// Python: config.json and model.safetensors alone give the logits of `gym generate --logits`.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/engine/generate.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/program/train_program.hpp"
#include "python.hpp"

namespace gym::testing {
namespace {

namespace json = boost::json;

/// Of the difference's norm to that of the logits. A product rounds both of its factors to 13 bits
/// and a sign, relative to the largest of their block of at most 1,024: by at most 2^-14 of the
/// largest, which for weights and activations is about three times the usual magnitude, so by 2^-14
/// * 3 / sqrt(3), 1e-4 of it. Errors of a sum are as independent as its terms, so a product is off
/// by sqrt(2) * 1e-4; seven products in each of two blocks and the output layer, added up as
/// independent, are off by sqrt(15) times that, 6e-4. PyTorch's own FP32 is off by 1e-6. Three
/// times the estimate:
constexpr double kBound = 2e-3;

/// With the products' and all other roundings of docs/NUMERICS.md made in PyTorch, nothing is left
/// but roundings that PyTorch's FP64 decides otherwise, if any: FP32's own.
constexpr double kRoundedBound = 1e-5;

program::TrainConfig config_of(program::Architecture architecture) {
    program::TrainConfig config;
    config.batch = 2;  // the folder is of one window, whatever the batch was
    config.model.architecture = architecture;
    config.model.vocabulary = 256;
    config.model.context = 24;
    config.model.layers = 2;
    config.model.heads = 4;
    config.model.width = 32;
    config.model.init_std = 0.1;
    return config;
}

class ExportedFolder : public ::testing::Test {
  protected:
    /// Writes the folder and the logits that gym gives for a text.
    void write(const program::TrainConfig& config) {
        const auto program = program::train_program(config).value();
        const auto state =
            engine::initial_state(program, commit::sha256(as_bytes("exported"))).value();
        const auto written = interchange::write_model_folder(place_ / "model", program, state, {});
        ASSERT_TRUE(written.ok()) << written.error().message;
        ASSERT_TRUE(written->for_transformers);
        // From the folder, as `gym generate --model` does.
        const auto read = interchange::read_model_folder(place_ / "model").value();
        const std::string text = "Call me Ishmael. \xC3\xA9\xFF";
        const std::vector<std::int32_t> tokens = [&] {
            const ByteView bytes = as_bytes(text);
            return std::vector<std::int32_t>(bytes.begin(), bytes.end());
        }();
        const auto logits = engine::logits_of(read.program, read.base, tokens).value();
        const std::size_t vocabulary = logits.size() / tokens.size();
        json::array rows;
        for (std::size_t row = 0; row < tokens.size(); ++row) {
            const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row * vocabulary);
            rows.push_back(json::array(begin, begin + static_cast<std::ptrdiff_t>(vocabulary)));
        }
        const std::string line = json::serialize(
            json::object{{"tokens", json::array(tokens.begin(), tokens.end())}, {"logits", rows}});
        ASSERT_TRUE(write_file_atomic(place_ / "logits.json", as_bytes(line)).ok());
    }

    json::object compare(const std::string& script) {
        const PythonRun peer = run_python(
            GYM_SOURCE, script, {(place_ / "model").string(), (place_ / "logits.json").string()});
        EXPECT_NE(peer.exit_code, kNoTorch) << kTorchRemedy;
        EXPECT_EQ(peer.exit_code, 0) << peer.output;
        json::error_code error;
        const json::value value = json::parse(peer.output, error);
        EXPECT_FALSE(error) << peer.output;
        return value.is_object() ? value.get_object() : json::object();
    }

    void expect_equal_logits(const program::TrainConfig& config) {
        write(config);
        const json::object torch = compare("tests/integration/interchange/exported_peer.py");
        ASSERT_TRUE(torch.contains("relative_error"));
        const double error = torch.at("relative_error").to_number<double>();
        EXPECT_LT(error, kBound);
        EXPECT_GT(error, 0) << "the engine's arithmetic is not FP32";
        // Weights that are off by a hundredth are found: the bound tells models apart.
        EXPECT_GT(torch.at("altered_relative_error").to_number<double>(), 2 * kBound);
        const double rounded = torch.at("rounded_relative_error").to_number<double>();
        EXPECT_LE(rounded, kRoundedBound);
        EXPECT_GT(torch.at("coarse_relative_error").to_number<double>(), 2 * kRoundedBound)
            << "one matrix with two bits less is found";
        const json::object plain = compare("examples/exported_logits.py");
        ASSERT_TRUE(plain.contains("relative_error"));
        EXPECT_NEAR(plain.at("relative_error").to_number<double>(), error, 1e-5)
            << "both peers compute the same model";
        RecordProperty("relative_error", std::to_string(error));
        RecordProperty("rounded_relative_error", std::to_string(rounded));
    }

    TemporaryFolder place_;
};

TEST_F(ExportedFolder, OfGpt2GivesItsLogits) {
    expect_equal_logits(config_of(program::Architecture::kGpt));
}

TEST_F(ExportedFolder, OfAnUntiedGpt2WithBiasesGivesItsLogits) {
    program::TrainConfig config = config_of(program::Architecture::kGpt);
    config.model.bias = true;
    config.model.tied_embeddings = false;
    config.model.layernorm_epsilon = 1e-3;  // far enough from the default to be seen
    expect_equal_logits(config);
}

TEST_F(ExportedFolder, OfALlamaWithGroupedQueriesGivesItsLogits) {
    program::TrainConfig config = config_of(program::Architecture::kLlama);
    config.model.kv_heads = 2;
    config.model.hidden_width = 56;
    config.model.rope_theta = 500;
    config.model.tied_embeddings = false;
    expect_equal_logits(config);
}

TEST_F(ExportedFolder, OfATiedLlamaGivesItsLogits) {
    program::TrainConfig config = config_of(program::Architecture::kLlama);
    config.model.layernorm_epsilon = 1e-3;
    expect_equal_logits(config);
}

}  // namespace
}  // namespace gym::testing
