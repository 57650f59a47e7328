// The torrents and the tracker of a mirror.
#include "gym/torrent/site.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "blob_site.hpp"

namespace gym::torrent {
namespace {

using testing::noise;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Waits in the middle of each blob until it is let go.
class HeldSource final : public mirror::BlobSource {
  public:
    explicit HeldSource(const blob::BlobStore& store) : source_(store) {}
    Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest& root,
                                                          const mirror::Asker& asker) override {
        return source_.pieces(root, asker);
    }
    Result<std::shared_ptr<const blob::BlobReader>> open(const Digest& root,
                                                         const mirror::Asker& asker) override {
        GYM_TRY(auto reader, source_.open(root, asker));
        return std::shared_ptr<const blob::BlobReader>(
            std::make_shared<HeldReader>(std::move(reader), held));
    }

    std::atomic<bool> held{false};

  private:
    class HeldReader final : public blob::BlobReader {
      public:
        HeldReader(std::shared_ptr<const blob::BlobReader> inner, const std::atomic<bool>& held)
            : inner_(std::move(inner)), held_(held) {}
        [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
        Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
            while (held_)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return inner_->read(offset, out);
        }

      private:
        const std::shared_ptr<const blob::BlobReader> inner_;
        const std::atomic<bool>& held_;
    };

    testing::StoreSource source_;
};

class SiteTest : public ::testing::Test {
  protected:
    Digest put(std::uint64_t size, std::uint32_t seed) {
        return store_.put(noise(size, seed)).value();
    }
    /// Asks until it is made.
    static Result<std::shared_ptr<const Bytes>> made(Site& site, const Digest& root) {
        for (int i = 0; i < 5'000; ++i) {
            auto file = site.torrent(root, {});
            if (file.ok() || file.error().code != ErrorCode::kUnavailable) return file;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return fail(ErrorCode::kTimeout, "it is not made");
    }

    blob::MemoryStore store_;
    HeldSource source_{store_};
};

TEST_F(SiteTest, MakesTheTorrentOfABlobThatItServesAndTracksIt) {
    const Digest root = put(3 * kMiB + 7, 1);
    Site site(source_, {.self = "http://mirror.example.org"});
    EXPECT_EQ(site.torrent(root, {}).error().code, ErrorCode::kUnavailable);
    const auto file = made(site, root);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto metainfo = Metainfo::decode(root, 3 * kMiB + 7, **file);
    ASSERT_TRUE(metainfo.ok()) << metainfo.error().message;
    EXPECT_EQ(**file, metainfo->encode("http://mirror.example.org"));
    std::string query = "port=7691&left=0&info_hash=";
    const Digest hash = metainfo->info_hash();
    for (const std::uint8_t byte : hash.view().first(20))
        query += "%" + to_hex({&byte, 1});
    EXPECT_TRUE(site.announce(query, "192.0.2.1").starts_with("d8:completei1e"));
    EXPECT_NE(site.metrics().find("gym_torrent_tracked_peers 1\n"), std::string::npos)
        << site.metrics();
    EXPECT_NE(site.metrics().find("gym_torrent_made_total 1\n"), std::string::npos);
}

TEST_F(SiteTest, HasNoneOfABlobOfOnePieceOrOfNone) {
    Site site(source_, {});
    EXPECT_EQ(site.torrent(put(kMiB, 2), {}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(site.torrent(Digest(), {}).error().code, ErrorCode::kNotFound);
}

TEST_F(SiteTest, MakesOneAfterTheOtherAndAFewWait) {
    std::vector<Digest> roots;
    for (std::uint32_t i = 0; i < 4; ++i)
        roots.push_back(put(2 * kMiB, 10 + i));
    Site site(source_, {.waiting_max = 2});
    source_.held = true;
    for (const Digest& root : roots)
        EXPECT_EQ(site.torrent(root, {}).error().code, ErrorCode::kUnavailable);
    EXPECT_NE(site.torrent(roots[3], {}).error().message.find("too many"), std::string::npos);
    EXPECT_NE(site.torrent(roots[0], {}).error().message.find("being made"), std::string::npos);
    source_.held = false;
    for (const Digest& root : roots)
        EXPECT_TRUE(made(site, root).ok());
}

TEST_F(SiteTest, KeepsTheNewestAndMakesOthersAnew) {
    const Digest first = put(2 * kMiB, 20), second = put(2 * kMiB, 21);
    Site site(source_, {.torrents_bytes_max = 500});
    ASSERT_TRUE(made(site, first).ok());
    ASSERT_TRUE(made(site, second).ok());
    EXPECT_TRUE(site.torrent(second, {}).ok());
    EXPECT_EQ(site.torrent(first, {}).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(made(site, first).ok());
}

TEST_F(SiteTest, EndsInTheMiddleOfABlob) {
    const Digest root = put(64 * kMiB, 30);
    Site site(source_, {});
    (void)site.torrent(root, {});
}

TEST_F(SiteTest, TheHandlerServesTorrentsAndAnnouncementsOrNeither) {
    const Digest root = put(2 * kMiB, 40);
    Site site(source_, {});
    mirror::BlobHandler with(source_, {}, {}, &site), without(source_);
    const auto get = [](mirror::BlobHandler& handler, const std::string& target) {
        http_server::Request request;
        request.target = target;
        request.peer = "192.0.2.1";
        return handler.handle(request);
    };
    const std::string path = "/b/" + to_hex(root.view()) + ".torrent";
    const auto early = get(with, path);
    EXPECT_EQ(early.status, 503U);
    ASSERT_TRUE(made(site, root).ok());
    const auto file = get(with, path);
    EXPECT_EQ(file.status, 200U);
    ASSERT_TRUE(file.stream.has_value());
    EXPECT_EQ(file.stream->size, (*made(site, root))->size());
    EXPECT_EQ(get(without, path).status, 404U);
    EXPECT_EQ(get(with, "/b/x.torrent").status, 404U);
    const auto answer = get(with, "/announce?info_hash=x");
    EXPECT_EQ(answer.status, 200U);
    EXPECT_EQ(answer.body, "d14:failure reason28:info_hash must have 20 bytese");
    EXPECT_EQ(get(without, "/announce?info_hash=x").status, 404U);
    EXPECT_EQ(get(with, "/announced").status, 404U);
}

}  // namespace
}  // namespace gym::torrent
