#include "gym/coordinator/delta_collector.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace gym::coordinator {
namespace {

constexpr std::uint32_t kAtOnce = 8;
/// Another instance leaves a delta alone for so long; after a crash it waits no longer either.
constexpr std::int64_t kLeaseMs = 60'000;
constexpr std::int64_t kPauseMs = 1'000;  ///< after a failure; doubled with each
constexpr std::int64_t kPauseMsMax = 60'000;

/// A whole blob in memory, as the aggregate needs it.
class MemorySink final : public mirror::PieceSink {
  public:
    MemorySink(std::uint64_t size_bytes, std::atomic<std::uint64_t>& received)
        : bytes_(static_cast<std::size_t>(size_bytes)), received_(received) {}
    bool has(std::uint64_t) override { return false; }
    Status write(std::uint64_t index, ByteView bytes) override {
        received_ += bytes.size();
        std::ranges::copy(bytes,
                          bytes_.begin() + static_cast<std::ptrdiff_t>(index * blob::kPieceBytes));
        return {};
    }
    [[nodiscard]] Bytes take() { return std::move(bytes_); }

  private:
    Bytes bytes_;
    std::atomic<std::uint64_t>& received_;
};

}  // namespace

void DeltaCollector::set_mirrors(std::vector<std::string> mirrors) {
    const std::scoped_lock lock(mutex_);
    mirrors_ = std::move(mirrors);
}

Result<std::shared_ptr<mirror::Fetcher>> DeltaCollector::fetcher_of(
    const std::vector<std::string>& mirrors) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = fetchers_.find(mirrors); known != fetchers_.end()) return known->second;
    mirror::FetchOptions options;
    options.blob_bytes_max = blob_bytes_max_;
    // Whoever asks knows that one of them should have it.
    options.lists_asked_max = options.lists_absent_max = mirror::kSourcesMax;
    GYM_TRY(auto made, mirror::Fetcher::create(mirrors, options));
    if (fetchers_.size() >= kFetchersMax) fetchers_.clear();
    return fetchers_[mirrors] = std::move(made);
}

Result<blob::VerifiedBlob> DeltaCollector::download(const std::vector<std::string>& mirrors,
                                                    const Digest& root,
                                                    const std::stop_token& stop) {
    GYM_TRY(const auto fetcher, fetcher_of(mirrors));
    GYM_TRY(const blob::PieceList list, fetcher->pieces(root, stop));
    MemorySink sink(list.size_bytes(), bytes_received_);
    GYM_CHECK(fetcher->download(list, sink, stop));
    return blob::VerifiedBlob::check(root, sink.take());
}

Status DeltaCollector::fetch(const registry::DeltaPlace& place, const std::stop_token& stop) {
    GYM_TRY(const bool known, blobs_.has(place.root));
    if (known) return {};
    auto blob = download(place.mirrors, place.root, stop);
    if (!blob.ok() && !stop.stop_requested()) {
        std::vector<std::string> all;
        {
            const std::scoped_lock lock(mutex_);
            all = mirrors_;
        }
        if (!all.empty() && all != place.mirrors) blob = download(all, place.root, stop);
    }
    if (!blob.ok()) return blob.error();
    return blobs_.put(*blob);
}

Result<std::uint32_t> DeltaCollector::collect(const std::stop_token& stop) {
    GYM_TRY(const auto due, database_.transact([&](db::Transaction& tx) {
        return registry::lease_deltas(tx, clock_.now_ms(), kLeaseMs, kAtOnce);
    }));
    std::uint32_t held = 0;
    for (const registry::DeltaPlace& place : due) {
        const Status fetched = fetch(place, stop);
        if (stop.stop_requested()) break;
        const bool wanted = !fetched.ok() && place.attempts + 1 >= kAttempts;
        GYM_CHECK(database_.transact([&](db::Transaction& tx) -> Status {
            if (fetched.ok()) return registry::set_delta_held(tx, place.root);
            const std::int64_t pause =
                std::min(kPauseMs << std::min(place.attempts, 16U), kPauseMsMax);
            return registry::set_delta_missed(tx, place.worker, place.root, clock_.now_ms() + pause,
                                              wanted);
        }));
        if (fetched.ok())
            ++held;
        else
            spdlog::warn("delta {} of {}: {}{}", place.root.hex(), place.worker.hex(),
                         fetched.error().message,
                         wanted ? "; its worker is asked for it" : "; it is tried again");
    }
    return held;
}

}  // namespace gym::coordinator
