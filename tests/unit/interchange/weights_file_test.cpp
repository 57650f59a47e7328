#include "gym/interchange/weights_file.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/interchange/weights.hpp"
#include "gym/program/train_program.hpp"
#include "temporary_folder.hpp"

namespace gym::interchange {
namespace {

namespace fs = std::filesystem;
using program::Program;

Program gpt(std::uint32_t width = 8, std::uint32_t heads = 2) {
    program::TrainConfig config;
    config.batch = 2;
    config.model.vocabulary = 11;
    config.model.context = 5;
    config.model.layers = 2;
    config.model.heads = heads;
    config.model.width = width;
    return program::train_program(config).value();
}

class WeightsFile : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto state =
            engine::initial_state(program_, commit::sha256(as_bytes("weights"))).value();
        training_ = state;
        base_ = engine::base_of(program_, state).value();
        weights_ = export_weights(program_, base_, "gpt2").value();
    }
    void write(const std::string& name, ByteView bytes) {
        ASSERT_TRUE(write_file_atomic(place_ / name, bytes).ok());
    }
    void write(const std::string& name, const std::string& text) { write(name, as_bytes(text)); }
    /// The tensors [first, last) as a file.
    void write_tensors(const std::string& name, std::size_t first, std::size_t last) {
        std::vector<SafetensorsEntry> entries;
        for (std::size_t i = first; i < last; ++i)
            entries.push_back({weights_[i].name, "F32", weights_[i].dims, weights_[i].bytes});
        Bytes bytes = safetensors_header(entries, {});
        for (const auto& entry : entries)
            bytes.insert(bytes.end(), entry.bytes.begin(), entry.bytes.end());
        write(name, bytes);
    }
    void write_folder() {
        write("config.json", R"({"model_type": "gpt2", "n_head": 2, "n_embd": 8})");
        write_tensors("model.safetensors", 0, weights_.size());
    }
    /// Two parts and their index.
    void write_sharded() {
        write("config.json", R"({"model_type": "gpt2"})");
        const std::size_t half = weights_.size() / 2;
        write_tensors("model-1.safetensors", 0, half);
        write_tensors("model-2.safetensors", half, weights_.size());
        std::string map;
        for (std::size_t i = 0; i < weights_.size(); ++i)
            map += (i == 0 ? "\"" : ",\"") + weights_[i].name + "\": \"model-" +
                   (i < half ? "1" : "2") + ".safetensors\"";
        write("model.safetensors.index.json", R"({"metadata": {}, "weight_map": {)" + map + "}}");
    }
    Error error_of(const fs::path& path) const {
        const auto loaded = load_weights(path, program_);
        return loaded.ok() ? Error{} : loaded.error();
    }
    static void expect_words(const Error& error, std::initializer_list<std::string> words) {
        for (const std::string& word : words)
            EXPECT_NE(error.message.find(word), std::string::npos)
                << error.message << " lacks " << word;
    }

    gym::testing::TemporaryFolder place_;
    Program program_ = gpt();
    engine::State training_;
    engine::State base_;
    std::vector<NamedWeights> weights_;
};

TEST_F(WeightsFile, FoldersFilesAndStatesGiveTheSameBaseState) {
    write_folder();
    write("training", engine::encode_state(training_));
    write("base", engine::encode_state(base_));
    for (const fs::path& path :
         {place_ / ".", place_ / "model.safetensors", place_ / "training", place_ / "base"}) {
        const auto loaded = load_weights(path, program_);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message;
        EXPECT_EQ(loaded->base, base_) << path;
        EXPECT_FALSE(loaded->files.empty());
    }
}

TEST_F(WeightsFile, ATrainingStateThatDoesNotFitIsToldWithoutItsMoments) {
    engine::State other = training_;
    for (engine::StateTensor& tensor : other.tensors)
        tensor.dims.insert(tensor.dims.begin(), 1);
    write("other", engine::encode_state(other));
    const std::string message = error_of(place_ / "other").message;
    EXPECT_NE(message.find("in " + std::to_string(base_.tensors.size()) + " places"),
              std::string::npos)
        << message;
    EXPECT_EQ(message.find("'m."), std::string::npos) << message;
    EXPECT_EQ(message.find("'v."), std::string::npos) << message;
}

TEST_F(WeightsFile, AShardedModelIsReadByItsIndex) {
    write_sharded();
    const auto loaded = load_weights(place_ / ".", program_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded->base, base_);
    EXPECT_EQ(loaded->files.size(), 2U);
}

TEST_F(WeightsFile, ACorruptShardIsNamedWithTheOffset) {
    write_sharded();
    Bytes bytes = read_file(place_ / "model-2.safetensors").value();
    bytes.resize(bytes.size() - 10);
    write("model-2.safetensors", bytes);
    expect_words(error_of(place_ / "."), {"model-2.safetensors", "truncated", "at byte"});
    fs::remove(place_ / "model-2.safetensors");
    expect_words(error_of(place_ / "."), {"model-2.safetensors", "No such file"});
}

TEST_F(WeightsFile, AnIndexThatLiesIsRefused) {
    write_sharded();
    write_tensors("model-1.safetensors", 1, weights_.size() / 2);
    expect_words(error_of(place_ / "."), {"index.json", weights_[0].name, "not in model-1"});
    write("model.safetensors.index.json", R"({"weight_map": {"a": "../secret"}})");
    expect_words(error_of(place_ / "."), {"same folder"});
    write("model.safetensors.index.json", R"({"weight_map": {}})");
    expect_words(error_of(place_ / "."), {"names no tensor"});
    write("model.safetensors.index.json", "{");
    expect_words(error_of(place_ / "."), {"index.json"});
}

TEST_F(WeightsFile, AFolderNeedsAConfigAndWeights) {
    write_tensors("model.safetensors", 0, weights_.size());
    EXPECT_EQ(error_of(place_ / ".").code, ErrorCode::kNotFound);
    expect_words(error_of(place_ / "."), {"no config.json"});
    write("config.json", "{}");
    fs::remove(place_ / "model.safetensors");
    expect_words(error_of(place_ / "."), {"neither model.safetensors nor"});
    EXPECT_EQ(error_of(place_ / "nothing").code, ErrorCode::kNotFound);
}

TEST_F(WeightsFile, AConfigOfAnotherModelIsRefused) {
    write_folder();
    write("config.json", R"({"model_type": "llama"})");
    expect_words(error_of(place_ / "."), {"model_type", "llama", "gpt2"});
    write("config.json", R"({"model_type": "gpt2", "n_head": 4})");
    expect_words(error_of(place_ / "."), {"heads", "4", "2"});
    write("config.json", R"({"model_type": "never heard of"})");
    EXPECT_EQ(error_of(place_ / ".").message, "");
}

TEST_F(WeightsFile, ValuesThatAreNotFiniteAreRefusedWithFileAndByte) {
    for (const std::uint32_t bits : {0x7FC00001U, 0x7F800000U, 0xFF800000U}) {
        SetUp();
        std::memcpy(weights_[4].bytes.data() + 8, &bits, sizeof bits);
        write_folder();
        const Error error = error_of(place_ / ".");
        EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
        expect_words(error, {"model.safetensors", weights_[4].name, "1 value that is NaN", "byte"});
        const auto alone = load_weight_files({place_ / "./model.safetensors"}, program_, "gpt2");
        ASSERT_FALSE(alone.ok());
        EXPECT_EQ(alone.error(), error);
    }
    const std::uint32_t nan = 0x7FC00000U;
    std::memcpy(base_.tensors[1].bytes.data(), &nan, sizeof nan);
    write("base", engine::encode_state(base_));
    expect_words(error_of(place_ / "base"), {"base", base_.tensors[1].name, "element 0"});
}

TEST_F(WeightsFile, PartsAreReadByTheirNamesWithoutAnIndex) {
    write_tensors("a", 0, 3);
    write_tensors("b", 3, weights_.size());
    const auto loaded = load_weight_files({place_ / "a", place_ / "b"}, program_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(engine::state_root(loaded->base), engine::state_root(base_));
    EXPECT_EQ(loaded->names, "gpt2");
    EXPECT_EQ(loaded->tensors, weights_.size());
    EXPECT_FALSE(load_weight_files({place_ / "a", place_ / "b"}, program_, "gym").ok());
}

TEST_F(WeightsFile, AllTensorsThatDifferAreNamed) {
    write_folder();
    const Program wider = gpt(12, 2);
    const auto loaded = load_weights(place_ / ".", wider);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, ErrorCode::kShapeMismatch);
    for (const NamedWeights& tensor : weights_) {
        if (tensor.name.ends_with(".bias") && tensor.name.find("ln_") == std::string::npos)
            continue;
        expect_words(loaded.error(), {tensor.name});
    }
    write("base", engine::encode_state(base_));
    const auto state = load_weights(place_ / "base", wider);
    ASSERT_FALSE(state.ok());
    for (const engine::StateTensor& tensor : base_.tensors)
        expect_words(state.error(), {tensor.name});
}

}  // namespace
}  // namespace gym::interchange
