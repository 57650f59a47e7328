// gym-api as a process: real PostgreSQL, real sockets, real signals.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "gym/blob/dataset.hpp"
#include "gym/blob/verified_blob.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/contracts/deployment.hpp"
#include "postgres.hpp"
#include "sample_profile.hpp"

namespace gym::api {
namespace {

namespace fs = std::filesystem;
constexpr int kStartTimeoutMs = 30'000;

/// Sends `request` as it is and reads until the server closes.
std::string talk(std::uint16_t port, const std::string& request) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string out;
    const timeval timeout{20, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
        (void)::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
        char buffer[4096];
        for (ssize_t size = 0; (size = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
            out.append(buffer, static_cast<std::size_t>(size));
    }
    ::close(socket);
    return out;
}

std::string get(std::uint16_t port, const std::string& path) {
    return talk(port, "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

class ApiProgramTest : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("gym-api-test-" + std::to_string(::getpid()));
        fs::create_directories(folder_);
        binary_ = fs::path(std::getenv("GYM_BINARY_DIR") != nullptr ? std::getenv("GYM_BINARY_DIR")
                                                                    : "build/release") /
                  "bin" / "gym-api";
        ASSERT_TRUE(fs::exists(binary_)) << binary_;
        ASSERT_TRUE(contracts::save_deployment(folder_ / "deployment.json", deployment()).ok());
        config_db_ = database_.config_as("gym_api");
        ASSERT_TRUE(write_file_atomic(folder_ / "api.yaml", as_bytes(config_text())).ok());
    }
    void TearDown() override { fs::remove_all(folder_); }

    static contracts::Deployment deployment() {
        contracts::Deployment out;
        out.chain_id = 31337;
        out.token.data.back() = 0xaa;
        return out;
    }

    /// @param listen more keys of `listen`.
    std::string config_text(const std::string& listen = "") const {
        return "listen: {port: 0, header_timeout_ms: 500, port_file: " +
               (folder_ / "port").string() + listen + "}\ndatabase: {host: \"" + config_db_.host +
               "\", port: " + std::to_string(config_db_.port) +
               ", database: " + config_db_.database + ", user: " + config_db_.user +
               "}\ndeployment: " + (folder_ / "deployment.json").string() +
               "\nblobs: " + (folder_ / "blobs").string() + "\n";
    }

    SubprocessOptions command(std::vector<std::string> arguments) const {
        SubprocessOptions options;
        options.argv = {binary_.string(), "--config", (folder_ / "api.yaml").string()};
        options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
        options.env = {{"GYM_DB_PASSWORD", config_db_.password}};
        return options;
    }

    void start() {
        SubprocessOptions options = command({});
        options.log_file = folder_ / "log";
        auto started = Subprocess::start(options);
        ASSERT_TRUE(started.ok()) << started.error().message;
        process_.emplace(std::move(started).value());
        const auto deadline =
            std::chrono::steady_clock::now() + std::chrono::milliseconds(kStartTimeoutMs);
        while (!fs::exists(folder_ / "port") && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const auto port = read_file(folder_ / "port");
        ASSERT_TRUE(port.ok()) << "gym-api did not start: "
                               << to_text(read_file(folder_ / "log").value_or({}));
        port_ = static_cast<std::uint16_t>(std::stoi(to_text(*port)));
    }
    static std::string to_text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

    gym::testing::TestDatabase database_;
    db::ConnectionConfig config_db_;
    fs::path folder_;
    fs::path binary_;
    std::optional<Subprocess> process_;
    std::uint16_t port_ = 0;
};

TEST_F(ApiProgramTest, ServesRefusesAndEndsOnSigterm) {
    start();
    EXPECT_EQ(get(port_, "/healthz").substr(0, 12), "HTTP/1.1 200");
    const std::string network = get(port_, "/v1/network");
    EXPECT_NE(network.find("0x00000000000000000000000000000000000000aa"), std::string::npos);
    EXPECT_NE(network.find(R"("dispute_game":"0x)"), std::string::npos) << network;
    EXPECT_NE(network.find(R"("stake":"0x)"), std::string::npos) << network;
    const std::string openapi = get(port_, "/openapi.json");
    const auto document = boost::json::parse(openapi.substr(openapi.find("\r\n\r\n") + 4));
    EXPECT_TRUE(document.as_object().at("paths").as_object().contains("/v1/jobs/{id}"));

    const std::string head =
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        "Content-Type: application/yaml\r\nIdempotency-Key: k\r\n";
    EXPECT_EQ(talk(port_, head + "Content-Length: 1\r\n\r\nx").substr(0, 12), "HTTP/1.1 401");

    const auto key = run_command(
        command({"keys", "create", "--owner", "0x" + std::string(40, '1'), "--label", "test"}),
        kStartTimeoutMs);
    ASSERT_TRUE(key.ok()) << key.error().message;
    const std::string bearer = "Authorization: Bearer " + key->substr(0, key->find('\n')) + "\r\n";
    EXPECT_EQ(talk(port_, head + bearer + "Content-Length: 1073741824\r\n\r\nabc").substr(0, 12),
              "HTTP/1.1 413");
    const std::string job = "name: x\nrounds: 3\n";
    const std::string refused = talk(
        port_, head + bearer + "Content-Length: " + std::to_string(job.size()) + "\r\n\r\n" + job);
    EXPECT_EQ(refused.substr(0, 12), "HTTP/1.1 403") << "a key alone spends nothing: " << refused;
    EXPECT_NE(refused.find("Gym-Order"), std::string::npos) << refused;
    EXPECT_NE(refused.find("application/problem+json"), std::string::npos);

    const auto begin = std::chrono::steady_clock::now();
    EXPECT_NE(talk(port_, "GET /healthz HTT").find("408 Request Timeout"), std::string::npos)
        << "a peer that stops talking";
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));

    process_->signal(SIGTERM);
    const auto code = process_->wait(20'000);
    ASSERT_TRUE(code.ok()) << code.error().message;
    EXPECT_EQ(*code, 0);
}

// [::ffff:127.0.0.1] is this machine, and for gym-api an address like any other: nothing here can
// be reached from elsewhere.
TEST_F(ApiProgramTest, WithoutTlsItTakesAndGivesOnlyWhatIsPublic) {
    if (!fs::exists("/proc/net/if_inet6")) GTEST_SKIP() << "no IPv6 here";
    const Bytes tokens =
        blob::Dataset::build_from_text(Bytes(2'000, std::uint8_t{'x'})).value().encode();
    const std::string body(tokens.begin(), tokens.end());
    std::string bearer;
    const auto ask = [&](const std::string& method, const std::string& target,
                         const std::string& content) {
        return talk(port_, method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
                               bearer + "Content-Type: application/octet-stream\r\n" +
                               "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" +
                               content);
    };
    const auto status = [](const std::string& answer) { return answer.substr(9, 3); };
    const std::string offer = "/v1/datasets?name=diary&licence=LicenseRef-mine&visibility=";
    const std::string upload = "/v1/blobs/" + blob::blob_root(tokens).hex();
    for (const bool behind_tls : {false, true}) {
        const std::string config = config_text(std::string(", address: \"::ffff:127.0.0.1\"") +
                                               (behind_tls ? ", behind_tls: true" : ""));
        ASSERT_TRUE(write_file_atomic(folder_ / "api.yaml", as_bytes(config)).ok());
        fs::remove(folder_ / "port");
        start();
        const auto key = run_command(
            command({"keys", "create", "--owner", "0x" + std::string(40, '1'), "--label", "test"}),
            kStartTimeoutMs);
        ASSERT_TRUE(key.ok()) << key.error().message;
        bearer = "Authorization: Bearer " + key->substr(0, key->find('\n')) + "\r\n";
        const std::string offered = ask("POST", offer + "private", body);
        const std::string uploaded = ask("PUT", upload, body);
        if (behind_tls) {
            EXPECT_EQ(status(offered), "201") << offered;
            EXPECT_EQ(status(uploaded), "201") << uploaded;
        } else {
            EXPECT_EQ(status(offered), "403") << offered;
            EXPECT_NE(offered.find("behind_tls: true"), std::string::npos) << offered;
            EXPECT_EQ(status(uploaded), "403") << uploaded;
            EXPECT_EQ(status(ask("POST", "/v1/datasets?name=x&licence=CC0-1.0",
                                 std::string("not a token file"))),
                      "400")
                << "what is public is looked at";
        }
        process_->signal(SIGTERM);
        ASSERT_TRUE(process_->wait(20'000).ok());
    }
}

TEST_F(ApiProgramTest, AnUnknownConfigurationKeyIsAnError) {
    const std::string text = config_text() + "lisen: 1\n";
    ASSERT_TRUE(write_file_atomic(folder_ / "api.yaml", as_bytes(text)).ok());
    const auto result = run_command(command({}), kStartTimeoutMs);
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find("'lisen' is not a known key"), std::string::npos)
        << result.error().message;
}

TEST_F(ApiProgramTest, ServesTheProfileOfItsOwnNetworkAndOfNoOther) {
    const auto publish = [&](const contracts::Deployment& contracts) {
        profile::NetworkProfile profile = profile::testing::sample_profile();
        profile.contracts = contracts;
        const std::string text =
            profile::to_json(profile::sign(profile, profile::testing::operator_key()));
        const std::string named = "network_profile: " + (folder_ / "profile.json").string() + "\n";
        EXPECT_TRUE(write_file_atomic(folder_ / "profile.json", as_bytes(text)).ok());
        EXPECT_TRUE(write_file_atomic(folder_ / "api.yaml", as_bytes(config_text() + named)).ok());
        return text;
    };
    contracts::Deployment other = deployment();
    other.token.data.back() = 0xbb;
    publish(other);
    const auto refused = run_command(command({}), kStartTimeoutMs);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("names another chain or other contracts"),
              std::string::npos)
        << refused.error().message;
    const std::string text = publish(deployment());
    start();
    EXPECT_NE(get(port_, "/v1/network/profile").find(text), std::string::npos);
}

}  // namespace
}  // namespace gym::api
