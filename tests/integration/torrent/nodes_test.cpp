// Nodes that share blobs, with gym-torrent, `gym mirror` and another program as processes.
#include "gym/torrent/metainfo.hpp"
#include "torrent_network.hpp"

namespace gym::testing {
namespace {

using std::chrono::seconds;

class TorrentNodes : public TorrentNetwork {};

TEST_F(TorrentNodes, AProgramThatIsNotOursFollowsTheTorrentOfAMirror) {
    const Digest root = put(6 * kMiB + 12'345, 1);
    BlobSite origin(store_);
    const ReservedPort port;
    const SlowLine web_seed(port.number(), 8 * kMiB);
    MirrorProcess mirror(origin.url(), "self: \"" + web_seed.url() + "\"\n", port.number());
    const Bytes file = torrent_of(mirror.url(), root);
    const auto metainfo = torrent::Metainfo::decode(root, content_.size(), file);
    ASSERT_TRUE(metainfo.ok()) << metainfo.error().message;
    ASSERT_TRUE(write_file_atomic(dir_.path() / "x.torrent", file).ok());
    std::filesystem::create_directory(dir_.path() / "a");
    std::filesystem::create_directory(dir_.path() / "b");
    const std::string name = to_hex(root.view());
    const OtherProgram first(dir_.path() / "x.torrent", dir_.path() / "a");
    const OtherProgram second(dir_.path() / "x.torrent", dir_.path() / "b");
    for (const OtherProgram* one : {&first, &second})
        ASSERT_TRUE(within(seconds(60), [&] { return one->said("done"); })) << one->log();
    EXPECT_TRUE(read_file(dir_.path() / "a" / name).value() == content_);
    EXPECT_TRUE(read_file(dir_.path() / "b" / name).value() == content_);
    EXPECT_GE(web_seed.bytes(), content_.size()) << "nobody else had it at first";
    // A node of Gym gets it from the two, and sends it to others.
    SlowLine line(port.number(), 200'000);
    TorrentNode node(line.url());
    const auto got = node.fetch(root);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(std::ranges::equal(got->bytes(), content_));
    EXPECT_GT(node.traffic().peer_bytes, content_.size() / 2);
}

TEST_F(TorrentNodes, ThreeNodesGetMoreThanTheirOneMirrorSends) {
    const Digest root = put(24 * kMiB + 5, 2);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    (void)torrent_of(mirror.url(), root);
    SlowLine line(mirror.port(), 4 * kMiB);
    std::vector<std::unique_ptr<TorrentNode>> nodes;
    for (int i = 0; i < 3; ++i)
        nodes.push_back(std::make_unique<TorrentNode>(line.url()));
    std::vector<std::jthread> threads;
    for (const auto& node : nodes)
        threads.emplace_back([&, &one = *node] {
            const auto got = one.fetch(root);
            ASSERT_TRUE(got.ok()) << got.error().message;
            EXPECT_TRUE(std::ranges::equal(got->bytes(), content_));
        });
    threads.clear();
    std::uint64_t from_peers = 0, from_mirror = 0;
    for (const auto& node : nodes) {
        from_peers += node->traffic().peer_bytes;
        from_mirror += node->traffic().mirror_bytes;
        EXPECT_EQ(node->traffic().coordinator_bytes, 0U);
    }
    const std::uint64_t all = 3 * content_.size();
    EXPECT_EQ(from_peers + from_mirror, all);
    RecordProperty("mirror_sent", std::to_string(line.bytes()));
    RecordProperty("nodes_got", std::to_string(all));
    std::printf(
        "the mirror sent %.1f MiB, the nodes got %.1f MiB, %.1f MiB of it from each other\n",
        static_cast<double>(line.bytes()) / kMiB, static_cast<double>(all) / kMiB,
        static_cast<double>(from_peers) / kMiB);
    EXPECT_LT(line.bytes(), all * 3 / 4) << "half as measured";
    EXPECT_GT(from_peers, all / 4);
}

TEST_F(TorrentNodes, AKilledSessionIsContinued) {
    const Digest root = put(16 * kMiB, 3);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    (void)torrent_of(mirror.url(), root);
    TorrentNode seed(mirror.url());
    ASSERT_TRUE(seed.fetch(root).ok());
    ASSERT_TRUE(within(seconds(30), [&] { return seed.shares(root); }));
    seed.kill_helper();
    ASSERT_TRUE(within(seconds(30), [&] { return seed.swarm().counters().starts == 2; }));
    ASSERT_TRUE(within(seconds(30), [&] { return seed.swarm().counters().torrents == 1; }))
        << "it is shared again";

    SlowLine line(mirror.port(), kMiB);
    TorrentNode node(line.url());
    Result<blob::VerifiedBlob> got = fail(ErrorCode::kInternal, "not fetched");
    std::jthread fetching([&] { got = node.fetch(root); });
    ASSERT_TRUE(within(seconds(30), [&] { return node.swarm().counters().received_bytes > 0; }));
    node.kill_helper();
    fetching.join();
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(std::ranges::equal(got->bytes(), content_));
    EXPECT_TRUE(within(seconds(30), [&] { return node.shares(root); }))
        << "the new process looked through the file of the old one";
}

TEST_F(TorrentNodes, WhatAnEarlierDownloadLeftIsFoundAgain) {
    const Digest root = put(16 * kMiB, 4);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    (void)torrent_of(mirror.url(), root);
    TorrentNode node(mirror.url());
    ASSERT_TRUE(node.fetch(root).ok());
    ASSERT_TRUE(within(seconds(30), [&] { return node.shares(root); }));
    std::filesystem::remove(node.shared(root).string() + ".seed");
    node.kill_helper();
    ASSERT_TRUE(within(seconds(30), [&] { return node.swarm().counters().starts == 2; }));
    SlowLine line(mirror.port(), 2 * kMiB);
    node.forget(line.url());
    ASSERT_TRUE(node.fetch(root).ok());
    EXPECT_LT(node.traffic().mirror_bytes, content_.size() / 2);
    EXPECT_EQ(node.swarm().counters().received_bytes, 0U) << "no peer sent it";
    EXPECT_TRUE(within(seconds(30), [&] { return node.shares(root); }));
    // A seed, too.
    node.forget(line.url());
    ASSERT_TRUE(node.fetch(root).ok());
    EXPECT_LT(node.traffic().mirror_bytes, content_.size() / 2);
}

TEST_F(TorrentNodes, OnlyLargeBlobsThatManyNeedAreShared) {
    const Digest small = put(kMiB, 5);
    const Digest for_few = put(3 * kMiB, 6);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    TorrentNode node(mirror.url());
    ASSERT_TRUE(node.fetch(small).ok());
    ASSERT_TRUE(node.fetch(for_few, rpc::BlobCache::Audience::kFew).ok());
    EXPECT_FALSE(std::filesystem::exists(node.shared(small)));
    EXPECT_FALSE(std::filesystem::exists(node.shared(for_few)));
    EXPECT_EQ(node.swarm().counters().torrents, 0U);
}

TEST_F(TorrentNodes, WithoutTheHelperBlobsComeFromMirrors) {
    const Digest root = put(4 * kMiB, 7);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    TorrentNode first(mirror.url());
    const CapturedLog log;
    // The port is taken.
    TorrentNode second(mirror.url(), [&](auto& options) { options.port = first.swarm().port(); });
    EXPECT_EQ(second.swarm().counters().starts, 0U);
    EXPECT_TRUE(log.has("gym-torrent does not start: ")) << log.text();
    EXPECT_TRUE(log.has("ddress already in use")) << log.text();
    const auto got = second.fetch(root);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(second.traffic().mirror_bytes, content_.size());
    EXPECT_TRUE(within(seconds(10),
                       [&] {
                           return log.text().find("ddress already in use") !=
                                  log.text().rfind("ddress already in use");
                       }))
        << "it is tried again: " << log.text();
    torrent::SwarmOptions nothing;
    nothing.program = dir_.path() / "none";
    nothing.folder = dir_.path() / "torrents";
    const auto missing = torrent::HelperSwarm::start(nothing);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST_F(TorrentNodes, AMirrorWithoutTorrentsGivesBlobsAsBefore) {
    const Digest root = put(4 * kMiB, 8);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url(), "torrents: {enabled: false}\n");
    TorrentNode node(mirror.url());
    ASSERT_TRUE(node.fetch(root).ok());
    EXPECT_EQ(node.traffic().mirror_bytes, content_.size());
    EXPECT_TRUE(within(seconds(10), [&] { return !std::filesystem::exists(node.shared(root)); }))
        << "nothing is left in the clear";
}

}  // namespace
}  // namespace gym::testing
