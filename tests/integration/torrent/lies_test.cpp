// Mirrors and peers that lie: a node gets the right bytes all the same, and names the liar.
#include "gym/http/connection.hpp"
#include "gym/torrent/metainfo.hpp"
#include "gym/torrent/tracker.hpp"
#include "torrent_network.hpp"

namespace gym::testing {
namespace {

using std::chrono::seconds;

class BytesReader final : public blob::BlobReader {
  public:
    explicit BytesReader(const Bytes& bytes) : bytes_(bytes) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
        return {};
    }

  private:
    const Bytes& bytes_;
};

/// A mirror of right blobs whose torrents the test writes.
class LyingMirror final : public mirror::TorrentSite {
  public:
    explicit LyingMirror(const blob::BlobStore& store) : source_(store) {
        http_server::ServerOptions options;
        options.threads = 8;
        server_ = http_server::Server::start(options, handler_).value();
    }
    ~LyingMirror() override { server_->stop(2'000); }
    LyingMirror(const LyingMirror&) = delete;
    LyingMirror& operator=(const LyingMirror&) = delete;

    Result<std::shared_ptr<const Bytes>> torrent(const Digest&, const mirror::Asker&) override {
        ++asked;
        return std::make_shared<const Bytes>(file);
    }
    std::string announce(std::string_view query, const std::string& address) override {
        return tracker.answer(query, address, std::chrono::steady_clock::now());
    }
    [[nodiscard]] std::uint16_t port() const { return server_->port(); }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

    Bytes file;
    std::atomic<int> asked{0};
    torrent::Tracker tracker{torrent::TrackerOptions(), 1};

  private:
    StoreSource source_;
    mirror::BlobHandler handler_{source_, {}, {}, this};
    std::unique_ptr<http_server::Server> server_;
};

/// Right lists, torrents and tracker of a mirror, and a page in the place of each piece, once it
/// sends them: it keeps who asks waiting until then.
class Hotel final : public http_server::Handler {
  public:
    explicit Hotel(const std::string& mirror) : url_(http::parse_url(mirror).value()) {
        http_server::ServerOptions options;
        options.threads = 8;
        server_ = http_server::Server::start(options, *this).value();
    }
    ~Hotel() override { server_->stop(2'000); }
    Hotel(const Hotel&) = delete;
    Hotel& operator=(const Hotel&) = delete;

    Admission admit(const http_server::Request&) override { return {}; }
    http_server::Response handle(const http_server::Request& request) override {
        if (!request.header("range").empty()) {
            for (int i = 0; !sends_pages && i < 900; ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            return {200, "text/html", {}, "<!DOCTYPE html><html>Welcome to the hotel</html>"};
        }
        http::Options options;
        options.reply_bytes_max = 2 << 20;
        http::Request forwarded;
        forwarded.target = request.target;
        const auto reply = http::Connection::create(url_, options)->exchange(forwarded);
        if (!reply.ok()) return {503, "text/plain", {}, reply.error().message};
        return {reply->status, "application/octet-stream", {}, reply->body};
    }
    http_server::Response refuse(unsigned status, std::string_view, std::string_view) override {
        return {status, "text/plain", {}, ""};
    }
    void connections(std::int64_t) override {}
    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server_->port());
    }

    std::atomic<bool> sends_pages{false};

  private:
    const http::Url url_;
    std::unique_ptr<http_server::Server> server_;
};

class TorrentLies : public TorrentNetwork {
  protected:
    /// The node gets the blob, and its log says why not from peers.
    void expect_refused(LyingMirror& mirror, const Digest& root, const std::string& why) {
        const CapturedLog log;
        TorrentNode node(mirror.url());
        const auto got = node.fetch(root);
        ASSERT_TRUE(got.ok()) << got.error().message;
        EXPECT_TRUE(std::ranges::equal(got->bytes(), content_));
        EXPECT_TRUE(within(seconds(20), [&] { return log.has(why); })) << why << log.text();
        EXPECT_TRUE(log.has("blob " + root.hex() + " is not fetched from peers: "));
        EXPECT_TRUE(log.has(mirror.url()));
        EXPECT_EQ(node.traffic().mirror_bytes, content_.size());
        EXPECT_TRUE(
            within(seconds(5), [&] { return !std::filesystem::exists(node.shared(root)); }));
        EXPECT_FALSE(std::filesystem::exists(node.shared(root).string() + ".torrent"));
    }
};

TEST_F(TorrentLies, ATorrentThatIsNoneOfTheBlobIsRefusedWithTheReason) {
    const Digest root = put(4 * kMiB, 1);
    LyingMirror mirror(store_);
    const auto right = torrent::Metainfo::of(root, BytesReader(content_)).value();
    Digest other = root;
    other.data[5] ^= 1;
    const auto of_other = torrent::Metainfo::of(other, BytesReader(content_)).value();
    const Bytes longer = noise(5 * kMiB, 1);
    const auto of_longer = torrent::Metainfo::of(root, BytesReader(longer)).value();
    const std::string page = "<!DOCTYPE html><html>Welcome to the hotel</html>";
    Bytes broken = right.encode();
    broken[broken.size() - 20] ^= 1;
    const std::vector<std::pair<Bytes, std::string>> lies = {
        {Bytes(page.begin(), page.end()), "byte 0 of 48: 'd' is expected"},
        {Bytes(), "byte 0 of 0"},
        {Bytes(900'000, 'd'), "byte 1 of 900000"},
        {Bytes(40 << 20, 'd'), "the reply exceeds 1048576 bytes"},
        {of_other.encode(), "names another blob"},
        {of_longer.encode(), "is of 5242880 bytes, the blob has 4194304"},
        {broken, "has a piece layer that is not of its pieces root"}};
    for (const auto& [file, why] : lies) {
        mirror.file = file;
        expect_refused(mirror, root, why);
    }
    EXPECT_GE(mirror.asked, static_cast<int>(lies.size()));
}

TEST_F(TorrentLies, ATorrentOfOtherPiecesIsLeftAtTheFirstPiece) {
    const Digest root = put(12 * kMiB, 2);
    const Bytes wrong = noise(12 * kMiB, 99);
    LyingMirror mirror(store_);
    const auto lie = torrent::Metainfo::of(root, BytesReader(wrong)).value();
    mirror.file = lie.encode();
    mirror.tracker.add(lie.info_hash());
    // One that believes it, and has all of it.
    std::filesystem::create_directory(dir_.path() / "a");
    ASSERT_TRUE(write_file_atomic(dir_.path() / "a" / to_hex(root.view()), wrong).ok());
    ASSERT_TRUE(write_file_atomic(dir_.path() / "x.torrent", mirror.file).ok());
    const OtherProgram believer(dir_.path() / "x.torrent", dir_.path() / "a",
                                {"--tracker", mirror.url() + "/announce"});
    ASSERT_TRUE(within(seconds(30), [&] { return believer.said("done"); })) << believer.log();
    SlowLine line(mirror.port(), 2 * kMiB);
    const CapturedLog log;
    TorrentNode node(line.url());
    const auto got = node.fetch(root);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(std::ranges::equal(got->bytes(), content_));
    EXPECT_EQ(node.traffic().peer_bytes, 0U);
    EXPECT_EQ(node.swarm().counters().wrong_pieces, 1U);
    EXPECT_TRUE(log.has("fits the torrent, and not the blob")) << log.text();
    EXPECT_TRUE(log.has(line.url() + "/announce"));
    EXPECT_TRUE(within(seconds(5), [&] { return !std::filesystem::exists(node.shared(root)); }));
}

TEST_F(TorrentLies, APeerThatSendsOtherBytesIsBannedAndNothingOfItCounts) {
    const Digest root = put(12 * kMiB, 3);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    const Bytes file = torrent_of(mirror.url(), root);
    ASSERT_TRUE(write_file_atomic(dir_.path() / "x.torrent", file).ok());
    std::filesystem::create_directory(dir_.path() / "a");
    const OtherProgram liar(dir_.path() / "x.torrent", dir_.path() / "a",
                            {"--lie", "--tracker", mirror.url() + "/announce"});
    SlowLine line(mirror.port(), 2 * kMiB);
    const CapturedLog log;
    TorrentNode node(line.url());
    const auto got = node.fetch(root);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(std::ranges::equal(got->bytes(), content_));
    EXPECT_EQ(node.traffic().peer_bytes, 0U);
    EXPECT_EQ(node.traffic().mirror_bytes, content_.size());
    EXPECT_TRUE(log.has("hash") && log.has("failed")) << log.text();
    EXPECT_TRUE(within(seconds(30), [&] { return node.shares(root); }))
        << "it shares the right bytes";
}

TEST_F(TorrentLies, AMirrorThatServesPagesIsLeftAndPeersGiveTheRest) {
    const Digest root = put(12 * kMiB, 4);
    BlobSite origin(store_);
    MirrorProcess mirror(origin.url());
    (void)torrent_of(mirror.url(), root);
    TorrentNode seed(mirror.url(), [](auto& options) { options.upload_bytes_per_s_max = 3 << 20; });
    ASSERT_TRUE(seed.fetch(root).ok());
    ASSERT_TRUE(within(seconds(30), [&] { return seed.shares(root); }));

    Hotel hotel(mirror.url());
    const CapturedLog log;
    TorrentNode node(hotel.url());
    Result<blob::VerifiedBlob> got = fail(ErrorCode::kInternal, "not fetched");
    std::jthread fetching([&] { got = node.fetch(root); });
    EXPECT_TRUE(within(seconds(30), [&] { return node.swarm().counters().received_bytes > 0; }));
    hotel.sends_pages = true;
    fetching.join();
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(std::ranges::equal(got->bytes(), content_));
    EXPECT_TRUE(log.has("mirror " + hotel.url() + " is left for ")) << log.text();
    EXPECT_TRUE(log.has("it does not serve ranges")) << log.text();
    EXPECT_GT(node.traffic().peer_bytes, content_.size() / 2);
    EXPECT_EQ(node.traffic().coordinator_bytes, 0U);
}

}  // namespace
}  // namespace gym::testing
