#include "gym/interchange/model_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/interchange/safetensors.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/train_program.hpp"
#include "temporary_folder.hpp"

namespace gym::interchange {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using program::Architecture;
using program::Program;

program::TrainConfig config_of(Architecture architecture) {
    program::TrainConfig config;
    config.batch = 2;
    config.model.architecture = architecture;
    config.model.vocabulary = 256;
    config.model.context = 12;
    config.model.layers = 2;
    config.model.heads = 4;
    config.model.width = 16;
    return config;
}

engine::State state_of(const Program& program) {
    return engine::initial_state(program, commit::sha256(as_bytes("folder"))).value();
}

class ModelFolderTest : public ::testing::Test {
  protected:
    WrittenFolder write(const program::TrainConfig& config, const ModelFolder& model = {}) {
        const Program program = program::train_program(config).value();
        const auto written = write_model_folder(folder_, program, state_of(program), model);
        EXPECT_TRUE(written.ok()) << written.error().message;
        return written.value_or({});
    }
    [[nodiscard]] std::string text(const char* name) const {
        const Bytes bytes = read_file(folder_ / name).value();
        return {bytes.begin(), bytes.end()};
    }
    [[nodiscard]] json::object object(const char* name) const {
        return json::parse(text(name)).as_object();
    }

    testing::TemporaryFolder place_;
    const fs::path folder_ = place_.path() / "model";
};

TEST_F(ModelFolderTest, ComesBackAsItWentForEveryKindOfProgram) {
    std::vector<std::pair<std::string, program::TrainConfig>> cases{
        {"gpt2", config_of(Architecture::kGpt)},
        {"llama", config_of(Architecture::kLlama)},
        {"qwen2", config_of(Architecture::kLlama)},
        {"gym", config_of(Architecture::kMlp)},
        {"gym", config_of(Architecture::kGpt)},
        {"qwen3", config_of(Architecture::kLlama)},
        {"bert", config_of(Architecture::kEncoder)},
        {"bert-classifier", config_of(Architecture::kEncoder)},
        {"bert-classifier", config_of(Architecture::kEncoder)},
        {"bert-embedding", config_of(Architecture::kEncoder)},
        {"gym", config_of(Architecture::kEncoder)},
        {"gpt2", config_of(Architecture::kGpt)},
        {"llama", config_of(Architecture::kLlama)}};
    cases[11].second.model.document_separator = 10;
    cases[12].second.model.document_separator = 10;
    cases[12].second.model.kv_heads = 2;
    cases[5].second.model.qk_norm = true;
    cases[7].second.model.task = program::Task::kClassify;
    cases[7].second.model.classes = 3;
    cases[8].second.model.task = program::Task::kRerank;
    cases[8].second.model.passages = 3;
    cases[9].second.model.task = program::Task::kEmbed;
    cases[9].second.model.passages = 2;
    cases[9].second.model.pooling = program::Pooling::kMean;
    cases[10].second.model = cases[7].second.model;
    cases[10].second.model.pooling =
        program::Pooling::kMean;  // a BERT classifies by its first token
    cases[2].second.model.qkv_bias = true;
    cases[3].second.model.classes = 3;
    cases[4].second.model.classes = 5;
    for (const auto& [names, config] : cases) {
        const Program program = program::train_program(config).value();
        const engine::State state = state_of(program);
        ModelFolder model;
        model.card.name = "n";
        model.card.job = commit::sha256(as_bytes("job"));
        model.card.round = 3;
        const auto written = write_model_folder(folder_, program, state, model);
        ASSERT_TRUE(written.ok()) << written.error().message;
        EXPECT_EQ(written->names, names);
        EXPECT_EQ(written->for_transformers, names != "gym");
        const auto read = read_model_folder(folder_);
        ASSERT_TRUE(read.ok()) << read.error().message;
        EXPECT_EQ(read->program, program);
        EXPECT_EQ(read->base, engine::base_of(program, state).value());
        EXPECT_EQ(read->program_root, program::program_root(program));
        EXPECT_EQ(read->state_root, engine::state_root(read->base));
        EXPECT_EQ(read->job, model.card.job);
        EXPECT_EQ(read->round, 3U);
    }
}

TEST_F(ModelFolderTest, ConfigOfGpt2SaysWhatTransformersNeed) {
    program::TrainConfig config = config_of(Architecture::kGpt);
    config.model.layernorm_epsilon = 1e-6;
    ModelFolder model;
    model.end_token = 0;
    write(config, model);
    const json::object out = object("config.json");
    EXPECT_EQ(out.at("architectures").as_array().at(0).as_string(), "GPT2LMHeadModel");
    EXPECT_EQ(out.at("model_type").as_string(), "gpt2");
    EXPECT_EQ(out.at("activation_function").as_string(), "gelu_new") << "the tanh form";
    EXPECT_DOUBLE_EQ(out.at("layer_norm_epsilon").to_number<double>(), 1e-6);
    for (const auto& [key, value] :
         {std::pair{"n_embd", 16}, std::pair{"n_head", 4}, std::pair{"n_layer", 2},
          std::pair{"n_positions", 12}, std::pair{"n_inner", 64}, std::pair{"vocab_size", 256},
          std::pair{"eos_token_id", 0}})
        EXPECT_EQ(out.at(key).to_number<int>(), value) << key;
    EXPECT_TRUE(out.at("tie_word_embeddings").as_bool());
    EXPECT_TRUE(out.at("bos_token_id").is_null()) << "or transformers take 50256";
    EXPECT_EQ(out.at("torch_dtype").as_string(), "float32");
    EXPECT_EQ(object("generation_config.json").at("max_length").to_number<int>(), 12);
}

TEST_F(ModelFolderTest, SaysThatDocumentsWereApart) {
    for (const Architecture architecture : {Architecture::kGpt, Architecture::kLlama}) {
        program::TrainConfig config = config_of(architecture);
        write(config);
        EXPECT_EQ(text("README.md").find("apart"), std::string::npos);
        EXPECT_FALSE(object("config.json").contains("document_separator"));
        const std::string type(object("config.json").at("model_type").as_string());
        fs::remove_all(folder_);
        config.model.document_separator = 10;
        EXPECT_TRUE(write(config).for_transformers);
        EXPECT_NE(text("README.md").find("token 10 ends one"), std::string::npos);
        EXPECT_EQ(object("config.json").at("document_separator").to_number<int>(), 10);
        EXPECT_EQ(object("config.json").at("model_type").as_string(), type);
        fs::remove_all(folder_);
    }
}

TEST_F(ModelFolderTest, ConfigOfLlamaSaysWhatTransformersNeed) {
    program::TrainConfig config = config_of(Architecture::kLlama);
    config.model.kv_heads = 2;
    config.model.hidden_width = 40;
    config.model.rope_theta = 500'000;
    config.model.tied_embeddings = false;
    write(config);
    const json::object out = object("config.json");
    EXPECT_EQ(out.at("architectures").as_array().at(0).as_string(), "LlamaForCausalLM");
    EXPECT_EQ(out.at("model_type").as_string(), "llama");
    EXPECT_EQ(out.at("hidden_act").as_string(), "silu");
    EXPECT_DOUBLE_EQ(out.at("rms_norm_eps").to_number<double>(), 1e-5);
    EXPECT_DOUBLE_EQ(out.at("rope_theta").to_number<double>(), 500'000);
    for (const auto& [key, value] :
         {std::pair{"hidden_size", 16}, std::pair{"num_attention_heads", 4},
          std::pair{"num_key_value_heads", 2}, std::pair{"num_hidden_layers", 2},
          std::pair{"intermediate_size", 40}, std::pair{"max_position_embeddings", 12},
          std::pair{"head_dim", 4}, std::pair{"vocab_size", 256}})
        EXPECT_EQ(out.at(key).to_number<int>(), value) << key;
    EXPECT_FALSE(out.at("tie_word_embeddings").as_bool());
    EXPECT_FALSE(out.at("attention_bias").as_bool());
}

TEST_F(ModelFolderTest, AProgramOfItsOwnSaysSo) {
    program::TrainConfig config = config_of(Architecture::kMlp);
    config.model.classes = 3;
    const WrittenFolder written = write(config);
    EXPECT_FALSE(written.for_transformers);
    const json::object out = object("config.json");
    EXPECT_EQ(out.at("model_type").as_string(), "gym");
    EXPECT_EQ(out.at("num_labels").to_number<int>(), 3);
    EXPECT_NE(text("README.md").find("Transformers have no model of this form"), std::string::npos);
    EXPECT_FALSE(fs::exists(folder_ / "tokenizer.json"));
    EXPECT_FALSE(fs::exists(folder_ / "generation_config.json"));
}

TEST_F(ModelFolderTest, TheCardNamesOnlyCommandsThatTheModelCanDo) {
    const std::string generate = "gym generate", evaluate = "gym program evaluate --model FOLDER";
    const auto card_has = [&](const std::string& command) {
        return text("README.md").find(command) != std::string::npos;
    };
    write(config_of(Architecture::kEncoder));
    EXPECT_FALSE(card_has(generate)) << text("README.md");
    EXPECT_TRUE(card_has(evaluate)) << text("README.md");
    program::TrainConfig classifier = config_of(Architecture::kMlp);
    classifier.model.classes = 3;
    write(classifier);
    EXPECT_FALSE(card_has(generate));
    EXPECT_TRUE(card_has(evaluate));
    write(config_of(Architecture::kGpt));
    EXPECT_TRUE(card_has(generate));
    EXPECT_FALSE(card_has(evaluate));
}

/// The bytes that a string of transformers' byte alphabet stands for, by the definition of GPT-2.
std::vector<std::string> byte_alphabet() {
    const auto utf8 = [](int code) {
        if (code < 0x80) return std::string(1, static_cast<char>(code));
        return std::string{static_cast<char>(0xC0 | code >> 6),
                           static_cast<char>(0x80 | (code & 0x3F))};
    };
    std::vector<std::string> alphabet(256);
    for (const auto& [first, last] :
         {std::pair{0x21, 0x7E}, std::pair{0xA1, 0xAC}, std::pair{0xAE, 0xFF}})
        for (int byte = first; byte <= last; ++byte)
            alphabet[static_cast<std::size_t>(byte)] = utf8(byte);
    int others = 0;
    for (std::string& letter : alphabet)
        if (letter.empty()) letter = utf8(256 + others++);
    return alphabet;
}

TEST_F(ModelFolderTest, AModelOfBytesGetsATokenizerOfBytes) {
    write(config_of(Architecture::kGpt));
    const json::object tokenizer = object("tokenizer.json");
    const json::object& model = tokenizer.at("model").as_object();
    EXPECT_EQ(model.at("type").as_string(), "BPE");
    EXPECT_TRUE(model.at("merges").as_array().empty());
    const json::object& vocabulary = model.at("vocab").as_object();
    ASSERT_EQ(vocabulary.size(), 256U);
    const auto alphabet = byte_alphabet();
    for (std::size_t byte = 0; byte < 256; ++byte) {
        ASSERT_TRUE(vocabulary.contains(alphabet[byte])) << byte;
        EXPECT_EQ(vocabulary.at(alphabet[byte]).to_number<std::size_t>(), byte);
    }
    for (const char* step : {"pre_tokenizer", "decoder"}) {
        EXPECT_EQ(tokenizer.at(step).at("type").as_string(), "ByteLevel");
        EXPECT_FALSE(tokenizer.at(step).at("add_prefix_space").as_bool());
        EXPECT_FALSE(tokenizer.at(step).at("use_regex").as_bool());
    }
    EXPECT_EQ(object("tokenizer_config.json").at("model_max_length").to_number<int>(), 12);
    EXPECT_NE(text("README.md").find("A token is a byte"), std::string::npos);
}

TEST_F(ModelFolderTest, GivenTokenizerFilesAreWrittenAsTheyAre) {
    ModelFolder model;
    model.tokenizer = {{"tokenizer.model", {1, 2, 3}}, {"tokenizer.json", {'{', '}'}}};
    write(config_of(Architecture::kGpt), model);
    EXPECT_EQ(read_file(folder_ / "tokenizer.model").value(), Bytes({1, 2, 3}));
    EXPECT_EQ(text("tokenizer.json"), "{}");
    EXPECT_FALSE(fs::exists(folder_ / "tokenizer_config.json"));
    const Program program = program::train_program(config_of(Architecture::kGpt)).value();
    for (const char* name : {"../escape", "", "..", "config.json", "gym.json"}) {
        model.tokenizer = {{name, {1}}};
        EXPECT_EQ(write_model_folder(place_.path() / "other", program, state_of(program), model)
                      .error()
                      .code,
                  ErrorCode::kInvalidArgument)
            << name;
    }
    EXPECT_FALSE(fs::exists(place_.path() / "other"));
}

TEST_F(ModelFolderTest, TheCardOfALargerModelOfBytesSaysThatItsDataIsBytes) {
    program::TrainConfig config = config_of(Architecture::kGpt);
    config.model.vocabulary = 1000;
    ModelFolder model;
    model.card.byte_data = true;
    write(config, model);
    EXPECT_NE(text("README.md").find("The tokens of its data are bytes"), std::string::npos);
    EXPECT_NE(text("README.md").find("--tokenizer bytes"), std::string::npos);
}

TEST_F(ModelFolderTest, AVocabularyWithoutTokenizerIsToldInTheCard) {
    program::TrainConfig config = config_of(Architecture::kGpt);
    config.model.vocabulary = 1000;
    write(config);
    EXPECT_FALSE(fs::exists(folder_ / "tokenizer.json"));
    EXPECT_NE(text("README.md")
                  .find("The tokenizer is not in this folder. The model knows the "
                        "tokens 0 to 999"),
              std::string::npos);
}

TEST_F(ModelFolderTest, TheCardSaysWhoseTheTokenizersFilesAre) {
    ModelFolder model;
    model.tokenizer = {{"tokenizer.json", {'{', '}'}}};
    model.card.tokenizer_notes = {"They came with the data.\x1b[2J", "Nobody checked them."};
    write(config_of(Architecture::kGpt), model);
    const std::string card = text("README.md");
    EXPECT_NE(card.find("The tokenizer's files are in this folder. They came with the data."),
              std::string::npos)
        << card;
    EXPECT_NE(card.find(" Nobody checked them.\n"), std::string::npos) << card;
    EXPECT_EQ(card.find('\x1b'), std::string::npos);
}

TEST_F(ModelFolderTest, TheCardSaysWhereTheModelComesFromAndStrangersTextsDoNothing) {
    ModelFolder model;
    model.card.name = "a `name`\n# of mine\x1b[2J";
    model.card.job = commit::sha256(as_bytes("job"));
    model.card.round = 2;
    model.card.rounds = 6;
    model.card.datasets = {{commit::sha256(as_bytes("data")), "a | b", "CC-BY-4.0"}};
    model.card.losses = {{1, 3.25}, {2, 2.5}};
    model.card.checks = {"the roots are those of the chain"};
    const WrittenFolder written = write(config_of(Architecture::kGpt), model);
    const std::string card = text("README.md");
    for (const std::string& part :
         {written.program_root.hex(), written.state_root.hex(), model.card.job->hex(),
          model.card.datasets[0].root.hex(), std::string("CC-BY-4.0"), std::string("2 of 6"),
          std::string("| 1 | 3.2500 |\n| 2 | 2.5000 |"), std::string("GPT-2 decoder: 2 blocks"),
          std::string("- the roots are those of the chain\n"), std::string("a \\| b"),
          std::string("from_pretrained"), "gym job export " + model.card.job->hex()})
        EXPECT_NE(card.find(part), std::string::npos) << part << "\n" << card;
    EXPECT_EQ(card.find('\x1b'), std::string::npos);
    EXPECT_EQ(card.find("\n# of mine"), std::string::npos) << "no heading of its own";
}

TEST_F(ModelFolderTest, TheSameModelGivesTheSameBytes) {
    const WrittenFolder written = write(config_of(Architecture::kLlama));
    std::map<std::string, Bytes> first;
    for (const std::string& name : written.files)
        first[name] = read_file(folder_ / name).value();
    EXPECT_EQ(first.size(),
              static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {})))
        << "every file is named";
    write(config_of(Architecture::kLlama));
    for (const auto& [name, bytes] : first)
        EXPECT_EQ(read_file(folder_ / name).value(), bytes) << name;
}

TEST_F(ModelFolderTest, AFolderWithOtherFilesIsLeftAlone) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "README.md") << "mine";
    const Program program = program::train_program(config_of(Architecture::kGpt)).value();
    const auto refused = write_model_folder(folder_, program, state_of(program), {});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
    EXPECT_EQ(text("README.md"), "mine");
    std::ofstream(place_.path() / "file") << "x";
    EXPECT_EQ(check_model_folder(place_.path() / "file").error().code, ErrorCode::kIo);
}

TEST_F(ModelFolderTest, TheModelOfAnotherJobIsNotReplaced) {
    const Digest job = commit::sha256(as_bytes("a")), other = commit::sha256(as_bytes("b"));
    EXPECT_TRUE(check_no_other_job(folder_, job).ok()) << "a new folder";
    ASSERT_TRUE(begin_model_folder(folder_).ok());
    EXPECT_TRUE(check_no_other_job(folder_, job).ok()) << "one that was never complete";
    ModelFolder model;
    model.card.job = job;
    write(config_of(Architecture::kGpt), model);
    EXPECT_TRUE(check_no_other_job(folder_, job).ok()) << "another round of the same job";
    const Status refused = check_no_other_job(folder_, other);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
    EXPECT_NE(refused.error().message.find(job.hex()), std::string::npos);
}

TEST_F(ModelFolderTest, AFolderThatWasNotCompletedIsRefusedAndWrittenAgain) {
    ASSERT_TRUE(begin_model_folder(folder_).ok());
    EXPECT_EQ(read_model_folder(folder_).error().code, ErrorCode::kConflict);
    write(config_of(Architecture::kGpt));
    EXPECT_TRUE(read_model_folder(folder_).ok());
    ASSERT_TRUE(begin_model_folder(folder_).ok());
    EXPECT_TRUE(read_model_folder(folder_).ok()) << "a model that is there stays until the end";
}

TEST_F(ModelFolderTest, ChangedFilesAreFound) {
    EXPECT_EQ(read_model_folder(folder_).error().code, ErrorCode::kNotFound);
    const auto read_with = [&](const char* name, const std::function<void(Bytes&)>& change) {
        write(config_of(Architecture::kGpt));
        Bytes bytes = read_file(folder_ / name).value();
        change(bytes);
        EXPECT_TRUE(write_file_atomic(folder_ / name, bytes).ok());
        return read_model_folder(folder_).error();
    };
    const Error weights =
        read_with("model.safetensors", [](Bytes& bytes) { bytes[bytes.size() / 2] ^= 1; });
    EXPECT_EQ(weights.code, ErrorCode::kMismatch) << weights.message;
    EXPECT_NE(weights.message.find("model.safetensors was changed"), std::string::npos);
    EXPECT_EQ(read_with("model.safetensors", [](Bytes& bytes) { bytes.pop_back(); }).code,
              ErrorCode::kMalformed);
    const auto other =
        program::encode(program::train_program(config_of(Architecture::kLlama)).value());
    EXPECT_EQ(read_with("program.gym", [&](Bytes& bytes) { bytes = other; }).code,
              ErrorCode::kMismatch);
    EXPECT_EQ(read_with("gym.json", [](Bytes& bytes) { bytes.resize(20); }).code,
              ErrorCode::kMalformed);
    EXPECT_EQ(read_with("gym.json",
                        [](Bytes& bytes) {
                            bytes = {'{', '}'};
                        })
                  .code,
              ErrorCode::kMalformed);
}

TEST_F(ModelFolderTest, AStateOfAnotherProgramIsRefusedBeforeAnythingIsWritten) {
    const Program gpt = program::train_program(config_of(Architecture::kGpt)).value();
    const Program llama = program::train_program(config_of(Architecture::kLlama)).value();
    EXPECT_EQ(write_model_folder(folder_, llama, state_of(gpt), {}).error().code,
              ErrorCode::kShapeMismatch);
    program::TrainConfig wider = config_of(Architecture::kGpt);
    wider.model.width = 32;
    EXPECT_EQ(write_model_folder(folder_, program::train_program(wider).value(), state_of(gpt), {})
                  .error()
                  .code,
              ErrorCode::kShapeMismatch);
    EXPECT_FALSE(fs::exists(folder_ / "model.safetensors"));
}

TEST_F(ModelFolderTest, TheEstimateCoversWhatIsWritten) {
    for (const Architecture architecture : {Architecture::kGpt, Architecture::kLlama}) {
        write(config_of(architecture));
        std::uint64_t bytes = 0;
        for (const auto& entry : fs::directory_iterator(folder_))
            bytes += entry.file_size();
        const std::uint64_t estimate =
            model_folder_bytes(program::train_program(config_of(architecture)).value(), {});
        EXPECT_LE(bytes, estimate);
        EXPECT_LE(estimate, bytes + bytes / 50 + (1 << 16)) << "a small model fits a small disk";
    }
}

}  // namespace
}  // namespace gym::interchange
