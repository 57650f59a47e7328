#include "gym/torrent/site.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <utility>

namespace gym::torrent {
namespace {

/// Ends when the site does, in the middle of a blob.
class StoppableReader final : public blob::BlobReader {
  public:
    StoppableReader(std::shared_ptr<const blob::BlobReader> inner, std::stop_token stop)
        : inner_(std::move(inner)), stop_(std::move(stop)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
        return inner_->read(offset, out);
    }

  private:
    const std::shared_ptr<const blob::BlobReader> inner_;
    const std::stop_token stop_;
};

}  // namespace

Site::Site(mirror::BlobSource& source, const SiteOptions& options)
    : source_(source),
      options_(options),
      tracker_(options.tracker, std::random_device{}()),
      maker_([this](const std::stop_token& stop) { make_all(stop); }) {}

Site::~Site() {
    maker_.request_stop();
    maker_.join();
}

Result<std::shared_ptr<const Bytes>> Site::torrent(const Digest& root, const mirror::Asker& asker) {
    {
        const std::scoped_lock lock(mutex_);
        if (const auto found = kept_.find(root); found != kept_.end()) {
            order_.splice(order_.end(), order_, found->second.order);
            tracker_.add(found->second.info_hash);
            return found->second.file;
        }
    }
    GYM_TRY(auto reader, source_.open(root, asker));
    if (!is_shared(reader->size()))
        return fail(ErrorCode::kNotFound,
                    "blob " + root.hex() + " has one piece, and so no torrent");
    const std::scoped_lock lock(mutex_);
    if (const auto found = kept_.find(root); found != kept_.end()) return found->second.file;
    if (std::ranges::find(waiting_, root, &Waiting::root) == waiting_.end()) {
        if (waiting_.size() >= options_.waiting_max)
            return fail(ErrorCode::kUnavailable, "too many torrents are to be made; try again");
        waiting_.push_back({root, std::move(reader)});
        changed_.notify_all();
    }
    return fail(ErrorCode::kUnavailable, "the torrent is being made; try again");
}

std::string Site::announce(std::string_view query, const std::string& address) {
    return tracker_.answer(query, address, std::chrono::steady_clock::now());
}

void Site::make_all(const std::stop_token& stop) {
    for (;;) {
        Waiting next;
        {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
            next = waiting_.front();
        }
        const auto made = Metainfo::of(next.root, StoppableReader(std::move(next.reader), stop));
        if (made.ok())
            keep(*made);
        else if (made.error().code != ErrorCode::kCancelled)
            spdlog::warn("no torrent of blob {}: {}", next.root.hex(), made.error().message);
        const std::scoped_lock lock(mutex_);
        waiting_.pop_front();
    }
}

void Site::keep(const Metainfo& made) {
    auto file = std::make_shared<const Bytes>(made.encode(options_.self));
    const Digest info_hash = made.info_hash();
    tracker_.add(info_hash);
    const std::scoped_lock lock(mutex_);
    ++made_;
    kept_bytes_ += file->size();
    kept_.emplace(made.root(),
                  Kept{std::move(file), info_hash, order_.insert(order_.end(), made.root())});
    while (kept_bytes_ > options_.torrents_bytes_max && order_.size() > 1) {
        const auto oldest = kept_.find(order_.front());
        kept_bytes_ -= oldest->second.file->size();
        kept_.erase(oldest);
        order_.pop_front();
    }
}

std::string Site::metrics() const {
    std::string text;
    const auto line = [&](const char* name, const char* type, std::uint64_t value) {
        text += "# TYPE gym_torrent_" + std::string(name) + " " + type + "\ngym_torrent_" + name +
                " " + std::to_string(value) + "\n";
    };
    line("announces_total", "counter", tracker_.answered());
    line("announces_refused_total", "counter", tracker_.refused());
    line("tracked_peers", "gauge", tracker_.peers());
    line("tracked_torrents", "gauge", tracker_.torrents());
    const std::scoped_lock lock(mutex_);
    line("made_total", "counter", made_);
    return text;
}

}  // namespace gym::torrent
