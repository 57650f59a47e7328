// A mirror between an origin and those who ask, over real sockets.
#include "gym/mirror/pull_through.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "blob_site.hpp"
#include "gym/http/connection.hpp"
#include "temporary_folder.hpp"

namespace gym::mirror {
namespace {

using testing::BlobSite;
using testing::Fault;
using testing::noise;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// A mirror with its server.
struct Mirror {
    explicit Mirror(const PullOptions& options)
        : pull(PullThrough::open(options, {}).value()),
          handler(*pull),
          server(http_server::Server::start({}, handler).value()) {}
    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server->port());
    }
    std::unique_ptr<PullThrough> pull;
    BlobHandler handler;
    std::unique_ptr<http_server::Server> server;
};

class PullThroughTest : public ::testing::Test {
  protected:
    Digest put(std::uint64_t size, std::uint32_t seed = 1) {
        content_ = noise(size, seed);
        return store_.put(content_).value();
    }
    PullOptions options(const std::vector<std::string>& origins) {
        PullOptions out;
        out.folder = dir_.path() / "mirror";
        out.origins = origins;
        out.fetch.silence_ms = 8'000;
        out.fetch.patience_ms = 200;
        out.fetch.ban_ms = 100;
        out.absent_ms = 300;
        return out;
    }
    static http::Reply ask(const Mirror& mirror, const Digest& root, const std::string& range = {},
                           const char* suffix = "") {
        http::Request request;
        request.target = "/b/" + to_hex(root.view()) + suffix;
        if (!range.empty()) request.headers = {{"Range", range}};
        const auto connection = http::Connection::create(http::parse_url(mirror.url()).value(), {});
        auto reply = connection->exchange(request);
        return reply.ok() ? std::move(reply).value() : http::Reply{};
    }
    [[nodiscard]] bool is_content(const http::Reply& reply) const {
        return std::ranges::equal(as_bytes(reply.body), content_);
    }

    testing::TemporaryFolder dir_;
    blob::MemoryStore store_;
    Bytes content_;
};

TEST_F(PullThroughTest, FetchesEachPieceOnceAndServesItFromDisk) {
    BlobSite origin(store_);
    const Digest root = put(3 * kMiB + 9);
    Mirror mirror(options({origin.url()}));
    EXPECT_TRUE(is_content(ask(mirror, root)));
    EXPECT_TRUE(is_content(ask(mirror, root)));
    EXPECT_EQ(origin.pieces, 4U);
    EXPECT_EQ(origin.lists, 1U);
    EXPECT_EQ(mirror.pull->counters().origin_bytes, content_.size());
    EXPECT_EQ(mirror.pull->counters().pieces_hit, 4U);
}

TEST_F(PullThroughTest, ARangeCostsItsPiecesOnly) {
    BlobSite origin(store_);
    const Digest root = put(8 * kMiB);
    Mirror mirror(options({origin.url()}));
    const auto reply = ask(mirror, root, "bytes=5242870-5242889");  // over the edge of two pieces
    EXPECT_EQ(reply.status, 206U);
    EXPECT_TRUE(
        std::ranges::equal(as_bytes(reply.body), ByteView(content_).subspan(5'242'870, 20)));
    EXPECT_EQ(origin.pieces, 2U);
}

TEST_F(PullThroughTest, ManyAtOnceCostTheOriginOnce) {
    BlobSite origin(store_);
    origin.delay_ms = 50;
    const Digest root = put(2 * kMiB);
    Mirror mirror(options({origin.url()}));
    {
        std::vector<std::jthread> peers;
        for (int i = 0; i < 6; ++i)
            peers.emplace_back([&] { EXPECT_TRUE(is_content(ask(mirror, root))); });
    }
    EXPECT_EQ(origin.pieces, 2U);
    EXPECT_EQ(origin.lists, 1U);
}

TEST_F(PullThroughTest, GoesOnAfterARestartWithoutTheOrigin) {
    const Digest root = put(2 * kMiB);
    std::string origin_url;
    {
        BlobSite origin(store_);
        origin_url = origin.url();
        EXPECT_TRUE(is_content(ask(Mirror(options({origin_url})), root)));
    }
    EXPECT_TRUE(is_content(ask(Mirror(options({origin_url})), root)));
}

TEST_F(PullThroughTest, WhatALyingOriginSendsIsNeverServed) {
    BlobSite liar(store_, Fault::kLies);
    const Digest root = put(2 * kMiB);
    Mirror mirror(options({liar.url()}));
    const auto reply = ask(mirror, root);
    EXPECT_NE(reply.status, 200U) << "broken off or refused";
    EXPECT_EQ(mirror.handler.bytes_sent(), 0U);
    BlobSite honest(store_);
    honest.delay_ms = 20;
    PullOptions both = options({liar.url(), honest.url()});
    both.folder = dir_.path() / "second";
    EXPECT_TRUE(is_content(ask(Mirror(both), root)));
}

TEST_F(PullThroughTest, AMirrorOfAMirror) {
    BlobSite origin(store_);
    const Digest root = put(3 * kMiB);
    const Mirror first(options({origin.url()}));
    PullOptions of_second = options({first.url()});
    of_second.folder = dir_.path() / "second";
    EXPECT_TRUE(is_content(ask(Mirror(of_second), root)));
    EXPECT_EQ(origin.pieces, 3U);
}

TEST_F(PullThroughTest, UnknownRootsAreRememberedAndBounded) {
    BlobSite origin(store_);
    PullOptions bounded = options({origin.url()});
    bounded.lookups_per_s = 1'000;
    bounded.lookups_per_s_of_peer = 2;
    Mirror mirror(bounded);
    Digest unknown{};
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(ask(mirror, unknown).status, 404U);
    EXPECT_EQ(origin.lists, 1U);
    unsigned refused = 0;
    for (std::uint8_t i = 1; i <= 100; ++i) {
        unknown.data[0] = i;
        const auto reply = ask(mirror, unknown);
        refused += reply.status == 429 ? 1 : 0;
        EXPECT_TRUE(reply.status == 404 || reply.status == 429) << reply.status;
    }
    EXPECT_GE(refused, 60U);
    EXPECT_LE(origin.lists, 41U);
    EXPECT_EQ(mirror.pull->counters().refused, refused);
    EXPECT_EQ(mirror.pull->bytes_kept(), 0U);
}

TEST_F(PullThroughTest, ARootThatAppearsIsFoundAfterAWhile) {
    BlobSite origin(store_);
    Mirror mirror(options({origin.url()}));
    const Bytes later = noise(1'000, 9);
    const Digest root = blob::PieceList::of(later).root();
    EXPECT_EQ(ask(mirror, root).status, 404U);
    put(1'000, 9);
    EXPECT_EQ(ask(mirror, root).status, 404U);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_TRUE(is_content(ask(mirror, root)));
}

TEST_F(PullThroughTest, ServesMoreThanItMayKeep) {
    BlobSite origin(store_);
    PullOptions small = options({origin.url()});
    small.bytes_max = 2 * kMiB;
    Mirror mirror(small);
    const Digest root = put(5 * kMiB);
    EXPECT_TRUE(is_content(ask(mirror, root)));
    EXPECT_LE(mirror.pull->bytes_kept(), 2 * kMiB);
    EXPECT_GT(mirror.pull->counters().not_kept, 0U);
}

TEST_F(PullThroughTest, AFolderThatTakesNothingCostsTheOriginNoListForEachPiece) {
    BlobSite origin(store_);
    PullOptions tiny = options({origin.url()});
    tiny.bytes_max = 1;  // as a disk that is full
    Mirror mirror(tiny);
    const Digest root = put(5 * kMiB);
    for (std::uint64_t i = 0; i < 5; ++i)
        EXPECT_EQ(
            ask(mirror, root,
                "bytes=" + std::to_string(i * kMiB) + "-" + std::to_string((i + 1) * kMiB - 1))
                .status,
            206U);
    EXPECT_EQ(origin.lists, 1U);
    EXPECT_EQ(mirror.pull->counters().not_kept, 5U);
    EXPECT_LE(mirror.pull->bytes_kept(), 1U);
}

TEST_F(PullThroughTest, ABlobAboveTheBoundIsNotHere) {
    BlobSite origin(store_);
    PullOptions small = options({origin.url()});
    small.fetch.blob_bytes_max = kMiB;
    Mirror mirror(small);
    const Digest root = put(2 * kMiB);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(ask(mirror, root).status, 404U);
    EXPECT_EQ(origin.lists, 1U);
    EXPECT_EQ(origin.pieces, 0U);
}

TEST_F(PullThroughTest, EveryOriginIsAskedBeforeABlobIsAbsent) {
    blob::MemoryStore nothing;
    std::vector<std::unique_ptr<BlobSite>> origins;
    std::vector<std::string> urls;
    for (int i = 0; i < 6; ++i) {
        origins.push_back(std::make_unique<BlobSite>(i < 5 ? nothing : store_));
        urls.push_back(origins.back()->url());
    }
    Mirror mirror(options(urls));
    const Digest root = put(kMiB + 5);
    EXPECT_TRUE(is_content(ask(mirror, root)));
}

TEST_F(PullThroughTest, WhatIsFetchedFromOriginsHasARate) {
    BlobSite origin(store_);
    PullOptions slow = options({origin.url()});
    slow.origin_bytes_per_s = 100'000;
    Mirror mirror(slow);
    const Digest root = put(4 * kMiB);
    EXPECT_FALSE(is_content(ask(mirror, root)));
    EXPECT_LE(origin.pieces, 2U);
    EXPECT_GT(mirror.pull->counters().refused, 0U);
}

TEST_F(PullThroughTest, NeedsAnOriginThatIsAnAddress) {
    EXPECT_EQ(PullThrough::open(options({}), {}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(PullThrough::open(options({"coordinator:7600"}), {}).error().code,
              ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace gym::mirror
