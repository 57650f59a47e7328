// The transport under TLS, with a certificate authority made for the test.

#include <gtest/gtest.h>

#include <chrono>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/rpc/client.hpp"
#include "gym/rpc/server.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::rpc {
namespace {

constexpr int kOpensslMs = 20'000;

class TlsTest : public ::testing::Test {
  protected:
    const SystemClock clock_;
    const crypto::PrivateKey key_ = testing::test_key(1);
    testing::MemoryHandler handler_;
    testing::TemporaryFolder dir_;
    std::unique_ptr<Server> server_;

    void SetUp() override {
        handler_.registered.insert(key_.address());
        make_authority("ca");
        make_certificate("ca", "server", "DNS:localhost,IP:127.0.0.1", 1);
        serve("server");
    }

    std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
    void openssl(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "openssl");
        const auto ran = run_command({.argv = arguments, .folder = dir_.path()}, kOpensslMs);
        ASSERT_TRUE(ran.ok()) << ran.error().message;
    }
    void make_authority(const std::string& name) const {
        openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-keyout", name + ".key", "-out", name + ".pem", "-days", "1", "-subj",
                 "/CN=" + name});
    }
    void make_certificate(const std::string& authority, const std::string& name,
                          const std::string& names, int days) const {
        openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                 name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name});
        ASSERT_TRUE(write_file_atomic(dir_.path() / (name + ".ext"),
                                      as_bytes("subjectAltName=" + names + "\n"))
                        .ok());
        openssl({"x509", "-req", "-in", name + ".csr", "-CA", authority + ".pem", "-CAkey",
                 authority + ".key", "-CAcreateserial", "-out", name + ".pem", "-days",
                 std::to_string(days), "-extfile", name + ".ext"});
    }
    void serve(const std::string& certificate) {
        ServerConfig config;
        config.ask_every_ms = 50;
        if (!certificate.empty()) {
            config.tls_certificate_file = path(certificate + ".pem");
            config.tls_key_file = path(certificate + ".key");
        }
        server_ = Server::start(config, handler_, clock_).value();
    }
    ClientConfig client_config(const std::string& authority) const {
        ClientConfig config;
        config.target = "127.0.0.1:" + std::to_string(server_->port());
        if (!authority.empty()) config.tls_ca_file = path(authority + ".pem");
        config.attempts_max = 2;
        config.backoff_ms = 50;
        config.call_ms_max = 5'000;
        return config;
    }
    Result<records::HeartbeatAnswer> heartbeat(const ClientConfig& config) const {
        return connect(config, key_.clone(), clock_).value()->heartbeat({});
    }
    /// The error of a client that must not get through.
    std::string refusal(const ClientConfig& config) const {
        const auto start = std::chrono::steady_clock::now();
        const auto answer = heartbeat(config);
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
        EXPECT_FALSE(answer.ok());
        return answer.ok() ? "" : answer.error().message;
    }
};

TEST_F(TlsTest, TheRightAuthorityIsEnough) {
    EXPECT_TRUE(heartbeat(client_config("ca")).ok());
    const Bytes content(600'000, 7);
    const Digest root = handler_.blobs.put(content).value();
    Bytes received;
    const auto client = connect(client_config("ca"), key_.clone(), clock_).value();
    ASSERT_TRUE(client
                    ->get_blob(root, 0,
                               [&](ByteView chunk, std::uint64_t) -> Status {
                                   received.insert(received.end(), chunk.begin(), chunk.end());
                                   return {};
                               })
                    .ok());
    EXPECT_EQ(received, content);
}

TEST_F(TlsTest, TheAuthorityMayBeGivenAsText) {
    const auto text_of = [&](const std::string& authority) {
        const Bytes pem = read_file(path(authority + ".pem")).value();
        return std::string(pem.begin(), pem.end());
    };
    ClientConfig config = client_config("ca");
    config.tls_ca_file = text_of("ca");
    EXPECT_TRUE(heartbeat(config).ok());
    make_authority("other");
    handler_.calls.clear();
    config.tls_ca_file = text_of("other");
    const std::string message = refusal(config);
    EXPECT_NE(message.find("the CA of the network's profile"), std::string::npos) << message;
    EXPECT_TRUE(handler_.calls.empty());
}

TEST_F(TlsTest, AnotherAuthorityIsRefusedAndNamed) {
    make_authority("other");
    const std::string message = refusal(client_config("other"));
    EXPECT_NE(message.find("certificate"), std::string::npos) << message;
    EXPECT_NE(message.find("--tls-ca"), std::string::npos) << message;
    EXPECT_TRUE(handler_.calls.empty()) << "nothing was said to a stranger";
}

TEST_F(TlsTest, ACertificateForAnotherNameIsRefused) {
    make_certificate("ca", "elsewhere", "DNS:elsewhere.example", 1);
    serve("elsewhere");
    const std::string message = refusal(client_config("ca"));
    EXPECT_NE(message.find("127.0.0.1"), std::string::npos) << message;
    EXPECT_NE(message.find("certificate"), std::string::npos) << message;
    EXPECT_TRUE(handler_.calls.empty());
}

TEST_F(TlsTest, AnExpiredCertificateIsRefused) {
    make_certificate("ca", "old", "IP:127.0.0.1", -1);
    serve("old");
    const std::string message = refusal(client_config("ca"));
    EXPECT_NE(message.find("expired"), std::string::npos) << message;
}

TEST_F(TlsTest, APlaintextClientIsToldThatTheServerWantsTls) {
    const std::string message = refusal(client_config(""));
    EXPECT_NE(message.find("TLS"), std::string::npos) << message;
    EXPECT_NE(message.find("--tls-ca"), std::string::npos) << message;
    EXPECT_TRUE(handler_.calls.empty());
}

TEST_F(TlsTest, ATlsClientIsToldThatTheServerSpeaksPlaintext) {
    serve("");
    const std::string message = refusal(client_config("ca"));
    EXPECT_NE(message.find("TLS"), std::string::npos) << message;
    EXPECT_TRUE(handler_.calls.empty());
}

TEST_F(TlsTest, NobodyAtThePortIsNotCalledATlsProblem) {
    const ClientConfig config = client_config("ca");
    server_.reset();
    const std::string message = refusal(config);
    EXPECT_NE(message.find("refused"), std::string::npos) << message;
    EXPECT_EQ(message.find("certificate"), std::string::npos) << message;
}

TEST_F(TlsTest, AServerWithAKeyThatIsNotItsCertificatesDoesNotStart) {
    make_authority("other");
    ServerConfig config;
    config.tls_certificate_file = path("server.pem");
    config.tls_key_file = path("other.key");
    EXPECT_FALSE(Server::start(config, handler_, clock_).ok());
}

}  // namespace
}  // namespace gym::rpc
