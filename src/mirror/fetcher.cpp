#include "gym/mirror/fetcher.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "download.hpp"
#include "gym/mirror/copy.hpp"
#include "source.hpp"

namespace gym::mirror {
namespace {

/// What each list that a source lacked adds to its latency.
constexpr double kAbsenceMs = 100;
/// Sources that have not answered by four times what the first took, and this, are far.
constexpr int kFirstAnswers = 4;
constexpr std::chrono::milliseconds kMeasureSlack{250};
constexpr std::chrono::minutes kMeasureEvery{10};

}  // namespace

struct Fetcher::Impl {
    FetchOptions options;
    std::vector<std::unique_ptr<Source>> sources;

    std::mutex measuring;
    std::optional<Moment> measured_at;

    /// Near first; those that are left for now are not among them.
    [[nodiscard]] std::vector<Source*> by_latency() const {
        const Moment now = std::chrono::steady_clock::now();
        std::vector<std::pair<double, Source*>> known;
        for (const auto& source : sources)
            if (!source->is_banned(now))
                known.emplace_back(source->measured().latency_ms + kAbsenceMs * source->absences(),
                                   source.get());
        std::ranges::stable_sort(known, {}, &std::pair<double, Source*>::first);
        std::vector<Source*> out;
        out.reserve(known.size());
        for (const auto& [ms, source] : known)
            out.push_back(source);
        return out;
    }

    /// The near ones alone, in an order that depends on the root and their addresses.
    [[nodiscard]] std::vector<Source*> near_by_rank(const Digest& root) const {
        std::vector<Source*> out = by_latency();
        std::vector<Measured> measured;
        for (const Source* source : out)
            measured.push_back(source->measured());
        const Preference preference(measured);
        std::erase_if(out,
                      [&](const Source* source) { return preference.is_far(source->measured()); });
        std::ranges::sort(out, std::ranges::greater{}, [&](const Source* source) {
            return rank_of(root, trimmed_url(source->url()));
        });
        return out;
    }

    /// The near sources are known before anything is fetched, and again from time to time.
    void know_latencies(const std::stop_token& stop) {
        if (sources.size() < 2) return;
        const std::scoped_lock lock(measuring);
        const Moment now = std::chrono::steady_clock::now();
        if (measured_at && now - *measured_at < kMeasureEvery) return;
        measured_at = now;
        measure_latencies(stop);
    }

    /// Asks all sources at once.
    void measure_latencies(const std::stop_token& stop) {
        std::stop_source end;
        const std::stop_callback on_stop(stop, [&] { end.request_stop(); });
        std::mutex mutex;
        std::condition_variable changed;
        std::size_t answered = 0, ended = 0;
        const Moment begin = std::chrono::steady_clock::now();
        std::vector<std::jthread> threads;
        for (const auto& source : sources)
            threads.emplace_back([&, &one = *source] {
                const bool ok = one.measure_latency(end.get_token()).ok();
                const std::scoped_lock lock(mutex);
                answered += ok ? 1 : 0;
                ++ended;
                changed.notify_all();
            });
        {
            std::unique_lock lock(mutex);
            const auto all = [&] { return ended == sources.size(); };
            changed.wait(lock, [&] { return answered > 0 || all(); });
            const auto first = std::chrono::steady_clock::now() - begin;
            changed.wait_for(lock, kFirstAnswers * first + kMeasureSlack, all);
        }
        end.request_stop();
    }
};

Fetcher::Fetcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Fetcher::~Fetcher() = default;

Result<std::unique_ptr<Fetcher>> Fetcher::create(const std::vector<std::string>& urls,
                                                 const FetchOptions& options) {
    if (urls.size() > kSourcesMax)
        return fail(ErrorCode::kInvalidArgument, "at most " + std::to_string(kSourcesMax) +
                                                     " mirrors can be used, " +
                                                     std::to_string(urls.size()) + " are named");
    auto impl = std::make_unique<Impl>();
    impl->options = options;
    for (const std::string& text : urls) {
        const auto url = http::parse_url(text);
        if (!url.ok() || text.size() > kSourceUrlBytesMax ||
            text.find_first_of("?#") != std::string::npos)
            return fail(ErrorCode::kInvalidArgument,
                        "address " + std::to_string(impl->sources.size() + 1) + " of " +
                            std::to_string(urls.size()) +
                            " is none of a mirror: it must have the form "
                            "http(s)://host[:port][/path] and at most " +
                            std::to_string(kSourceUrlBytesMax) + " bytes");
        impl->sources.push_back(std::make_unique<Source>(*url, text, options));
    }
    return std::unique_ptr<Fetcher>(new Fetcher(std::move(impl)));
}

Result<blob::PieceList> Fetcher::pieces(const Digest& root, const std::stop_token& stop) {
    std::string failures;
    std::size_t asked = 0, absent = 0;
    impl_->know_latencies(stop);
    for (Source* const source : impl_->by_latency()) {
        if (asked == impl_->options.lists_asked_max || absent == impl_->options.lists_absent_max)
            break;
        ++asked;
        auto list = source->list(root, stop);
        if (list.ok()) return list;
        const ErrorCode code = list.error().code;
        if (code == ErrorCode::kCancelled || code == ErrorCode::kOutOfRange) return list;
        if (code == ErrorCode::kNotFound) ++absent;
        failures += "; " + source->url() + ": " + list.error().message;
    }
    if (absent == impl_->options.lists_absent_max || (asked > 0 && absent == asked))
        return fail(ErrorCode::kNotFound, "no mirror has blob " + root.hex());
    if (asked == 0) failures = impl_->sources.empty() ? "; none is named" : "; all failed lately";
    return fail(ErrorCode::kUnavailable, "no mirror gave blob " + root.hex() + failures);
}

Status Fetcher::download(const blob::PieceList& list, PieceSink& sink, const std::stop_token& stop,
                         const Progress& progress, Peers* peers) {
    impl_->know_latencies(stop);
    std::vector<std::uint64_t> missing;
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < list.count(); ++i) {
        if (sink.has(i))
            done += list.size_of(i);
        else
            missing.push_back(i);
    }
    std::mutex mutex;
    const auto keep = [&](std::uint64_t index, const Bytes& bytes) -> Status {
        GYM_CHECK(sink.write(index, bytes));
        const std::scoped_lock lock(mutex);
        done += bytes.size();
        if (progress) progress(done, list.size_bytes());
        return {};
    };
    return Download(impl_->sources, impl_->options, list, std::move(missing), peers)
        .run(keep, stop);
}

Result<TorrentFile> Fetcher::torrent(const Digest& root, const std::stop_token& stop) {
    impl_->know_latencies(stop);
    Error failure = fail(ErrorCode::kNotFound, "no near mirror has a torrent of " + root.hex());
    std::uint32_t asked = 0;
    for (Source* const source : impl_->near_by_rank(root)) {
        if (asked++ == impl_->options.lists_asked_max) break;
        auto file = source->torrent(root, stop);
        if (file.ok()) return TorrentFile{std::move(file).value(), source->url()};
        if (file.error().code == ErrorCode::kNotFound) continue;
        failure = file.error().in(source->url());
        // It is being made there: that is where the others will ask, too.
        if (failure.code == ErrorCode::kUnavailable || failure.code == ErrorCode::kCancelled) break;
    }
    return failure;
}

Result<Bytes> Fetcher::piece(const blob::PieceList& list, std::uint64_t index,
                             const std::stop_token& stop) {
    impl_->know_latencies(stop);
    Bytes out;
    const auto keep = [&](std::uint64_t, Bytes bytes) -> Status {
        out = std::move(bytes);
        return {};
    };
    GYM_CHECK(Download(impl_->sources, impl_->options, list, {index}).run(keep, stop));
    return out;
}

std::vector<SourceReport> Fetcher::sources() const {
    std::vector<SourceReport> out;
    for (const auto& source : impl_->sources)
        out.push_back(source->report());
    return out;
}

}  // namespace gym::mirror
