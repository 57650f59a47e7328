#include "gym/mirror/pull_through.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "copies.hpp"
#include "gym/mirror/piece_cache.hpp"
#include "gym/mirror/rate_limit.hpp"
#include "recent_roots.hpp"
#include "upstream.hpp"

namespace gym::mirror {
namespace {

using std::chrono::steady_clock;

/// Of a bucket: what may come at once, in seconds of its rate.
constexpr double kBurstSeconds = 5;
constexpr std::chrono::seconds kWarnEvery{60};

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
           std::unique_ptr<Upstream> upstream, std::unique_ptr<Copies> copies, std::stop_token stop)
        : stop_(std::move(stop)),
          uploads_bytes_max_(options.uploads_bytes_max),
          uploads_kept_(options.uploads_kept),
          cache_(std::move(cache)),
          upstream_(std::move(upstream)),
          copies_(std::move(copies)),
          absent_(options.absent_ms),
          lookups_(options.lookups_per_s, options.lookups_per_s * kBurstSeconds),
          peers_(options.lookups_per_s_of_peer, options.lookups_per_s_of_peer * kBurstSeconds),
          bounds_bytes_(options.origin_bytes_per_s > 0),
          bytes_(static_cast<double>(options.origin_bytes_per_s),
                 static_cast<double>(options.origin_bytes_per_s) * kBurstSeconds) {}

    Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest& root,
                                                          const Asker& asker) override {
        GYM_TRY(const auto blob, blob_of(root, asker));
        return blob->pieces();
    }
    Result<std::shared_ptr<const blob::BlobReader>> open(const Digest& root,
                                                         const Asker& asker) override;
    Result<bool> has(const Digest& root) override {
        GYM_TRY(const auto known, cache_->find(root));
        if (!known) return false;
        return known->is_complete();
    }
    Result<std::unique_ptr<IncomingBlob>> receive(const Digest& root,
                                                  std::uint64_t size_bytes) override {
        return cache_->receive(root, size_bytes, uploads_kept_, uploads_bytes_max_);
    }
    Result<CopyState> copy(const Digest& root, std::uint64_t size_bytes,
                           const std::string& source) override {
        GYM_TRY(const bool known, has(root));
        if (known) return CopyState::kHere;
        return copies_->order(root, size_bytes, source);
    }

    /// Fills `out` from piece `index`; `kept` has a piece that the disk had no room for.
    Status read(CachedBlob& blob, Asker::Reach reach, std::uint64_t index, std::uint64_t offset,
                std::span<std::uint8_t> out, std::pair<std::uint64_t, Bytes>& kept);

    [[nodiscard]] PullCounters counters() const override {
        return {hits_,  fetched_, origin_bytes_, peer_bytes_ + copies_->bytes(),
                asked_, refused_, not_kept_};
    }
    [[nodiscard]] std::vector<SourceReport> origins() const override {
        return upstream_->sources();
    }
    [[nodiscard]] std::uint64_t bytes_kept() const override { return cache_->bytes(); }
    [[nodiscard]] std::uint64_t blobs_kept() const override { return cache_->blobs(); }
    [[nodiscard]] std::uint64_t blobs_evicted() const override { return cache_->evicted(); }

  private:
    Result<std::shared_ptr<CachedBlob>> blob_of(const Digest& root, const Asker& asker);
    Status admit_lookup(const std::string& peer);
    Status admit_bytes(std::uint64_t bytes);
    void warn_of_origins(const Error& error);
    void warn_not_kept(const Error& error);
    /// Strangers cause these warnings: one of each kind a minute.
    bool may_warn(steady_clock::time_point& last);

    const std::stop_token stop_;
    const std::uint64_t uploads_bytes_max_;
    const std::chrono::seconds uploads_kept_;
    const std::unique_ptr<PieceCache> cache_;
    const std::unique_ptr<Upstream> upstream_;
    const std::unique_ptr<Copies> copies_;
    RecentRoots absent_;  ///< that no origin has
    std::mutex mutex_;    // of the buckets and the warnings
    TokenBucket lookups_;
    PeerLimit peers_;
    const bool bounds_bytes_;
    TokenBucket bytes_;
    steady_clock::time_point warned_of_origins_{}, warned_not_kept_{};
    Turns<Digest> list_turns_;
    Turns<std::pair<Digest, std::uint64_t>> piece_turns_;
    std::atomic<std::uint64_t> hits_{0}, fetched_{0}, origin_bytes_{0}, peer_bytes_{0}, asked_{0},
        refused_{0}, not_kept_{0};
};

/// Pieces as somebody reads them.
class PullReader final : public blob::BlobReader {
  public:
    PullReader(Puller& puller, std::shared_ptr<CachedBlob> blob, Asker::Reach reach)
        : puller_(puller), blob_(std::move(blob)), reach_(reach) {}
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
            GYM_CHECK(puller_.read(*blob_, reach_, index, inside, out.first(part), kept_));
            offset += part;
            out = out.subspan(part);
        }
        return {};
    }

  private:
    Puller& puller_;
    const std::shared_ptr<CachedBlob> blob_;
    const Asker::Reach reach_;
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

Result<std::shared_ptr<CachedBlob>> Puller::blob_of(const Digest& root, const Asker& asker) {
    GYM_TRY(auto known, cache_->find(root));
    if (asker.reach == Asker::Reach::kHere) {
        if (known) {
            GYM_TRY(const bool complete, known->is_complete());
            if (complete) return known;
        }
        return fail(ErrorCode::kNotFound, "blob " + root.hex() + " is not kept here as a whole");
    }
    if (known) return known;
    const Turns<Digest>::Turn turn(list_turns_, root);
    GYM_TRY(known, cache_->find(root));
    if (known) return known;
    if (absent_.has(root)) return fail(ErrorCode::kNotFound, "no origin has blob " + root.hex());
    GYM_CHECK(admit_lookup(asker.peer));
    ++asked_;
    auto list = upstream_->pieces(root, asker.reach, stop_);
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
                                                             const Asker& asker) {
    GYM_TRY(auto blob, blob_of(root, asker));
    return std::shared_ptr<const blob::BlobReader>(
        std::make_shared<PullReader>(*this, std::move(blob), asker.reach));
}

Status Puller::read(CachedBlob& blob, Asker::Reach reach, std::uint64_t index, std::uint64_t offset,
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
    auto fetched = upstream_->piece(list, index, reach, stop_);
    if (!fetched.ok()) {
        warn_of_origins(fetched.error());
        return fail(ErrorCode::kUnavailable, fetched.error().message);
    }
    const bool from_peer = fetched->from_peer;
    Bytes bytes = std::move(fetched->bytes);
    ++fetched_;
    (from_peer ? peer_bytes_ : origin_bytes_) += bytes.size();
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
    GYM_TRY(auto upstream, Upstream::create(options));
    GYM_TRY(auto cache, PieceCache::open(options.folder, options.bytes_max));
    GYM_TRY(auto copies, Copies::create(options, *cache, stop));
    return std::unique_ptr<PullThrough>(std::make_unique<Puller>(
        options, std::move(cache), std::move(upstream), std::move(copies), std::move(stop)));
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
    line("peer_bytes_total", "counter", now.peer_bytes);
    line("lookups_total", "counter", now.lookups);
    line("refused_total", "counter", now.refused);
    line("pieces_not_kept_total", "counter", now.not_kept);
    line("kept_bytes", "gauge", bytes_kept());
    line("kept_blobs", "gauge", blobs_kept());
    line("evicted_blobs_total", "counter", blobs_evicted());
    return text;
}

}  // namespace gym::mirror
