// Downloads over real sockets, from servers that lie, stall, truncate, redirect and serve pages.
#include "gym/mirror/fetcher.hpp"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "blob_site.hpp"

namespace gym::mirror {
namespace {

using std::chrono::steady_clock;
using testing::BlobSite;
using testing::Fault;
using testing::noise;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Pieces in memory.
class MemorySink final : public PieceSink {
  public:
    bool has(std::uint64_t index) override { return pieces.contains(index); }
    Status write(std::uint64_t index, ByteView bytes) override {
        const std::scoped_lock lock(mutex);
        if (disk_full) return fail(ErrorCode::kIo, "no space left on device");
        EXPECT_FALSE(pieces.contains(index)) << "piece " << index << " came twice";
        pieces[index] = Bytes(bytes.begin(), bytes.end());
        return {};
    }
    [[nodiscard]] Bytes all() const {
        Bytes out;
        for (const auto& [index, bytes] : pieces)
            out.insert(out.end(), bytes.begin(), bytes.end());
        return out;
    }
    std::mutex mutex;
    std::map<std::uint64_t, Bytes> pieces;
    bool disk_full = false;
};

FetchOptions impatient() {
    FetchOptions options;
    options.patience_ms = 200;
    // A machine that also compiles is slow.
    options.silence_ms = 8'000;
    options.list_timeout_ms = 8'000;
    return options;
}

class FetcherTest : public ::testing::Test {
  protected:
    Digest put(std::uint64_t size) {
        content_ = noise(size);
        return store_.put(content_).value();
    }
    static std::unique_ptr<Fetcher> fetcher(const std::vector<const BlobSite*>& sites,
                                            const FetchOptions& options = impatient()) {
        std::vector<std::string> urls;
        for (const BlobSite* const site : sites)
            urls.push_back(site->url());
        return Fetcher::create(urls, options).value();
    }
    /// All of a blob, or why not.
    static Result<Bytes> fetch(Fetcher& from, const Digest& root) {
        GYM_TRY(const blob::PieceList list, from.pieces(root, {}));
        MemorySink sink;
        GYM_CHECK(from.download(list, sink, {}));
        return sink.all();
    }

    blob::MemoryStore store_;
    Bytes content_;
};

TEST_F(FetcherTest, EverySizeArrives) {
    const BlobSite site(store_);
    const auto from = fetcher({&site});
    for (const std::uint64_t size :
         {std::uint64_t{0}, std::uint64_t{1}, kMiB - 1, kMiB, kMiB + 1, 5 * kMiB + 12'345}) {
        const Digest root = put(size);
        const auto got = fetch(*from, root);
        ASSERT_TRUE(got.ok()) << size << ": " << got.error().message;
        EXPECT_TRUE(*got == content_) << size;
    }
}

TEST_F(FetcherTest, UsesSeveralSourcesAtOnce) {
    const Digest root = put(24 * kMiB);
    BlobSite a(store_), b(store_);
    a.delay_ms = b.delay_ms = 30;
    const auto from = fetcher({&a, &b});
    EXPECT_TRUE(fetch(*from, root).value() == content_);
    EXPECT_GT(a.pieces, 1U) << "more than the piece that measures it";
    EXPECT_GT(b.pieces, 1U);
    EXPECT_EQ(a.lists + b.lists, 1U) << "one list is enough";
}

TEST_F(FetcherTest, PrefersTheNearSource) {
    const Digest root = put(3 * kMiB);
    BlobSite far(store_), near(store_);
    far.delay_ms = 800;  // more than a piece takes on a machine that also compiles
    FetchOptions options = impatient();
    options.patience_ms = 10'000;
    const auto from = fetcher({&far, &near}, options);
    for (int i = 0; i < 4; ++i)
        EXPECT_TRUE(fetch(*from, root).value() == content_);
    EXPECT_EQ(far.pieces, 0U);
    EXPECT_EQ(far.lists, 0U);
    EXPECT_GE(from->sources()[0].latency_ms, 250) << "it was asked for nothing, and measured";
}

TEST_F(FetcherTest, AFarSourceIsUsedWhenNoNearOneIsLeft) {
    const Digest root = put(3 * kMiB);
    BlobSite far(store_), near(store_);
    far.delay_ms = 800;
    const auto from = fetcher({&near, &far});
    EXPECT_TRUE(fetch(*from, root).value() == content_);
    EXPECT_EQ(far.pieces, 0U);
    near.fault = Fault::kFails;
    EXPECT_TRUE(fetch(*from, root).value() == content_);
    EXPECT_GT(far.pieces, 0U);
}

TEST_F(FetcherTest, ANearSourceThatIsLateOnceIsNotLeft) {
    const Digest root = put(kMiB);
    BlobSite one(store_), two(store_);
    const auto from = fetcher({&one, &two});
    const auto used = [&]() -> BlobSite& { return one.pieces > two.pieces ? one : two; };
    EXPECT_TRUE(fetch(*from, root).value() == content_);
    BlobSite& first = used();
    first.fault = Fault::kStalls;  // it fetches the next one itself, say
    EXPECT_TRUE(fetch(*from, root).value() == content_);
    for (const SourceReport& known : from->sources())
        EXPECT_TRUE(known.banned_because.empty()) << known.banned_because;
    first.fault = Fault::kNone;
}

TEST_F(FetcherTest, AFaultySourceIsLeftAndTheBlobArrives) {
    for (const Fault fault :
         {Fault::kLies, Fault::kTruncates, Fault::kHtml, Fault::kRedirects, Fault::kNoRanges,
          Fault::kOtherSize, Fault::kFails, Fault::kAbsent, Fault::kListsLie}) {
        const Digest root = put(6 * kMiB + 1);
        BlobSite faulty(store_, fault), honest(store_);
        honest.delay_ms = 20;  // so that the faulty one is asked
        const auto from = fetcher({&faulty, &honest});
        const auto got = fetch(*from, root);
        ASSERT_TRUE(got.ok()) << static_cast<int>(fault) << ": " << got.error().message;
        EXPECT_TRUE(*got == content_);
        EXPECT_GT(faulty.pieces + faulty.lists, 0U);
        const auto known = from->sources();
        EXPECT_EQ(known[0].bytes, 0U) << "nothing of it counted";
        if (fault != Fault::kAbsent) {
            EXPECT_FALSE(known[0].banned_because.empty()) << static_cast<int>(fault);
            const std::size_t asked = faulty.pieces + faulty.lists;
            EXPECT_LE(asked, 1 + 2 * std::size_t{impatient().source_connections_max})
                << "a kept connection that broke is opened once more";
            EXPECT_TRUE(fetch(*from, root).ok());
            EXPECT_EQ(faulty.pieces + faulty.lists, asked) << "it is not asked for a while";
        }
    }
}

TEST_F(FetcherTest, ALieCostsAPieceAndTheSourceIsLeft) {
    const Digest root = put(8 * kMiB);
    BlobSite liar(store_, Fault::kLies), honest(store_);
    honest.delay_ms = 20;
    const auto from = fetcher({&liar, &honest});
    EXPECT_TRUE(fetch(*from, root).value() == content_);
    EXPECT_EQ(from->sources()[0].lies, 1U);
    EXPECT_EQ(liar.pieces, 1U);
}

TEST_F(FetcherTest, ASourceThatBeginsToLieIsLeft) {
    const Digest root = put(8 * kMiB);
    BlobSite site(store_), honest(store_);
    honest.delay_ms = 100;
    const auto from = fetcher({&site, &honest});
    EXPECT_TRUE(fetch(*from, root).value() == content_);
    site.fault = Fault::kLies;
    EXPECT_TRUE(fetch(*from, root).value() == content_);
    EXPECT_GE(from->sources()[0].lies, 1U);
    EXPECT_LE(from->sources()[0].lies, impatient().source_connections_max);
    EXPECT_FALSE(from->sources()[0].banned_because.empty());
}

TEST_F(FetcherTest, ALoneSourceThatTricklesIsGivenUp) {
    const Digest root = put(2 * kMiB);
    BlobSite slow(store_, Fault::kTrickles);
    FetchOptions options = impatient();
    options.piece_timeout_ms = 1'000;
    const auto from = fetcher({&slow}, options);
    const auto got = fetch(*from, root);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(slow.pieces, 1U);
    slow.fault = Fault::kNone;
}

TEST_F(FetcherTest, SourcesThatHaveNothingComeLast) {
    const Digest root = put(kMiB);
    BlobSite one(store_, Fault::kAbsent), two(store_, Fault::kAbsent), full(store_);
    full.delay_ms = 20;
    const auto from = fetcher({&one, &two, &full});
    EXPECT_EQ(from->pieces(root, {}).error().code, ErrorCode::kNotFound)
        << "two that lack it are enough";
    EXPECT_EQ(full.lists, 0U);
    EXPECT_TRUE(from->pieces(root, {}).ok()) << "the one that was not asked yet is first";
    const std::size_t before = one.lists + two.lists;
    EXPECT_TRUE(from->pieces(root, {}).ok());
    EXPECT_LE(one.lists + two.lists, before + 2);
}

TEST_F(FetcherTest, AStallCostsPatienceNotTheTimeout) {
    const Digest root = put(6 * kMiB);
    BlobSite stalling(store_, Fault::kStalls), honest(store_);
    FetchOptions options = impatient();
    options.silence_ms = 30'000;
    const auto from = fetcher({&stalling, &honest}, options);
    const auto begin = steady_clock::now();
    const auto got = fetch(*from, root);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(*got == content_);
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(10));
    EXPECT_GT(stalling.pieces, 0U);
    EXPECT_FALSE(from->sources()[0].banned_because.empty());
}

TEST_F(FetcherTest, ALoneSourceThatStallsIsGivenUp) {
    const Digest root = put(2 * kMiB);
    const BlobSite stalling(store_, Fault::kStalls);
    FetchOptions options = impatient();
    options.silence_ms = 1'000;
    const auto from = fetcher({&stalling}, options);
    const auto got = fetch(*from, root);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(got.error().message.find(stalling.url()), std::string::npos) << got.error().message;
}

TEST_F(FetcherTest, ASourceIsAskedAgainAfterItsBan) {
    const Digest root = put(kMiB);
    BlobSite site(store_, Fault::kFails);
    FetchOptions options = impatient();
    options.ban_ms = 100;
    const auto from = fetcher({&site}, options);
    EXPECT_EQ(fetch(*from, root).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(fetch(*from, root).error().code, ErrorCode::kUnavailable) << "banned";
    site.fault = Fault::kNone;
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    EXPECT_TRUE(fetch(*from, root).value() == content_);
}

TEST_F(FetcherTest, OnlyWhatIsMissingIsFetched) {
    const Digest root = put(5 * kMiB);
    BlobSite site(store_);
    const auto from = fetcher({&site});
    const blob::PieceList list = from->pieces(root, {}).value();
    MemorySink sink;
    for (const std::uint64_t i : {0, 3})
        sink.pieces[i] = Bytes(content_.begin() + static_cast<std::ptrdiff_t>(i * kMiB),
                               content_.begin() + static_cast<std::ptrdiff_t>((i + 1) * kMiB));
    std::uint64_t last = 0;
    ASSERT_TRUE(
        from->download(list, sink, {},
                       [&](std::uint64_t done, std::uint64_t) { last = std::max(last, done); })
            .ok());
    EXPECT_EQ(site.pieces, 3U);
    EXPECT_EQ(last, content_.size());
    EXPECT_TRUE(sink.all() == content_);
}

TEST_F(FetcherTest, AnErrorOfTheSinkEndsTheDownload) {
    const Digest root = put(4 * kMiB);
    const BlobSite site(store_);
    const auto from = fetcher({&site});
    const blob::PieceList list = from->pieces(root, {}).value();
    MemorySink sink;
    sink.disk_full = true;
    EXPECT_EQ(from->download(list, sink, {}).error().code, ErrorCode::kIo);
}

TEST_F(FetcherTest, AStopEndsADownloadAtOnce) {
    const Digest root = put(4 * kMiB);
    const BlobSite site(store_, Fault::kStalls);
    FetchOptions options = impatient();
    options.silence_ms = 30'000;
    const auto from = fetcher({&site}, options);
    const blob::PieceList list = from->pieces(root, {}).value();
    MemorySink sink;
    std::stop_source stop;
    const std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        stop.request_stop();
    });
    const auto begin = steady_clock::now();
    EXPECT_EQ(from->download(list, sink, stop.get_token()).error().code, ErrorCode::kCancelled);
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(FetcherTest, WhatNobodyHasIsNotFoundAndWhatIsTooLargeIsRefused) {
    const Digest root = put(2 * kMiB);
    const BlobSite a(store_), b(store_);
    FetchOptions options = impatient();
    options.blob_bytes_max = kMiB;
    const auto from = fetcher({&a, &b}, options);
    EXPECT_EQ(from->pieces(blob::blob_root(Bytes{7}), {}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(from->pieces(root, {}).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(Fetcher::create({}).value()->pieces(root, {}).error().code, ErrorCode::kUnavailable);
}

TEST_F(FetcherTest, AnAddressThatIsNoneIsRefusedByItsPlace) {
    for (const char* bad : {"ftp://a/", "127.0.0.1:80", "http://a:port", "http://u:secret@a/",
                            "http://a/?x=1", "http://a/b#c", "http://a b/", ""}) {
        const auto made = Fetcher::create({"http://good", bad});
        ASSERT_FALSE(made.ok()) << bad;
        EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
        EXPECT_NE(made.error().message.find("address 2 of 2"), std::string::npos);
        EXPECT_EQ(made.error().message.find("secret"), std::string::npos) << "not for logs";
    }
    EXPECT_FALSE(Fetcher::create(std::vector<std::string>(kSourcesMax + 1, "http://a")).ok());
}

}  // namespace
}  // namespace gym::mirror
