// Every command of `gym` takes --json and then prints JSON objects, one a line, whatever happens;
// its exit code is the one of the table that `gym --help` shows.
#include <boost/json.hpp>
#include <set>

#include "command.hpp"
#include "fake_backend.hpp"
#include "gym/common/file.hpp"
#include "gym/http_server/server.hpp"
#include "manual_clock.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using gym::testing::Outcome;
using gym::testing::spill;

constexpr int kOk = 0, kFailed = 1, kUsage = 2, kMismatch = 3, kUnavailable = 4, kRejected = 5;

struct Case {
    std::vector<std::string> command;  ///< the leaf's words
    std::vector<std::string> arguments;
    int exit_code = kOk;
};

/// The commands in a help text, below "Subcommands:" or another heading of commands.
std::vector<std::string> subcommands(const std::string& help) {
    std::vector<std::string> out;
    std::istringstream lines(help);
    std::string heading;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) heading.clear();
        if (!line.empty() && line[0] != ' ' && line.back() == ':') heading = line;
        const bool of_commands =
            !heading.empty() && heading != "Options:" && heading != "Positionals:";
        if (of_commands && line.size() > 2 && line[0] == ' ' && line[2] != ' ')
            out.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
    return out;
}

class JsonTest : public ::testing::Test {
  protected:
    void SetUp() override {
        server_ = http_server::Server::start({}, api_).value();
        ::setenv("GYM_API", ("http://127.0.0.1:" + std::to_string(server_->port())).c_str(), 1);
        ::setenv("GYM_API_KEY", testing::kGoodKey, 1);
        ::setenv("GYM_PASSPHRASE", "words", 1);
        ::setenv("GYM_HOME", (place_ / "home").c_str(), 1);
        const std::string model =
            "batch: 1\nmodel: {vocabulary: 256, context: 16, layers: 1, heads: 1, width: 16}\n";
        spill(place_ / "model.yaml", model);
        spill(place_ / "text", std::string(4'000, 'z'));
        spill(place_ / "evaluation.yaml",
              "model: model.yaml\nseed: s\nsteps: 2\nwindows: 2\nreference: reference\n"
              "held_out: held-out\nsalt: \"" +
                  testing::digest_of(1).hex() + "\"\n");
        spill(place_ / "reference", std::string(2'000, 'z') + std::string(2'000, 'a'));
        spill(place_ / "held-out", std::string(200, 'z'));
        spill(place_ / "ids", "97 98");
        spill(place_ / "job.yaml",
              "name: j\nmodel: model.yaml\ndataset: text\nrounds: 1\nslots: 1\n"
              "steps_per_round: 2\nprice_per_pflop: 2\nbudget: 40\nmax_data_price: 1\n");
        std::string params = gym::testing::slurp(std::getenv("GYM_SOURCE_DIR") +
                                                 std::string("/examples/params.yaml"));
        params.replace(params.find("stake: 2000"), 11, "stake: 100");
        spill(place_ / "refused.yaml", params);
        ASSERT_TRUE(write_file_atomic(place_ / "wallet.key",
                                      as_bytes(std::string(testing::kWalletKey)), 0600)
                        .ok());
        backend_.ended = true;
    }
    void TearDown() override {
        server_->stop(1'000);
        for (const char* name : {"GYM_API", "GYM_API_KEY", "GYM_PASSPHRASE", "GYM_HOME"})
            ::unsetenv(name);
    }
    Outcome gym(std::vector<std::string> arguments) { return run(place_, std::move(arguments)); }
    std::string path(const char* name) { return (place_ / name).string(); }

    /// One for each leaf, in an order in which each finds what it needs.
    std::vector<Case> cases() {
        const std::string id = testing::digest_of(1).hex();
        const std::string p = path("p.gym"), text = path("text");
        // Nothing answers on port 1: the chain, the coordinator and the database of these commands.
        const std::string nobody = "127.0.0.1:1";
        const std::vector<std::string> chain{"--chain", "http://" + nobody, "--deployment",
                                             path("deployment.json")};
        const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
            words.insert(words.end(), more.begin(), more.end());
            return words;
        };
        spill(
            path("deployment.json"),
            R"({"chain_id":1,"start_block":1,"token":"0x1111111111111111111111111111111111111111",)"
            R"("distributor":"0x1111111111111111111111111111111111111111",)"
            R"("escrow":"0x1111111111111111111111111111111111111111",)"
            R"("commitment_log":"0x1111111111111111111111111111111111111111",)"
            R"("stake":"0x1111111111111111111111111111111111111111",)"
            R"("dispute_game":"0x1111111111111111111111111111111111111111"})");
        return {
            {{"data", "build"}, {"--text", text, "-o", path("data.bin")}},
            {{"data", "build"}, {path("reference"), "--steps", "none", "-o", path("docs.bin")}},
            {{"data", "verify"}, {path("docs.bin")}},
            {{"data", "mix"},
             {path("docs.bin") + ":1", path("data.bin") + ":1", "-o", path("mix")}},
            {{"data", "steps"}, {}},
            {{"data", "versions"}, {"sample"}},
            {{"data", "visibility"}, {id}, kUsage},
            {{"data", "visibility"}, {id, "public"}, kRejected},
            {{"data", "pull"}, {id, "-o", path("pulled")}, kRejected},
            {{"tokenizer", "show"}, {"bytes"}},
            {{"tokenizer", "encode"}, {"bytes", "--text", text}},
            {{"tokenizer", "decode"}, {"bytes", "--tokens", path("ids")}},
            {{"mirror"}, {"--folder", path("mirror")}, kUsage},
            {{"model", "list"}, {}},
            {{"model", "show"}, {"gpt-nano"}},
            {{"model", "show"}, {"gpt-9"}, kFailed},
            {{"model", "registered"}, {}},
            {{"model", "versions"}, {"sample"}},
            {{"model", "visibility"}, {"sample"}, kUsage},
            {{"model", "visibility"}, {"sample", "public"}},
            {{"model", "push"}, {path("none"), "sample"}, kUsage},
            {{"model", "pull"}, {"sample", "-o", path("pulled-model")}, kMismatch},
            {{"data", "show"}, {path("data.bin")}},
            {{"data", "show"}, {id}},
            {{"data", "register"}, {text, "--licence", "CC0-1.0", "--price", "0.5"}},
            {{"data", "list"}, {}},
            {{"data", "evaluations"}, {}},
            {{"data", "measure"}, {text, "--evaluation", path("evaluation.yaml")}},
            {{"data", "measure"},
             {text, "--evaluation", path("evaluation.yaml"), "--check"},
             kMismatch},
            {{"data", "measure"},
             {text, "--evaluation", path("evaluation.yaml"), "--record", "--host", "127.0.0.1",
              "--port", "1"},
             kUnavailable},
            {{"program", "build"}, {path("model.yaml"), "-o", p}},
            {{"program", "show"}, {p}},
            {{"program", "run"}, {p, "--data", text, "--steps", "2", "--state", path("s.gym")}},
            {{"program", "evaluate"}, {p, "--data", text, "--state", path("s.gym")}},
            {{"program", "export-weights"},
             {p, "--state", path("s.gym"), "-o", path("w.safetensors")}},
            {{"program", "export"}, {p, "--state", path("s.gym"), "-o", path("model")}},
            {{"program", "evaluate"}, {"--model", path("model"), "--data", text}},
            {{"program", "import-weights"}, {p, path("w.safetensors"), "-o", path("w.gym")}},
            {{"program", "import"},
             {path("none.pt"), "--sample-input", "f32[1]", "-o", path("i.gym"), "--state",
              path("i.state")},
             kFailed},
            {{"generate"}, {p, "--state", path("s.gym"), "--tokens", "2"}},
            {{"generate"}, {"--model", path("model"), "--prompt", "ab", "--logits"}},
            {{"unit", "run"}, {p, "--data", text, "--steps", "2", "-o", path("unit.json")}},
            {{"unit", "verify"}, {path("unit.json"), "--program", p, "--data", text}},
            {{"wallet", "new"}, {}},
            {{"wallet", "show"}, {}},
            {{"wallet", "balance"}, {}},
            {{"wallet", "statement"}, {"--address", testing::address_of(1).hex()}},
            {{"wallet", "statement"}, {"--address", testing::address_of(2).hex()}, kRejected},
            {{"wallet", "deposit"}, with({"1"}, chain), kUnavailable},
            {{"wallet", "withdraw"}, with({"1"}, chain), kUnavailable},
            {{"wallet", "leave"}, chain, kUnavailable},
            {{"rewards", "show"}, {}},
            {{"rewards", "explain"}, {"00000000-0000-8000-8000-000000000000"}},
            {{"rewards", "explain"}, {id}},
            {{"rewards", "audit"}, chain, kUnavailable},
            {{"rewards", "claim"}, chain, kUnavailable},
            {{"rewards", "disable"}, with({"1"}, chain), kUnavailable},
            {{"rewards", "demand"}, with({"1"}, chain), kUnavailable},
            {{"rewards", "reclaim"}, with({"1"}, chain), kUnavailable},
            {{"stake", "show"}, chain, kUnavailable},
            {{"stake", "add"}, with({"1"}, chain), kUnavailable},
            {{"stake", "thaw"}, with({"1"}, chain), kUnavailable},
            {{"stake", "withdraw"}, chain, kUnavailable},
            {{"stake", "defender"}, with({"none"}, chain), kUnavailable},
            {{"stake", "recipient"}, with({testing::address_of(1).hex()}, chain), kUnavailable},
            {{"dispute", "list"}, chain, kUnavailable},
            {{"dispute", "show"}, with({id}, chain), kUnavailable},
            {{"dispute", "watch"}, chain, kUnavailable},
            {{"job", "quote"}, {path("job.yaml")}},
            {{"job", "submit"},
             {path("job.yaml"), "--deployment", path("deployment.json"), "--api-key-file",
              path("wallet.key")}},
            {{"job", "list"}, {}},
            {{"job", "status"}, {id}},
            {{"job", "visibility"}, {id}, kUsage},
            {{"job", "visibility"}, {id, "public"}},
            {{"job", "bill"}, {id}},
            {{"job", "watch"}, {id}},
            {{"job", "export"}, {id, "-o", path("exported")}, kMismatch},
            {{"job", "fund"},
             {id, "0.000000000000001", "--deployment", path("deployment.json"), "--api-key-file",
              path("wallet.key")}},
            {{"job", "pause"}, {id}},
            {{"job", "resume"}, {id}},
            {{"job", "cancel"}, {id}},
            {{"network", "add"}, {"main", nobody}, kUsage},
            {{"network", "add"}, {"../main", "http://" + nobody}, kUsage},
            {{"network", "add"}, {"main", "http://" + nobody}, kUnavailable},
            {{"network", "list"}, {}},
            {{"network", "show"}, {}, kFailed},
            {{"network", "update"}, {"main"}, kFailed},
            {{"network", "use"}, {"main"}, kFailed},
            {{"network", "remove"}, {"main"}, kFailed},
            {{"wallet", "balance"}, {"--network", "main"}, kUsage},
            {{"register"}, {"--coordinator", nobody}, kUnavailable},
            {{"register"}, {"--network", "main"}, kFailed},
            {{"start"}, {}, kUsage},
            {{"start"}, {"--coordinator", nobody, "--threads", "x"}, kUsage},
            {{"node", "register"}, {"--coordinator", nobody}, kUnavailable},
            {{"node", "start"}, {"--coordinator", nobody, "--threads", "x"}, kUsage},
            {{"node", "status"}, {"--coordinator", nobody}, kUnavailable},
            {{"node", "doctor"}, {"--coordinator", nobody}, kFailed},
            {{"node", "bench"}, {"--device", "tpu"}, kUsage},
            {{"devnet", "up"}, {"--workers", "0"}, kUsage},
            {{"devnet", "down"}, {"--root", path("none")}},
            {{"devnet", "demo"}, {}, kUsage},
            {{"ledger", "verify"}, {"--host", "127.0.0.1", "--port", "1"}, kUnavailable},
            {{"ledger", "prove"},
             {"00000000-0000-8000-8000-000000000000", "--host", "127.0.0.1", "--port", "1"},
             kUnavailable},
            {{"ledger", "prove"},
             {ledger::to_uuid(testing::sample_transfer_proof().transfer.id), "--api",
              std::getenv("GYM_API")}},
            {{"operator", "migrate"}, {"--host", "127.0.0.1", "--port", "1"}, kUnavailable},
            {{"operator", "publish-evaluation"},
             {path("evaluation.yaml"), "--host", "127.0.0.1", "--port", "1"},
             kUnavailable},
            {{"operator", "retire-evaluation"},
             {path("evaluation.yaml"), "--host", "127.0.0.1", "--port", "1"},
             kUnavailable},
            {{"operator", "deploy-contracts"}, {path("none.yaml")}, kFailed},
            {{"operator", "sign-profile"}, {path("none.yaml")}, kFailed},
            {{"operator", "announce"}, with({"growth-limit", "1"}, chain), kUnavailable},
            {{"operator", "announce"}, with({"fees", "1"}, chain), kUsage},
            {{"operator", "changes"}, chain, kUnavailable},
            {{"operator", "execute"}, with({id}, chain), kUnavailable},
            {{"operator", "cancel"}, with({id}, chain), kUnavailable},
            {{"operator", "revoke"},
             with({"settler", testing::address_of(1).hex()}, chain),
             kUnavailable},
            {{"operator", "lower"}, with({"release-cap", "1"}, chain), kUnavailable},
            {{"params", "check"}, {}},
            {{"params", "check"}, {path("refused.yaml")}, kRejected},
        };
    }

    gym::testing::TemporaryFolder place_;
    testing::FakeBackend backend_;
    gym::testing::ManualClock clock_{20'000};
    Api api_{{backend_, backend_, backend_, clock_}, {}};
    std::unique_ptr<http_server::Server> server_;
};

void expect_json_lines(const Outcome& outcome, const std::string& what) {
    std::istringstream lines(outcome.out);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        json::error_code error;
        const json::value value = json::parse(line, error);
        ASSERT_FALSE(error) << what << " printed: " << line;
        ASSERT_TRUE(value.is_object()) << what << " printed: " << line;
        EXPECT_EQ(value.as_object().contains("error"),
                  outcome.exit_code != kOk && value.as_object().size() == 1)
            << what << ": " << line;
    }
    EXPECT_GT(count, 0U) << what << " printed nothing: " << outcome.err;
}

TEST_F(JsonTest, EveryCommandPrintsObjectsWhateverHappens) {
    for (const Case& one : cases()) {
        std::vector<std::string> command = one.command;
        std::string what;
        for (const std::string& word : command)
            what += word + " ";
        command.insert(command.end(), one.arguments.begin(), one.arguments.end());
        command.emplace_back("--json");
        const Outcome outcome = gym(command);
        EXPECT_EQ(outcome.exit_code, one.exit_code) << what << outcome.err << outcome.out;
        expect_json_lines(outcome, what);
        if (what == "wallet new ")  // orders are signed with it
            backend_.wallet =
                Address::parse(
                    std::string(json::parse(outcome.out).as_object().at("address").as_string()))
                    .value();
    }
}

TEST_F(JsonTest, TheTableHasEveryCommand) {
    std::set<std::string> found, tested;
    for (const std::string& group : subcommands(gym({"--help"}).out)) {
        const auto leaves = subcommands(gym({group, "--help"}).out);
        for (const std::string& leaf : leaves)
            found.insert(group + " " + leaf);
        if (leaves.empty()) found.insert(group);
    }
    for (const Case& one : cases())
        tested.insert(one.command.size() == 1 ? one.command[0]
                                              : one.command[0] + " " + one.command[1]);
    EXPECT_GT(found.size(), 25U);
    EXPECT_EQ(found, tested);
}

TEST_F(JsonTest, WrongUsageIsAnObjectToo) {
    for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--json"},
                                                  {"job", "--json"},
                                                  {"job", "status", "--json"},
                                                  {"--json", "wallet", "deposit", "1", "2"},
                                                  {"nothing", "--json"}}) {
        const Outcome outcome = gym(wrong);
        EXPECT_EQ(outcome.exit_code, kUsage);
        expect_json_lines(outcome, "wrong usage");
        EXPECT_TRUE(outcome.err.empty()) << outcome.err;
    }
    EXPECT_EQ(gym({"wallet", "new"}).exit_code, kOk);
    EXPECT_EQ(gym({"wallet", "new", "--json"}).exit_code, kRejected)
        << "a key is never overwritten";
}

}  // namespace
}  // namespace gym::api
