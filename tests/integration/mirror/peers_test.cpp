// Mirrors that ask each other before the origin, over real sockets.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "blob_site.hpp"
#include "gym/http/connection.hpp"
#include "gym/mirror/pull_through.hpp"
#include "temporary_folder.hpp"

namespace gym::mirror {
namespace {

using testing::noise;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::size_t kMirrors = 3;

/// A place for a handler that is made after its address is known.
class Door final : public http_server::Handler {
  public:
    Door() {
        http_server::ServerOptions options;
        options.threads = 16;
        server = http_server::Server::start(options, *this).value();
    }
    Admission admit(const http_server::Request& head) override { return inner->admit(head); }
    http_server::Response handle(const http_server::Request& request) override {
        return inner->handle(request);
    }
    http_server::Response refuse(unsigned status, std::string_view detail,
                                 std::string_view id) override {
        return inner->refuse(status, detail, id);
    }
    void connections(std::int64_t) override {}
    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server->port());
    }
    http_server::Handler* inner = nullptr;
    std::unique_ptr<http_server::Server> server;
};

class PeersTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::vector<std::string> peers;
        for (const Door& door : doors_)
            peers.push_back(door.url());
        for (std::size_t i = 0; i < kMirrors; ++i) {
            PullOptions options;
            options.folder = dir_.path() / std::to_string(i);
            options.origins = {origin_.url()};
            options.peers = peers;
            options.self = peers[i] + "/";
            options.absent_ms = 100;
            options.uploads_bytes_max = 64 * kMiB;
            pulls_.push_back(PullThrough::open(options, {}).value());
            handlers_.push_back(std::make_unique<BlobHandler>(*pulls_.back()));
            doors_[i].inner = handlers_.back().get();
        }
    }
    void TearDown() override {
        for (Door& door : doors_)
            door.server->stop();
    }
    static http::Reply get(const Door& door, const Digest& root) {
        http::Request request;
        request.target = "/b/" + to_hex(root.view());
        const auto at = http::Connection::create(http::parse_url(door.url()).value(), {});
        return at->exchange(request).value();
    }
    std::uint64_t from_origin() const {
        std::uint64_t out = 0;
        for (const auto& pull : pulls_)
            out += pull->counters().origin_bytes;
        return out;
    }

    TemporaryFolder dir_ = TemporaryFolder::create("gym-peers-").value();
    blob::MemoryStore store_;
    testing::BlobSite origin_{store_};
    std::array<Door, kMirrors> doors_;
    std::vector<std::unique_ptr<PullThrough>> pulls_;
    std::vector<std::unique_ptr<BlobHandler>> handlers_;
};

TEST_F(PeersTest, TheOriginSendsABlobOnceHoweverManyAskAtATime) {
    std::uint64_t bytes = 0;
    for (std::uint32_t seed = 1; seed <= 4; ++seed) {
        const Bytes content = noise(5 * kMiB + seed, seed);
        const Digest root = store_.put(content).value();
        bytes += content.size();
        std::vector<std::thread> askers;
        for (std::size_t i = 0; i < 2 * kMirrors; ++i)
            askers.emplace_back([&, i] {
                const http::Reply reply = get(doors_[i % kMirrors], root);
                EXPECT_EQ(Bytes(reply.body.begin(), reply.body.end()), content);
            });
        for (std::thread& asker : askers)
            asker.join();
    }
    EXPECT_EQ(from_origin(), bytes);
    std::uint64_t from_peers = 0;
    for (const auto& pull : pulls_)
        from_peers += pull->counters().peer_bytes;
    EXPECT_EQ(from_peers, 2 * bytes);
}

TEST_F(PeersTest, WhatWasUploadedToOneIsFoundByAllWithoutTheOrigin) {
    const Bytes content = noise(2 * kMiB + 5, 9);
    const Digest root = blob::blob_root(content);
    auto incoming = pulls_[1]->receive(root, content.size()).value();
    ASSERT_TRUE(incoming->write(content).ok());
    ASSERT_TRUE(incoming->finish().ok());
    for (const Door& door : doors_)
        EXPECT_EQ(get(door, root).body.size(), content.size());
    EXPECT_EQ(from_origin(), 0U);
    EXPECT_EQ(origin_.pieces, 0U);
}

TEST_F(PeersTest, WhatNobodyHasIsAnsweredAtOnce) {
    const auto begin = std::chrono::steady_clock::now();
    for (const Door& door : doors_)
        EXPECT_EQ(get(door, blob::blob_root(Bytes{1, 2, 3})).status, 404U);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(PeersTest, AMirrorThatIsAwayIsReplacedByTheOrigin) {
    doors_[2].server->stop(0);
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
        const Bytes content = noise(kMiB + seed, seed);
        const Digest root = store_.put(content).value();
        for (const std::size_t i : {0, 1})
            EXPECT_EQ(get(doors_[i], root).body.size(), content.size());
    }
}

TEST_F(PeersTest, PeersNeedTheOwnAddress) {
    PullOptions options;
    options.folder = dir_.path() / "none";
    options.origins = {origin_.url()};
    options.peers = {doors_[0].url()};
    EXPECT_EQ(PullThrough::open(options, {}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace gym::mirror
