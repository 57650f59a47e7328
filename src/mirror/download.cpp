#include "download.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <thread>
#include <utility>

namespace gym::mirror {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How often a connection without work looks for a piece that is late.
constexpr milliseconds kLook{50};
/// The same for pieces of peers: the end of a download waits for it.
constexpr milliseconds kPeerLook{10};
constexpr double kLateFactor = 4;

}  // namespace

Download::Download(const std::vector<std::unique_ptr<Source>>& sources, const FetchOptions& options,
                   const blob::PieceList& list, std::vector<std::uint64_t> pieces, Peers* peers)
    : sources_(sources),
      options_(options),
      list_(list),
      peers_(peers),
      draw_(peers == nullptr ? 0 : std::random_device{}()),
      missing_(pieces.begin(), pieces.end()),
      open_(missing_) {}

Status Download::run(const Keep& keep, const std::stop_token& stop) {
    if (open_.empty()) return {};
    const std::stop_callback on_stop(stop, [this] {
        const std::scoped_lock lock(mutex_);
        finish(fail(ErrorCode::kCancelled, "the download was stopped"));
    });
    // One more than there are pieces, so that the last piece can be asked of a second source.
    const std::size_t connections = std::min<std::size_t>(
        {options_.connections_max, open_.size() + (sources_.size() > 1 ? 1 : 0),
         sources_.size() * std::size_t{options_.source_connections_max}});
    {
        std::vector<std::jthread> threads;
        if (peers_ != nullptr) threads.emplace_back([&] { take_from_peers(keep); });
        for (std::size_t i = 1; i < connections; ++i)
            threads.emplace_back([&] { work(keep); });
        work(keep);
    }
    const std::scoped_lock lock(mutex_);
    return error_ ? Status(*error_) : Status();
}

void Download::work(const Keep& keep) {
    while (const auto flight = next()) {
        Flight& one = **flight;
        end(*flight, one.source->piece(list_, one.piece, one.stop.get_token()), keep);
    }
}

void Download::take_from_peers(const Keep& keep) {
    const auto is_over = [this] {
        const std::scoped_lock lock(mutex_);
        return over_;
    };
    while (!is_over())
        if (auto piece = peers_->next(kPeerLook)) accept(std::move(*piece), keep);
}

void Download::accept(Peers::Piece piece, const Keep& keep) {
    std::unique_lock lock(mutex_);
    if (over_ || open_.erase(piece.index) == 0) return;
    missing_.erase(piece.index);
    if (piece.by_peer) pace_.from_peer(piece.bytes.size(), steady_clock::now());
    peers_->note_taken(piece);
    end_others(piece.index, std::nullopt);
    keep_piece(piece.index, std::move(piece.bytes), keep, lock);
}

bool Download::peers_can_go_on(Moment now) const {
    if (peers_ == nullptr || pace_.peers_are_silent(now)) return false;
    return std::ranges::any_of(open_, [&](std::uint64_t piece) { return peers_->have(piece); });
}

std::optional<std::uint64_t> Download::next_missing(Moment now) {
    if (missing_.empty()) return std::nullopt;
    if (peers_ == nullptr) return *missing_.begin();
    std::optional<std::uint64_t> peers_have;
    auto at = missing_.lower_bound(draw_() % list_.count());
    for (std::size_t i = 0; i < missing_.size(); ++i, ++at) {
        if (at == missing_.end()) at = missing_.begin();
        if (!peers_->have(*at)) return *at;
        if (!peers_have) peers_have = *at;
    }
    return pace_.leaves_to_peers(now) ? std::nullopt : peers_have;
}

std::optional<Download::FlightAt> Download::next() {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (over_) return std::nullopt;
        const Moment now = steady_clock::now();
        if (auto flight = begin_missing(now)) return flight;
        if (auto flight = begin_second(now)) return flight;
        if (flights_.empty() && kept_now_ == 0 && !peers_can_go_on(now)) {
            finish(nobody_left());
            return std::nullopt;
        }
        changed_.wait_for(lock, kLook);
    }
}

std::optional<Download::FlightAt> Download::begin_missing(Moment now) {
    const auto piece = next_missing(now);
    if (!piece) return std::nullopt;
    Source* const source = best(now, nullptr, list_.size_of(*piece));
    if (source == nullptr) return std::nullopt;
    missing_.erase(*piece);
    return begin(*piece, *source, now);
}

std::optional<Download::FlightAt> Download::begin_second(Moment now) {
    for (const Flight& flight : flights_) {
        const auto same = [&](const Flight& other) { return other.piece == flight.piece; };
        if (!open_.contains(flight.piece) || std::ranges::count_if(flights_, same) > 1) continue;
        Source* const other = best(now, flight.source, list_.size_of(flight.piece));
        if (other != nullptr && is_late(flight, *other, now))
            return begin(flight.piece, *other, now);
    }
    return std::nullopt;
}

bool Download::is_late(const Flight& flight, const Source& other, Moment now) const {
    const double waited = std::chrono::duration<double, std::milli>(now - flight.begun).count();
    const Preference preference = compare(now);
    const std::uint64_t bytes = list_.size_of(flight.piece);
    // What is usual for the source itself is not late.
    const double usual = std::max(preference.expected_ms(other.measured(), bytes),
                                  preference.expected_ms(flight.source->measured(), bytes));
    return waited > std::max(static_cast<double>(options_.patience_ms), kLateFactor * usual);
}

Preference Download::compare(Moment now) const {
    std::vector<Measured> known;
    for (const auto& source : sources_)
        if (!source->is_banned(now) && !lacking_.contains(source.get()))
            known.push_back(source->measured());
    return Preference(known);
}

Download::FlightAt Download::begin(std::uint64_t piece, Source& source, Moment now) {
    return flights_.insert(flights_.end(), {piece, &source, now, {}});
}

Source* Download::best(Moment now, const Source* except, std::uint64_t bytes) const {
    const Preference preference = compare(now);
    Source* found = nullptr;
    double found_ms = 0, busy_near_ms = std::numeric_limits<double>::infinity();
    bool found_is_far = false;
    for (const auto& source : sources_) {
        if (source.get() == except || lacking_.contains(source.get()) || source->is_banned(now))
            continue;
        const std::size_t flights = flights_of(*source);
        const Measured measured = source->measured();
        const bool is_far = preference.is_far(measured);
        // What shares a source's link takes longer.
        const double ms =
            preference.cost_ms(measured, bytes) * (1 + static_cast<double>(flights) / 2);
        const std::size_t most = source->is_proven() ? options_.source_connections_max : 1;
        if (flights >= most) {
            if (!is_far) busy_near_ms = std::min(busy_near_ms, ms);
            continue;
        }
        if (found != nullptr && ms >= found_ms) continue;
        found = source.get();
        found_ms = ms;
        found_is_far = is_far;
    }
    // A near one that is busy is sooner ready again.
    return found_is_far && busy_near_ms < found_ms ? nullptr : found;
}

std::size_t Download::flights_of(const Source& source) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        flights_, [&](const Flight& flight) { return flight.source == &source; }));
}

void Download::end(FlightAt flight, Result<Bytes> answer, const Keep& keep) {
    const std::uint64_t piece = flight->piece;
    Source* const source = flight->source;
    const Moment begun = flight->begun;
    std::unique_lock lock(mutex_);
    flights_.erase(flight);
    changed_.notify_all();
    if (over_) return;
    const auto same = [&](const Flight& other) { return other.piece == piece; };
    if (!answer.ok()) {
        if (answer.error().code == ErrorCode::kNotFound) lacking_.insert(source);
        const bool is_asked = std::ranges::any_of(flights_, same);
        if (open_.contains(piece) && !is_asked) missing_.insert(piece);
        return;
    }
    if (open_.erase(piece) == 0) return;  // the other one was first
    end_others(piece, begun);
    pace_.from_source(answer->size(), steady_clock::now());
    const auto keep_and_offer = [&](std::uint64_t index, Bytes bytes) {
        if (peers_ != nullptr) peers_->offer(index, bytes);
        return keep(index, std::move(bytes));
    };
    keep_piece(piece, std::move(answer).value(), keep_and_offer, lock);
}

void Download::keep_piece(std::uint64_t piece, Bytes bytes, const Keep& keep,
                          std::unique_lock<std::mutex>& lock) {
    ++kept_now_;
    lock.unlock();
    const Status kept = keep(piece, std::move(bytes));
    lock.lock();
    --kept_now_;
    if (!kept.ok()) return finish(kept.error());
    if (open_.empty() && kept_now_ == 0) finish(std::nullopt);
}

void Download::end_others(std::uint64_t piece, std::optional<Moment> begun) {
    for (Flight& other : flights_) {
        if (other.piece != piece) continue;
        if (begun && other.begun < *begun)
            other.source->note_stall(
                std::chrono::duration_cast<milliseconds>(steady_clock::now() - other.begun));
        other.stop.request_stop();
    }
}

Error Download::nobody_left() const {
    std::string message = "no mirror has all of blob " + list_.root().hex();
    bool absent = true;
    for (const auto& source : sources_) {
        const bool lacks = lacking_.contains(source.get());
        absent = absent && lacks;
        const std::string why = lacks ? "it has no such blob" : source->last_failure();
        message += "; " + source->url() + ": " + (why.empty() ? "not asked" : why);
    }
    return fail(absent ? ErrorCode::kNotFound : ErrorCode::kUnavailable, message);
}

void Download::finish(std::optional<Error> error) {
    if (over_) return;
    over_ = true;
    error_ = std::move(error);
    for (Flight& flight : flights_)
        flight.stop.request_stop();
    changed_.notify_all();
}

}  // namespace gym::mirror
