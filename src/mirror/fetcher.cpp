#include "gym/mirror/fetcher.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "download.hpp"
#include "source.hpp"

namespace gym::mirror {
namespace {

/// What each list that a source lacked adds to the time that it is expected to take.
constexpr double kAbsenceMs = 100;

}  // namespace

struct Fetcher::Impl {
    FetchOptions options;
    std::vector<std::unique_ptr<Source>> sources;

    /// Best first; those that are left for now are not among them.
    [[nodiscard]] std::vector<Source*> by_preference() const {
        const Moment now = std::chrono::steady_clock::now();
        std::vector<std::pair<double, Source*>> known;
        for (const auto& source : sources)
            if (!source->is_banned(now))
                known.emplace_back(
                    source->expected_ms(blob::kPieceBytes) + kAbsenceMs * source->absences(),
                    source.get());
        std::ranges::stable_sort(known, {}, &std::pair<double, Source*>::first);
        std::vector<Source*> out;
        out.reserve(known.size());
        for (const auto& [ms, source] : known)
            out.push_back(source);
        return out;
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
    for (Source* const source : impl_->by_preference()) {
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
                         const Progress& progress) {
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
    return Download(impl_->sources, impl_->options, list, std::move(missing)).run(keep, stop);
}

Result<Bytes> Fetcher::piece(const blob::PieceList& list, std::uint64_t index,
                             const std::stop_token& stop) {
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
