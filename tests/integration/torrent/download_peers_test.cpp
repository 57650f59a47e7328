// A download from mirrors beside peers, which the test plays.
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "blob_site.hpp"
#include "gym/mirror/fetcher.hpp"

namespace gym::mirror {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::BlobSite;
using testing::Fault;
using testing::noise;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class MemorySink final : public PieceSink {
  public:
    explicit MemorySink(std::uint64_t size) : bytes(size) {}
    bool has(std::uint64_t) override { return false; }
    Status write(std::uint64_t index, ByteView piece) override {
        std::ranges::copy(piece, bytes.begin() + static_cast<std::ptrdiff_t>(index * kMiB));
        return {};
    }
    Bytes bytes;
};

/// Has pieces, and brings those that it is told to, each after a pause.
class PlayedPeers final : public Peers {
  public:
    PlayedPeers(const Bytes& content, std::set<std::uint64_t> has, std::deque<std::uint64_t> brings,
                milliseconds pause = milliseconds(5))
        : content_(content), has_(std::move(has)), brings_(std::move(brings)), pause_(pause) {}

    std::optional<Piece> next(milliseconds) override {
        std::this_thread::sleep_for(pause_);
        if (brings_.empty()) return std::nullopt;
        const std::uint64_t index = brings_.front();
        brings_.pop_front();
        const auto from = content_.begin() + static_cast<std::ptrdiff_t>(index * kMiB);
        const auto size = std::min(kMiB, content_.size() - index * kMiB);
        return Piece{index, Bytes(from, from + static_cast<std::ptrdiff_t>(size))};
    }
    bool have(std::uint64_t index) override { return has_.contains(index); }
    void offer(std::uint64_t index, ByteView bytes) override {
        const std::scoped_lock lock(mutex_);
        offered_bytes += bytes.size();
        EXPECT_TRUE(offered.insert(index).second);
    }

    std::set<std::uint64_t> offered;
    std::uint64_t offered_bytes = 0;

  private:
    const Bytes& content_;
    const std::set<std::uint64_t> has_;
    std::deque<std::uint64_t> brings_;
    const milliseconds pause_;
    std::mutex mutex_;
};

class DownloadPeers : public ::testing::Test {
  protected:
    std::set<std::uint64_t> all() const {
        std::set<std::uint64_t> out;
        for (std::uint64_t i = 0; i < list_.count(); ++i)
            out.insert(i);
        return out;
    }
    Status download(PlayedPeers& peers, FetchOptions options = {}) {
        const auto fetcher = Fetcher::create({site_.url()}, options).value();
        Status done = fetcher->download(list_, sink_, {}, {}, &peers);
        return done;
    }

    blob::MemoryStore store_;
    const Bytes content_ = noise(16 * kMiB + 77);
    const Digest root_ = store_.put(content_).value();
    const blob::PieceList list_ = blob::PieceList::of(content_);
    BlobSite site_{store_};
    MemorySink sink_{content_.size()};
};

TEST_F(DownloadPeers, PeersThatBringNothingCostNothing) {
    PlayedPeers peers(content_, all(), {});
    const auto begin = steady_clock::now();
    ASSERT_TRUE(download(peers).ok());
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(8));
    EXPECT_TRUE(sink_.bytes == content_);
    EXPECT_EQ(peers.taken_bytes(), 0U);
    EXPECT_EQ(peers.offered, all());
    EXPECT_EQ(peers.offered_bytes, content_.size());
}

TEST_F(DownloadPeers, WhatPeersBringIsNotAskedOfAMirror) {
    site_.delay_ms = 200;
    std::deque<std::uint64_t> brings;
    for (const std::uint64_t index : all())
        brings.push_back(index);
    PlayedPeers peers(content_, {}, brings);
    ASSERT_TRUE(download(peers).ok());
    EXPECT_TRUE(sink_.bytes == content_);
    EXPECT_GT(peers.taken_bytes(), content_.size() / 2);
    EXPECT_EQ(peers.taken_bytes() + peers.offered_bytes, content_.size());
    EXPECT_LT(site_.pieces, 10U);
}

TEST_F(DownloadPeers, MirrorsAreAskedFirstForWhatNoPeerHas) {
    // One connection, so that the order can be seen; the peers bring nothing.
    std::set<std::uint64_t> has = all();
    for (const std::uint64_t lacking : {3, 7, 12})
        has.erase(lacking);
    FetchOptions options;
    options.connections_max = 1;
    class FirstPieces final : public PieceSink {
      public:
        bool has(std::uint64_t) override { return false; }
        Status write(std::uint64_t index, ByteView) override {
            order.push_back(index);
            return {};
        }
        std::vector<std::uint64_t> order;
    } sink;
    PlayedPeers peers(content_, has, {});
    const auto fetcher = Fetcher::create({site_.url()}, options).value();
    ASSERT_TRUE(fetcher->download(list_, sink, {}, {}, &peers).ok());
    ASSERT_EQ(sink.order.size(), list_.count());
    std::vector<std::uint64_t> first(sink.order.begin(), sink.order.begin() + 3);
    std::ranges::sort(first);
    EXPECT_EQ(first, (std::vector<std::uint64_t>{3, 7, 12}));
}

TEST_F(DownloadPeers, PeersFinishWhatNoMirrorGives) {
    site_.fault = Fault::kFails;
    std::deque<std::uint64_t> brings;
    for (const std::uint64_t index : all())
        brings.push_back(index);
    PlayedPeers peers(content_, all(), brings, milliseconds(0));
    FetchOptions options;
    options.ban_ms = 60'000;
    const Status done = download(peers, options);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_TRUE(sink_.bytes == content_);
    EXPECT_EQ(peers.taken_bytes(), content_.size());
}

}  // namespace
}  // namespace gym::mirror
