#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "gym/mirror/blob_handler.hpp"
#include "gym/mirror/torrents.hpp"
#include "gym/torrent/metainfo.hpp"
#include "gym/torrent/tracker.hpp"

namespace gym::torrent {

struct SiteOptions {
    TrackerOptions tracker;
    /// This mirror's address, for "announce" and "url-list"; empty: neither is written.
    std::string self;
    std::size_t torrents_bytes_max = 64 << 20;  ///< that are kept in memory
    std::size_t waiting_max = 16;               ///< more are answered that they are not there yet
};

/// Torrents of the blobs that a mirror serves, made on demand, one at a time: for that the mirror
/// reads the whole blob once, and so fetches the pieces that it lacks. And the tracker of these
/// torrents.
class Site final : public mirror::TorrentSite {
  public:
    /// @param source must outlive the site.
    explicit Site(mirror::BlobSource& source, const SiteOptions& options);
    ~Site() override;
    Site(const Site&) = delete;
    Site& operator=(const Site&) = delete;

    Result<std::shared_ptr<const Bytes>> torrent(const Digest& root,
                                                 const mirror::Asker& asker) override;
    std::string announce(std::string_view query, const std::string& address) override;
    /// For BlobHandler: lines in Prometheus' text format.
    [[nodiscard]] std::string metrics() const;

  private:
    struct Kept {
        std::shared_ptr<const Bytes> file;
        Digest info_hash;
        std::list<Digest>::iterator order;
    };
    struct Waiting {
        Digest root;
        std::shared_ptr<const blob::BlobReader> reader;
    };
    void make_all(const std::stop_token& stop);
    void keep(const Metainfo& made);

    mirror::BlobSource& source_;
    const SiteOptions options_;
    Tracker tracker_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<Digest, Kept> kept_;
    std::list<Digest> order_;  ///< least recently asked for first
    std::size_t kept_bytes_ = 0;
    std::deque<Waiting> waiting_;
    std::uint64_t made_ = 0;
    std::jthread maker_;
};

}  // namespace gym::torrent
