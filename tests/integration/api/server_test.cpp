// The HTTP server over loopback sockets, with a handler that needs nothing else.
#include "gym/http_server/server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fake_backend.hpp"
#include "gym/api/api.hpp"
#include "manual_clock.hpp"

namespace gym::api {
namespace {

using http_server::Server;
using http_server::ServerOptions;
using Clock = std::chrono::steady_clock;

/// Bytes that need no memory: byte i is a function of i. Refuses to be read at `broken_at`.
class Pattern final : public blob::BlobReader {
  public:
    Pattern(std::uint64_t size, std::uint64_t broken_at) : size_(size), broken_at_(broken_at) {}
    static char at(std::uint64_t i) { return static_cast<char>('a' + i % 23); }
    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        largest_read = std::max<std::uint64_t>(largest_read, out.size());
        if (offset + out.size() > broken_at_) return fail(ErrorCode::kIo, "the disk is broken");
        for (std::uint8_t& byte : out)
            byte = static_cast<std::uint8_t>(at(offset++));
        return {};
    }
    static inline std::atomic<std::uint64_t> largest_read{0};

  private:
    const std::uint64_t size_, broken_at_;
};

constexpr std::uint64_t kStreamBytes = 3'000'001;
/// More than sockets hold for a peer that does not read.
constexpr std::uint64_t kLargeStreamBytes = std::uint64_t{1} << 30;

/// Counts a body's bytes; refuses the one with a '!'.
class CountingSink final : public BodySink {
  public:
    Status write(ByteView piece) override {
        if (std::ranges::find(piece, '!') != piece.end())
            return fail(ErrorCode::kOutOfRange, "no room");
        bytes += piece.size();
        largest = std::max(largest.load(), piece.size());
        return {};
    }
    std::atomic<std::size_t> bytes{0};
    std::atomic<std::size_t> largest{0};
};

class EchoHandler final : public Handler {
  public:
    Admission admit(const Request& head) override {
        if (head.target == "/sink") {
            sink = std::make_shared<CountingSink>();
            return {std::nullopt, std::uint64_t{64} << 20, sink};
        }
        if (head.target == "/refused") return {Response{401, "text/plain", {}, "no"}, 0, {}};
        if (head.target == "/large")
            return {std::nullopt, std::uint64_t{2} << 20, {}, std::string(head.header("x-owner"))};
        return {std::nullopt, head.target == "/big" ? std::uint64_t{1} << 20 : 1024, {}};
    }
    Response handle(const Request& request) override {
        if (request.target == "/slow") {
            std::unique_lock lock(mutex);
            ++running;
            changed.notify_all();
            changed.wait_for(lock, std::chrono::seconds(20), [this] { return released; });
        }
        if (request.sink)
            return {200, "text/plain", {}, "streamed " + std::to_string(sink->bytes.load())};
        if (request.target.starts_with("/stream")) {
            const bool broken = request.target == "/stream-broken";
            const std::uint64_t size =
                request.target == "/stream-large" ? kLargeStreamBytes : kStreamBytes;
            Response response{200, "application/octet-stream", {}, {}};
            response.stream =
                BodyStream{std::make_shared<Pattern>(size, broken ? 1'000'000 : size), 0, size};
            if (request.target == "/stream-part") {
                response.status = 206;
                response.stream->offset = 700'001;
                response.stream->size = 5;
            }
            return response;
        }
        return {200, "text/plain", {}, request.method + " " + std::to_string(request.body.size())};
    }
    Response refuse_body(const Error& error, std::string_view) override {
        return {422, "text/plain", {}, error.message};
    }
    std::shared_ptr<CountingSink> sink;  // of the last streamed request
    Response refuse(unsigned status, std::string_view detail, std::string_view) override {
        return {status, "text/plain", {}, std::string(detail)};
    }
    void connections(std::int64_t open) override {
        const std::lock_guard lock(mutex);
        open_connections = open;
        had_connection = had_connection || open > 0;
        changed.notify_all();
    }
    /// Until a connection has come and all have ended.
    void wait_ended() {
        std::unique_lock lock(mutex);
        ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(20),
                                     [this] { return had_connection && open_connections == 0; }));
    }

    void wait_running() {
        std::unique_lock lock(mutex);
        ASSERT_TRUE(
            changed.wait_for(lock, std::chrono::seconds(20), [this] { return running > 0; }));
    }
    void release() {
        const std::lock_guard lock(mutex);
        released = true;
        changed.notify_all();
    }

    std::mutex mutex;
    std::condition_variable changed;
    int running = 0;
    bool released = false;
    std::atomic<std::int64_t> open_connections{0};
    bool had_connection = false;
};

/// A plain socket, so that tests can send what no client library would.
class Peer {
  public:
    /// @param from the last byte of its own address, 127.0.0.FROM.
    explicit Peer(std::uint16_t port, std::uint8_t from = 1)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(0x7f000000U + from);
        EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
        const timeval timeout{20, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    }
    ~Peer() { ::close(socket_); }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    [[nodiscard]] bool connected() const { return connected_; }
    bool send(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    /// Reads until `text` was seen or the peer closed.
    std::string read_until(std::string_view text) const {
        std::string out;
        char buffer[4096];
        while (out.find(text) == std::string::npos) {
            const ssize_t size = ::recv(socket_, buffer, sizeof buffer, 0);
            if (size <= 0) break;
            out.append(buffer, static_cast<std::size_t>(size));
        }
        return out;
    }
    std::string read_to_end() const { return read_until("\x01never\x01"); }

  private:
    int socket_;
    bool connected_ = false;
};

class ServerTest : public ::testing::Test {
  protected:
    void start(ServerOptions options = {}) {
        auto started = Server::start(options, handler_);
        ASSERT_TRUE(started.ok()) << started.error().message;
        server_ = std::move(started).value();
    }
    void TearDown() override {
        handler_.release();
        if (server_) server_->stop(5'000);
        EXPECT_EQ(handler_.open_connections, 0);
    }
    EchoHandler handler_;
    std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersRequestsOnOneConnection) {
    start();
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string first = peer.read_until("GET 0");
    EXPECT_EQ(first.substr(0, 15), "HTTP/1.1 200 OK");
    EXPECT_NE(first.find("X-Request-Id: "), std::string::npos);
    ASSERT_TRUE(peer.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"));
    EXPECT_NE(peer.read_until("POST 3").find("POST 3"), std::string::npos);
    ASSERT_TRUE(peer.send("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    const std::string head = peer.read_to_end();
    EXPECT_NE(head.find("Content-Length: 6"), std::string::npos) << head;
    EXPECT_EQ(head.find("HEAD 0"), std::string::npos) << "HEAD must have no body";
}

TEST_F(ServerTest, AGigabyteIsRefusedBeforeItIsSent) {
    start();
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\nabcd"));
    EXPECT_EQ(peer.read_to_end().substr(0, 12), "HTTP/1.1 413");
}

TEST_F(ServerTest, AnEndlessChunkedBodyIsCutAtTheLimit) {
    start();
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    const std::string chunk = "400\r\n" + std::string(1024, 'x') + "\r\n";
    for (int i = 0; i < 64 && peer.send(chunk); ++i) {
    }
    EXPECT_EQ(peer.read_to_end().substr(0, 12), "HTTP/1.1 413");
}

TEST_F(ServerTest, TheBodyOfARefusedRequestIsNotRead) {
    start();
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n"));
    const std::string answer = peer.read_to_end();
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 401");
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST_F(ServerTest, AStreamedBodyIsNeverHeldAsAWhole) {
    start();
    const std::size_t size = std::size_t{5} << 20;
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send(
        "PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n"));
    ASSERT_TRUE(peer.send(std::string(size, 'x')));
    const std::string expected = "streamed " + std::to_string(size);
    EXPECT_NE(peer.read_until(expected).find(expected), std::string::npos);
    EXPECT_LE(handler_.sink->largest, std::size_t{1} << 20);
    // The connection serves the next request.
    ASSERT_TRUE(peer.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_NE(peer.read_until("GET 0").find("GET 0"), std::string::npos);
}

TEST_F(ServerTest, WhatArrivedOfACutBodyReachesTheSink) {
    start();
    {
        const Peer peer(server_->port());
        ASSERT_TRUE(peer.send("PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"));
        ASSERT_TRUE(peer.send(std::string(600, 'x')));
    }
    handler_.wait_ended();
    ASSERT_NE(handler_.sink, nullptr);
    EXPECT_EQ(handler_.sink->bytes, 600U);
}

TEST_F(ServerTest, ASinkThatRefusesItsBodyAnswers) {
    start();
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send("PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab!de"));
    const std::string answer = peer.read_to_end();
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 422");
    EXPECT_NE(answer.find("no room"), std::string::npos);
}

TEST_F(ServerTest, AStreamedBodyNeedsALengthAndMustArriveInTime) {
    ServerOptions options;
    options.body_timeout_ms = 200;
    options.body_bytes_per_s_min = 1 << 20;
    start(options);
    const Peer chunked(server_->port());
    ASSERT_TRUE(
        chunked.send("PUT /sink HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    EXPECT_EQ(chunked.read_to_end().substr(0, 12), "HTTP/1.1 411");
    const Peer slow(server_->port());
    ASSERT_TRUE(slow.send("PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab"));
    EXPECT_EQ(slow.read_to_end().substr(0, 12), "HTTP/1.1 408");
    EXPECT_EQ(handler_.sink->bytes, 2U);
    const Peer large(server_->port());
    ASSERT_TRUE(large.send("PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"));
    EXPECT_EQ(large.read_to_end().substr(0, 12), "HTTP/1.1 413");
}

TEST_F(ServerTest, Expect100ContinueIsHonoured) {
    start();
    const Peer peer(server_->port());
    ASSERT_TRUE(
        peer.send("POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                  "Expect: 100-continue\r\n\r\n"));
    EXPECT_EQ(peer.read_until("\r\n\r\n").substr(0, 12), "HTTP/1.1 100");
    ASSERT_TRUE(peer.send("hello"));
    EXPECT_NE(peer.read_until("POST 5").find("POST 5"), std::string::npos);
}

TEST_F(ServerTest, ASilentPeerAndASlowOneAreCutOff) {
    ServerOptions options;
    options.header_timeout_ms = 300;
    start(options);
    const auto begin = Clock::now();
    const Peer silent(server_->port());
    EXPECT_EQ(silent.read_to_end(), "");
    const Peer slow(server_->port());
    std::thread dripping([&slow] {
        const std::string_view request = "GET /a HTTP/1.1\r\nHost: x\r\nX-Drip: 0123456789\r\n";
        for (const char c : request) {
            if (!slow.send(std::string_view(&c, 1))) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    });
    EXPECT_EQ(slow.read_to_end().substr(0, 12), "HTTP/1.1 408");
    dripping.join();
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(ServerTest, ASlowBodyIsCutOff) {
    ServerOptions options;
    options.body_timeout_ms = 200;
    start(options);
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab"));
    EXPECT_EQ(peer.read_to_end().substr(0, 12), "HTTP/1.1 408");
}

TEST_F(ServerTest, HugeHeadersAndGarbageAreRefused) {
    start();
    const Peer huge(server_->port());
    (void)huge.send("GET /a HTTP/1.1\r\nX-Long: " + std::string(40'000, 'a') + "\r\n\r\n");
    EXPECT_EQ(huge.read_to_end().substr(0, 12), "HTTP/1.1 431");
    const Peer garbage(server_->port());
    ASSERT_TRUE(garbage.send("\x16\x03\x01\x02 hello\r\n\r\n"));
    EXPECT_EQ(garbage.read_to_end().substr(0, 12), "HTTP/1.1 400");
}

TEST_F(ServerTest, ConnectionsBeyondTheLimitGet503) {
    ServerOptions options;
    options.connections_max = 2;
    start(options);
    const Peer first(server_->port());
    const Peer second(server_->port());
    ASSERT_TRUE(first.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_TRUE(second.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
    (void)first.read_until("GET 0");
    (void)second.read_until("GET 0");
    const Peer third(server_->port());
    EXPECT_EQ(third.read_to_end().substr(0, 12), "HTTP/1.1 503");
}

TEST_F(ServerTest, OnePeerCannotTakeTheConnectionsOfAll) {
    ServerOptions options;
    options.connections_max = 8;
    options.peer_connections_max = 2;
    start(options);
    const auto answer = [&](const Peer& peer) {
        EXPECT_TRUE(peer.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
        return peer.read_until("\r\n").substr(0, 12);
    };
    const Peer first(server_->port());
    EXPECT_EQ(answer(first), "HTTP/1.1 200");
    {
        const Peer second(server_->port());
        EXPECT_EQ(answer(second), "HTTP/1.1 200");
        const Peer third(server_->port());
        EXPECT_EQ(third.read_to_end().substr(0, 12), "HTTP/1.1 503");
        const Peer other(server_->port(), 2);
        EXPECT_EQ(answer(other), "HTTP/1.1 200");
    }
    for (int i = 0; i < 100; ++i) {
        const Peer again(server_->port());
        if (answer(again) == "HTTP/1.1 200") return;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ADD_FAILURE() << "places do not come back";
}

TEST_F(ServerTest, StopLetsARunningRequestEndAndClosesIdleOnes) {
    start();
    const Peer idle(server_->port());
    ASSERT_TRUE(idle.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
    (void)idle.read_until("GET 0");
    const Peer busy(server_->port());
    ASSERT_TRUE(busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"));
    handler_.wait_running();
    std::thread stopper([this] { server_->stop(10'000); });
    EXPECT_EQ(idle.read_to_end(), "") << "closed without an answer that nobody asked for";
    handler_.release();
    EXPECT_NE(busy.read_to_end().find("GET 0"), std::string::npos);
    stopper.join();
    const Peer late(server_->port());
    EXPECT_FALSE(late.connected());
}

/// The body of one answer on a connection that stays open.
std::string body_of(const std::string& answer) {
    const auto at = answer.find("\r\n\r\n");
    return at == std::string::npos ? std::string() : answer.substr(at + 4);
}

TEST_F(ServerTest, ALargeBodyIsSentInPiecesAndTheConnectionStays) {
    start();
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_TRUE(peer.send("GET /stream-part HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_TRUE(peer.send("HEAD /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    const std::string all = peer.read_to_end();
    EXPECT_NE(all.find("Content-Length: 3000001\r\n"), std::string::npos);
    const std::string first = body_of(all);
    ASSERT_GT(first.size(), kStreamBytes);
    for (std::uint64_t i = 0; i < kStreamBytes; ++i)
        ASSERT_EQ(first[i], Pattern::at(i)) << i;
    const std::string second = first.substr(kStreamBytes);
    EXPECT_EQ(second.substr(0, 28), "HTTP/1.1 206 Partial Content");
    std::string part;
    for (std::uint64_t i = 700'001; i < 700'006; ++i)
        part += Pattern::at(i);
    EXPECT_EQ(body_of(second).substr(0, 5), part);
    const std::string head = body_of(second).substr(5);
    EXPECT_EQ(head.substr(0, 15), "HTTP/1.1 200 OK");
    EXPECT_NE(head.find("Content-Length: 3000001\r\n"), std::string::npos);
    EXPECT_EQ(body_of(head), "") << "HEAD has no body";
    EXPECT_LE(Pattern::largest_read.load(), 1U << 20) << "memory is for a piece, not for all";
}

TEST_F(ServerTest, ABodyThatCannotBeReadIsBrokenOffNotFilledUp) {
    start();
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send("GET /stream-broken HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string body = body_of(peer.read_to_end());
    EXPECT_LE(body.size(), 1'000'000U);
    for (std::size_t i = 0; i < body.size(); ++i)
        ASSERT_EQ(body[i], Pattern::at(i)) << i;
}

TEST_F(ServerTest, DownloadsBeyondTheLimitGet503AndTheirPlacesComeBack) {
    ServerOptions options;
    options.streams_max = 1;
    start(options);
    const auto whole = [&] {
        const Peer peer(server_->port());
        EXPECT_TRUE(peer.send("GET /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
        return peer.read_to_end();
    };
    {
        // Does not read: the server's buffers fill up, and its place is taken.
        const Peer stuck(server_->port());
        ASSERT_TRUE(stuck.send("GET /stream-large HTTP/1.1\r\nHost: x\r\n\r\n"));
        EXPECT_EQ(stuck.read_until("\r\n\r\n").substr(0, 15), "HTTP/1.1 200 OK");
        EXPECT_EQ(whole().substr(0, 12), "HTTP/1.1 503");
        const Peer other(server_->port());
        ASSERT_TRUE(other.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
        EXPECT_NE(other.read_until("GET 0").find("200 OK"), std::string::npos)
            << "everything else is answered";
    }
    std::string answer;
    for (int i = 0; i < 1'000 && !answer.starts_with("HTTP/1.1 200"); ++i)
        answer = whole();
    EXPECT_EQ(body_of(answer).size(), kStreamBytes) << "a peer that left has given its place back";
}

// Or a single key could fill the memory with as many datasets as there are connections.
TEST_F(ServerTest, LargeBodiesBeyondTheLimitGet503AndTheirPlacesComeBack) {
    ServerOptions options;
    options.bodies_bytes_max = 3 << 20;
    start(options);
    const std::string large = "POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
    const std::string length = "Content-Length: 2000000\r\n\r\n";
    const auto whole = [&] {
        const Peer peer(server_->port());
        (void)peer.send(large + length + std::string(2'000'000, 'a'));
        return peer.read_to_end();
    };
    {
        const Peer slow(server_->port());
        ASSERT_TRUE(slow.send(large + "Expect: 100-continue\r\n" + length));
        EXPECT_EQ(slow.read_until("\r\n\r\n").substr(0, 12), "HTTP/1.1 100");
        EXPECT_EQ(whole().substr(0, 12), "HTTP/1.1 503");
        const Peer unknown(server_->port());
        ASSERT_TRUE(unknown.send(large + "Transfer-Encoding: chunked\r\n\r\n"));
        EXPECT_EQ(unknown.read_to_end().substr(0, 12), "HTTP/1.1 503")
            << "without a length it may become as long as the route takes";
        const Peer small(server_->port());
        ASSERT_TRUE(small.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"));
        EXPECT_NE(small.read_until("POST 2").find("200 OK"), std::string::npos);
    }
    std::string answer;
    for (int i = 0; i < 1'000 && !answer.starts_with("HTTP/1.1 200"); ++i)
        answer = whole();
    EXPECT_EQ(body_of(answer), "POST 2000000") << "a peer that left has given its place back";
    EXPECT_EQ(body_of(whole()), "POST 2000000") << "and so has one that was answered";
}

TEST_F(ServerTest, LargeBodiesOfOneOwnerLeaveRoomForOthers) {
    ServerOptions options;
    options.bodies_bytes_max = 7 << 20;
    options.owner_bodies_bytes_max = 3 << 20;
    start(options);
    const auto head = [](const char* owner) {
        return "POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Owner: " +
               std::string(owner) + "\r\n";
    };
    const std::string length = "Content-Length: 2000000\r\n\r\n";
    const auto whole = [&](const char* owner) {
        const Peer peer(server_->port());
        (void)peer.send(head(owner) + length + std::string(2'000'000, 'a'));
        return peer.read_to_end();
    };
    {
        const Peer slow(server_->port());
        ASSERT_TRUE(slow.send(head("ann") + "Expect: 100-continue\r\n" + length));
        EXPECT_EQ(slow.read_until("\r\n\r\n").substr(0, 12), "HTTP/1.1 100");
        const std::string refused = whole("ann");
        EXPECT_EQ(refused.substr(0, 12), "HTTP/1.1 429");
        EXPECT_EQ(
            body_of(refused),
            "large requests of your account may have 3145728 bytes together at one time: wait "
            "until the others are answered, then try again");
        EXPECT_EQ(body_of(whole("bob")), "POST 2000000") << "another owner is not kept waiting";
        const Peer small(server_->port());
        ASSERT_TRUE(small.send(head("ann") + "Content-Length: 2\r\n\r\nab"));
        EXPECT_EQ(body_of(small.read_to_end()), "POST 2");
    }
    std::string answer;
    for (int i = 0; i < 1'000 && !answer.starts_with("HTTP/1.1 200"); ++i)
        answer = whole("ann");
    EXPECT_EQ(body_of(answer), "POST 2000000") << "a body that was cut has given its place back";
    EXPECT_EQ(body_of(whole("ann")), "POST 2000000") << "and so has one that was answered";
}

TEST_F(ServerTest, StopDoesNotWaitForADownload) {
    start();
    const Peer peer(server_->port());
    ASSERT_TRUE(peer.send("GET /stream-large HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_EQ(peer.read_until("\r\n\r\n").substr(0, 15), "HTTP/1.1 200 OK");
    std::thread stopper([this] { server_->stop(60'000); });
    EXPECT_LT(peer.read_to_end().size(), kLargeStreamBytes)
        << "who downloads asks for the rest later";
    stopper.join();
}

TEST_F(ServerTest, APortInUseIsAnError) {
    start();
    ServerOptions options;
    options.port = server_->port();
    const auto second = Server::start(options, handler_);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kIo);
}

TEST_F(ServerTest, ParallelClientsAreServed) {
    start();
    std::atomic<int> answered = 0;
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i)
        clients.emplace_back([this, &answered] {
            const Peer peer(server_->port());
            for (int n = 0; n < 50; ++n) {
                if (!peer.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")) return;
                if (peer.read_until("GET 0").find("200 OK") != std::string::npos) ++answered;
            }
        });
    for (std::thread& client : clients)
        client.join();
    EXPECT_EQ(answered, 400);
}

/// The API's own answers to input that never becomes a request.
class ApiServerTest : public ::testing::Test {
  protected:
    void start(const ServerOptions& options) { server_ = Server::start(options, api_).value(); }
    /// The problem in the answer to `sent`.
    boost::json::object problem(const std::string& sent) {
        const Peer peer(server_->port());
        EXPECT_TRUE(peer.send(sent));
        const std::string answer = peer.read_to_end();
        EXPECT_NE(answer.find("Content-Type: application/problem+json\r\n"), std::string::npos)
            << answer;
        boost::json::error_code error;
        const auto at = answer.find("\r\n\r\n");
        const auto body =
            boost::json::parse(answer.substr(at == std::string::npos ? 0 : at + 4), error);
        EXPECT_FALSE(error) << answer;
        return body.is_object() ? body.get_object() : boost::json::object{};
    }
    testing::FakeBackend backend_;
    gym::testing::ManualClock clock_{20'000};
    Api api_{{backend_, backend_, backend_, clock_}, {}};
    std::unique_ptr<Server> server_;
};

TEST_F(ApiServerTest, EveryRefusalIsAProblem) {
    ServerOptions options;
    options.header_timeout_ms = options.body_timeout_ms = 300;
    options.header_bytes_max = 4'096;
    start(options);
    const std::string host = "Host: x\r\nConnection: close\r\n";
    const std::string key = std::string("Authorization: Bearer ") + testing::kGoodKey + "\r\n";
    const std::string job = "POST /v1/jobs HTTP/1.1\r\n" + host + key +
                            "Content-Type: application/yaml\r\nIdempotency-Key: k\r\n";
    const std::vector<std::pair<unsigned, std::string>> cases{
        {400, "hello\r\n\r\n"},
        {400, "GET /v1/jobs HTTP/9.9\r\n\r\n"},
        {400, "GET /v1/jobs HTTP/1.1\r\nno colon\r\n\r\n"},
        {400, "GET /v1/jobs?nothing=1 HTTP/1.1\r\n" + host + "\r\n"},
        {400, "GET /v1/jobs?owner=%zz HTTP/1.1\r\n" + host + "\r\n"},
        {401, "POST /v1/jobs HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc"},
        {404, "GET /nowhere HTTP/1.1\r\n" + host + "\r\n"},
        {405, "DELETE /v1/jobs HTTP/1.1\r\n" + host + "\r\n"},
        {408, "GET /v1/jobs HTT"},
        {408, job + "Content-Length: 10\r\n\r\nab"},
        {413, job + "Content-Length: 1073741824\r\n\r\n"},
        {415, "POST /v1/jobs HTTP/1.1\r\n" + host + key + "Content-Length: 1\r\n\r\nx"},
        {431, "GET /v1/jobs HTTP/1.1\r\nX-Long: " + std::string(8'000, 'a') + "\r\n\r\n"},
    };
    for (const auto& [status, sent] : cases) {
        const auto answer = problem(sent);
        ASSERT_TRUE(answer.contains("status")) << sent.substr(0, 60);
        EXPECT_EQ(answer.at("status").to_number<unsigned>(), status) << sent.substr(0, 60);
        EXPECT_TRUE(answer.at("type").as_string().starts_with("urn:gym:problem:"));
        EXPECT_FALSE(answer.at("detail").as_string().empty());
        EXPECT_FALSE(answer.at("request_id").as_string().empty());
    }
    backend_.down = true;
    const auto down = problem("GET /v1/nodes HTTP/1.1\r\n" + host + "\r\n");
    EXPECT_EQ(down.at("status").to_number<int>(), 503);
    EXPECT_EQ(boost::json::serialize(down).find("10.0.0.7"), std::string::npos) << "inner address";
}

}  // namespace
}  // namespace gym::api
