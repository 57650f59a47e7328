// The HTTPS side of the client; its HTTP side is tested with the chain's transport and the CLI.
#include "gym/http/connection.hpp"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "gym/common/subprocess.hpp"
#include "temporary_folder.hpp"

namespace gym::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace fs = std::filesystem;
using asio::ip::tcp;

/// Answers every request of every connection, one connection at a time, with its target.
class TlsServer {
  public:
    TlsServer(const fs::path& certificate, const fs::path& key)
        : tls_(asio::ssl::context::tls_server),
          acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
        tls_.use_certificate_chain_file(certificate);
        tls_.use_private_key_file(key, asio::ssl::context::pem);
        thread_ = std::thread([this] { serve(); });
    }
    ~TlsServer() {
        stopping_ = true;
        tcp::socket wake(io_);
        beast::error_code ignored;
        wake.connect(acceptor_.local_endpoint(ignored), ignored);
        thread_.join();
    }
    TlsServer(const TlsServer&) = delete;
    TlsServer& operator=(const TlsServer&) = delete;
    [[nodiscard]] std::string port() const {
        return std::to_string(acceptor_.local_endpoint().port());
    }
    std::atomic<int> connections{0};

  private:
    void serve() {
        while (true) {
            beast::error_code error;
            tcp::socket socket(io_);
            acceptor_.accept(socket, error);
            if (stopping_) return;
            ++connections;
            asio::ssl::stream<tcp::socket> stream(std::move(socket), tls_);
            stream.handshake(asio::ssl::stream_base::server, error);
            beast::flat_buffer buffer;
            while (!error) {
                beast::http::request<beast::http::string_body> request;
                beast::http::read(stream, buffer, request, error);
                if (error) break;
                beast::http::response<beast::http::string_body> reply(beast::http::status::ok, 11);
                reply.keep_alive(request.target() != "/last");
                reply.body() = std::string(request.target()) + request.body();
                reply.prepare_payload();
                beast::http::write(stream, reply, error);
                if (!reply.keep_alive()) break;
            }
        }
    }

    asio::io_context io_;
    asio::ssl::context tls_;
    tcp::acceptor acceptor_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

class HttpsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto made = run_command(
            {.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                      "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                      (place_ / "key").string(), "-out", (place_ / "certificate").string()}},
            30'000);
        ASSERT_TRUE(made.ok()) << made.error().message;
        server_ = std::make_unique<TlsServer>(place_ / "certificate", place_ / "key");
        ::setenv("SSL_CERT_FILE", (place_ / "certificate").c_str(), 1);
    }
    void TearDown() override {
        ::unsetenv("SSL_CERT_FILE");
        server_.reset();
    }
    std::unique_ptr<Connection> connect(const std::string& scheme_and_host) {
        const auto url = parse_url(scheme_and_host + ":" + server_->port());
        EXPECT_TRUE(url.ok());
        return Connection::create(*url, {.timeout_ms = 5'000});
    }
    testing::TemporaryFolder temporary_;
    const fs::path place_ = temporary_.path();
    std::unique_ptr<TlsServer> server_;
};

TEST_F(HttpsTest, RequestsShareAConnectionUntilTheServerClosesIt) {
    {
        const auto connection = connect("https://localhost");
        for (int i = 0; i < 3; ++i) {
            const auto reply =
                connection->exchange({.method = "POST", .target = "/a", .body = "body"});
            ASSERT_TRUE(reply.ok()) << reply.error().message;
            EXPECT_EQ(reply->status, 200U);
            EXPECT_EQ(reply->body, "/abody");
            EXPECT_TRUE(connection->is_open());
        }
        EXPECT_EQ(server_->connections, 1);
        ASSERT_TRUE(connection->exchange({.target = "/last"}).ok());
        EXPECT_FALSE(connection->is_open());
        EXPECT_TRUE(connection->exchange({.target = "/last"}).ok()) << "it connects again";
    }
    EXPECT_EQ(server_->connections, 2);
}

TEST_F(HttpsTest, ACertificateThatNobodyVouchesForIsRefused) {
    ::setenv("SSL_CERT_FILE", "/dev/null", 1);
    const auto reply = connect("https://localhost")->exchange({.target = "/a"});
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(reply.error().message.find("certificate verify failed"), std::string::npos)
        << reply.error().message;
}

TEST_F(HttpsTest, AnExpiredCertificateIsRefusedAndSaidToBe) {
    const auto made = run_command(
        {.argv = {"openssl", "x509", "-in", (place_ / "certificate").string(), "-signkey",
                  (place_ / "key").string(), "-days", "-1", "-out", (place_ / "expired").string()}},
        30'000);
    ASSERT_TRUE(made.ok()) << made.error().message;
    ::setenv("SSL_CERT_FILE", (place_ / "expired").c_str(), 1);
    server_ = std::make_unique<TlsServer>(place_ / "expired", place_ / "key");
    const auto reply = connect("https://localhost")->exchange({.target = "/a"});
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(reply.error().message.find("certificate has expired"), std::string::npos)
        << reply.error().message;
}

TEST_F(HttpsTest, ACertificateOfAnotherNameIsRefused) {
    const auto reply = connect("https://127.0.0.1")->exchange({.target = "/a"});
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
}

TEST_F(HttpsTest, PlainHttpToATlsPortIsNoAnswer) {
    EXPECT_FALSE(connect("http://localhost")->exchange({.target = "/a"}).ok());
}

TEST(HttpUrl, HasDefaultsAndNoUser) {
    const auto url = parse_url("https://example.org").value();
    EXPECT_TRUE(url.tls);
    EXPECT_EQ(url.port, "443");
    EXPECT_EQ(url.target, "/");
    const auto full = parse_url("http://[::1]:8545/v1/key?x=1").value();
    EXPECT_FALSE(full.tls);
    EXPECT_EQ(full.host, "::1");
    EXPECT_EQ(full.port, "8545");
    EXPECT_EQ(full.target, "/v1/key?x=1");
    for (const char* bad : {"", "example.org", "ftp://example.org", "http://", "https://u:p@host",
                            "http://host:port"}) {
        const auto refused = parse_url(bad);
        ASSERT_FALSE(refused.ok()) << bad;
        EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
        EXPECT_EQ(refused.error().message.find("u:p"), std::string::npos);
    }
}

}  // namespace
}  // namespace gym::http
