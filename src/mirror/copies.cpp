#include "copies.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <utility>

#include "gym/common/stop.hpp"
#include "gym/mirror/blob_handler.hpp"

namespace gym::mirror {
namespace {

using std::chrono::steady_clock;

/// Of one download: a connection that breaks must not cost what arrived before.
constexpr std::uint32_t kAttempts = 3;
constexpr std::uint32_t kLeftMs = 1'000;  ///< a peer after a failure; doubled with each

/// Pieces on their way to the disk, until the time for all of them is over.
class TimedSink final : public PieceSink {
  public:
    TimedSink(PieceSink& inner, std::uint64_t size_bytes, std::atomic<std::uint64_t>& bytes)
        : inner_(inner),
          until_(steady_clock::now() + std::chrono::milliseconds(copy_ms_max(size_bytes))),
          bytes_(bytes) {}
    bool has(std::uint64_t index) override {
        const std::scoped_lock lock(mutex_);
        return written_.contains(index);
    }
    Status write(std::uint64_t index, ByteView piece) override {
        if (steady_clock::now() > until_)
            return fail(ErrorCode::kTimeout, "the other mirror is too slow");
        bytes_ += piece.size();
        GYM_CHECK(inner_.write(index, piece));
        const std::scoped_lock lock(mutex_);
        written_.insert(index);
        return {};
    }

  private:
    PieceSink& inner_;
    const steady_clock::time_point until_;
    std::atomic<std::uint64_t>& bytes_;
    std::mutex mutex_;
    std::set<std::uint64_t> written_;
};

}  // namespace

Copies::Copies(PieceCache& cache, const PullOptions& options)
    : cache_(cache), bytes_max_(options.uploads_bytes_max), kept_(options.uploads_kept) {}

Result<std::unique_ptr<Copies>> Copies::create(const PullOptions& options, PieceCache& cache,
                                               const std::stop_token& stop) {
    std::unique_ptr<Copies> out(new Copies(cache, options));
    FetchOptions fetch = options.fetch;
    // Whoever orders knows that one of them has it. It is asked for what it has whole.
    fetch.lists_asked_max = fetch.lists_absent_max = kSourcesMax;
    fetch.ban_ms = std::min(fetch.ban_ms, kLeftMs);
    out->retry_ = std::chrono::milliseconds(fetch.ban_ms);
    fetch.headers = {{kMirrorHeader, "1"}, {"Cache-Control", "only-if-cached"}};
    std::vector<std::string> others;
    for (const std::string& peer : options.peers) {
        if (trimmed_url(peer) == trimmed_url(options.self)) continue;
        others.push_back(peer);
        GYM_TRY(out->peers_[trimmed_url(peer)], Fetcher::create({peer}, fetch));
    }
    if (others.empty()) return out;
    GYM_TRY(out->all_, Fetcher::create(others, fetch));
    Copies& self = *out;
    self.on_stop_ = std::make_unique<std::stop_callback<std::function<void()>>>(
        stop, [&self] { self.ended_.request_stop(); });
    for (std::size_t i = 0; i < kAtOnce; ++i)
        self.threads_.emplace_back([&self] { self.work(self.ended_.get_token()); });
    return out;
}

Copies::~Copies() {
    ended_.request_stop();
}

Result<CopyState> Copies::order(const Digest& root, std::uint64_t size_bytes,
                                const std::string& source) {
    if (!all_)
        return fail(ErrorCode::kPermissionDenied,
                    "this mirror names no peers: it fetches uploads from none");
    const auto named = peers_.find(trimmed_url(source));
    const std::scoped_lock lock(mutex_);
    if (const auto known = known_.find(root); known != known_.end()) {
        if (!known->second.failed) return CopyState::kUnderWay;
        const std::string why = std::move(known->second.why);
        known_.erase(known);
        std::erase(failed_, root);
        return fail(ErrorCode::kMismatch, "the blob was not copied: " + why);
    }
    if (known_.size() - failed_.size() >= kWaitingMax)
        return fail(ErrorCode::kUnavailable, "too many copies wait; try again");
    known_.emplace(root, Progress());
    waiting_.push_back(
        {root, size_bytes, named == peers_.end() ? all_.get() : named->second.get()});
    changed_.notify_one();
    return CopyState::kUnderWay;
}

void Copies::work(const std::stop_token& stop) {
    for (;;) {
        Copy copy;
        {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
            if (stop.stop_requested()) return;
            copy = waiting_.front();
            waiting_.pop_front();
        }
        const Status done = fetch(copy, stop);
        if (stop.stop_requested()) return;
        if (!done.ok()) {
            note_failure(copy.root, done.error());
            continue;
        }
        spdlog::info("copied blob {}, {} bytes, from another mirror", copy.root.hex(),
                     copy.size_bytes);
        const std::scoped_lock lock(mutex_);
        known_.erase(copy.root);
    }
}

Status Copies::fetch(const Copy& copy, const std::stop_token& stop) {
    GYM_TRY(const blob::PieceList list, copy.from->pieces(copy.root, stop));
    if (list.size_bytes() != copy.size_bytes)
        return fail(ErrorCode::kMismatch, "it has " + std::to_string(list.size_bytes()) +
                                              " bytes, the ticket is for " +
                                              std::to_string(copy.size_bytes));
    GYM_TRY(const auto incoming,
            cache_.receive_pieces(copy.root, copy.size_bytes, kept_, bytes_max_));
    TimedSink sink(*incoming, copy.size_bytes, bytes_);
    Status done;
    for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
        // What arrived stays. A peer that lied is left for longer than this waits.
        if (attempt > 0 && wait_for_stop(stop, retry_ * (1 << attempt))) break;
        done = copy.from->download(list, sink, stop);
        if (done.ok() || done.error().code != ErrorCode::kUnavailable) break;
    }
    GYM_CHECK(done);
    return incoming->finish(list);
}

void Copies::note_failure(const Digest& root, const Error& error) {
    spdlog::warn("blob {} is not copied: {}", root.hex(), error.message);
    const std::scoped_lock lock(mutex_);
    known_[root] = {true, error.message};
    failed_.push_back(root);
    if (failed_.size() <= kWaitingMax) return;
    known_.erase(failed_.front());
    failed_.pop_front();
}

}  // namespace gym::mirror
