// `gym data build` of documents, and what follows from it: files and formats, a full disk, an
// object store, bounded memory.
#include <sys/resource.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <random>

#include "command.hpp"
#include "gym/common/data_folder.hpp"
#include "gym/common/subprocess.hpp"
#include "object_store.hpp"
#include "random_seed.hpp"

namespace gym::testing {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr int kOk = 0, kFailed = 1, kUsage = 2, kMismatch = 3, kUnavailable = 4;

class DataCommands : public ::testing::Test {
  protected:
    [[nodiscard]] std::string path(const std::string& name) const {
        return (place_ / name).string();
    }
    [[nodiscard]] Outcome gym(std::vector<std::string> arguments) const {
        return run(place_, std::move(arguments));
    }
    [[nodiscard]] json::object gym_json(std::vector<std::string> arguments) const {
        arguments.emplace_back("--json");
        const Outcome outcome = gym(std::move(arguments));
        EXPECT_EQ(outcome.exit_code, kOk) << outcome.err << outcome.out;
        if (outcome.exit_code != kOk) return {};
        return json::parse(outcome.out).as_object();
    }
    void put(const std::string& name, const std::string& content) const {
        fs::create_directories((place_ / name).parent_path());
        spill(place_ / name, content);
    }
    /// Lines of JSON with random words, every third document a repetition.
    static std::string lines(int count, std::uint64_t seed = 1) {
        std::mt19937_64 random(seed);
        std::string out;
        for (int i = 0; i < count; ++i) {
            std::string text;
            for (int w = 0; w < 40; ++w)
                text += "word" + std::to_string(random() % 10'000) + ' ';
            if (i % 3 == 2) text = "a text that stands here again and again";
            out += json::serialize(json::object{{"text", text}, {"id", i}}) + '\n';
        }
        return out;
    }
    TemporaryFolder place_;
};

TEST_F(DataCommands, AFolderBecomesATokenFileAndATableOfWhatWasRemoved) {
    put("corpus/a.jsonl", lines(9));
    put("corpus/b.txt", "A text by someone@example.org.\r\n");
    const auto built = gym({"data", "build", path("corpus"), "-o", path("out"), "--threads", "2"});
    ASSERT_EQ(built.exit_code, kOk) << built.err;
    EXPECT_NE(built.out.find("exact-dedup                  10          2"), std::string::npos)
        << built.out;
    const json::object again = gym_json({"data", "build", path("corpus"), "-o", path("out2")});
    EXPECT_EQ(again.at("documents_kept"), 8);
    EXPECT_NE(built.out.find(again.at("manifest_root").as_string().c_str()), std::string::npos);
    EXPECT_EQ(again.at("steps").as_array().size(), 3U + 4U);
    const json::object shown = gym_json({"data", "show", path("out2")});
    for (const auto& member : shown)
        EXPECT_EQ(again.at(member.key()), member.value()) << member.key();
    const json::object verified = gym_json({"data", "verify", path("out2")});
    EXPECT_EQ(verified.at("manifest_root"), again.at("manifest_root"));
    EXPECT_EQ(verified.at("removed").as_object().at("exact-dedup"), 2);
}

TEST_F(DataCommands, VerifyFindsWhatDoesNotBelongTogether) {
    put("a.jsonl", lines(9));
    put("b.jsonl", lines(9, 2));
    for (const char* name : {"a", "b"})
        (void)gym_json({"data", "build", path(std::string(name) + ".jsonl"), "-o", path(name)});
    EXPECT_EQ(gym({"data", "verify", path("a"), "--manifest", path("b.manifest.jsonl")}).exit_code,
              kMismatch);
    EXPECT_EQ(gym({"data", "verify", path("a"), "--root", std::string(64, '0')}).exit_code,
              kMismatch);
    EXPECT_EQ(gym({"data", "verify", path("none")}).exit_code, kFailed);
}

TEST_F(DataCommands, AMixNamesItsParts) {
    put("a.jsonl", lines(60));
    put("b.jsonl", lines(60, 2));
    for (const char* name : {"a", "b"})
        (void)gym_json({"data", "build", path(std::string(name) + ".jsonl"), "-o", path(name)});
    const json::object mixed =
        gym_json({"data", "mix", path("a") + ":0.75", path("b") + ":0.25", "-o", path("mix")});
    const json::array& inputs = mixed.at("inputs").as_array();
    const auto taken = [&](std::size_t i) { return inputs[i].at("taken").to_number<double>(); };
    EXPECT_NEAR(taken(0) / (taken(0) + taken(1)), 0.75, 0.05);
    EXPECT_EQ(gym_json({"data", "verify", path("mix")}).at("manifest_root"),
              mixed.at("manifest_root"));
    EXPECT_EQ(gym({"data", "mix", path("a"), path("b") + ":1", "-o", path("mix")}).exit_code,
              kUsage);
}

TEST_F(DataCommands, StepsAreListedWithTheirRules) {
    const auto listed = gym({"data", "steps"});
    ASSERT_EQ(listed.exit_code, kOk);
    for (const char* text : {"gopher-quality", "arXiv:2112.11446", "minhash", "web"})
        EXPECT_NE(listed.out.find(text), std::string::npos) << text;
}

TEST_F(DataCommands, WrongUsesNameTheRemedy) {
    put("a.jsonl", lines(3));
    const auto expect = [&](std::vector<std::string> more, int code, const std::string& cause) {
        std::vector<std::string> arguments{"data", "build", "-o", path("out")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = gym(std::move(arguments));
        EXPECT_EQ(outcome.exit_code, code) << outcome.err;
        EXPECT_NE(outcome.err.find(cause), std::string::npos) << outcome.err;
        EXPECT_FALSE(fs::exists(place_ / "out"));
    };
    expect({}, kUsage, "--text");
    expect({path("a.jsonl"), "--text", path("a.jsonl")}, kUsage, "--text takes one text");
    expect({path("a.jsonl"), "--steps", "normalize"}, kUsage, "gym data steps");
    expect({path("a.jsonl"), "--steps", "language"}, kUsage, "--languages");
    expect({path("a.jsonl"), "--documents", "pages"}, kUsage, "blank-lines");
    expect({path("a.jsonl"), "--index-memory", "big"}, kUsage, "512M");
    expect({path("a.jsonl"), "--text-key", "body"}, kFailed, "a.jsonl:1: no text under 'body'");
    expect({path("a.jsonl"), "--context", "100000"}, kUsage, "too short");
    expect({path("a.jsonl"), "--licences", "MIT"}, kUsage, "licence removed 3");
    put("bad.gz", "no gzip");
    expect({path("bad.gz")}, kFailed, "bad.gz is not a gzip file");
}

/// Runs `gym` by a shell, behind a limit of the size of files that it may write.
Outcome run_limited(const TemporaryFolder& place, int blocks, std::vector<std::string> arguments) {
    std::vector<std::string> argv{
        "sh", "-c", "ulimit -f " + std::to_string(blocks) + "; exec \"$0\" \"$@\"", GYM_PROGRAM};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    Outcome out;
    auto child = Subprocess::start({.argv = argv, .env = {}, .log_file = place / "limited"});
    EXPECT_TRUE(child.ok());
    out.exit_code = child->wait(60'000).value_or(-1);
    out.err = slurp(place / "limited");
    return out;
}

TEST_F(DataCommands, ADiskThatFillsIsSaidAndTheBuildContinuesWhereThereIsRoom) {
    // 30 MB in several files: checkpoints are 64 MiB of text apart, so only the error makes one.
    for (int i = 0; i < 3; ++i)
        put("corpus/" + std::to_string(i) + ".jsonl", lines(20'000, static_cast<std::uint64_t>(i)));
    const std::vector<std::string> command{
        "data",      "build",   path("corpus"),          "-o",
        path("out"), "--steps", "normalise,exact-dedup", "--json"};
    constexpr int kBlocks = 8192;  // of 512 bytes or a KiB, by the shell
    const auto full = run_limited(place_, kBlocks, command);
    EXPECT_EQ(full.exit_code, kFailed) << full.err;
    EXPECT_NE(full.err.find("make room and run the command again"), std::string::npos) << full.err;
    EXPECT_FALSE(fs::exists(place_ / "out"));
    const Outcome after = gym(command);
    ASSERT_EQ(after.exit_code, kOk) << after.err;
    auto fresh = command;
    fresh[4] = path("fresh");
    const auto root = [](const Outcome& outcome) {
        return json::parse(outcome.out).as_object().at("manifest_root");
    };
    EXPECT_EQ(root(after), root(gym(fresh)));
    EXPECT_FALSE(fs::exists(place_ / "out.work"));
}

TEST_F(DataCommands, MemoryIsBoundedWhateverTheInputsSize) {
    // 30 MB of text at a scale of 1, with an index of as many documents.
    const int files = static_cast<int>(10 * test_scale());
    for (int i = 0; i < files; ++i)
        put("corpus/" + std::to_string(i) + ".jsonl",
            lines(13'000, static_cast<std::uint64_t>(100 + i)));
    const json::object built =
        gym_json({"data", "build", path("corpus"), "-o", path("out"), "--threads", "2"});
    EXPECT_GT(built.at("text_bytes_read").to_number<std::uint64_t>(),
              static_cast<std::uint64_t>(files) * 3'000'000U);
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    // Batches of 8 MiB in several forms, and 200 bytes for each document in the index.
    EXPECT_LT(usage.ru_maxrss, 220 * 1024 + files * 13 * 200) << "KiB";
}

TEST_F(DataCommands, AnOutputThatIsAnInputIsRefused) {
    put("a.txt", "a text to keep");
    put("b.txt", "another text to keep");
    const auto refused = [&](std::vector<std::string> arguments) {
        const auto outcome = gym(std::move(arguments));
        EXPECT_EQ(outcome.exit_code, 2) << outcome.out << outcome.err;
        EXPECT_NE((outcome.out + outcome.err).find("is also an input"), std::string::npos)
            << outcome.out << outcome.err;
    };
    refused({"data", "build", "--text", path("a.txt"), "-o", path("a.txt")});
    refused(
        {"data", "build", path("a.txt"), path("b.txt"), "--steps", "none", "-o", path("b.txt")});
    EXPECT_EQ(slurp(path("a.txt")), "a text to keep");
    EXPECT_EQ(slurp(path("b.txt")), "another text to keep");
    for (const char* name : {"a", "b"})
        ASSERT_EQ(gym({"data", "build", "--text", path(std::string(name) + ".txt"), "-o",
                       path(std::string(name) + ".tokens")})
                      .exit_code,
                  0);
    const std::string before = slurp(path("a.tokens"));
    refused(
        {"data", "mix", path("a.tokens") + ":1", path("b.tokens") + ":1", "-o", path("a.tokens")});
    EXPECT_EQ(slurp(path("a.tokens")), before);
}

TEST_F(DataCommands, ParquetReadsAsTheSameRowsInJsonLines) {
    ASSERT_TRUE(has_test_tools()) << "`make setup` installs the npm packages";
    const std::string script =
        "import { parquetWriteFile } from 'hyparquet-writer'\n"
        "import { readFileSync } from 'node:fs'\n"
        "const rows = readFileSync('" +
        path("a.jsonl") +
        "', 'utf8').trim().split('\\n').map(JSON.parse)\n"
        "await parquetWriteFile({ filename: '" +
        path("b.parquet") +
        "', rowGroupSize: 1000, columnData: [\n"
        "  { name: 'text', data: rows.map(r => r.text), type: 'STRING' },\n"
        "  { name: 'id', data: rows.map(r => BigInt(r.id)), type: 'INT64' }] })\n";
    put("a.jsonl", lines(5000));
    // Beside the packages, where Node looks for them.
    const fs::path file = test_tool("write_test_" + std::to_string(::getpid()) + ".mjs");
    spill(file, script);
    const auto wrote = run_command({.argv = {"node", file.string()}}, 60'000);
    fs::remove(file);
    ASSERT_TRUE(wrote.ok()) << wrote.error().message;
    const json::object rows =
        gym_json({"data", "build", path("b.parquet"), "-o", path("b"), "--steps", "none"});
    const json::object reference =
        gym_json({"data", "build", path("a.jsonl"), "-o", path("a"), "--steps", "none"});
    EXPECT_EQ(rows.at("dataset_root"), reference.at("dataset_root"));
    EXPECT_EQ(rows.at("documents_kept"), 5000);
    fs::resize_file(place_ / "b.parquet", fs::file_size(place_ / "b.parquet") / 2);
    const auto cut = gym({"data", "build", path("b.parquet"), "-o", path("c")});
    EXPECT_EQ(cut.exit_code, kFailed);
    EXPECT_NE(cut.err.find("b.parquet: not a readable Parquet file"), std::string::npos) << cut.err;
}

TEST_F(DataCommands, ANameInAnErrorDoesNotSteerTheTerminal) {
    const std::string name =
        "a\x1b]0;owned\a\xc2\x9b"
        "31m.txt";
    const Outcome missing = gym({"data", "build", path(name), "-o", path("out")});
    EXPECT_EQ(missing.exit_code, kFailed);
    EXPECT_NE(missing.err.find("a]0;owned31m.txt"), std::string::npos) << missing.err;
    EXPECT_EQ(missing.err.find_first_of("\x1b\a\xc2"), std::string::npos);
}

TEST_F(DataCommands, ObjectsOfABucketReadAsFilesAndAMissingOneIsContinuedFrom) {
    ASSERT_TRUE(has_test_tools()) << "`make setup` installs the npm packages";
    const ObjectStore store(place_);
    ASSERT_FALSE(store.url().empty());
    put("in/a.jsonl", lines(2000));
    put("in/b b.jsonl", lines(2000, 2));
    store.put(place_ / "in/a.jsonl", "text/a.jsonl");
    std::vector<std::string> command{"data",
                                     "build",
                                     "s3://corpus/text/a.jsonl",
                                     "s3://corpus/text/b b.jsonl",
                                     "-o",
                                     path("out"),
                                     "--s3-endpoint",
                                     store.url()};
    const auto missing = gym(command);
    EXPECT_EQ(missing.exit_code, kFailed) << missing.err;
    EXPECT_NE(missing.err.find("s3://corpus/text/b b.jsonl: HTTP status 404"), std::string::npos)
        << missing.err;
    store.put(place_ / "in/b b.jsonl", "text/b%20b.jsonl");
    const json::object continued = gym_json(command);
    EXPECT_EQ(continued.at("continued"), true);
    const json::object prefix = gym_json(
        {"data", "build", "s3://corpus/text/", "-o", path("out2"), "--s3-endpoint", store.url()});
    const json::object local = gym_json({"data", "build", path("in"), "-o", path("out3")});
    EXPECT_EQ(continued.at("dataset_root"), local.at("dataset_root"));
    EXPECT_EQ(prefix.at("dataset_root"), local.at("dataset_root"));
    EXPECT_EQ(prefix.at("manifest_root"), continued.at("manifest_root"));
    const auto none = gym({"data", "build", "s3://corpus/nothing/", "-o", path("out4"),
                           "--s3-endpoint", store.url()});
    EXPECT_EQ(none.exit_code, kUsage) << none.err;
    const auto nobody = gym({"data", "build", "s3://corpus/text/", "-o", path("out4"),
                             "--s3-endpoint", "http://127.0.0.1:1"});
    EXPECT_EQ(nobody.exit_code, kUnavailable) << nobody.err;
}

}  // namespace
}  // namespace gym::testing
