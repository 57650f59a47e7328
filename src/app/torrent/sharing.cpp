#include "sharing.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "gym/common/file.hpp"
#include "gym/torrent/helper_lines.hpp"

namespace gym::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using torrent::whole_number;

constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
/// Pieces of the node that the session checks and writes at a time.
constexpr std::size_t kGivenMax = 8;
constexpr seconds kGivenFor{10};
constexpr milliseconds kLookEvery{200};
constexpr seconds kCountEvery{1}, kSaveEvery{30}, kWarnWindow{60};
constexpr unsigned kWarningsMax = 20;

std::uint64_t piece_count(std::uint64_t size_bytes) {
    return (size_bytes + kPieceBytes - 1) / kPieceBytes;
}

}  // namespace

Sharing::Sharing(const SeedFolder& folder, Torrents& torrents, const SharingBounds& bounds, Say say,
                 Moment now)
    : folder_(folder),
      torrents_(torrents),
      bounds_(bounds),
      say_(std::move(say)),
      last_tick_(now),
      last_save_(now),
      last_count_(now),
      warnings_since_(now) {
    for (const auto& [root, size] : folder.content().rest)
        items_[root] = {.size_bytes = size, .rank = ++rank_};
    for (const Seed& seed : folder.content().seeds) {
        items_[seed.root] = {.size_bytes = seed.size_bytes,
                             .whole = true,
                             .rank = ++rank_,
                             .sent_before = seed.sent_bytes,
                             .seconds = static_cast<double>(seed.seconds)};
        join(seed.root, seed.tracker);
    }
    // The bound may be lower than the last time.
    static_cast<void>(make_room({}, 0));
}

void Sharing::obey(std::string_view line) {
    const auto parts = torrent::words(line, 3);
    if (parts.size() < 2 || !torrent::is_root(parts[1])) {
        say_("warn a line of the node is none");
        return;
    }
    const std::string root(parts[1]);
    const std::string_view more = parts.size() > 2 ? parts[2] : std::string_view();
    const auto number = whole_number(more);
    if (parts[0] == "want" && number)
        want(root, *number);
    else if (parts[0] == "join" && !more.empty())
        join(root, std::string(more));
    else if (parts[0] == "leave")
        leave(root);
    else if (parts[0] == "drop")
        end(root, {});
    else if (const auto item = items_.find(root); parts[0] == "piece" && number &&
                                                  item != items_.end() &&
                                                  *number < piece_count(item->second.size_bytes))
        item->second.to_give.push_back(*number);
}

void Sharing::want(const std::string& root, std::uint64_t size_bytes) {
    if (!make_room(root, size_bytes)) {
        end(root, {});
        say_("full " + root);
        return;
    }
    Item& item = items_[root];
    item.size_bytes = size_bytes;
    item.active = !item.whole;
    item.rank = ++rank_;
}

bool Sharing::make_room(const std::string& root, std::uint64_t size_bytes) {
    for (;;) {
        std::uint64_t others = 0;
        auto first = items_.end();
        for (auto item = items_.begin(); item != items_.end(); ++item) {
            if (item->first == root) continue;
            others += item->second.size_bytes;
            if (!item->second.active &&
                (first == items_.end() || item->second.rank < first->second.rank))
                first = item;
        }
        if (size_bytes <= bounds_.seed_bytes_max && others <= bounds_.seed_bytes_max - size_bytes)
            return true;
        if (first == items_.end()) return false;
        end(std::string(first->first), "its room is needed");
    }
}

void Sharing::join(const std::string& root, const std::string& tracker) {
    const auto item = items_.find(root);
    if (item == items_.end()) return;
    const Status added = torrents_.add(root, folder_.torrent_of(root), tracker);
    if (!added.ok() && added.error().code != ErrorCode::kAlreadyExists)
        return end(root, added.error().message);
    item->second.tracker = tracker;
    if (added.ok() || !torrents_.state(root).is_seeding) return;
    // The node fetches a blob again that is seeded here.
    for (std::uint64_t i = 0; i < piece_count(item->second.size_bytes); ++i)
        say_("found " + root + " " + std::to_string(i));
}

void Sharing::leave(const std::string& root) {
    const auto item = items_.find(root);
    if (item == items_.end()) return;
    if (item->second.whole) return;
    sent_ended_ += torrents_.state(root).sent_bytes;
    torrents_.remove(root, false);
    item->second = {.size_bytes = item->second.size_bytes, .rank = item->second.rank};
}

void Sharing::end(const std::string& root, const std::string& why) {
    const auto item = items_.find(root);
    if (item != items_.end()) {
        sent_ended_ += torrents_.state(root).sent_bytes;
        torrents_.remove(root, true);
        items_.erase(item);
        if (!why.empty()) say_("ended " + root + " " + why);
    }
    folder_.erase(root);
}

void Sharing::pass_events(Moment now) {
    for (const Torrents::Event& event : torrents_.poll()) {
        if (event.kind == Torrents::Event::Kind::kWarning)
            warn(event.text, now);
        else
            hear(event);
    }
    for (auto& [root, item] : items_)
        if (!item.to_give.empty()) give(root, item, now);
}

void Sharing::hear(const Torrents::Event& event) {
    using Kind = Torrents::Event::Kind;
    const auto item = items_.find(event.root);
    if (item == items_.end()) return;
    if (event.kind == Kind::kFailed) {
        end(event.root, event.text);
        return;
    }
    if (event.kind == Kind::kChecked) item->second.checked = true;
    if (event.kind != Kind::kPiece) return;
    if (item->second.given.erase(event.index) > 0) return;  // the node has it
    if (item->second.active)
        say_((item->second.checked ? "piece " : "found ") + event.root + " " +
             std::to_string(event.index));
}

void Sharing::give(const std::string& root, Item& item, Moment now) {
    if (!item.checked) return;
    // One that the session had in the same moment is never finished a second time.
    if (now - item.given_at > kGivenFor) item.given.clear();
    while (!item.to_give.empty() && item.given.size() < kGivenMax) {
        const std::uint64_t index = item.to_give.front();
        item.to_give.pop_front();
        const std::uint64_t offset = index * kPieceBytes;
        const auto bytes = read_range(folder_.path() / root, offset,
                                      std::min(kPieceBytes, item.size_bytes - offset));
        if (!bytes.ok()) continue;
        if (!torrents_.give(root, index, {bytes->begin(), bytes->end()})) continue;
        item.given.insert(index);
        item.given_at = now;
    }
}

void Sharing::warn(const std::string& text, Moment now) {
    if (now - warnings_since_ > kWarnWindow) {
        warnings_since_ = now;
        warnings_ = 0;
    }
    if (++warnings_ > kWarningsMax) return;  // peers cause them
    std::string line = text;
    std::ranges::replace_if(
        line, [](unsigned char c) { return c < ' '; }, ' ');
    say_("warn " + line.substr(0, 500));
}

void Sharing::tick(Moment now) {
    if (now - last_tick_ < kLookEvery) return;
    const double passed =
        std::chrono::duration<double>(now - std::exchange(last_tick_, now)).count();
    std::vector<std::pair<std::string, std::string>> ended;
    for (auto& [root, item] : items_) {
        if (item.tracker.empty()) continue;
        const Torrents::State state = torrents_.state(root);
        if (state.is_seeding && !item.whole) become_seed(root, item);
        if (item.whole && item.checked && !state.is_seeding) {
            ended.emplace_back(root, "its file is damaged");
            continue;
        }
        if (state.is_seeding) {
            item.seconds += passed;
            const std::string why = why_ended(item, state.sent_bytes);
            if (!why.empty()) ended.emplace_back(root, why);
            continue;
        }
        std::string available = torrents_.available(root);
        if (available != item.available) say_("have " + root + " " + available);
        item.available = std::move(available);
    }
    for (const auto& [root, why] : ended)
        end(root, why);
    count(now);
    if (now - last_save_ < kSaveEvery) return;
    last_save_ = now;
    save();
}

void Sharing::become_seed(const std::string& root, Item& item) {
    item.whole = true;
    item.active = false;
    item.rank = ++rank_;
    save(root, item);
}

std::string Sharing::why_ended(const Item& item, std::uint64_t sent_bytes) const {
    const double sent = static_cast<double>(item.sent_before + sent_bytes);
    if (sent >= bounds_.seed_ratio_max * static_cast<double>(item.size_bytes))
        return "it was sent as often as seed_ratio_max says";
    if (item.seconds >= static_cast<double>(bounds_.seed_s_max))
        return "it was shared as long as seed_seconds_max says";
    return {};
}

void Sharing::save(const std::string& root, const Item& item) const {
    const Status saved =
        folder_.save({.root = root,
                      .size_bytes = item.size_bytes,
                      .sent_bytes = item.sent_before + torrents_.state(root).sent_bytes,
                      .seconds = static_cast<std::uint64_t>(item.seconds),
                      .tracker = item.tracker});
    if (!saved.ok()) say_("warn " + saved.error().message);
}

void Sharing::save() {
    for (const auto& [root, item] : items_)
        if (item.whole) save(root, item);
}

void Sharing::count(Moment now) {
    if (now - last_count_ < kCountEvery) return;
    last_count_ = now;
    std::uint64_t sent = sent_ended_, peers = 0, shared = 0;
    for (const auto& [root, item] : items_) {
        if (item.tracker.empty()) continue;
        const Torrents::State state = torrents_.state(root);
        sent += state.sent_bytes;
        peers += state.peers;
        ++shared;
    }
    std::string line = "count " + std::to_string(sent) + " " + std::to_string(peers) + " " +
                       std::to_string(shared);
    if (line == counted_) return;
    counted_ = std::move(line);
    say_(counted_);
}

}  // namespace gym::app
