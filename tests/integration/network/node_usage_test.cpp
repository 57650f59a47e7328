// Messages and exit codes of the node commands when they are used wrongly or the world is not as
// they need it.

#include <boost/json.hpp>
#include <csignal>
#include <map>
#include <set>

#include "gym/node/device_errors.hpp"
#include "manual_clock.hpp"
#include "node_process.hpp"
#include "raw_socket.hpp"

namespace gym {
namespace {

namespace json = boost::json;
using testing::program;

constexpr int kFailed = 1, kUsage = 2, kMismatch = 3, kUnavailable = 4, kRefused = 5,
              kInterrupted = 130;

class NodeUsageTest : public testing::NodeProcess {
  protected:
    void SetUp() override {
        NodeProcess::SetUp();
        handler_.registered.insert(key_.address());
        handler_.tasks.clear();
    }
    /// The objects that a command with --json printed, one a line.
    static std::vector<json::object> lines(const Ended& ended) {
        std::vector<json::object> out;
        std::istringstream text(ended.text);
        for (std::string line; std::getline(text, line);)
            out.push_back(json::parse(line).as_object());
        return out;
    }
    /// `gym node ARGUMENTS`, then the usual flags, each replaced where `changes` says so.
    Ended node(std::vector<std::string> arguments,
               const std::vector<std::pair<std::string, std::string>>& changes = {}) {
        arguments.insert(arguments.begin(), {program("gym"), "node"});
        SubprocessOptions options = command(std::move(arguments));
        for (const auto& [flag, value] : changes) {
            const auto at = std::ranges::find(options.argv, flag);
            if (at != options.argv.end())
                *(at + 1) = value;
            else
                options.argv.insert(options.argv.end(), {flag, value});
        }
        return run(options);
    }
    void expect(const Ended& ended, int code, const std::string& text) {
        EXPECT_EQ(ended.code, code) << ended.text;
        EXPECT_NE(ended.text.find(text), std::string::npos) << text << "\n" << ended.text;
        EXPECT_EQ(std::ranges::count(ended.text, '\n'), 1) << "one sentence: " << ended.text;
    }
    std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
    /// Serves with a clock that is off by so much.
    void shift_clock(std::int64_t by_ms) {
        server_.reset();
        shifted_ = std::make_unique<testing::ManualClock>(clock_.now_ms() + by_ms);
        handler_.info.server_ms = shifted_->now_ms();
        server_ = rpc::Server::start({.ask_every_ms = 50}, handler_, *shifted_).value();
    }
    std::unique_ptr<testing::ManualClock> shifted_;
};

TEST_F(NodeUsageTest, NoCoordinator) {
    for (const char* sub : {"register", "start", "status"}) {
        expect(node({sub}, {{"--coordinator", "127.0.0.1:1"}}), kUnavailable,
               "no coordinator answers at 127.0.0.1:1: Connection refused");
        expect(node({sub}, {{"--coordinator", "somewhere"}}), kUsage, "host:port is expected");
        expect(node({sub}, {{"--coordinator", "10.9.8.7:7600"}}), kUsage, "--insecure");
    }
    EXPECT_TRUE(handler_.calls.empty());
}

TEST_F(NodeUsageTest, PlaintextElsewhereNeedsTheWord) {
    // With it the node dials (192.0.2.0/24 is nobody, RFC 5737): the refusal is the network's.
    const Ended allowed = node({"register", "--insecure"}, {{"--coordinator", "256.0.0.1:7600"}});
    expect(allowed, kUnavailable, "is not known (DNS)");
}

TEST_F(NodeUsageTest, SomethingElseListens) {
    const testing::StallingPort port;
    const std::jthread hangs_up([&port](const std::stop_token& stop) {
        while (!stop.stop_requested())
            if (port.dialled_within(std::chrono::milliseconds(20)))
                port.answer_with("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    expect(node({"status"}, {{"--coordinator", "127.0.0.1:" + std::to_string(port.port())}}),
           kUnavailable, "is it the right port?");
}

TEST_F(NodeUsageTest, KeysAndPassphrases) {
    ASSERT_TRUE(write_file_atomic(dir_.path() / "other", as_bytes("wrong\n"), 0600).ok());
    ASSERT_TRUE(write_file_atomic(dir_.path() / "open", as_bytes("secret\n"), 0644).ok());
    for (const char* sub : {"start", "status"}) {
        // A service does not try again.
        expect(node({sub}, {{"--passphrase-file", path("other")}}), kUsage,
               "wrong passphrase (or the keystore was altered): is " + path("other"));
        expect(node({sub}, {{"--passphrase-file", path("open")}}), kUsage, "chmod 600");
        expect(node({sub}, {{"--passphrase-file", path("none")}}), kUsage, path("none"));
        expect(node({sub}, {{"--keystore", "none.json"}}), kFailed, "gym node register");
    }
}

TEST_F(NodeUsageTest, ARefusedRegistrationLeavesNoKeyBehind) {
    const Ended ended =
        node({"register"}, {{"--keystore", "new.json"}, {"--coordinator", "127.0.0.1:1"}});
    EXPECT_EQ(ended.code, kUnavailable) << ended.text;
    EXPECT_FALSE(std::filesystem::exists(path("new.json")));
}

TEST_F(NodeUsageTest, DisksThatCannotBeWritten) {
    // A file where the folder should be: refused for root, too, whom no permission stops.
    ASSERT_TRUE(write_file_atomic(dir_.path() / "file", as_bytes("x")).ok());
    const std::string keystore = path("key.json");
    expect(node({"register"}, {{"--data-dir", path("file")}}), kFailed, "--data-dir");
    expect(node({"start"}, {{"--data-dir", "/proc"}, {"--keystore", keystore}}), kFailed,
           "cannot lock /proc/lock");
    const Ended doctor = node({"doctor"}, {{"--data-dir", "/proc"}, {"--keystore", keystore}});
    EXPECT_EQ(doctor.code, kFailed);
    EXPECT_NE(doctor.text.find("FAIL disk"), std::string::npos) << doctor.text;
    EXPECT_NE(doctor.text.find("choose another data_dir"), std::string::npos) << doctor.text;
}

TEST_F(NodeUsageTest, DoctorMakesEveryCheckWhateverIsMissing) {
    const auto results = [&](const Ended& doctor) {
        EXPECT_EQ(doctor.code, kFailed) << doctor.text;
        std::map<std::string, bool> out;
        for (const json::object& finding : lines(doctor))
            out[std::string(finding.at("check").as_string())] = finding.at("ok").as_bool();
        EXPECT_EQ(out.size(), 8U) << doctor.text;
        return out;
    };
    auto without_key = results(node({"--json", "doctor"}, {{"--keystore", "none.json"}}));
    EXPECT_FALSE(without_key["key"]);
    EXPECT_TRUE(without_key["coordinator"]) << "what is not signed needs no key";
    EXPECT_TRUE(without_key["chain"]);
    EXPECT_FALSE(without_key["registration"]);
    EXPECT_FALSE(without_key["disputes"]);
    auto alone = results(node({"--json", "doctor"}, {{"--coordinator", "127.0.0.1:1"}}));
    EXPECT_TRUE(alone["key"]);
    EXPECT_FALSE(alone["coordinator"]);
    EXPECT_FALSE(alone["chain"]);
    EXPECT_FALSE(alone["registration"]);
    EXPECT_FALSE(alone["disputes"]);
}

TEST_F(NodeUsageTest, AWrongClockIsNamedWithItsRemedy) {
    shift_clock(600'000);
    expect(node({"register"}), kUnavailable, "s off the coordinator's: set it");
    expect(node({"status"}), kRefused, "set this machine's clock");
    const Ended doctor = node({"doctor"});
    EXPECT_EQ(doctor.code, kFailed);
    EXPECT_NE(doctor.text.find("clock is"), std::string::npos) << doctor.text;
}

TEST_F(NodeUsageTest, AnotherChainThanTheNodesIsAMismatch) {
    expect(node({"start", "--commitment-log", key_.address().hex()}), kMismatch,
           "this node is set to");
    expect(node({"start", "--commitment-log", "0x12"}), kUsage, "is not an address");
    expect(node({"start", "--chain-rpc", "nonsense"}), kUsage, "chain_rpc");
}

TEST_F(NodeUsageTest, WhoNeedsAStakeNeedsTheGame) {
    const auto finding = [&](const Ended& doctor) {
        for (const json::object& one : lines(doctor))
            if (one.at("check").as_string() == "disputes") return one;
        return json::object{{"ok", nullptr}, {"detail", doctor.text}};
    };
    EXPECT_TRUE(finding(node({"--json", "doctor"})).at("ok").as_bool()) << "nothing is at stake";
    {
        const std::scoped_lock lock(handler_.mutex);
        handler_.info.minimum_stake = Amount::parse_tokens("100").value();
    }
    const std::string says = "a stake of 100 GYM on, but dispute_game is not set";
    const json::object missing = finding(node({"--json", "doctor"}));
    EXPECT_FALSE(missing.at("ok").as_bool());
    EXPECT_NE(missing.at("detail").as_string().find(says), json::string::npos) << missing;
    const Ended refused = node({"start"});
    EXPECT_EQ(refused.code, kUsage) << refused.text;
    EXPECT_NE(refused.text.find(says), std::string::npos) << refused.text;
    EXPECT_NE(refused.text.find("--dispute-game"), std::string::npos) << refused.text;
    for (const auto& [game, why] : {std::pair{"0x12", "dispute_game: '0x12' is not an address"},
                                    {"0x1111111111111111111111111111111111111111",
                                     "dispute_game needs chain_rpc (--chain-rpc)"}}) {
        const Ended ended = node({"start", "--dispute-game", game});
        EXPECT_EQ(ended.code, kUsage) << ended.text;
        EXPECT_NE(ended.text.find(why), std::string::npos) << ended.text;
        const json::object bad = finding(node({"--json", "doctor", "--dispute-game", game}));
        EXPECT_FALSE(bad.at("ok").as_bool());
        EXPECT_NE(bad.at("detail").as_string().find(why), json::string::npos) << bad;
    }
    EXPECT_EQ(std::ranges::count(handler_.calls, "next_task"), 0) << "no unit was asked for";
}

TEST_F(NodeUsageTest, WithoutItsDeviceANodeTakesNoWork) {
    // On a machine with a device, too, nobody has the hundredth; a build without CUDA has none.
    const auto refused = [&](const Ended& ended) {
        EXPECT_TRUE(ended.code == kFailed || ended.code == kUsage) << ended.code << ended.text;
        EXPECT_NE(ended.text.find("device 'cuda:99': "), std::string::npos) << ended.text;
        EXPECT_NE(ended.text.find("--device"), std::string::npos) << ended.text;
        EXPECT_EQ(std::ranges::count(ended.text, '\n'), 1) << "one sentence: " << ended.text;
    };
    refused(node({"start", "--device", "cuda:99"}));
    refused(node({"register", "--device", "cuda:99"}));
    refused(run(command({program("gym-verifier"), "--device", "cuda:99"})));
    EXPECT_TRUE(handler_.calls.empty()) << handler_.calls[0];
    const Ended doctor = node({"doctor", "--device", "cuda:99"});
    EXPECT_EQ(doctor.code, kFailed);
    EXPECT_NE(doctor.text.find("FAIL engine       device 'cuda:99': "), std::string::npos)
        << doctor.text;
}

TEST_F(NodeUsageTest, WhoIsExcludedIsToldWhyAndNotToStake) {
    handler_.excluded_because = "unit 3 of round 1 differs";
    handler_.stake_because = "stakes 0 tokens: `gym stake add 100`";
    for (const char* sub : {"status", "doctor"}) {
        const Ended ended = node({sub});
        EXPECT_NE(ended.text.find("excluded: unit 3 of round 1 differs"), std::string::npos)
            << ended.text;
        EXPECT_EQ(ended.text.find("gym stake add 100"), std::string::npos) << ended.text;
    }
}

TEST_F(NodeUsageTest, ConfigurationMistakesNameTheLine) {
    const auto with = [&](const std::string& text) {
        EXPECT_TRUE(write_file_atomic(dir_.path() / "mistakes.yaml", as_bytes(text)).ok());
        return node({"start", "--config", path("mistakes.yaml")});
    };
    expect(with("coordinater: x\n"), kUsage, "mistakes.yaml:1: 'coordinater' is not a known key");
    expect(with("isa: auto\nthreads: many\n"), kUsage, "mistakes.yaml:2: 'threads'");
    expect(with("checkpoint_seconds: -1\n"), kUsage, "mistakes.yaml:1: 'checkpoint_seconds'");
    expect(with("device: gpu0\n"), kUsage, "mistakes.yaml:1: 'device' must be cpu, cuda");
    expect(with("memory: 24\n"), kUsage, "mistakes.yaml:1: 'memory' of 24 is 24 bytes");
    expect(node({"start", "--config", path("absent.yaml")}), kUsage, path("absent.yaml"));
    expect(node({"start", "--config", dir_.path().string()}), kUsage, "it is a folder");
    expect(node({"start", "--log-level", "loud"}), kUsage, "log level 'loud'");
    expect(node({"register", "--memory", "8XB"}), kUsage, "'8XB' is not a size");
    expect(node({"register", "--gpu-type", "rtx9999"}), kUsage,
           "or leave --gpu-type out to register the CPU");
    expect(node({"register", "--device", "tpu"}), kUsage, "cpu, cuda or cuda:N");
    EXPECT_EQ(node({"register", "--gpu-type", ""}).code, kUsage) << "else it lends the CPU";
    expect(node({"bench", "--gpu-type", "rtx9999"}), kUsage, "this machine has no rtx9999");
}

TEST_F(NodeUsageTest, EveryCommandSpeaksJson) {
    const auto asked = [&](const std::string& sub, const std::string& coordinator) {
        return node({"--json", sub}, {{"--coordinator", coordinator}});
    };
    const std::string here = "127.0.0.1:" + std::to_string(server_->port());
    for (const char* sub : {"register", "status", "start"}) {
        const Ended failed = asked(sub, "127.0.0.1:1");
        EXPECT_EQ(failed.code, kUnavailable);
        const auto said = lines(failed);
        ASSERT_EQ(said.size(), 1u) << failed.text;
        EXPECT_EQ(said[0].at("error").at("code").as_string(), "unavailable");
    }
    const auto registered = lines(asked("register", here));
    ASSERT_EQ(registered.size(), 1u);
    EXPECT_EQ(registered[0].at("address").as_string(), key_.address().hex());
    EXPECT_EQ(lines(asked("status", here))[0].at("role").as_string(), "worker");
    std::set<std::string> checks;
    for (const json::object& finding : lines(asked("doctor", here)))
        checks.insert(std::string(finding.at("check").as_string()));
    EXPECT_EQ(checks, (std::set<std::string>{"memory", "disk", "engine", "key", "coordinator",
                                             "chain", "registration", "stake", "disputes"}));
}

TEST_F(NodeUsageTest, BenchSaysWhatTheMachineDoesAndEarns) {
    const Ended ended = node({"bench", "--price", "2.5", "--json"});
    ASSERT_EQ(ended.code, 0) << ended.text;
    const auto said = lines(ended);
    ASSERT_EQ(said.size(), 1u) << ended.text;
    const auto flops =
        static_cast<double>(said[0].at("flops_per_second").to_number<std::uint64_t>());
    const auto hour = Amount::parse(std::string(said[0].at("wei_per_hour").as_string())).value();
    // 2.5 tokens per 10^15 FLOPs, for an hour.
    EXPECT_NEAR(std::stod(hour.to_tokens()), flops * 3600 / 1e15 * 2.5, 1e-6);
    EXPECT_GT(said[0].at("host_memory_bytes_per_second").to_number<std::uint64_t>(), 0u);
    expect(node({"bench", "--price", "much"}), kUsage, "much");
    const Ended nobody = node({"bench"});
    EXPECT_NE(nobody.text.find("unknown: no gym-api is named"), std::string::npos) << nobody.text;
}

TEST_F(NodeUsageTest, DoctorChecksTheMachineWithoutANetwork) {
    const Ended doctor =
        run({.argv = {program("gym"), "node", "doctor", "--json", "--data-dir", path("empty")}});
    EXPECT_EQ(doctor.code, kFailed) << doctor.text;
    const auto findings = lines(doctor);
    ASSERT_EQ(findings.size(), 8U) << doctor.text;
    for (const json::object& finding : findings) {
        const std::string check(finding.at("check").as_string());
        if (check == "memory" || check == "engine") {
            EXPECT_TRUE(finding.at("ok").as_bool()) << finding;
        }
        if (check == "coordinator") {
            EXPECT_NE(finding.at("detail").as_string().find("gym network add"), json::string::npos);
        }
    }
}

TEST_F(NodeUsageTest, StatusTellsANodeThatDoesNotRunFromAnIdleOne) {
    handler_.last_seen_ms = clock_.now_ms() - 600'000;
    const Ended silent = node({"status"});
    EXPECT_EQ(silent.code, 0) << silent.text;
    EXPECT_NE(silent.text.find("not running: last seen 60"), std::string::npos) << silent.text;
    EXPECT_NE(silent.text.find("start it with `gym node start`"), std::string::npos) << silent.text;
    {
        // The CPU stands for a card here: its errors are counted as a card's are.
        const node::DeviceErrors errors(dir_.path(), "cpu");
        for (unsigned error = 0; error < node::DeviceErrors::kErrorsMax; ++error)
            ASSERT_TRUE(errors.add("op 3", 1'000).ok());
    }
    const Ended erred = node({"status"});
    EXPECT_NE(erred.text.find("it cannot start: cpu gave wrong results 3 times"), std::string::npos)
        << erred.text;
    EXPECT_EQ(erred.text.find("start it with"), std::string::npos) << erred.text;
    EXPECT_NE(erred.text.find("cpu, 3 of 3 errors that end its use\n"), std::string::npos)
        << erred.text;
    const json::object said = lines(node({"--json", "status"})).at(0);
    EXPECT_EQ(said.at("device").as_string(), "cpu");
    EXPECT_EQ(said.at("device_errors").to_number<unsigned>(), 3U);
    EXPECT_NE(said.at("device_unused_because").as_string().find("3 times"), json::string::npos);
    std::filesystem::remove(dir_.path() / "device-errors");
    handler_.last_seen_ms = clock_.now_ms();
    const Ended idle = node({"status"});
    EXPECT_NE(idle.text.find("state              idle: no job is running"), std::string::npos)
        << idle.text;
}

TEST_F(NodeUsageTest, RegisteringSaysHowToStartAndRefusesMemoryWithoutAUnit) {
    const Ended little = node({"register", "--memory", "8"});
    EXPECT_EQ(little.code, kUsage) << little.text;
    EXPECT_NE(little.text.find("--memory 8 is 8 bytes"), std::string::npos) << little.text;
    const Ended done = node({"register", "--memory", "1GB"});
    EXPECT_EQ(done.code, 0) << done.text;
    EXPECT_NE(done.text.find("start it with: gym start --data-dir " + dir_.path().string() + "\n"),
              std::string::npos)
        << done.text;
    const Ended status =
        run({.argv = {program("gym"), "node", "status", "--data-dir", dir_.path().string()}});
    EXPECT_EQ(status.code, 0) << "the other options are remembered: " << status.text;
}

TEST_F(NodeUsageTest, AStartThatRegistersRegistersFirst) {
    const std::string other = key_.address().hex();
    EXPECT_EQ(node({"start", "--commitment-log", other}).code, kMismatch);
    EXPECT_FALSE(handler_.profiles.contains(key_.address()));
    EXPECT_EQ(node({"start", "--register", "--commitment-log", other}).code, kMismatch);
    EXPECT_TRUE(handler_.profiles.contains(key_.address()));
}

TEST_F(NodeUsageTest, MoreMemoryThanThereIsMeansAllOfIt) {
    const Ended much = node({"register", "--memory", "900TB"});
    EXPECT_EQ(much.code, 0) << much.text;
    EXPECT_NE(much.text.find("MiB of memory, not 943718400 MiB: registering "), std::string::npos)
        << much.text;
    const std::uint64_t registered = handler_.profiles.at(key_.address()).memory_bytes;
    EXPECT_GT(registered, std::uint64_t{64} << 20);
    EXPECT_LT(registered, std::uint64_t{900} << 40);
}

TEST_F(NodeUsageTest, TheShortFormsAreTheSameCommands) {
    for (const char* sub : {"register", "start"}) {
        const Ended brief = run({.argv = {program("gym"), sub, "--help"}});
        const Ended full = run({.argv = {program("gym"), "node", sub, "--help"}});
        EXPECT_EQ(brief.code, 0);
        const auto options = [](const std::string& text) {
            return text.substr(std::min(text.find("Options:"), text.size()));
        };
        EXPECT_NE(options(brief.text), "");
        EXPECT_EQ(options(brief.text), options(full.text));
    }
}

TEST_F(NodeUsageTest, StatusShowsWhatItKnowsWhenTheApiIsAway) {
    const Ended ended = node({"status", "--api", "http://127.0.0.1:1"});
    EXPECT_EQ(ended.code, kUnavailable);
    EXPECT_NE(ended.text.find("state              idle: no job is running"), std::string::npos);
    EXPECT_NE(ended.text.find("balance: "), std::string::npos) << ended.text;
}

TEST_F(NodeUsageTest, ARunningNodeEndsCleanlyOnCtrlCEvenWhenTheCoordinatorIsGone) {
    auto node = Subprocess::start(command({program("gym"), "node", "start"}));
    ASSERT_TRUE(node.ok());
    ASSERT_TRUE(eventually([this] { return std::ranges::count(handler_.calls, "next_task") > 0; }));
    server_.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    node->signal(SIGINT);
    EXPECT_EQ(node->wait(10'000).value_or(-1), 0) << log();
}

TEST_F(NodeUsageTest, ANodeInterruptedBeforeItStartedSaysSo) {
    const testing::StallingPort silent;
    SubprocessOptions options = command({program("gym"), "node", "start"});
    std::ranges::replace(options.argv, "127.0.0.1:" + std::to_string(server_->port()),
                         "127.0.0.1:" + std::to_string(silent.port()));
    auto node = Subprocess::start(options);
    ASSERT_TRUE(node.ok());
    ASSERT_TRUE(silent.dialled_within(std::chrono::seconds(20)));
    node->signal(SIGINT);
    EXPECT_EQ(node->wait(15'000).value_or(-1), kInterrupted) << log();
}

TEST_F(NodeUsageTest, TheHelpListsEveryExitCode) {
    const Ended help = run({.argv = {program("gym"), "--help"}});
    EXPECT_EQ(help.code, 0);
    for (const int code : {0, kFailed, kUsage, kMismatch, kUnavailable, kRefused, kInterrupted})
        EXPECT_NE(help.text.find(std::to_string(code) + " "), std::string::npos) << code;
    EXPECT_EQ(run({.argv = {program("gym"), "node", "start", "--bogus"}}).code, kUsage);
    EXPECT_EQ(run({.argv = {program("gym"), "node"}}).code, kUsage);
}

}  // namespace
}  // namespace gym
