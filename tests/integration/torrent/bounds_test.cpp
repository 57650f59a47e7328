// A node's sharing ends at its bounds.
#include "torrent_network.hpp"

namespace gym::testing {
namespace {

using std::chrono::seconds;

class TorrentBounds : public TorrentNetwork {
  protected:
    [[nodiscard]] static bool erased(const TorrentNode& node, const Digest& root, seconds most) {
        return within(most, [&] {
            return !std::filesystem::exists(node.shared(root)) &&
                   !std::filesystem::exists(node.shared(root).string() + ".torrent") &&
                   !node.shares(root);
        });
    }
};

TEST_F(TorrentBounds, SeedingEndsAfterItsTime) {
    const Digest root = put(3 * kMiB, 1);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    TorrentNode node(mirror.url(), [](auto& options) { options.seed_s_max = 3; });
    ASSERT_TRUE(node.fetch(root).ok());
    ASSERT_TRUE(within(seconds(30), [&] { return node.shares(root); }));
    EXPECT_TRUE(erased(node, root, seconds(20)));
    EXPECT_TRUE(within(seconds(10), [&] { return node.swarm().counters().torrents == 0; }));
}

TEST_F(TorrentBounds, SeedingEndsAtItsRatio) {
    const Digest root = put(12 * kMiB, 2);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    TorrentNode seed(mirror.url(), [](auto& options) { options.seed_ratio_max = 0.25; });
    ASSERT_TRUE(seed.fetch(root).ok());
    ASSERT_TRUE(within(seconds(30), [&] { return seed.shares(root); }));
    SlowLine line(mirror.port(), kMiB);
    TorrentNode node(line.url());
    const auto got = node.fetch(root);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(std::ranges::equal(got->bytes(), content_));
    EXPECT_TRUE(erased(seed, root, seconds(20)));
    EXPECT_TRUE(within(seconds(10), [&] {
        return seed.swarm().counters().sent_bytes >= content_.size() / 4;
    })) << seed.swarm().counters().sent_bytes;
}

TEST_F(TorrentBounds, TheFolderKeepsItsSize) {
    std::vector<Digest> roots;
    for (std::uint32_t i = 0; i < 3; ++i)
        roots.push_back(put(4 * kMiB, 10 + i));
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    TorrentNode node(mirror.url(), [](auto& options) { options.seed_bytes_max = 9 * kMiB; });
    for (const Digest& root : roots) {
        ASSERT_TRUE(node.fetch(root).ok());
        ASSERT_TRUE(within(seconds(30), [&] { return node.shares(root); }));
    }
    EXPECT_TRUE(erased(node, roots[0], seconds(1)));
    EXPECT_TRUE(node.shares(roots[1]));
    const Digest larger = put(10 * kMiB, 20);
    ASSERT_TRUE(node.fetch(larger).ok());
    EXPECT_FALSE(std::filesystem::exists(node.shared(larger)));
    EXPECT_TRUE(node.shares(roots[2]));
}

TEST_F(TorrentBounds, SendingHasARate) {
    const Digest root = put(8 * kMiB, 3);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    constexpr std::uint64_t kRate = 512 << 10;
    TorrentNode seed(mirror.url(), [](auto& options) { options.upload_bytes_per_s_max = kRate; });
    ASSERT_TRUE(seed.fetch(root).ok());
    ASSERT_TRUE(within(seconds(30), [&] { return seed.shares(root); }));
    SlowLine line(mirror.port(), kMiB);
    const auto begin = std::chrono::steady_clock::now();
    TorrentNode node(line.url());
    ASSERT_TRUE(node.fetch(root).ok());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    // A second's worth may come at once.
    EXPECT_LT(static_cast<double>(node.traffic().peer_bytes),
              static_cast<double>(kRate) * (took.count() + 2));
}

}  // namespace
}  // namespace gym::testing
