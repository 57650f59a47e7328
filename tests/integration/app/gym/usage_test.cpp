// What `gym` says about command lines with a word, an address, an amount or a file that is wrong.
// None of them comes as far as a network.
#include <gtest/gtest.h>

#include "command.hpp"

namespace gym::testing {
namespace {

constexpr int kOk = 0, kFailed = 1, kUsage = 2, kRejected = 5;

class Usage : public ::testing::Test {
  protected:
    [[nodiscard]] std::string path(const char* name) const { return (place_ / name).string(); }
    [[nodiscard]] Outcome gym(std::vector<std::string> arguments) const {
        return run(place_, std::move(arguments));
    }
    void expect(const std::vector<std::string>& arguments, int exit_code,
                const std::string& says) const {
        const Outcome outcome = gym(arguments);
        EXPECT_EQ(outcome.exit_code, exit_code) << says << ": " << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("gym: ")) << outcome.err;
        EXPECT_NE(outcome.err.find(says), std::string::npos) << says << ": " << outcome.err;
    }
    TemporaryFolder place_;
};

TEST_F(Usage, AWordThatIsNoCommandIsNamedWithWhatWasMeant) {
    expect({"nod", "start"}, kUsage, "'nod' is not a command of `gym`; did you mean 'node'?");
    expect({"node", "strat"}, kUsage,
           "'strat' is not a command of `gym node`; did you mean 'start'");
    expect({"stake", "foo"}, kUsage,
           "'foo' is not a command of `gym stake`; it has show, add, thaw, withdraw, defender, "
           "recipient");
    expect({"stake", "job"}, kUsage, "'job' is not a command of `gym stake`");
    expect({"wallet", "with"}, kUsage, "did you mean 'withdraw'?");
    // On standard output, as every answer with --json.
    const Outcome json = gym({"--json", "nod", "start"});
    EXPECT_EQ(json.exit_code, kUsage);
    EXPECT_NE(json.out.find("did you mean 'node'?"), std::string::npos) << json.out;
    // A missing or surplus argument is not a wrong word.
    EXPECT_EQ(gym({"stake"}).err.find("not a command"), std::string::npos);
    EXPECT_EQ(gym({"wallet", "show", "much"}).err.find("not a command"), std::string::npos);
}

TEST_F(Usage, AnOptionBeforeItsCommandIsToldItsPlace) {
    expect({"--network", "nope", "node", "status"}, kUsage,
           "'--network' stands before the command: options come after it, as in `gym node status "
           "--network ...`");
}

TEST_F(Usage, AValueOfAnotherKindIsNamedWithItsOption) {
    expect({"program", "run", "p.gym", "--data", "d", "--steps", "many"}, kUsage,
           "'many' is not a value that --steps takes");
    expect({"job", "quote", "--model", "gpt-nano", "--data", "d", "--price", "0"}, kUsage,
           "--price: '0' is not a price: it must be more than 0");
}

TEST_F(Usage, AKeyFileThatOthersMayReadIsRefused) {
    spill(place_ / "open.key", "gym_1_2\n");
    std::filesystem::permissions(place_ / "open.key", std::filesystem::perms(0644));
    for (const char* command : {"list", "quote"})
        expect({"job", command, "--api-key-file", path("open.key")}, kUsage,
               "open.key is open to other users; run chmod 600 on it");
    expect({"job", "list", "--api-key-file", path("none.key")}, kUsage, "no secret file");
}

TEST_F(Usage, HelpAndVersionAreAlsoAskedForByName) {
    const Outcome version = gym({"version"});
    EXPECT_EQ(version.exit_code, kOk) << version.err;
    EXPECT_EQ(version.out, gym({"--version"}).out);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{}, {"stake"}, {"job", "submit"}}) {
        std::vector<std::string> by_name = command, by_flag = command;
        by_name.insert(by_name.begin(), "help");
        by_flag.emplace_back("--help");
        EXPECT_EQ(gym(by_name).exit_code, kOk);
        EXPECT_EQ(gym(by_name).out, gym(by_flag).out);
    }
}

TEST_F(Usage, AWrongOperatorIsFoundBeforeTheNetworkIsAsked) {
    expect({"network", "add", "zoo", "http://127.0.0.1:1", "--operator", "0x12"}, kUsage,
           "--operator");
}

TEST_F(Usage, EveryWrongAddressIsAMistakeOfUsageThatNamesItsFlag) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"stake", "add", "1", "--owner"},
          {"stake", "show", "--address"},
          {"wallet", "deposit", "1", "--owner"},
          {"wallet", "balance", "--address"},
          {"rewards", "show", "--address"},
          {"rewards", "claim", "--address"},
          {"ledger", "verify", "--port", "1", "--signer"}}) {
        const std::string flag = command.back();
        const auto with = [&](const std::string& address) {
            std::vector<std::string> out = command;
            out.push_back(address);
            return out;
        };
        expect(with("0x0"), kUsage,
               flag + ": '0x0' is not an address: 0x and 40 hexadecimal digits are expected");
        expect(with("0x" + std::string(40, '0')), kUsage, flag + ": GYM sent to the zero address");
        expect(with("0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), kUsage,
               "has a wrong checksum (EIP-55)");
    }
}

TEST_F(Usage, AWrongAmountSaysWhatIsExpected) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"stake", "add"}, {"stake", "thaw"}, {"wallet", "deposit"}}) {
        const auto with = [&](const std::string& amount) {
            std::vector<std::string> out = command;
            out.push_back(amount);
            return out;
        };
        for (const char* word : {"abc", "-1", "1e30", "1,5"})
            expect(with(word), kUsage,
                   "'" + std::string(word) +
                       "' is not an amount of GYM: write only digits and a point");
        expect(with("0"), kUsage, "it must be more than 0");
        expect(with("1.5."), kUsage, "write digits before and after a single point");
        expect(with("0.1234567890123456789"), kUsage, "it has 19 decimals");
        expect(with("1" + std::string(70, '0')), kUsage, "it exceeds the largest possible amount");
        expect(with("abc"), kUsage, "(like 12.5, with at most 18 decimals)");
    }
}

TEST_F(Usage, AParameterCheckSaysWhichFileItRead) {
    const Outcome unnamed = gym({"params", "check"});
    ASSERT_EQ(unnamed.exit_code, kOk) << unnamed.err;
    EXPECT_NE(unnamed.out.find("/examples/params.yaml (default file)\n"), std::string::npos)
        << unnamed.out;
    const std::string example =
        slurp(std::getenv("GYM_SOURCE_DIR") + std::string("/examples/params.yaml"));
    spill(place_ / "own.yaml", example);
    const Outcome named = gym({"params", "check", path("own.yaml")});
    ASSERT_EQ(named.exit_code, kOk) << named.err;
    EXPECT_TRUE(named.out.starts_with("parameters of " + path("own.yaml") + "\n")) << named.out;
}

TEST_F(Usage, AParameterCheckChecksTheTermsOfTheContractsWhateverTheFileSays) {
    std::string contracts =
        slurp(std::getenv("GYM_SOURCE_DIR") + std::string("/deploy/config/contracts.yaml"));
    spill(place_ / "same.yaml", contracts);
    const Outcome same = gym({"params", "check", "--contracts", path("same.yaml")});
    EXPECT_EQ(same.exit_code, kOk) << same.err;
    EXPECT_EQ(same.out.find("which is checked"), std::string::npos) << same.out;
    contracts.replace(contracts.find("clock_s: 172800"), 15, "clock_s: 150");
    contracts.replace(contracts.find("settling_s: 345600"), 18, "settling_s: 300");
    spill(place_ / "quick.yaml", contracts);
    const Outcome quick = gym({"params", "check", "--contracts", path("quick.yaml")});
    EXPECT_EQ(quick.exit_code, kRejected) << "clocks shorter than a unit takes\n" << quick.out;
    for (const std::string& told :
         {"\ntimes.clock_s is 150 in " + path("quick.yaml") + ", which is checked (/",
          std::string("/examples/params.yaml says 172800)\n"), std::string("\ntimes.settling_s")})
        EXPECT_NE(quick.out.find(told), std::string::npos) << told << " is not in\n" << quick.out;
    const Outcome json = gym({"params", "check", "--contracts", path("quick.yaml"), "--json"});
    EXPECT_NE(json.out.find(R"({"key":"times.clock_s","written":1.728E5,"deployed":1.5E2})"),
              std::string::npos)
        << json.out;
}

TEST_F(Usage, ADemoLooksAtItsFilesBeforeItRemovesOrStartsANetwork) {
    spill(place_ / "text", std::string(100'000, 'z'));
    spill(place_ / "short", "to be learnt");
    // Remains of an earlier network: a demo would begin by removing them.
    std::filesystem::create_directories(place_ / "net");
    spill(place_ / "net" / "mine", "x");
    const auto demo = [&](const char* text, const char* job) {
        return std::vector<std::string>{"devnet", "demo",     "--root", path("net"),
                                        "--text", path(text), "--job",  path(job)};
    };
    expect(demo("none", "text"), kFailed, "--text: ");
    expect(demo("none", "text"), kFailed, path("none"));
    expect(demo("short", "text"), kUsage, "--text: " + path("short") + " has 12 bytes");
    expect(demo("text", "none"), kFailed, "--job: ");
    EXPECT_EQ(slurp(place_ / "net" / "mine"), "x");
}

}  // namespace
}  // namespace gym::testing
