// A machine joins a network by the profile that its operator signed: from a server over a real
// socket, to a registered node. What is wrong with a profile is told, and nothing is stored.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>

#include "gym/http_server/server.hpp"
#include "node_process.hpp"
#include "sample_profile.hpp"

namespace gym {
namespace {

namespace json = boost::json;
using profile::testing::operator_key;
using testing::program;

constexpr int kOk = 0, kFailed = 1, kUsage = 2, kMismatch = 3, kUnavailable = 4, kRefused = 5;

/// A web server with a profile, for whoever reads, and a node of the chain, for whoever posts.
class ProfileServer final : public http_server::Handler {
  public:
    std::string profile;  ///< the answer, whatever it is
    std::uint64_t chain_id = testing::MemoryHandler::kChainId;

    Admission admit(const http_server::Request&) override { return {.body_bytes_max = 1 << 20}; }
    http_server::Response handle(const http_server::Request& request) override {
        const bool asks_chain = request.method == "POST";
        return {.status = 200,
                .headers = {},
                .body = asks_chain ? answer_of_chain(request.body) : profile};
    }
    http_server::Response refuse(unsigned status, std::string_view, std::string_view) override {
        return {.status = status, .headers = {}, .body = {}};
    }
    void connections(std::int64_t) override {}

  private:
    /// A chain that has contracts, and is too busy for anything else.
    std::string answer_of_chain(const std::string& body) const {
        const json::object request = json::parse(body).as_object();
        const json::string& method = request.at("method").as_string();
        json::object answer{{"jsonrpc", "2.0"}, {"id", request.at("id")}};
        std::array<char, 32> id{};
        (void)std::snprintf(id.data(), id.size(), "0x%llx",
                            static_cast<unsigned long long>(chain_id));
        if (method == "eth_chainId")
            answer["result"] = id.data();
        else if (method == "eth_getCode")
            answer["result"] = "0x01";
        else
            answer["error"] = json::object{{"code", -32603}, {"message", "busy"}};
        return json::serialize(answer);
    }
};

class NetworkProfileTest : public testing::NodeProcess {
  protected:
    void SetUp() override {
        NodeProcess::SetUp();
        handler_.tasks.clear();
        web_.profile = document();
    }
    void TearDown() override { web_server_->stop(1'000); }

    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(web_server_->port());
    }
    [[nodiscard]] profile::NetworkProfile profile() const {
        profile::NetworkProfile out = profile::testing::sample_profile();
        out.coordinator = "127.0.0.1:" + std::to_string(server_->port());
        out.coordinator_ca = profile::kNoTls;
        out.chain_rpc = {url() + "/rpc"};
        out.contracts.chain_id = testing::MemoryHandler::kChainId;
        out.contracts.commitment_log = testing::MemoryHandler::network_info().commitment_log;
        out.api = url();
        out.issued_at_ms = issued_at_ms_;
        return out;
    }
    /// As it is served, after a change.
    std::string document(const std::function<void(profile::NetworkProfile&)>& change = {},
                         std::uint8_t key = 7) const {
        profile::NetworkProfile changed = profile();
        if (change) change(changed);
        return profile::to_json(profile::sign(changed, operator_key(key)));
    }
    Ended gym(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), program("gym"));
        SubprocessOptions options;
        options.argv = std::move(arguments);
        options.env = {{"GYM_HOME", home().string()}};
        return run(options);
    }
    Ended add(const std::string& name = "main") const {
        return gym({"network", "add", name, url(), "--operator", operator_key().address().hex()});
    }
    [[nodiscard]] std::filesystem::path home() const { return dir_.path() / "home"; }
    void expect_refused(const Ended& ended, int code, const std::string& says) const {
        EXPECT_EQ(ended.code, code) << ended.text;
        EXPECT_NE(ended.text.find(says), std::string::npos) << says << "\n" << ended.text;
        EXPECT_EQ(std::ranges::count(ended.text, '\n'), 1) << "one sentence: " << ended.text;
        EXPECT_FALSE(std::filesystem::exists(home() / "networks")) << "nothing is stored";
    }

    UnixMs issued_at_ms_ = clock_.now_ms();
    ProfileServer web_;
    std::unique_ptr<http_server::Server> web_server_ = http_server::Server::start({}, web_).value();
};

TEST_F(NetworkProfileTest, TwoCommandsRegisterANodeAtANetworkThatWasAdded) {
    const Ended added = add();
    ASSERT_EQ(added.code, kOk) << added.text;
    EXPECT_NE(added.text.find(crypto::to_checksum(operator_key().address())), std::string::npos);
    struct stat status {};
    ASSERT_EQ(::stat((home() / "networks" / "main.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);

    const Ended registered = gym({"register", "--json", "--memory", "64MB", "--threads", "1",
                                  "--passphrase-file", (dir_.path() / "pass").string()});
    ASSERT_EQ(registered.code, kOk) << registered.text;
    const json::object said = json::parse(registered.text).as_object();
    EXPECT_EQ(said.at("network").as_string(), "main");
    EXPECT_EQ(said.at("memory_bytes").to_number<std::uint64_t>(), 64U << 20);
    const Address node = Address::parse(std::string(said.at("address").as_string())).value();
    EXPECT_TRUE(handler_.registered.contains(node));
    const Ended doctor = gym({"node", "status", "--json"});
    EXPECT_EQ(json::parse(doctor.text.substr(0, doctor.text.find('\n'))).at("role").as_string(),
              "worker")
        << doctor.text;
}

TEST_F(NetworkProfileTest, AMachineWithoutAKeyJoinsWhenItStarts) {
    const Ended lost = gym({"start"});
    EXPECT_EQ(lost.code, kUsage);
    for (const char* says : {"no network is named", "gym network add NAME URL", "gym register"})
        EXPECT_NE(lost.text.find(says), std::string::npos) << lost.text;
    ASSERT_EQ(add().code, kOk);
    SubprocessOptions options;
    options.argv = {program("gym"),      "start",
                    "--threads",         "1",
                    "--passphrase-file", (dir_.path() / "pass").string()};
    options.env = {{"GYM_HOME", home().string()}};
    options.log_file = dir_.path() / "log";
    auto node = Subprocess::start(options);
    ASSERT_TRUE(node.ok());
    EXPECT_TRUE(eventually([this] { return std::ranges::count(handler_.calls, "next_task") > 0; }))
        << log();
    node->signal(SIGTERM);
    EXPECT_EQ(node->wait(15'000).value_or(-1), kOk) << log();
    EXPECT_EQ(handler_.registered.size(), 1U);
    EXPECT_NE(log().find("registering at network main first"), std::string::npos) << log();
}

TEST_F(NetworkProfileTest, TheOperatorOfTheFirstTimeHasToBeNamedOrAccepted) {
    const std::string signer = crypto::to_checksum(operator_key().address());
    expect_refused(gym({"network", "add", "main", url()}), kUsage, "--operator " + signer);
    expect_refused(gym({"network", "add", "main", url(), "--yes"}), kUsage, "--operator " + signer);
    expect_refused(
        gym({"network", "add", "main", url(), "--operator", operator_key(8).address().hex()}),
        kMismatch, "is signed by " + signer + ", not by --operator");
    expect_refused(gym({"network", "add", "main", url(), "--operator", "0x12"}), kUsage,
                   "--operator: '0x12' is not an address");
}

TEST_F(NetworkProfileTest, WhatIsWrongWithAProfileIsToldAndNothingIsStored) {
    std::string forged = document();
    forged.replace(forged.find("\"sample\""), 8, "\"simple\"");
    web_.profile = forged;
    expect_refused(add(), kRefused, "not signed by the operator that it names");
    web_.profile = "<!DOCTYPE html><html><body>It works!</body></html>";
    expect_refused(add(), kFailed, "this is a web page (HTML)");
    web_.profile = std::string(std::size_t{8} << 20, ' ');
    expect_refused(add(), kFailed, "the reply exceeds 262144 bytes");
    web_.profile = "{}";
    expect_refused(add(), kFailed, "the network profile's version: expected");
    web_.profile = document([](auto& changed) { changed.contracts.chain_id = 1; });
    expect_refused(add(), kMismatch, "is for chain 1, but " + url() + "/rpc");
    web_.profile = document([](auto& changed) { changed.chain_rpc = {"http://127.0.0.1:1"}; });
    expect_refused(add(), kUnavailable, "no endpoint of the network's chain answers");
    web_.profile = document([](auto& changed) { changed.coordinator_ca = "-----BEGIN NOTHING"; });
    expect_refused(add(), kUsage, "not a certificate");
    expect_refused(gym({"network", "add", "main", "127.0.0.1:1"}), kUsage, "http(s)://host:port");
    for (const char* name : {"../main", "a/b", ".main", "", "ma in"})
        expect_refused(add(name), kUsage, "a network's name has 1 to 64 letters");
}

TEST_F(NetworkProfileTest, AnUpdateNeedsTheSameOperatorAndANewerProfile) {
    ASSERT_EQ(add().code, kOk);
    EXPECT_EQ(add().code, kRefused) << "there is one already";
    EXPECT_NE(gym({"network", "update"}).text.find("up to date"), std::string::npos);
    const auto later = [](auto& changed) {
        changed.issued_at_ms += 1;
        changed.name = "renamed";
    };
    web_.profile = document(later, 8);
    EXPECT_EQ(gym({"network", "update", "main"}).code, kMismatch);
    web_.profile = document([](auto& changed) { changed.issued_at_ms -= 1; });
    EXPECT_EQ(gym({"network", "update", "main"}).code, kRefused);
    EXPECT_EQ(gym({"network", "show"}).text.find("renamed"), std::string::npos);
    web_.profile = document(later);
    const Ended updated = gym({"network", "update", "main"});
    EXPECT_EQ(updated.code, kOk) << updated.text;
    EXPECT_NE(gym({"network", "show"}).text.find("renamed"), std::string::npos);
}

TEST_F(NetworkProfileTest, NetworksAreListedChosenAndRemoved) {
    ASSERT_EQ(add("one").code, kOk);
    ASSERT_EQ(add("two").code, kOk);
    const auto listed = [&] {
        const Ended ended = gym({"network", "list", "--json"});
        std::map<std::string, bool> out;
        const json::value said = json::parse(ended.text);
        for (const json::value& network : said.at("networks").as_array())
            out[std::string(network.at("name").as_string())] = network.at("default").as_bool();
        return out;
    };
    EXPECT_EQ(listed(), (std::map<std::string, bool>{{"one", true}, {"two", false}}));
    EXPECT_EQ(gym({"network", "use", "two"}).code, kOk);
    EXPECT_EQ(listed(), (std::map<std::string, bool>{{"one", false}, {"two", true}}));
    EXPECT_EQ(gym({"network", "remove", "two"}).code, kOk);
    EXPECT_EQ(listed(), (std::map<std::string, bool>{{"one", false}}));
    EXPECT_EQ(gym({"network", "use", "two"}).code, kFailed);
    EXPECT_EQ(gym({"register"}).code, kUsage) << "no default is left";
}

}  // namespace
}  // namespace gym
