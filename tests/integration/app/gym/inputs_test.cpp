// What `gym` says about inputs that are not what they should be, and what is left of a run that
// was interrupted.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "command.hpp"

namespace gym::testing {
namespace {

constexpr int kOk = 0, kFailed = 1, kUsage = 2, kInterrupted = 130;

class Inputs : public ::testing::Test {
  protected:
    [[nodiscard]] std::string path(const char* name) const { return (place_ / name).string(); }
    [[nodiscard]] Outcome gym(std::vector<std::string> arguments) const {
        return run(place_, std::move(arguments));
    }
    void expect(const Outcome& outcome, int exit_code, const std::string& says) const {
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("gym: ")) << outcome.err;
        EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    }
    /// A program and a text to train it on.
    void make_program() const {
        spill(place_ / "model.yaml",
              "batch: 2\nmodel: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 16}\n");
        spill(place_ / "text", std::string(4'000, 'z') + std::string(500, 'y'));
        ASSERT_EQ(gym({"program", "build", path("model.yaml"), "-o", path("p.gym")}).exit_code,
                  kOk);
    }
    [[nodiscard]] std::vector<std::string> unit_run(const char* steps, const char* output) const {
        return {"unit",    "run", path("p.gym"), "--data",    path("text"),
                "--steps", steps, "-o",          path(output)};
    }
    TemporaryFolder place_;
};

TEST_F(Inputs, ATokenFileIsNoTextAndAnEmptyFileIsNeither) {
    spill(place_ / "text", "to be learnt");
    spill(place_ / "empty", "");
    ASSERT_EQ(gym({"data", "build", "--text", path("text"), "-o", path("data")}).exit_code, kOk);
    expect(gym({"data", "build", "--text", path("data"), "-o", path("twice")}), kUsage,
           "/data is a token file already");
    EXPECT_FALSE(std::filesystem::exists(place_ / "twice"));
    expect(gym({"data", "build", "--text", path("empty"), "-o", path("none")}), kUsage,
           "/empty is empty");
    expect(gym({"data", "show", path("empty")}), kFailed, "/empty: the token file is empty");
    expect(gym({"data", "show", path("text")}), kFailed, "/text: not a token file");
    make_program();
    expect(gym({"program", "run", path("p.gym"), "--data", path("empty"), "--steps", "1"}), kUsage,
           "/empty: the text is empty");
}

TEST_F(Inputs, DataThatNeedsBuildingOrFetchingIsSaidToNeedIt) {
    make_program();
    std::filesystem::create_directory(place_ / "jl");
    spill(place_ / "jl/part0.jsonl", "{\"text\": \"" + std::string(4'000, 'z') + "\"}\n");
    const auto train = [&](const std::string& data) {
        return gym({"program", "run", path("p.gym"), "--data", data, "--steps", "1"});
    };
    expect(train(path("jl/part0.jsonl")), kUsage, "`gym data build " + path("jl/part0.jsonl"));
    expect(train(path("jl")), kUsage, "jl is a folder: `gym data build");
    expect(train("my-corpus"), kFailed, "`gym data pull my-corpus -o FILE` downloads it");
    ASSERT_EQ(gym({"data", "build", path("jl/part0.jsonl"), "-o", path("jl/built.json")}).exit_code,
              kOk);
    EXPECT_EQ(train(path("jl/built.json")).exit_code, kOk) << "a token file under any name";
}

TEST_F(Inputs, AConfigurationThatIsNoYamlIsWrongUsageLikeAWrongValue) {
    for (const char* text : {"batch: [1", "just words", "batch: 0", ""}) {
        spill(place_ / "bad.yaml", text);
        expect(gym({"program", "build", path("bad.yaml"), "-o", path("bad")}), kUsage, "bad.yaml");
        expect(gym({"job", "quote", path("bad.yaml")}), kUsage, "bad.yaml");
    }
}

TEST_F(Inputs, AProgramIsNoModelFile) {
    make_program();
    expect(gym({"program", "build", path("p.gym"), "-o", path("again")}), kUsage,
           "p.gym is a program already (`gym program show` describes it)");
}

TEST_F(Inputs, AStateOfAnotherProgramIsSaidToBeOne) {
    make_program();
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "1",
                   "--state", path("state")})
                  .exit_code,
              kOk);
    for (const char* other : {"layers: 1, heads: 2, width: 32", "layers: 2, heads: 2, width: 16"}) {
        spill(place_ / "other.yaml",
              std::string("batch: 2\nmodel: {vocabulary: 256, context: 16, ") + other + "}\n");
        ASSERT_EQ(gym({"program", "build", path("other.yaml"), "-o", path("o.gym")}).exit_code,
                  kOk);
        expect(gym({"program", "evaluate", path("o.gym"), "--data", path("text"), "--state",
                    path("state")}),
               kFailed, "the state is not of this program: ");
    }
}

TEST_F(Inputs, ACommandLineThatDoesNotParseIsAnErrorLineToo) {
    expect(gym({"data", "show"}), kUsage, "gym: dataset is required");
    expect(gym({"nothing"}), kUsage, "gym: ");
}

TEST_F(Inputs, EveryProgramSaysItsVersion) {
    const Outcome version = gym({"--version"});
    EXPECT_EQ(version.exit_code, kOk);
    EXPECT_TRUE(version.out.starts_with("gym 0.")) << version.out;
}

TEST_F(Inputs, AnOutputThatIsNoFileIsRefusedBeforeTraining) {
    make_program();
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    const std::vector<std::string> train{"program",    "run",     path("p.gym"), "--data",
                                         path("text"), "--steps", "1",           "--state"};
    auto to_pipe = train;
    to_pipe.push_back(path("pipe"));
    const Outcome refused = gym(to_pipe);
    expect(refused, kFailed, "/pipe: it is a pipe");
    EXPECT_EQ(refused.out, "");  // no step was made
    EXPECT_TRUE(std::filesystem::is_fifo(place_ / "pipe"));
    expect(gym({"program", "build", path("model.yaml"), "-o", path("pipe")}), kFailed,
           "/pipe: it is a pipe");

    std::filesystem::create_symlink("target", place_ / "link");
    auto to_link = train;
    to_link.push_back(path("link"));
    ASSERT_EQ(gym(to_link).exit_code, kOk);
    EXPECT_TRUE(std::filesystem::is_symlink(place_ / "link"));
    EXPECT_TRUE(std::filesystem::is_regular_file(place_ / "target"));
}

TEST_F(Inputs, InputsThatNoMemoryHoldsOrThatAreNoFilesAreRefusedUnread) {
    make_program();
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    spill(place_ / "huge", "x");
    std::filesystem::resize_file(place_ / "huge", std::uintmax_t{1} << 39);  // a hole
    const auto import = [&](const char* weights) {
        return gym({"program", "import-weights", path("p.gym"), path(weights), "-o", path("s")});
    };
    expect(import("pipe"), kFailed, "/pipe: it is a pipe");
    expect(import("huge"), kUsage, "of memory");
    expect(gym({"generate", path("p.gym"), "--state", path("huge")}), kUsage,
           "the state of another program?");
    expect(gym({"program", "evaluate", path("p.gym"), "--data", path("huge")}), kUsage,
           "of memory");
}

TEST_F(Inputs, AModelThatIsTooLargeForAProgramIsToldWhatToChange) {
    const std::string model =
        "model: {vocabulary: 65536, layers: 1, heads: 2, width: 16, context: ";
    spill(place_ / "wide.yaml", model + "1024}\nbatch: 64\n");
    const Outcome wide = gym({"program", "build", path("wide.yaml"), "-o", path("big")});
    expect(wide, kUsage, "64 windows of 1024 tokens at once are more than a program can hold");
    EXPECT_NE(wide.err.find("the largest batch that is legal and fits"), std::string::npos);
    spill(place_ / "long.yaml", model + "60000}\nbatch: 1\n");
    expect(gym({"program", "build", path("long.yaml"), "-o", path("big")}), kUsage,
           "lower `context`, to at most ");
    EXPECT_FALSE(std::filesystem::exists(place_ / "big"));
}

TEST_F(Inputs, AnEvaluationHasNoMoreWindowsThanThereArePlaces) {
    make_program();
    const std::vector<std::string> evaluate{"program",    "evaluate",  path("p.gym"), "--data",
                                            path("text"), "--windows", "4000000000",  "--json"};
    const Outcome all = gym(evaluate);
    ASSERT_EQ(all.exit_code, kOk) << all.err;
    EXPECT_NE(all.out.find("\"windows\":434,"), std::string::npos) << all.out;  // of 450 tokens
}

TEST_F(Inputs, AnInterruptedUnitGoesOnAndGivesTheSameUnit) {
    make_program();
    const char* steps = "3000";
    ASSERT_EQ(gym(unit_run(steps, "whole.json")).exit_code, kOk);
    EXPECT_FALSE(std::filesystem::exists(place_ / "whole.json.checkpoint"));

    const Command command(place_, unit_run(steps, "unit.json"));
    for (int i = 0; i < 20'000 && !std::filesystem::exists(place_ / "unit.json.checkpoint"); ++i)
        ::usleep(1'000);
    ::usleep(20'000);  // some steps: on any machine fewer than all
    command.send(SIGINT);
    const Outcome interrupted = command.wait();
    ASSERT_EQ(interrupted.exit_code, kInterrupted) << interrupted.err;
    EXPECT_NE(interrupted.err.find("the same command resumes"), std::string::npos)
        << interrupted.err;
    EXPECT_FALSE(std::filesystem::exists(place_ / "unit.json"));

    const Outcome resumed = gym(unit_run(steps, "unit.json"));
    ASSERT_EQ(resumed.exit_code, kOk) << resumed.err;
    EXPECT_NE(resumed.err.find("resuming after step "), std::string::npos) << resumed.err;
    EXPECT_EQ(slurp(place_ / "unit.json"), slurp(place_ / "whole.json"));
    EXPECT_FALSE(std::filesystem::exists(place_ / "unit.json.checkpoint"));
}

}  // namespace
}  // namespace gym::testing
