#include "gym/mirror/pull_through.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "gym/mirror/piece_cache.hpp"
#include "gym/mirror/rate_limit.hpp"

namespace gym::mirror {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kAbsentMax = 65'536;
/// Of a bucket: what may come at once, in seconds of its rate.
constexpr double kBurstSeconds = 5;
constexpr std::chrono::seconds kWarnEvery{60};
/// The operator chose the origins, often one: a blob that rotted there must not stop the others.
constexpr std::uint32_t kOriginBanMsMax = 60'000;

/// Roots that no origin has, for a while. Thread-safe, bounded.
class AbsentRoots {
  public:
    explicit AbsentRoots(std::int64_t keep_ms) : keep_(keep_ms) {}

    bool has(const Digest& root) {
        const std::scoped_lock lock(mutex_);
        forget(steady_clock::now());
        return roots_.contains(root);
    }
    void add(const Digest& root) {
        const std::scoped_lock lock(mutex_);
        if (!roots_.insert(root).second) return;
        order_.emplace_back(steady_clock::now() + keep_, root);
        if (order_.size() > kAbsentMax) drop_first();
    }

  private:
    void forget(steady_clock::time_point now) {
        while (!order_.empty() && order_.front().first <= now)
            drop_first();
    }
    void drop_first() {
        roots_.erase(order_.front().second);
        order_.pop_front();
    }

    const milliseconds keep_;
    std::mutex mutex_;
    std::set<Digest> roots_;
    std::deque<std::pair<steady_clock::time_point, Digest>> order_;
};

/// One at a time for each key: the second caller waits for the first and looks again.
template <class Key>
class Turns {
  public:
    class Turn {
      public:
        Turn(Turns& turns, Key key) : turns_(turns), key_(std::move(key)) {
            std::unique_lock lock(turns_.mutex_);
            turns_.changed_.wait(lock, [this] { return !turns_.taken_.contains(key_); });
            turns_.taken_.insert(key_);
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn() {
            const std::scoped_lock lock(turns_.mutex_);
            turns_.taken_.erase(key_);
            turns_.changed_.notify_all();
        }

      private:
        Turns& turns_;
        const Key key_;
    };

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<Key> taken_;
};

class Puller final : public PullThrough {
  public:
    Puller(const PullOptions& options, std::unique_ptr<PieceCache> cache,
           std::unique_ptr<Fetcher> fetcher, std::stop_token stop)
        : stop_(std::move(stop)),
          cache_(std::move(cache)),
          fetcher_(std::move(fetcher)),
          absent_(options.absent_ms),
          lookups_(options.lookups_per_s, options.lookups_per_s * kBurstSeconds),
          peers_(options.lookups_per_s_of_peer, options.lookups_per_s_of_peer * kBurstSeconds),
          bounds_bytes_(options.origin_bytes_per_s > 0),
          bytes_(static_cast<double>(options.origin_bytes_per_s),
                 static_cast<double>(options.origin_bytes_per_s) * kBurstSeconds) {}

    Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest& root,
                                                          const std::string& peer) override {
        GYM_TRY(const auto blob, blob_of(root, peer));
        return blob->pieces();
    }
    Result<std::shared_ptr<const blob::BlobReader>> open(const Digest& root,
                                                         const std::string& peer) override;

    /// Fills `out` from piece `index`; `kept` has a piece that the disk had no room for.
    Status read(CachedBlob& blob, std::uint64_t index, std::uint64_t offset,
                std::span<std::uint8_t> out, std::pair<std::uint64_t, Bytes>& kept);

    [[nodiscard]] PullCounters counters() const override {
        return {hits_, fetched_, origin_bytes_, asked_, refused_, not_kept_};
    }
    [[nodiscard]] std::vector<SourceReport> origins() const override { return fetcher_->sources(); }
    [[nodiscard]] std::uint64_t bytes_kept() const override { return cache_->bytes(); }
    [[nodiscard]] std::uint64_t blobs_kept() const override { return cache_->blobs(); }
    [[nodiscard]] std::uint64_t blobs_evicted() const override { return cache_->evicted(); }

  private:
    Result<std::shared_ptr<CachedBlob>> blob_of(const Digest& root, const std::string& peer);
    Status admit_lookup(const std::string& peer);
    Status admit_bytes(std::uint64_t bytes);
    void warn_of_origins(const Error& error);
    void warn_not_kept(const Error& error);
    /// Strangers cause these warnings: one of each kind a minute.
    bool may_warn(steady_clock::time_point& last);

    const std::stop_token stop_;
    const std::unique_ptr<PieceCache> cache_;
    const std::unique_ptr<Fetcher> fetcher_;
    AbsentRoots absent_;
    std::mutex mutex_;  // of the buckets and the warnings
    TokenBucket lookups_;
    PeerLimit peers_;
    const bool bounds_bytes_;
    TokenBucket bytes_;
    steady_clock::time_point warned_of_origins_{}, warned_not_kept_{};
    Turns<Digest> list_turns_;
    Turns<std::pair<Digest, std::uint64_t>> piece_turns_;
    std::atomic<std::uint64_t> hits_{0}, fetched_{0}, origin_bytes_{0}, asked_{0}, refused_{0},
        not_kept_{0};
};

/// Pieces as somebody reads them.
class PullReader final : public blob::BlobReader {
  public:
    PullReader(Puller& puller, std::shared_ptr<CachedBlob> blob)
        : puller_(puller), blob_(std::move(blob)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override {
        return blob_->pieces()->size_bytes();
    }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        while (!out.empty()) {
            const std::uint64_t index = offset / blob::kPieceBytes;
            const std::uint64_t inside = offset % blob::kPieceBytes;
            const std::size_t part = static_cast<std::size_t>(
                std::min<std::uint64_t>(out.size(), blob_->pieces()->size_of(index) - inside));
            const std::scoped_lock lock(mutex_);
            GYM_CHECK(puller_.read(*blob_, index, inside, out.first(part), kept_));
            offset += part;
            out = out.subspan(part);
        }
        return {};
    }

  private:
    Puller& puller_;
    const std::shared_ptr<CachedBlob> blob_;
    mutable std::mutex mutex_;
    mutable std::pair<std::uint64_t, Bytes> kept_;  ///< a piece without a place on the disk
};

Status Puller::admit_lookup(const std::string& peer) {
    const auto now = steady_clock::now();
    bool allowed = peers_.take(peer, 1, now);
    if (allowed) {
        const std::scoped_lock lock(mutex_);
        allowed = lookups_.take(1, now);
    }
    if (allowed) return {};
    ++refused_;
    return fail(ErrorCode::kOutOfRange, "too many blobs that are not here were asked for");
}

Status Puller::admit_bytes(std::uint64_t bytes) {
    if (!bounds_bytes_) return {};
    const std::scoped_lock lock(mutex_);
    if (bytes_.take(static_cast<double>(bytes), steady_clock::now())) return {};
    ++refused_;
    return fail(ErrorCode::kUnavailable, "the mirror fetches as much as it may; try again");
}

Result<std::shared_ptr<CachedBlob>> Puller::blob_of(const Digest& root, const std::string& peer) {
    GYM_TRY(auto known, cache_->find(root));
    if (known) return known;
    const Turns<Digest>::Turn turn(list_turns_, root);
    GYM_TRY(known, cache_->find(root));
    if (known) return known;
    if (absent_.has(root)) return fail(ErrorCode::kNotFound, "no origin has blob " + root.hex());
    GYM_CHECK(admit_lookup(peer));
    ++asked_;
    auto list = fetcher_->pieces(root, stop_);
    if (!list.ok()) {
        Error error = list.error();
        // A blob that is larger than this mirror takes is answered as one that it does not have.
        if (error.code == ErrorCode::kOutOfRange) error.code = ErrorCode::kNotFound;
        if (error.code == ErrorCode::kNotFound)
            absent_.add(root);
        else
            warn_of_origins(error);
        return error;
    }
    spdlog::info("mirroring blob {}, {} bytes", root.hex(), list->size_bytes());
    return cache_->add(std::move(list).value());
}

Result<std::shared_ptr<const blob::BlobReader>> Puller::open(const Digest& root,
                                                             const std::string& peer) {
    GYM_TRY(auto blob, blob_of(root, peer));
    return std::shared_ptr<const blob::BlobReader>(
        std::make_shared<PullReader>(*this, std::move(blob)));
}

Status Puller::read(CachedBlob& blob, std::uint64_t index, std::uint64_t offset,
                    std::span<std::uint8_t> out, std::pair<std::uint64_t, Bytes>& kept) {
    const auto copy_kept = [&] {
        std::copy_n(kept.second.begin() + static_cast<std::ptrdiff_t>(offset), out.size(),
                    out.begin());
    };
    if (!kept.second.empty() && kept.first == index) {
        copy_kept();
        return {};
    }
    const auto read_disk = [&]() -> Result<bool> {
        GYM_TRY(const bool there, blob.read(index, offset, out));
        if (there && offset == 0) ++hits_;
        return there;
    };
    GYM_TRY(bool there, read_disk());
    if (there) return {};
    const blob::PieceList& list = *blob.pieces();
    const Turns<std::pair<Digest, std::uint64_t>>::Turn turn(piece_turns_, {list.root(), index});
    GYM_TRY(there, read_disk());
    if (there) return {};
    GYM_CHECK(admit_bytes(list.size_of(index)));
    auto fetched = fetcher_->piece(list, index, stop_);
    if (!fetched.ok()) {
        warn_of_origins(fetched.error());
        return fail(ErrorCode::kUnavailable, fetched.error().message);
    }
    Bytes bytes = std::move(fetched).value();
    ++fetched_;
    origin_bytes_ += bytes.size();
    const Status written = blob.write(index, bytes);
    kept = {index, std::move(bytes)};
    copy_kept();
    if (written.ok())
        kept.second = {};
    else
        warn_not_kept(written.error());
    return {};
}

bool Puller::may_warn(steady_clock::time_point& last) {
    const std::scoped_lock lock(mutex_);
    const auto now = steady_clock::now();
    if (last != steady_clock::time_point{} && now - last < kWarnEvery) return false;
    last = now;
    return true;
}

void Puller::warn_of_origins(const Error& error) {
    if (error.code != ErrorCode::kCancelled && may_warn(warned_of_origins_))
        spdlog::warn("{}", error.message);
}

void Puller::warn_not_kept(const Error& error) {
    ++not_kept_;
    if (may_warn(warned_not_kept_)) spdlog::warn("serving without keeping: {}", error.message);
}

}  // namespace

Result<std::unique_ptr<PullThrough>> PullThrough::open(const PullOptions& options,
                                                       std::stop_token stop) {
    if (options.origins.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "a mirror needs an origin: the address of the network's blobs (--origin)");
    // Each may hold what the others do not.
    FetchOptions of_origins = options.fetch;
    of_origins.lists_asked_max = of_origins.lists_absent_max = kSourcesMax;
    of_origins.ban_ms_max = std::min(of_origins.ban_ms_max, kOriginBanMsMax);
    GYM_TRY(auto fetcher, Fetcher::create(options.origins, of_origins));
    GYM_TRY(auto cache, PieceCache::open(options.folder, options.bytes_max));
    return std::unique_ptr<PullThrough>(
        std::make_unique<Puller>(options, std::move(cache), std::move(fetcher), std::move(stop)));
}

std::string PullThrough::metrics() const {
    const PullCounters now = counters();
    std::string text;
    const auto line = [&](const char* name, const char* type, std::uint64_t value) {
        text += "# TYPE gym_mirror_" + std::string(name) + " " + type + "\ngym_mirror_" + name +
                " " + std::to_string(value) + "\n";
    };
    line("pieces_hit_total", "counter", now.pieces_hit);
    line("pieces_fetched_total", "counter", now.pieces_fetched);
    line("origin_bytes_total", "counter", now.origin_bytes);
    line("lookups_total", "counter", now.lookups);
    line("refused_total", "counter", now.refused);
    line("pieces_not_kept_total", "counter", now.not_kept);
    line("kept_bytes", "gauge", bytes_kept());
    line("kept_blobs", "gauge", blobs_kept());
    line("evicted_blobs_total", "counter", blobs_evicted());
    return text;
}

}  // namespace gym::mirror
