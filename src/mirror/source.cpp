#include "source.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace gym::mirror {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kIdleConnectionsMax = 8;
/// Of the newest measurement in what is remembered.
constexpr double kNewest = 0.3;
/// What no server has: outside of /b/, so that a proxy answers itself.
constexpr const char* kNothing = "/latency";
/// The first one also makes the connection, and a busy machine is late by chance.
constexpr int kQuestions = 3;
/// Smaller pieces say more about the latency than about the rate.
constexpr std::uint64_t kRateBytesMin = 256 << 10;

void blend(double& remembered, double measured) {
    remembered = remembered == 0 ? measured : remembered + kNewest * (measured - remembered);
}

double ms_since(Moment begin) {
    return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

Bytes bytes_of(const std::string& text) {
    return {text.begin(), text.end()};
}

/// What a status other than the ones asked for means.
Error refusal(const http::Reply& reply) {
    const std::string status = std::to_string(reply.status);
    if (reply.status == 404 || reply.status == 410)
        return fail(ErrorCode::kNotFound, "it has no such blob");
    if (reply.status == 429 || reply.status >= 500)
        return fail(ErrorCode::kUnavailable, "it answers " + status);
    if (reply.status >= 300 && reply.status < 400)
        return fail(ErrorCode::kMalformed,
                    "it redirects (" + status + "), which is not followed: name the place itself");
    return fail(ErrorCode::kMalformed, "it answers " + status);
}

}  // namespace

Source::Source(http::Url url, std::string text, const FetchOptions& options)
    : url_(std::move(url)), text_(std::move(text)), options_(options) {
    report_.url = text_;
}

Source::Connection Source::take() {
    {
        const std::scoped_lock lock(mutex_);
        if (!idle_.empty()) {
            Connection connection = std::move(idle_.back());
            idle_.pop_back();
            return connection;
        }
    }
    http::Options options;
    options.peer = "mirror";
    options.timeout_ms = options_.piece_timeout_ms;
    options.reply_bytes_max =
        std::max(blob::kPieceBytes, blob::piece_list_bytes(options_.blob_bytes_max));
    return http::Connection::create(url_, options);
}

void Source::put_back(Connection connection) {
    if (!connection->is_open()) return;
    const std::scoped_lock lock(mutex_);
    if (idle_.size() < kIdleConnectionsMax) idle_.push_back(std::move(connection));
}

Result<http::Reply> Source::get(const http::Request& request) {
    Connection connection = take();
    const bool reused = connection->is_open();
    auto reply = connection->exchange(request);
    // A connection that was kept may have been closed by the server meanwhile.
    if (!reply.ok() && reused && reply.error().code == ErrorCode::kUnavailable)
        reply = connection->exchange(request);
    put_back(std::move(connection));
    return reply;
}

std::string Source::target_of(const std::string& path) const {
    std::string base = url_.target;
    while (base.ends_with('/'))
        base.pop_back();
    return base + path;
}

Status Source::measure_latency(const std::stop_token& stop) {
    http::Request request;
    request.target = target_of(kNothing);
    request.headers = options_.headers;
    request.timeout_ms = options_.list_timeout_ms;
    request.stop = stop;
    double least = 0;
    const auto take = [&](double ms) { least = least == 0 ? ms : std::min(least, ms); };
    Status asked;
    for (int i = 0; i < kQuestions && asked.ok(); ++i) {
        const Moment begin = steady_clock::now();
        const auto reply = get(request);
        if (!reply.ok()) asked = reply.error();
        if (reply.ok() || (least == 0 && reply.error().code == ErrorCode::kCancelled))
            take(ms_since(begin));
    }
    if (!asked.ok()) note_failure(asked.error());
    const std::scoped_lock lock(mutex_);
    if (least > 0) report_.latency_ms = least;
    return asked;
}

Result<blob::PieceList> Source::list(const Digest& root, const std::stop_token& stop) {
    auto list = ask_list(root, stop);
    if (!list.ok()) note_failure(list.error());
    if (list.ok() || list.error().code == ErrorCode::kNotFound) {
        const std::scoped_lock lock(mutex_);
        absences_ = list.ok() ? 0 : absences_ + 1;
    }
    return list;
}

Result<http::Reply> Source::get_file(const Digest& root, const char* suffix,
                                     const std::stop_token& stop) {
    http::Request request;
    request.target = target_of("/b/" + to_hex(root.view()) + suffix);
    request.headers = options_.headers;
    request.timeout_ms = options_.list_timeout_ms;
    request.stop = stop;
    GYM_TRY(http::Reply reply, get(request));
    if (reply.status != 200) return refusal(reply);
    return reply;
}

Result<Bytes> Source::torrent(const Digest& root, const std::stop_token& stop) {
    GYM_TRY(const http::Reply reply, get_file(root, ".torrent", stop));
    return bytes_of(reply.body);
}

Result<blob::PieceList> Source::ask_list(const Digest& root, const std::stop_token& stop) {
    GYM_TRY(const http::Reply reply, get_file(root, ".pieces", stop));
    GYM_TRY(blob::PieceList list, blob::PieceList::decode(root, bytes_of(reply.body)));
    if (list.size_bytes() > options_.blob_bytes_max)
        return fail(ErrorCode::kOutOfRange,
                    "blob " + root.hex() + " has " + std::to_string(list.size_bytes()) +
                        " bytes; at most " + std::to_string(options_.blob_bytes_max) +
                        " are accepted");
    return list;
}

Result<Bytes> Source::piece(const blob::PieceList& list, std::uint64_t index,
                            const std::stop_token& stop) {
    const Moment begin = steady_clock::now();
    auto bytes = ask_piece(list, index, stop);
    if (!bytes.ok()) {
        note_failure(bytes.error());
        return bytes;
    }
    const double took = ms_since(begin);
    const std::scoped_lock lock(mutex_);
    failures_in_a_row_ = 0;
    is_proven_ = true;
    report_.bytes += bytes->size();
    if (bytes->size() >= kRateBytesMin)
        blend(report_.ms_per_mib,
              took * static_cast<double>(blob::kPieceBytes) / static_cast<double>(bytes->size()));
    return bytes;
}

Result<Bytes> Source::ask_piece(const blob::PieceList& list, std::uint64_t index,
                                const std::stop_token& stop) {
    const std::uint64_t size = list.size_of(index);
    const std::string range =
        std::to_string(list.offset(index)) + "-" + std::to_string(list.offset(index) + size - 1);
    http::Request request;
    request.target = target_of("/b/" + to_hex(list.root().view()));
    request.headers = options_.headers;
    request.headers.emplace_back("Range", "bytes=" + range);
    request.silence_ms = options_.silence_ms;
    request.stop = stop;
    GYM_TRY(const http::Reply reply, get(request));
    // A server without ranges sends all of a blob of one piece.
    const bool whole = reply.status == 200 && list.count() == 1;
    if (reply.status != 206 && !whole) {
        if (reply.status != 200) return refusal(reply);
        return fail(ErrorCode::kMalformed, "it does not serve ranges");
    }
    const std::string wanted = "bytes " + range + "/" + std::to_string(list.size_bytes());
    if (!whole && reply.header("content-range") != wanted)
        return fail(ErrorCode::kMalformed, "it answers the range '" +
                                               std::string(reply.header("content-range")) +
                                               "' where '" + wanted + "' is asked for");
    if (reply.body.size() != size)
        return fail(ErrorCode::kMalformed, "it sends " + std::to_string(reply.body.size()) +
                                               " bytes where " + std::to_string(size) +
                                               " are asked for");
    Bytes bytes = bytes_of(reply.body);
    if (!list.matches(index, bytes))
        return fail(ErrorCode::kMismatch, "piece " + std::to_string(index) + " of blob " +
                                              list.root().hex() + " has wrong bytes");
    return bytes;
}

void Source::note_failure(const Error& error) {
    if (error.code == ErrorCode::kCancelled || error.code == ErrorCode::kNotFound) return;
    if (error.code == ErrorCode::kOutOfRange) return;  // of the blob, not of the source
    const bool lie = error.code == ErrorCode::kMismatch;
    std::uint32_t failures = 0;
    {
        const std::scoped_lock lock(mutex_);
        ++report_.failures;
        if (lie) ++report_.lies;
        failures = failures_in_a_row_++;
    }
    const std::uint64_t ms = std::uint64_t{options_.ban_ms} << std::min(failures, 20U);
    ban(lie ? options_.ban_ms_max : std::min<std::uint64_t>(ms, options_.ban_ms_max),
        error.message);
}

void Source::note_stall(milliseconds took) {
    {
        const std::scoped_lock lock(mutex_);
        ++report_.failures;
        report_.ms_per_mib = std::max(report_.ms_per_mib, static_cast<double>(took.count()));
        if (std::exchange(is_proven_, false)) return;
    }
    ban(options_.ban_ms, "it had not sent a piece within " + std::to_string(took.count()) +
                             " ms that another source has sent");
}

void Source::ban(std::uint64_t ms, const std::string& why) {
    const Moment now = steady_clock::now();
    bool news = false;
    {
        const std::scoped_lock lock(mutex_);
        news = now >= banned_until_;
        banned_until_ = std::max(banned_until_, now + milliseconds(ms));
        last_failure_ = why;
        is_proven_ = false;
        idle_.clear();
    }
    if (news) spdlog::warn("mirror {} is left for {} s: {}", text_, (ms + 999) / 1'000, why);
}

bool Source::is_banned(Moment now) const {
    const std::scoped_lock lock(mutex_);
    return now < banned_until_;
}

Measured Source::measured() const {
    const std::scoped_lock lock(mutex_);
    return {report_.latency_ms, report_.ms_per_mib};
}

std::uint32_t Source::absences() const {
    const std::scoped_lock lock(mutex_);
    return absences_;
}

bool Source::is_proven() const {
    const std::scoped_lock lock(mutex_);
    return is_proven_;
}

SourceReport Source::report() const {
    const Moment now = steady_clock::now();
    const std::scoped_lock lock(mutex_);
    SourceReport out = report_;
    if (now < banned_until_) out.banned_because = last_failure_;
    return out;
}

std::string Source::last_failure() const {
    const std::scoped_lock lock(mutex_);
    return last_failure_;
}

}  // namespace gym::mirror
