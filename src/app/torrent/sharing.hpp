#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "seed_folder.hpp"
#include "torrents.hpp"

namespace gym::app {

struct SharingBounds {
    std::uint64_t seed_bytes_max = std::uint64_t{10} << 30;
    std::uint64_t seed_s_max = 86'400;
    double seed_ratio_max = 3;
};

/// Carries out the node's lines (gym/torrent/helper_lines.hpp) within the bounds. Time is a
/// parameter. Not thread-safe.
class Sharing {
  public:
    using Moment = std::chrono::steady_clock::time_point;
    using Say = std::function<void(const std::string&)>;
    /// Begins with the seeds of the folder. @param torrents must outlive this, as must `folder`.
    Sharing(const SeedFolder& folder, Torrents& torrents, const SharingBounds& bounds, Say say,
            Moment now);

    /// A line of the node. One that is none is answered with a warning.
    void obey(std::string_view line);
    /// Tells the node about events of the session.
    void pass_events(Moment now);
    /// Applies the bounds, and tells the node counters and the pieces of peers. To be called
    /// several times a second.
    void tick(Moment now);
    /// Keeps how much each blob was seeded.
    void save();

  private:
    struct Item {
        std::uint64_t size_bytes = 0;
        std::string tracker;     ///< empty: not joined
        bool active = false;     ///< the node fetches it
        bool whole = false;      ///< it is seeded
        bool checked = false;    ///< the session has looked through its file
        std::uint64_t rank = 0;  ///< least: first to go
        std::uint64_t sent_before = 0;
        double seconds = 0;
        std::deque<std::uint64_t> to_give;
        std::set<std::uint64_t> given;  ///< which the session has not finished yet
        Moment given_at{};
        std::string available;
    };
    using Items = std::map<std::string, Item, std::less<>>;

    void want(const std::string& root, std::uint64_t size_bytes);
    void join(const std::string& root, const std::string& tracker);
    void leave(const std::string& root);
    void end(const std::string& root, const std::string& why);
    [[nodiscard]] bool make_room(const std::string& root, std::uint64_t size_bytes);
    void give(const std::string& root, Item& item, Moment now);
    void hear(const Torrents::Event& event);
    void warn(const std::string& text, Moment now);
    void become_seed(const std::string& root, Item& item);
    /// @return why the blob is not seeded any longer; empty: it is.
    [[nodiscard]] std::string why_ended(const Item& item, std::uint64_t sent_bytes) const;
    void save(const std::string& root, const Item& item) const;
    void count(Moment now);

    const SeedFolder& folder_;
    Torrents& torrents_;
    const SharingBounds bounds_;
    const Say say_;
    Items items_;
    std::uint64_t rank_ = 0;
    std::uint64_t sent_ended_ = 0;  ///< to peers, of blobs that are shared no more
    Moment last_tick_, last_save_, last_count_, warnings_since_;
    unsigned warnings_ = 0;
    std::string counted_;
};

}  // namespace gym::app
