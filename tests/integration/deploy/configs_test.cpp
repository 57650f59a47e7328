// Every configuration file that is shipped in deploy/config loads with the parser of its program,
// and names every key that the parser knows.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>

#include "cli/contracts_file.hpp"
#include "config.hpp"
#include "coordinator_config.hpp"
#include "data/evaluation_file.hpp"
#include "gym/common/file.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/node/node_config.hpp"
#include "mirror/mirror_config.hpp"
#include "operator/profile_file.hpp"
#include "rewards_config.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

struct Shipped {
    const char* file;
    std::function<Status(const std::string&)> load;
};

template <class Load>
std::function<Status(const std::string&)> loader(Load load) {
    return [load](const std::string& path) {
        const auto loaded = load(path);
        return loaded.ok() ? Status{} : Status(loaded.error());
    };
}

const std::vector<Shipped>& shipped() {
    static const std::vector<Shipped> all{{"coordinator.yaml", loader(load_coordinator_file)},
                                          {"rewards.yaml", loader(load_rewards_file)},
                                          {"api.yaml", loader(load_api_config)},
                                          {"worker.yaml", loader(node::load_node_config)},
                                          {"verifier.yaml", loader(node::load_node_config)},
                                          {"evaluation.yaml", loader(load_evaluation_file)},
                                          {"profile.yaml", loader(load_profile_file)},
                                          {"mirror.yaml", loader(load_mirror_config)},
                                          {"contracts.yaml", loader(load_contracts_file)}};
    return all;
}

fs::path config_folder() {
    return fs::path(std::getenv("GYM_SOURCE_DIR")) / "deploy" / "config";
}

class ConfigsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(place_);
        ASSERT_TRUE(write_file_atomic(place_ / "db-password", as_bytes("secret\n"), 0600).ok());
    }
    void TearDown() override { fs::remove_all(place_); }

    /// As shipped, but the credentials are where the test has them.
    [[nodiscard]] YAML::Node read(const char* file) const {
        YAML::Node node = YAML::LoadFile(config_folder() / file);
        if (node["database"]) node["database"]["password_file"] = (place_ / "db-password").string();
        return node;
    }
    Status load(const Shipped& config, const YAML::Node& content) const {
        YAML::Emitter text;
        text << content;
        const fs::path path = place_ / config.file;
        GYM_CHECK(write_file_atomic(path, as_bytes(std::string_view(text.c_str()))));
        return config.load(path);
    }
    fs::path place_ =
        fs::temp_directory_path() / ("gym-configs-" + to_hex(crypto::random_digest().view()));
};

/// The words after "known here:" in the error for an unknown key.
std::set<std::string> known_keys(const std::string& message) {
    const std::string mark = "known here: ";
    const std::size_t at = message.find(mark);
    std::set<std::string> out;
    if (at == std::string::npos) return out;
    std::istringstream list(message.substr(at + mark.size()));
    for (std::string word; std::getline(list, word, ',');)
        out.insert(word.substr(word.find_first_not_of(' ')));
    return out;
}

std::set<std::string> keys_of(const YAML::Node& map) {
    std::set<std::string> out;
    for (const auto& item : map)
        out.insert(item.first.as<std::string>());
    return out;
}

TEST_F(ConfigsTest, EveryFileLoadsWithTheParserOfItsProgram) {
    for (const Shipped& config : shipped()) {
        const Status status = load(config, read(config.file));
        EXPECT_TRUE(status.ok()) << config.file << ": " << status.error().message;
    }
}

TEST_F(ConfigsTest, EveryKeyThatAProgramKnowsStandsInItsFile) {
    const std::string unknown = "no_such_key";
    for (const Shipped& config : shipped()) {
        std::vector<std::string> sections{""};
        const YAML::Node whole = read(config.file);
        for (const auto& item : whole)
            if (item.second.IsMap()) sections.push_back(item.first.as<std::string>());
        for (const std::string& section : sections) {
            YAML::Node content = read(config.file);
            YAML::Node map = section.empty() ? content : content[section];
            const std::set<std::string> present = keys_of(map);
            map[unknown] = 1;
            const Status status = load(config, content);
            ASSERT_FALSE(status.ok()) << config.file << " " << section;
            EXPECT_NE(status.error().message.find(unknown), std::string::npos)
                << status.error().message;
            const std::set<std::string> known = known_keys(status.error().message);
            for (const std::string& key : present)
                EXPECT_TRUE(known.contains(key)) << config.file << ": " << key;
            // One that is left out by default stands there as a comment.
            const Bytes bytes = read_file(config_folder() / config.file).value();
            const std::string text(bytes.begin(), bytes.end());
            for (const std::string& key : known)
                EXPECT_TRUE(present.contains(key) ||
                            text.find("# " + key + ":") != std::string::npos)
                    << config.file << ", section '" << section << "': document " << key;
        }
    }
}

TEST_F(ConfigsTest, WithdrawalsThatWouldOutrunTheSettlerAreRefused) {
    const auto contracts = std::find_if(
        shipped().begin(), shipped().end(),
        [](const Shipped& config) { return std::string(config.file) == "contracts.yaml"; });
    YAML::Node content = read("contracts.yaml");
    content["limits"]["withdrawal_delay_s"] = 60;
    const Status refused = load(*contracts, content);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("'withdrawal_delay_s' must be at least 3600"),
              std::string::npos)
        << refused.error().message;
    content["limits"]["withdrawal_delay_s"] = content["limits"]["activation_delay_s"];
    const Status late = load(*contracts, content);
    ASSERT_FALSE(late.ok());
    EXPECT_NE(late.error().message.find("'withdrawal_delay_s' must be below activation_delay_s"),
              std::string::npos)
        << late.error().message;
    YAML::Node quick = read("contracts.yaml");
    quick["limits"]["admin_delay_s"] = 2 * 86'400 - 1;
    const Status sudden = load(*contracts, quick);
    ASSERT_FALSE(sudden.ok());
    EXPECT_NE(
        sudden.error().message.find("'admin_delay_s' must be at least twice activation_delay_s"),
        std::string::npos)
        << sudden.error().message;
    content["limits"]["withdrawal_delay_s"] = 60;
    content["chain_id"] = 31'337;
    EXPECT_TRUE(load(*contracts, content).ok()) << "a chain for trying things out";
}

TEST_F(ConfigsTest, DisputesThatOutlastAnOwnersExitAreRefused) {
    const auto contracts = std::find_if(
        shipped().begin(), shipped().end(),
        [](const Shipped& config) { return std::string(config.file) == "contracts.yaml"; });
    YAML::Node content = read("contracts.yaml");
    content["dispute"]["clock_s"] = 432'000;
    content["dispute"]["settling_s"] = 864'000;
    content["dispute"]["thaw_period_s"] = 1'728'000;
    const Status late = load(*contracts, content);
    ASSERT_FALSE(late.ok());
    EXPECT_NE(late.error().message.find("the window, two clocks and settling take 1814400 seconds"),
              std::string::npos)
        << late.error().message;
}

TEST_F(ConfigsTest, AllFilesOfTheFolderAreKnownHere) {
    std::set<std::string> tested, found;
    for (const Shipped& config : shipped())
        tested.insert(config.file);
    for (const auto& entry : fs::directory_iterator(config_folder()))
        found.insert(entry.path().filename());
    EXPECT_EQ(tested, found);
}

TEST_F(ConfigsTest, SecretsAreWhereTheUnitsPutThem) {
    for (const Shipped& config : shipped()) {
        const auto bytes = read_file(config_folder() / config.file).value();
        const std::string text(bytes.begin(), bytes.end());
        const std::string program = fs::path(config.file).stem();
        const auto unit_bytes = read_file(config_folder().parent_path() / "systemd" /
                                          ("gym-" + program + ".service.in"));
        if (program == "contracts" || program == "evaluation" || program == "profile") continue;
        ASSERT_TRUE(unit_bytes.ok());
        const std::string unit(unit_bytes->begin(), unit_bytes->end());
        const std::string folder = "/run/credentials/gym-" + program + ".service/";
        std::size_t count = 0;
        for (std::size_t at = text.find(folder); at != std::string::npos;
             at = text.find(folder, at + 1)) {
            const std::size_t begin = at + folder.size();
            const std::string name = text.substr(begin, text.find('\n', begin) - begin);
            EXPECT_NE(unit.find("LoadCredential=" + name + ":"), std::string::npos)
                << config.file << " wants the credential " << name;
            ++count;
        }
        // A mirror has no secret: what it serves is everybody's.
        EXPECT_EQ(count > 0, program != "mirror") << config.file;
    }
}

/// RestartPreventExitStatus looks at the main process only: a command before or after it that fails
/// would start the unit again and again.
TEST_F(ConfigsTest, UnitsThatStartAgainForEverHaveNoCommandBesideTheirs) {
    std::size_t units = 0;
    for (const auto& entry : fs::directory_iterator(config_folder().parent_path() / "systemd")) {
        if (!entry.path().string().ends_with(".service.in")) continue;
        const Bytes bytes = read_file(entry.path()).value();
        const std::string unit(bytes.begin(), bytes.end());
        if (unit.find("\nStartLimitIntervalSec=0\n") == std::string::npos) continue;
        ++units;
        for (const std::string command :
             {"\nExecCondition=", "\nExecStartPre=", "\nExecStartPost="})
            for (std::size_t at = unit.find(command); at != std::string::npos;
                 at = unit.find(command, at + 1))
                EXPECT_EQ(unit[at + command.size()], '-')
                    << entry.path() << command << " whose failure ends the start";
    }
    EXPECT_GT(units, 0U);
}

TEST_F(ConfigsTest, ContractsRefuseAGuardianThatIsTheSettlerAndAZeroAddress) {
    const Shipped& contracts = shipped().back();
    YAML::Node same = read(contracts.file);
    same["roles"]["guardian"] = same["roles"]["settler"].as<std::string>();
    EXPECT_NE(load(contracts, same).error().message.find("guardian"), std::string::npos);
    YAML::Node zero = read(contracts.file);
    zero["token"]["holder"] = "0x" + std::string(40, '0');
    EXPECT_NE(load(contracts, zero).error().message.find("holder"), std::string::npos);
    YAML::Node free = read(contracts.file);
    free["limits"]["release_cap"] = "0";
    EXPECT_NE(load(contracts, free).error().message.find("release_cap"), std::string::npos);
}

}  // namespace
}  // namespace gym::app
