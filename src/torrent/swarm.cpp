#include "gym/torrent/swarm.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "gym/common/file.hpp"
#include "gym/common/stop.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/torrent/helper_lines.hpp"
#include "gym/torrent/metainfo.hpp"
#include "helper_process.hpp"
#include "membership.hpp"

namespace gym::torrent {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Moment = steady_clock::time_point;

constexpr milliseconds kReadWait{200};
constexpr seconds kRestartFirst{1}, kRestartMax{300};
/// A mirror needs time to make a torrent; after kAskFor a node asks no more.
constexpr milliseconds kAskFirst{250}, kAskMax{5'000};
constexpr seconds kAskFor{120};
constexpr seconds kReportEvery{60};

std::string name_of(const Digest& root) {
    return to_hex(root.view());
}

std::string want_line(const Membership& membership) {
    return "want " + name_of(membership.root()) + " " + std::to_string(membership.size_bytes());
}

class TorrentSwarm final : public HelperSwarm {
  public:
    /// @param process null: it did not start yet.
    TorrentSwarm(const SwarmOptions& options, std::shared_ptr<HelperProcess> process)
        : options_(options),
          process_(std::move(process)),
          port_(process_ ? process_->port() : std::uint16_t{0}),
          starts_(process_ ? 1 : 0),
          listener_([this](const std::stop_token& stop) { listen(stop); }),
          joiner_([this](const std::stop_token& stop) { look_for_torrents(stop); }) {}
    ~TorrentSwarm() override {
        joiner_.request_stop();
        listener_.request_stop();
        joiner_.join();
        listener_.join();
    }
    TorrentSwarm(const TorrentSwarm&) = delete;
    TorrentSwarm& operator=(const TorrentSwarm&) = delete;

    std::unique_ptr<mirror::Peers> join(const blob::PieceList& list,
                                        std::shared_ptr<mirror::Fetcher> mirrors) override;
    [[nodiscard]] SwarmCounters counters() const override;
    [[nodiscard]] std::uint16_t port() const override { return port_; }

    void note_received(std::uint64_t bytes) { received_ += bytes; }
    void note_wrong() { ++wrong_; }
    /// Tells gym-torrent about a piece, if it has the torrent.
    void tell_piece(const Membership& membership, std::uint64_t index);
    /// The download has ended; a blob that is whole is shared on.
    void leave(const Membership& membership);
    /// Its torrent, or its file, is no good.
    void drop(const Membership& membership, const std::string& why);

  private:
    /// A blob that is, or is to be, shared.
    struct Entry {
        std::shared_ptr<Membership> membership;
        std::shared_ptr<mirror::Fetcher> mirrors;  ///< null: the torrent is there
        std::string tracker;
        Moment next_ask{};
        Moment give_up{};
        milliseconds pause = kAskFirst;
        bool left = false;  ///< nobody downloads it any more
    };
    using Entries = std::map<std::string, Entry, std::less<>>;

    void listen(const std::stop_token& stop);
    void note_end();
    [[nodiscard]] bool restart(const std::stop_token& stop, seconds& pause);
    /// Repeats to a new process the lines that the one before was told.
    void tell_all_locked();
    void hear(std::string_view line);
    void hear_of(std::string_view what, Entry& entry, std::string_view more);
    void hear_count(std::string_view text);
    void look_for_torrents(const std::stop_token& stop);
    [[nodiscard]] std::optional<Entry> next_to_ask(const std::stop_token& stop);
    void ask(const Entry& entry, const std::stop_token& stop);
    [[nodiscard]] Result<std::string> fetch_torrent(const Entry& entry,
                                                    const std::stop_token& stop) const;
    void send(const std::string& line);
    void erase_locked(Entries::iterator entry);
    void report();

    const SwarmOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::shared_ptr<HelperProcess> process_;  ///< null: it has ended
    std::atomic<std::uint16_t> port_;
    Entries entries_;
    bool is_new_ = false;  ///< an entry, for the joiner
    std::uint64_t sent_before_ = 0, sent_now_ = 0;
    std::uint32_t peers_ = 0, torrents_ = 0;
    std::uint64_t starts_;
    std::atomic<std::uint64_t> received_{0}, wrong_{0};
    SwarmCounters reported_;
    std::jthread listener_, joiner_;
};

/// The peers of one download.
class SwarmPeers final : public mirror::Peers {
  public:
    SwarmPeers(TorrentSwarm& swarm, std::shared_ptr<Membership> membership,
               const blob::PieceList& list)
        : swarm_(swarm), membership_(std::move(membership)), list_(list) {}
    ~SwarmPeers() override { swarm_.leave(*membership_); }
    SwarmPeers(const SwarmPeers&) = delete;
    SwarmPeers& operator=(const SwarmPeers&) = delete;

    std::optional<Piece> next(milliseconds wait) override {
        auto piece = membership_->take(wait);
        if (!piece) return std::nullopt;
        if (!list_.matches(piece->index, piece->bytes)) {
            swarm_.note_wrong();
            swarm_.drop(*membership_, "piece " + std::to_string(piece->index) +
                                          " fits the torrent, and not the blob: the mirror that "
                                          "made the torrent lies");
            return std::nullopt;
        }
        membership_->note_right(piece->index);
        if (piece->by_peer) swarm_.note_received(piece->bytes.size());
        return piece;
    }
    bool have(std::uint64_t index) override { return membership_->have(index); }
    void offer(std::uint64_t index, ByteView bytes) override {
        const auto written = membership_->write(index, bytes);
        if (!written.ok())
            swarm_.drop(*membership_, written.error().message);
        else if (*written)
            swarm_.tell_piece(*membership_, index);
    }

  private:
    TorrentSwarm& swarm_;
    const std::shared_ptr<Membership> membership_;
    const blob::PieceList& list_;
};

std::unique_ptr<mirror::Peers> TorrentSwarm::join(const blob::PieceList& list,
                                                  std::shared_ptr<mirror::Fetcher> mirrors) {
    const std::uint64_t size = list.size_bytes();
    if (!is_shared(size) || size > options_.seed_bytes_max) return nullptr;
    const std::string name = name_of(list.root());
    auto membership = Membership::open(options_.folder / name, list.root(), size);
    if (!membership.ok()) {
        spdlog::warn("blob {} is not shared: {}", list.root().hex(), membership.error().message);
        return nullptr;
    }
    const Moment now = steady_clock::now();
    {
        const std::scoped_lock lock(mutex_);
        if (process_ == nullptr || entries_.contains(name)) return nullptr;
        entries_.emplace(name, Entry{.membership = *membership,
                                     .mirrors = std::move(mirrors),
                                     .tracker = {},
                                     .next_ask = now,
                                     .give_up = now + kAskFor});
        is_new_ = true;
    }
    send(want_line(**membership));
    changed_.notify_all();
    return std::make_unique<SwarmPeers>(*this, std::move(membership).value(), list);
}

void TorrentSwarm::send(const std::string& line) {
    std::shared_ptr<HelperProcess> process;
    {
        const std::scoped_lock lock(mutex_);
        process = process_;
    }
    if (process) static_cast<void>(process->send(line));
}

void TorrentSwarm::tell_piece(const Membership& membership, std::uint64_t index) {
    const std::string name = name_of(membership.root());
    {
        const std::scoped_lock lock(mutex_);
        const auto entry = entries_.find(name);
        // gym-torrent finds the pieces that are in the file before the torrent comes.
        if (entry == entries_.end() || entry->second.mirrors != nullptr) return;
    }
    send("piece " + name + " " + std::to_string(index));
}

void TorrentSwarm::leave(const Membership& membership) {
    const std::string name = name_of(membership.root());
    {
        const std::scoped_lock lock(mutex_);
        const auto entry = entries_.find(name);
        if (entry == entries_.end()) return;
        entry->second.left = true;
        const bool joined = entry->second.mirrors == nullptr;
        if (membership.is_whole()) {
            // From here on gym-torrent seeds alone; without a torrent it is looked for a while.
            if (joined) erase_locked(entry);
            return;
        }
        erase_locked(entry);
    }
    send("leave " + name);
}

void TorrentSwarm::erase_locked(Entries::iterator entry) {
    entry->second.membership->end();
    entries_.erase(entry);
}

void TorrentSwarm::drop(const Membership& membership, const std::string& why) {
    const std::string name = name_of(membership.root());
    {
        const std::scoped_lock lock(mutex_);
        const auto entry = entries_.find(name);
        if (entry == entries_.end()) return;
        const std::string tracker = entry->second.tracker;
        spdlog::warn("blob {} is not fetched from peers{}: {}", membership.root().hex(),
                     tracker.empty() ? "" : " of " + tracker, why);
        erase_locked(entry);
    }
    send("drop " + name);
}

void TorrentSwarm::listen(const std::stop_token& stop) {
    seconds pause = kRestartFirst;
    Moment next_report = steady_clock::now() + kReportEvery;
    while (!stop.stop_requested()) {
        std::shared_ptr<HelperProcess> process;
        {
            const std::scoped_lock lock(mutex_);
            process = process_;
        }
        if (process == nullptr) {
            if (!restart(stop, pause)) return;
            continue;
        }
        const auto line = process->next(kReadWait);
        if (line.ok()) {
            pause = kRestartFirst;
            hear(*line);
        } else if (line.error().code != ErrorCode::kTimeout) {
            spdlog::warn("torrents: {}; blobs come from mirrors until it runs again",
                         line.error().message);
            process.reset();
            note_end();
        }
        if (steady_clock::now() >= next_report) {
            report();
            next_report = steady_clock::now() + kReportEvery;
        }
    }
}

void TorrentSwarm::note_end() {
    std::shared_ptr<HelperProcess> ended;  // destroyed after the lock is given back
    const std::scoped_lock lock(mutex_);
    ended = std::exchange(process_, nullptr);
    sent_before_ += std::exchange(sent_now_, 0);
    peers_ = torrents_ = 0;
    for (auto& [name, entry] : entries_)
        entry.membership->set_have({});
}

bool TorrentSwarm::restart(const std::stop_token& stop, seconds& pause) {
    for (;; pause = std::min(2 * pause, kRestartMax)) {
        if (wait_for_stop(stop, pause)) return false;
        auto started = HelperProcess::start(options_);
        if (!started.ok()) {
            spdlog::warn("torrents: {}", started.error().message);
            continue;
        }
        auto process = std::make_shared<HelperProcess>(std::move(started).value());
        port_ = process->port();
        const std::scoped_lock lock(mutex_);
        process_ = process;
        ++starts_;
        tell_all_locked();
        return true;
    }
}

void TorrentSwarm::tell_all_locked() {
    for (const auto& [name, entry] : entries_) {
        process_->send(want_line(*entry.membership));
        if (entry.mirrors == nullptr) process_->send("join " + name + " " + entry.tracker);
    }
}

void TorrentSwarm::hear(std::string_view line) {
    const auto parts = words(line, 3);
    if (parts[0] == "warn" && line.size() > 5) {
        spdlog::warn("torrents: {}", line.substr(5));
        return;
    }
    if (parts[0] == "count" && line.size() > 6) return hear_count(line.substr(6));
    if (parts.size() < 2) return;
    const std::scoped_lock lock(mutex_);
    const auto entry = entries_.find(parts[1]);
    if (entry != entries_.end())
        hear_of(parts[0], entry->second, parts.size() > 2 ? parts[2] : std::string_view());
    if (parts[0] != "full" && parts[0] != "ended") return;
    spdlog::info(
        "torrents: blob {} {}", parts[1],
        parts[0] == "full"
            ? "finds no room in seed_bytes_max, beside the blobs that are fetched now"
            : "is shared no more: " + std::string(parts.size() > 2 ? parts[2] : "no reason"));
    if (entry != entries_.end()) erase_locked(entry);
}

void TorrentSwarm::hear_of(std::string_view what, Entry& entry, std::string_view more) {
    if (what == "have") entry.membership->set_have(more);
    if (what != "piece" && what != "found") return;
    if (const auto index = whole_number(more)) entry.membership->arrived(*index, what == "piece");
}

void TorrentSwarm::hear_count(std::string_view text) {
    const auto parts = words(text, 3);
    if (parts.size() < 3) return;
    const auto sent = whole_number(parts[0]), peers = whole_number(parts[1]),
               torrents = whole_number(parts[2]);
    if (!sent || !peers || !torrents) return;
    const std::scoped_lock lock(mutex_);
    sent_now_ = std::max(sent_now_, *sent);
    peers_ = static_cast<std::uint32_t>(*peers);
    torrents_ = static_cast<std::uint32_t>(*torrents);
}

void TorrentSwarm::look_for_torrents(const std::stop_token& stop) {
    while (auto entry = next_to_ask(stop))
        ask(*entry, stop);
}

std::optional<TorrentSwarm::Entry> TorrentSwarm::next_to_ask(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        Entries::iterator next = entries_.end();
        for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
            if (entry->second.mirrors != nullptr &&
                (next == entries_.end() || entry->second.next_ask < next->second.next_ask))
                next = entry;
        if (next != entries_.end() && next->second.next_ask <= steady_clock::now()) {
            next->second.next_ask += next->second.pause;
            next->second.pause = std::min(2 * next->second.pause, kAskMax);
            return next->second;
        }
        const Moment until =
            next == entries_.end() ? steady_clock::now() + seconds(60) : next->second.next_ask;
        changed_.wait_until(lock, stop, until, [this] { return is_new_; });
        is_new_ = false;
    }
    return std::nullopt;
}

Result<std::string> TorrentSwarm::fetch_torrent(const Entry& entry,
                                                const std::stop_token& stop) const {
    const Digest& root = entry.membership->root();
    GYM_TRY(const mirror::TorrentFile file, entry.mirrors->torrent(root, stop));
    auto torrent = Metainfo::decode(root, entry.membership->size_bytes(), file.bytes);
    if (!torrent.ok()) return torrent.error().in("mirror " + file.mirror);
    // Without the addresses that the mirror wrote into it.
    GYM_CHECK(
        write_file_atomic(options_.folder / (name_of(root) + ".torrent"), torrent->encode(), 0600));
    std::string mirror = file.mirror;
    while (mirror.ends_with('/'))
        mirror.pop_back();
    return mirror + "/announce";
}

void TorrentSwarm::ask(const Entry& entry, const std::stop_token& stop) {
    const auto tracker = fetch_torrent(entry, stop);
    const std::string name = name_of(entry.membership->root());
    const bool try_again = !tracker.ok() && tracker.error().code == ErrorCode::kUnavailable &&
                           steady_clock::now() < entry.give_up;
    if (try_again || stop.stop_requested()) return;
    bool joined = false;
    {
        const std::scoped_lock lock(mutex_);
        const auto known = entries_.find(name);
        if (known == entries_.end()) return;
        if (tracker.ok()) {
            joined = true;
            known->second.tracker = *tracker;
            known->second.mirrors = nullptr;
            if (known->second.left) erase_locked(known);
        } else {
            const ErrorCode code = tracker.error().code;
            if (code == ErrorCode::kNotFound)
                spdlog::debug("{}", tracker.error().message);
            else
                spdlog::warn("blob {} is not fetched from peers: {}",
                             entry.membership->root().hex(), tracker.error().message);
            erase_locked(known);
        }
    }
    send(joined ? "join " + name + " " + *tracker : "drop " + name);
}

SwarmCounters TorrentSwarm::counters() const {
    const std::scoped_lock lock(mutex_);
    return {received_, sent_before_ + sent_now_, wrong_, peers_, torrents_, starts_};
}

void TorrentSwarm::report() {
    const SwarmCounters now = counters();
    if (now.received_bytes != reported_.received_bytes || now.sent_bytes != reported_.sent_bytes)
        spdlog::info(
            "torrents: received {} MiB from peers and sent {} MiB to them, {} blobs are shared "
            "with {} peers",
            (now.received_bytes - reported_.received_bytes) >> 20,
            (now.sent_bytes - reported_.sent_bytes) >> 20, now.torrents, now.peers);
    reported_ = now;
}

}  // namespace

Result<std::unique_ptr<HelperSwarm>> HelperSwarm::start(const SwarmOptions& options) {
    std::error_code error;
    fs::create_directories(options.folder, error);
    if (error) return fail(ErrorCode::kIo, options.folder.string() + ": " + error.message());
    auto process = HelperProcess::start(options);
    if (!process.ok() && process.error().code == ErrorCode::kNotFound) return process.error();
    if (!process.ok()) spdlog::warn("torrents: {}; it is tried again", process.error().message);
    return std::unique_ptr<HelperSwarm>(std::make_unique<TorrentSwarm>(
        options,
        process.ok() ? std::make_shared<HelperProcess>(std::move(process).value()) : nullptr));
}

}  // namespace gym::torrent
