#include "job/job_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/data/manifest.hpp"
#include "gym/program/builder.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel =
    "# a tiny model\n"
    "batch: 2\n"
    "model:\n"
    "  {vocabulary: 256, context: 16, layers: 1, heads: 1, width: 16}\n"
    "outer:\n"
    "  learning_rate: 0.5\n";

const protocol::CostRates kBound{2'500'000, 0};
const DataTerms kFree{};

std::string job_text(const std::string& extra = "") {
    return "# comment stays\n"
           "name: test\n"
           "model: model.yaml   # here\n"
           "dataset: text.txt\n"
           "rounds: 3\n"
           "slots: 2\n"
           "steps_per_round: 4\n"
           "price_per_pflop: 1000000\n"
           "budget: 100\n" +
           extra;
}

class JobFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("gym-job-file-" + std::to_string(::getpid()));
        fs::create_directories(folder_);
        write("model.yaml", kModel);
        write("text.txt", std::string(500, 'a'));
        write("job.yaml", job_text());
    }
    void TearDown() override { fs::remove_all(folder_); }
    void write(const std::string& name, const std::string& text) {
        ASSERT_TRUE(write_file_atomic(folder_ / name, as_bytes(text)).ok());
    }
    std::string message_of(const std::string& job) {
        write("job.yaml", job);
        const auto resolved = resolve_job_file(folder_ / "job.yaml");
        return resolved.ok() ? "accepted" : resolved.error().message;
    }
    fs::path folder_;
};

/// A forward pass as an import writes it: scores of the next byte, looked up.
Bytes imported_program(std::uint32_t windows) {
    program::Builder b;
    const auto tokens = b.input("input0", program::DType::kI32, {windows, 16});
    const auto table = b.param("table", {256, 256}, {program::Init::Kind::kNormal, 0x3DCCCCCD});
    b.output("output", b.gather_rows(table, tokens));
    return program::encode(b.build().value());
}

TEST_F(JobFileTest, AnImportedProgramIsPutIn) {
    ASSERT_TRUE(write_file_atomic(folder_ / "p.gym", imported_program(8)).ok());
    std::string text = job_text();
    text.replace(text.find("model.yaml"), 10, "p.gym");
    write("job.yaml", text);
    const auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job->config.model.architecture, program::Architecture::kImported);
    EXPECT_EQ(job->config.batch, 8U);
    EXPECT_TRUE(job->init.empty()) << "a program has no weights";
    EXPECT_EQ(job->yaml.find(folder_.string()), std::string::npos);
    // The submitted text makes the same program without the file.
    fs::remove(folder_ / "p.gym");
    auto submitted = registry::parse_submitted_spec(job->yaml, "submitted");
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
    const auto config = program::read_train_config(*submitted->spec.model);
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(program::program_root(program::train_program(*config).value()),
              program::program_root(program::train_program(job->config).value()));
    EXPECT_NE(message_of(text).find("p.gym"), std::string::npos) << "no such file";
}

TEST_F(JobFileTest, AModelFileMayNameAnImportedProgramBesideIt) {
    fs::create_directories(folder_ / "models");
    ASSERT_TRUE(write_file_atomic(folder_ / "models/p.gym", imported_program(2)).ok());
    write("model.yaml", kModel);
    write("models/train.yaml",
          "batch: 4\nmicro_batches: 2\nmodel: {architecture: imported, forward: p.gym}\n");
    std::string text = job_text();
    text.replace(text.find("model.yaml"), 10, "models/train.yaml");
    write("job.yaml", text);
    const auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job->config.micro_batches, 2U);
    EXPECT_EQ(job->config.model.context, 16U);
    write("models/train.yaml", "batch: 4\nmodel: {architecture: imported, forward: none.gym}\n");
    EXPECT_NE(message_of(text).find("none.gym: no such file"), std::string::npos);
}

TEST_F(JobFileTest, FilesArePutIn) {
    const auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job->name, "test");
    EXPECT_EQ(job->terms.steps, 4U);
    EXPECT_EQ(job->config.outer.learning_rate, 0.5);
    ASSERT_TRUE(job->tokens.has_value());
    EXPECT_EQ(job->tokens->dataset.root, job->dataset_root);
    EXPECT_EQ(job->dataset_name, "text.txt");
    EXPECT_NE(job->yaml.find("# comment stays"), std::string::npos);

    // The submitted text says the same without the files.
    const auto submitted = registry::parse_submitted_spec(job->yaml, "submitted");
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
    EXPECT_EQ(submitted->dataset_root, job->dataset_root);
    EXPECT_EQ(submitted->spec.terms, job->terms);
    write("job.yaml", job->yaml);
    const auto again = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->yaml, job->yaml);
    EXPECT_FALSE(again->tokens.has_value());
}

TEST_F(JobFileTest, APresetIsPutInAsItsModelFile) {
    std::string text = job_text();
    text.replace(text.find("model.yaml"), 10, "llama-nano");
    write("job.yaml", text);
    write("text.txt", std::string(1000, 'a'));  // a window of 65 tokens in its last tenth
    const auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job->config.model.hidden_width, 128U);
    EXPECT_NE(job->yaml.find("\n    kv_heads: 2\n"), std::string::npos)
        << "a network does not depend on the presets of this program";
    EXPECT_EQ(job->yaml.find("llama-nano"), std::string::npos);
    text.replace(text.find("llama-nano"), 10, "llama-nan");
    EXPECT_NE(message_of(text).find("llama-nano"), std::string::npos) << "names the presets";
}

TEST_F(JobFileTest, ModelsThatNoNetworkCanTrainAreRefused) {
    std::string text = job_text();
    text.replace(text.find("model: model.yaml   # here"), 26,
                 "model:\n  preset: gpt-nano\n  model: {layers: 96, heads: 1, width: 16384}");
    EXPECT_NE(message_of(text).find("no network can train this model: its parameters take 1152."),
              std::string::npos)
        << message_of(text);
}

TEST_F(JobFileTest, ModelsOfMoreThan4GiBAreNot) {
    std::string text = job_text();
    text.replace(text.find("model.yaml"), 10, "llama-7b");
    write("text.txt", std::string(50'000, 'a'));  // a window of 4,097 tokens in its last tenth
    write("job.yaml", text);
    const auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    const auto costs = quote(*job, DataTerms{}, protocol::CostRates{2'500'000, 0});
    ASSERT_TRUE(costs.ok()) << costs.error().message;
    EXPECT_EQ(costs->parameters, 6'738'415'616U);
}

TEST_F(JobFileTest, KeysOfAPresetAreOverridden) {
    std::string text = job_text();
    text.replace(text.find("model: model.yaml   # here"), 26,
                 "model:\n  preset: llama-nano\n  batch: 3\n  model: {context: 16}");
    write("job.yaml", text);
    const auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job->config.batch, 3U);
    EXPECT_EQ(job->config.model.context, 16U);
    EXPECT_EQ(job->config.model.kv_heads, 2U);
}

TEST_F(JobFileTest, AnAgreedDataPriceIsPartOfWhatIsSubmitted) {
    const Amount price = Amount::parse_tokens("2.5").value();
    for (const char* extra : {"", "max_data_price: 1   # before\n"}) {
        write("job.yaml", job_text(extra));
        auto job = resolve_job_file(folder_ / "job.yaml");
        ASSERT_TRUE(job.ok()) << job.error().message;
        EXPECT_EQ(job->max_data_price_wei.to_tokens(), *extra == '\0' ? "0" : "1");
        ASSERT_TRUE(agree_to_data_price(*job, price).ok());
        EXPECT_EQ(job->max_data_price_wei, price);
        const auto submitted = registry::parse_submitted_spec(job->yaml, "submitted");
        ASSERT_TRUE(submitted.ok()) << submitted.error().message;
        EXPECT_EQ(submitted->spec.max_data_price_wei, price);
    }
}

TEST_F(JobFileTest, WeightsToBeginFromAreFoundBesideTheJobFile) {
    const auto init_of = [&](const std::string& init) {
        write("job.yaml", job_text("init: " + init + "\n"));
        const auto job = resolve_job_file(folder_ / "job.yaml");
        return job.ok() ? job->init : job.error().message;
    };
    EXPECT_EQ(init_of("weights"), "weights") << "a registered model's name";
    EXPECT_NE(init_of("./weights").find("weights: no such file or folder"), std::string::npos)
        << init_of("./weights");
    write("weights", "x");
    EXPECT_EQ(init_of("weights"), (folder_ / "weights").string());
    EXPECT_EQ(init_of("job:ab12@3"), "job:ab12@3");
    const std::string root = commit::sha256(as_bytes("root")).hex();
    EXPECT_EQ(init_of("\"" + root + "\""), root);
    EXPECT_EQ(init_of(root), root);
    EXPECT_NE(init_of("\"\"").find("leave the key out"), std::string::npos) << init_of("\"\"");
}

// A job whose weights were not resolved would otherwise train from random ones.
TEST_F(JobFileTest, AJobWithWeightsOnDiskCannotBeSubmittedAsItIs) {
    write("weights", "x");
    write("job.yaml", job_text("init: weights   # a comment\n"));
    auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_FALSE(registry::parse_submitted_spec(job->yaml, "submitted").ok());
    const Digest root = commit::sha256(as_bytes("root"));
    ASSERT_TRUE(begin_from(*job, root.hex()).ok());
    const auto submitted = registry::parse_submitted_spec(job->yaml, "submitted");
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
    EXPECT_EQ(submitted->init, (registry::InitialWeights{root, {}, {}}));
}

TEST_F(JobFileTest, RowsWithoutTheModelsLabelsAreRefused) {
    write("model.yaml",
          "batch: 2\nmodel: {architecture: mlp, levels: 256, features: 16, classes: 16, width: 8, "
          "layers: 1}\n");
    EXPECT_NE(message_of(job_text())
                  .find("text.txt: a row of the dataset has the label 97, the "
                        "model knows 0 to 15; a row is 16 tokens and then its "
                        "label (docs/PROGRAMS.md, \"Encoders\")"),
              std::string::npos)
        << message_of(job_text());
    write("text.txt", std::string(500, '\x03'));
    EXPECT_EQ(message_of(job_text()), "accepted");
}

TEST_F(JobFileTest, WeightsToBeginFromAreAnOption) {
    fs::create_directories(folder_ / "weights");
    JobRequest request;
    request.file = (folder_ / "job.yaml").string();
    const auto init_of = [&](const std::string& init) {
        request.init = init;
        const auto text = app::job_text(request);
        if (!text.ok()) return text.error().message;
        const auto job = resolve_job(*text, {}, {});
        return job.ok() ? job->init : job.error().message;
    };
    const std::string root = "0x" + std::string(64, 'a');
    EXPECT_EQ(init_of((folder_ / "weights").string()), (folder_ / "weights").string());
    EXPECT_EQ(init_of(root), root);
    EXPECT_EQ(init_of("job:3f2a@4"), "job:3f2a@4");
    EXPECT_NE(init_of("./nowhere").find("nowhere: no such file or folder"), std::string::npos);
    EXPECT_EQ(init_of("nowhere"), "nowhere") << "a registered model's name";
    // An exported folder is no model file.
    request.init.clear();
    request.model = (folder_ / "weights").string();
    const auto text = app::job_text(request);
    ASSERT_TRUE(text.ok()) << text.error().message;
    const auto job = resolve_job(*text, {}, {});
    ASSERT_FALSE(job.ok());
    EXPECT_NE(job.error().message.find("--model PRESET --init " + request.model), std::string::npos)
        << job.error().message;
}

/// A token file of two documents, and the manifest that says what stands between them.
void write_documents(const fs::path& file, const std::vector<std::uint32_t>& separator) {
    std::vector<std::uint16_t> tokens(250, 7);
    tokens.insert(tokens.end(), separator.begin(), separator.end());
    const std::uint64_t second = tokens.size();
    tokens.resize(second + 250, 9);
    const auto dataset = blob::Dataset::from_tokens(tokens, 256).value();
    ASSERT_TRUE(write_file_atomic(file, dataset.encode()).ok());
    auto manifest = data::ManifestWriter::create(data::manifest_path(file)).value();
    for (const std::string& line :
         {to_line(data::ManifestHead{"words", 256, separator, "{}"}),
          to_line(data::ManifestDocument{.first = 0, .tokens = 250, .source = "a"}),
          to_line(data::ManifestDocument{.first = second, .tokens = 250, .source = "b"}),
          to_line(data::ManifestEnd{dataset.root(), dataset.tokens().size(), 2, {}})})
        ASSERT_TRUE(manifest.append(line).ok());
    ASSERT_TRUE(manifest.sync().ok());
}

TEST_F(JobFileTest, DocumentsAreKeptApartByTheTokenBetweenThem) {
    write_documents(folder_ / "words.tokens", {200});
    JobRequest request;
    request.file = (folder_ / "job.yaml").string();
    request.data = (folder_ / "words.tokens").string();
    const auto resolved = [&] {
        const auto text = app::job_text(request);
        EXPECT_TRUE(text.ok()) << text.error().message;
        return resolve_job(*text, {}, {});
    };
    const auto message = [&] {
        const auto job = resolved();
        return job.ok() ? "accepted" : job.error().message;
    };
    EXPECT_FALSE(resolved()->config.model.document_separator);
    request.documents_apart = true;
    const auto job = resolved();
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job->config.model.document_separator, 200U);
    auto submitted = registry::parse_submitted_spec(job->yaml, "submitted");
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
    EXPECT_EQ(program::read_train_config(*submitted->spec.model)->model.document_separator, 200U);

    request.sets = {"model.model.document_separator=3"};
    EXPECT_NE(message().find("names its document_separator already"), std::string::npos)
        << message();
    request.sets = {"model.model.padding_token=200"};
    EXPECT_NE(message().find("--keep-documents-apart: document_separator and padding_token"),
              std::string::npos)
        << message();
    request.sets.clear();
    write_documents(folder_ / "words.tokens", {10, 10});
    EXPECT_NE(message().find("empty line"), std::string::npos) << message();
    request.data = (folder_ / "text.txt").string();
    EXPECT_NE(message().find("text.txt.manifest.jsonl does not exist"), std::string::npos)
        << message();
    request.data = "0x" + std::string(64, 'a');
    EXPECT_NE(message().find("--set model.model.document_separator=TOKEN"), std::string::npos)
        << message();
}

TEST(ParseInit, ReadsRootsAndJobs) {
    const Digest id = commit::sha256(as_bytes("job"));
    EXPECT_EQ(registry::parse_init(id.hex())->root, id);
    const auto job = registry::parse_init("job:" + id.hex());
    EXPECT_EQ(job->job, id);
    EXPECT_EQ(job->round, std::nullopt);
    EXPECT_EQ(registry::parse_init("job:" + id.hex() + "@12")->round, 12U);
    for (const std::string& text : {"job:" + id.hex(), "job:" + id.hex() + "@0", id.hex()})
        EXPECT_EQ(to_string(registry::parse_init(text).value()), text);
    for (const std::string& text :
         {std::string(), std::string("job:"), std::string("job:ab"), "job:" + id.hex() + "@",
          "job:" + id.hex() + "@-1", "job:" + id.hex() + "@1x", id.hex() + "@1",
          "job:" + id.hex() + "@99999999999999999999", std::string("./weights")})
        EXPECT_FALSE(registry::parse_init(text).ok()) << text;
}

TEST_F(JobFileTest, MistakesNameFileLineAndKey) {
    EXPECT_NE(message_of(job_text("roundz: 3\n")).find("job.yaml:10: 'roundz'"), std::string::npos);
    EXPECT_NE(message_of(job_text("rounds: 4\n")).find("twice"), std::string::npos);
    write("model.yaml", std::string(kModel) + "layers: 3\n");
    EXPECT_NE(message_of(job_text()).find("model.yaml"), std::string::npos);
    write("model.yaml", kModel);
    write("text.txt", std::string(100, 'a'));
    EXPECT_NE(message_of(job_text()).find("window"), std::string::npos) << message_of(job_text());
    fs::remove(folder_ / "text.txt");
    EXPECT_NE(message_of(job_text()).find("text.txt"), std::string::npos);
}

TEST_F(JobFileTest, ANameIsSubmittedAsTheRootThatItStandsFor) {
    std::string text = job_text();
    text.replace(text.find("text.txt"), 8, "zoo-dataset-v2@3");
    write("job.yaml", text);
    const Digest root = Digest::parse(std::string(64, '7')).value();
    std::optional<std::uint32_t> asked;
    const auto lookup = [&](const registry::DatasetReference& reference) -> Result<Digest> {
        EXPECT_EQ(reference.name, "zoo-dataset-v2");
        asked = reference.version;
        return root;
    };
    const auto job = resolve_job_file(folder_ / "job.yaml", lookup);
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(asked, 3U);
    EXPECT_EQ(job->dataset_root, root);
    EXPECT_FALSE(job->tokens);
    EXPECT_EQ(job->dataset_name, "zoo-dataset-v2@3");
    EXPECT_EQ(registry::parse_submitted_spec(job->yaml, "job").value().dataset_root, root);
    const auto nobody = [](const registry::DatasetReference&) -> Result<Digest> {
        return fail(ErrorCode::kNotFound, "no dataset has the name");
    };
    const auto refused = resolve_job_file(folder_ / "job.yaml", nobody);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
    EXPECT_NE(refused.error().message.find("there is no file"), std::string::npos);
}

TEST_F(JobFileTest, AFileIsTakenBeforeAName) {
    write("job.yaml", job_text());
    const auto never = [](const registry::DatasetReference&) -> Result<Digest> {
        ADD_FAILURE();
        return Digest();
    };
    EXPECT_TRUE(resolve_job_file(folder_ / "job.yaml", never).ok());
}

TEST_F(JobFileTest, AKeyThatCannotBeReplacedIsAnError) {
    std::string flow =
        "{name: t, model: model.yaml, dataset: text.txt, rounds: 3, slots: 2, "
        "steps_per_round: 4, price_per_pflop: 1, budget: 1}\n";
    EXPECT_NE(message_of(flow).find("'model' must stand on a line of its own"), std::string::npos)
        << message_of(flow);
}

TEST_F(JobFileTest, QuotesAreCountedFromTheProgram) {
    const auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    const auto costs = quote(*job, kFree, kBound);
    ASSERT_TRUE(costs.ok()) << costs.error().message;
    EXPECT_GT(costs->flops_per_step, 0U);
    // 3 rounds, 2 workers, 4 steps, one token per GFLOP.
    EXPECT_EQ(costs->flops, Amount(costs->flops_per_step * 24));
    EXPECT_EQ(costs->compute_wei,
              Amount(costs->flops_per_step * 24).mul_div(Amount(1'000'000'000), Amount(1)).value());
    EXPECT_EQ(costs->pflop_day_wei.to_tokens(), "86400000000");
    // 2.5 times the compute, 1.5 times three evaluations, and the reports on three aggregates,
    // which are small.
    const std::uint64_t evaluation =
        program::evaluation_flops(program::train_program(job->config).value(),
                                  job->terms.evaluate_windows)
            .value();
    const Amount units = costs->compute_wei.mul_div(Amount(25), Amount(10)).value();
    const Amount losses = Amount(3 * evaluation).mul_div(Amount(1'500'000'000), Amount(1)).value();
    const Amount known = units.plus(losses).value();
    EXPECT_GT(*costs->most_wei, known);
    EXPECT_LT(*costs->most_wei, known.mul_div(Amount(11), Amount(10)).value());
    EXPECT_LT(*costs->round_wei, *costs->most_wei);
    EXPECT_EQ(costs->rounds_covered, 3U);
}

TEST_F(JobFileTest, AQuoteCountsWhatTheTextCosts) {
    const auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    const protocol::CostRates taxed{2'500'000, 100'000};
    const auto free = quote(*job, kFree, taxed);
    const auto half = quote(*job, DataTerms{Amount(2'000'000'000), 500'000}, taxed);
    const auto whole = quote(*job, DataTerms{Amount(2'000'000'000), 1'000'000}, taxed);
    ASSERT_TRUE(free.ok() && half.ok() && whole.ok());
    EXPECT_TRUE(free->data_wei.is_zero());
    EXPECT_FALSE(half->data_wei.is_zero());
    EXPECT_EQ(whole->data_wei, half->data_wei.plus(half->data_wei).value());
    const Amount fee = whole->data_wei.mul_div(Amount(1), Amount(10)).value();
    EXPECT_EQ(*whole->most_wei, free->most_wei->plus(whole->data_wei)->plus(fee).value());
}

// A number beside which a part is not known would be read as a limit.
TEST_F(JobFileTest, WithoutAPriceOrARateThereIsNoMost) {
    const auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    for (const auto& costs : {quote(*job, {}, kBound), quote(*job, kFree, {})}) {
        ASSERT_TRUE(costs.ok()) << costs.error().message;
        EXPECT_FALSE(costs->most_wei || costs->round_wei || costs->rounds_covered);
        EXPECT_FALSE(costs->compute_wei.is_zero());
    }
}

TEST_F(JobFileTest, ASmallBudgetCoversFewerRounds) {
    auto job = resolve_job_file(folder_ / "job.yaml");
    ASSERT_TRUE(job.ok()) << job.error().message;
    const auto covered = [&](const Amount& budget) {
        job->budget_wei = budget;
        return *quote(*job, kFree, kBound)->rounds_covered;
    };
    const JobQuote costs = quote(*job, kFree, kBound).value();
    EXPECT_EQ(covered(*costs.most_wei), 3U);
    EXPECT_EQ(covered(costs.most_wei->minus(Amount(1)).value()), 2U);
    EXPECT_EQ(covered(*costs.round_wei), 1U);
    EXPECT_EQ(covered(costs.round_wei->minus(Amount(1)).value()), 0U);
}

TEST_F(JobFileTest, TheExamplesAreValid) {
    const char* const source = std::getenv("GYM_SOURCE_DIR");
    ASSERT_NE(source, nullptr) << "set by ctest";
    for (const char* name : {"job.yaml", "continue-job.yaml", "mix-job.yaml", "gpt-demo.yaml"})
        fs::copy_file(fs::path(source) / "examples" / name, folder_ / name,
                      fs::copy_options::overwrite_existing);
    write("kjv.txt", std::string(20'000, 'a'));
    write("mix.tokens", std::string(20'000, 'b'));
    // gym-api, or this machine, puts the mix in the place of the list before.
    const Bytes given = read_file(folder_ / "mix-job.yaml").value();
    std::string mix(given.begin(), given.end());
    const std::size_t list = mix.find("data:"), end = mix.find("\n\n", list);
    ASSERT_NE(end, std::string::npos);
    write("mix-job.yaml", mix.replace(list, end - list, "dataset: mix.tokens"));
    fs::create_directory(folder_ / "exported");
    for (const char* name : {"job.yaml", "continue-job.yaml", "mix-job.yaml"}) {
        const auto job = resolve_job_file(folder_ / name);
        ASSERT_TRUE(job.ok()) << job.error().message;
        const auto costs = quote(*job, kFree, kBound);
        ASSERT_TRUE(costs.ok()) << costs.error().message;
        EXPECT_EQ(costs->rounds_covered, job->terms.rounds) << "its budget is too small: " << name;
    }
}

}  // namespace
}  // namespace gym::app
