// A node that fails in every way a node can: clear errors, bounded waits, no endless retries.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "gym/chain/client.hpp"

namespace gym::chain {
namespace {

/// Answers the n-th request by what `reply` returns for n: raw bytes, after which the connection is
/// closed unless `keep_open`. Serves one connection at a time.
class FakeNode {
  public:
    using Reply = std::function<std::string(int request)>;

    explicit FakeNode(Reply reply, bool keep_open = false)
        : reply_(std::move(reply)), keep_open_(keep_open) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        GYM_ASSERT(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
        GYM_ASSERT(::listen(listener_, 8) == 0, "listen");
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        thread_ = std::thread([this] { serve(); });
    }
    ~FakeNode() {
        stopping_ = true;
        ::shutdown(listener_, SHUT_RDWR);
        if (const int open = connection_.load(); open >= 0) ::shutdown(open, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    [[nodiscard]] const std::string& url() const { return url_; }
    [[nodiscard]] int requests() const { return requests_; }

  private:
    void serve() {
        while (!stopping_) {
            const int open = ::accept(listener_, nullptr, nullptr);
            if (open < 0) return;
            connection_ = open;
            while (!stopping_ && read_request(open)) {
                const std::string bytes = reply_(requests_++);
                (void)!::send(open, bytes.data(), bytes.size(), MSG_NOSIGNAL);
                if (!keep_open_) break;
            }
            connection_ = -1;
            ::close(open);
        }
    }
    /// Reads one request with a Content-Length. False when the other side is gone.
    static bool read_request(int open) {
        std::string text;
        char buffer[4096];
        for (;;) {
            const ssize_t count = ::recv(open, buffer, sizeof buffer, 0);
            if (count <= 0) return false;
            text.append(buffer, static_cast<std::size_t>(count));
            const std::size_t head = text.find("\r\n\r\n");
            const std::size_t length = text.find("Content-Length: ");
            if (head == std::string::npos || length == std::string::npos) continue;
            const std::size_t body = std::stoul(text.substr(length + 16));
            if (text.size() >= head + 4 + body) return true;
        }
    }

    Reply reply_;
    const bool keep_open_;
    std::string url_;
    int listener_ = -1;
    std::atomic<int> connection_{-1};
    std::atomic<int> requests_{0};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

std::string http(const std::string& body, const std::string& status = "200 OK") {
    return "HTTP/1.1 " + status +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

HttpOptions quick() {
    HttpOptions options;
    options.timeout_ms = 300;
    options.attempts = 3;
    options.retry_delay_ms = 5;
    options.reply_bytes_max = 10'000;
    return options;
}

Result<std::uint64_t> ask(const FakeNode& node) {
    return make_http_client(node.url(), quick()).value()->chain_id();
}

/// Every request gets `reply`; returns the error's code and how often it was tried.
std::pair<Error, int> error_for(const std::string& reply) {
    const FakeNode node([&](int) { return reply; });
    const auto answer = ask(node);
    EXPECT_FALSE(answer.ok());
    return {answer.ok() ? Error{} : answer.error(), node.requests()};
}

TEST(RpcFaults, AGoodAnswerAfterFailuresIsFound) {
    const FakeNode node([](int request) {
        if (request == 0) return std::string();  // closes without an answer
        if (request == 1) return http("busy", "503 Service Unavailable");
        return http(R"({"jsonrpc":"2.0","id":1,"result":"0x7a69"})");
    });
    EXPECT_EQ(ask(node).value(), 31337U);
    EXPECT_EQ(node.requests(), 3);
}

TEST(RpcFaults, ClosedConnectionsAreTriedAsOftenAsSaid) {
    const auto [error, tries] = error_for("");
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_NE(error.message.find("closed"), std::string::npos) << error.message;
    EXPECT_EQ(tries, 3);
}

TEST(RpcFaults, ATruncatedReplyIsRetriedThenReported) {
    const std::string whole = http(R"({"jsonrpc":"2.0","id":1,"result":"0x7a69"})");
    const auto [error, tries] = error_for(whole.substr(0, whole.size() - 5));
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_NE(error.message.find("within the reply"), std::string::npos) << error.message;
    EXPECT_EQ(tries, 3);
}

TEST(RpcFaults, AnOversizedReplyIsRefusedUnread) {
    const auto [error, tries] = error_for(http(std::string(20'000, ' ')));
    EXPECT_EQ(error.code, ErrorCode::kMalformed);
    EXPECT_NE(error.message.find("exceeds 10000 bytes"), std::string::npos) << error.message;
    EXPECT_EQ(tries, 1) << "what is malformed stays malformed";
}

TEST(RpcFaults, AnEndlessReplyIsCutOff) {
    std::string endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 3'000; ++i)
        endless += "10\r\n0123456789abcdef\r\n";
    const auto [error, tries] = error_for(endless);
    EXPECT_EQ(error.code, ErrorCode::kMalformed) << error.message;
}

TEST(RpcFaults, SilenceEndsAtTheDeadline) {
    const FakeNode node([](int) { return std::string("HTTP/1.1 200 OK\r\n"); }, true);
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = ask(node);
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(answer.error().code, ErrorCode::kTimeout) << answer.error().message;
    EXPECT_GE(took, std::chrono::milliseconds(900)) << "three attempts of 300 ms";
    EXPECT_LT(took, std::chrono::seconds(10));
}

TEST(RpcFaults, NobodyListeningIsUnavailable) {
    std::string url;
    {
        const FakeNode node([](int) { return std::string(); });
        url = node.url();
    }
    const auto answer = make_http_client(url, quick()).value()->chain_id();
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
}

TEST(RpcFaults, WhatIsNotJsonRpcIsMalformed) {
    const char* bodies[] = {
        "",
        "{",
        "[]",
        "null",
        R"({"jsonrpc":"2.0","id":1})",
        R"({"jsonrpc":"2.0","id":2,"result":"0x1"})",
        R"({"jsonrpc":"2.0","id":"1","result":"0x1"})",
        R"({"jsonrpc":"2.0","id":1,"result":1})",
        R"({"jsonrpc":"2.0","id":1,"result":"1"})",
        R"({"jsonrpc":"2.0","id":1,"result":"0x"})",
        R"({"jsonrpc":"2.0","id":1,"result":"0x01"})",
        R"({"jsonrpc":"2.0","id":1,"result":"0xg"})",
        R"({"jsonrpc":"2.0","id":1,"result":"0xffffffffffffffff"})",
        R"({"jsonrpc":"2.0","id":1,"result":null})",
    };
    for (const char* body : bodies) {
        const auto [error, tries] = error_for(http(body));
        EXPECT_EQ(error.code, ErrorCode::kMalformed) << body << ": " << error.message;
        EXPECT_EQ(tries, 1);
    }
    EXPECT_EQ(error_for("SSH-2.0-OpenSSH_9.2\r\n").first.code, ErrorCode::kMalformed);
}

TEST(RpcFaults, DeeplyNestedJsonIsMalformed) {
    EXPECT_EQ(error_for(http(std::string(5'000, '['))).first.code, ErrorCode::kMalformed);
}

TEST(RpcFaults, WhatTheNodeReportsIsTold) {
    const auto [error, tries] = error_for(
        http(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no\u0007 method"}})"));
    EXPECT_EQ(error.code, ErrorCode::kInternal);
    EXPECT_NE(error.message.find("-32601: no? method"), std::string::npos) << error.message;
    EXPECT_EQ(tries, 1);
    EXPECT_EQ(
        error_for(http(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"slow"}})"))
            .first.code,
        ErrorCode::kUnavailable);
    for (const char* missing :
         {R"(-32602,"message":"BlockOutOfRangeError: height is 9, not 7")",
          R"(-32000,"message":"header not found")", R"(-32000,"message":"Missing trie node 12ab")",
          R"(-32001,"message":"no such block")"}) {
        const std::string body = R"({"jsonrpc":"2.0","id":1,"error":{"code":)";
        const auto [passing, once] = error_for(http(body + missing + "}}"));
        EXPECT_EQ(passing.code, ErrorCode::kUnavailable) << missing;
        EXPECT_EQ(once, 1) << "its owner waits, not this call";
    }
    EXPECT_EQ(error_for(http("nothing here", "404 Not Found")).first.code, ErrorCode::kInternal);
    EXPECT_EQ(error_for(http("slow down", "429 Too Many Requests")).second, 3);
}

TEST(RpcFaults, ABatchMustAnswerEachRequestOnce) {
    const auto blocks = [](const std::string& body) {
        const FakeNode node([&](int) { return http(body); });
        return make_http_client(node.url(), quick()).value()->blocks(0, 2);
    };
    const std::string null_block = R"({"jsonrpc":"2.0","id":1,"result":null})";
    EXPECT_EQ(blocks("[]").error().code, ErrorCode::kMalformed);
    EXPECT_EQ(blocks("[" + null_block + "]").error().code, ErrorCode::kMalformed);
    EXPECT_EQ(blocks("[" + null_block + "," + null_block + "]").error().code,
              ErrorCode::kMalformed);
    EXPECT_EQ(blocks("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"no "
                     "batches\"}}")
                  .error()
                  .code,
              ErrorCode::kInternal);
    const auto none = blocks("[" + null_block + R"(,{"jsonrpc":"2.0","id":2,"result":null}])");
    ASSERT_TRUE(none.ok()) << none.error().message;
    EXPECT_TRUE(none->empty());
}

TEST(RpcFaults, AnIdleConnectionThatTheNodeClosedIsReplacedAtOnce) {
    FakeNode node([](int request) {
        return http("{\"jsonrpc\":\"2.0\",\"id\":" + std::to_string(request + 1) +
                    ",\"result\":\"0x1\"}");
    });
    HttpOptions options = quick();
    options.attempts = 1;
    const auto client = make_http_client(node.url(), options).value();
    for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(client->chain_id().ok()) << i;
}

TEST(RpcFaults, UrlsAndOptionsAreChecked) {
    for (const char* url : {"", "127.0.0.1:8545", "ftp://x", "ws://x", "http://", "http://u:p@x"})
        EXPECT_EQ(make_http_client(url).error().code, ErrorCode::kInvalidArgument) << url;
    HttpOptions options;
    options.attempts = 0;
    EXPECT_FALSE(make_http_client("http://x", options).ok());
    options.attempts = 11;
    EXPECT_FALSE(make_http_client("http://x", options).ok());
}

}  // namespace
}  // namespace gym::chain
