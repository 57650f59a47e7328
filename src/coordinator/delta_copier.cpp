#include "gym/coordinator/delta_copier.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <random>
#include <thread>
#include <utility>

#include "gym/mirror/copy.hpp"
#include "gym/rpc/upload_ticket.hpp"

namespace gym::coordinator {
namespace {

constexpr std::uint32_t kCopiesAtOnce = 64;
/// Another instance leaves a copy alone for so long; after a crash it waits no longer either.
constexpr std::int64_t kCopyLeaseMs = 60'000;
/// When a copy that is under way is asked about again: after what it takes at 100 MB/s.
constexpr std::int64_t kAskAgainMs = 1'000, kAskAgainMsMax = 10'000;
constexpr std::uint64_t kBytesPerMs = 100'000;
constexpr std::int64_t kCopyPauseMs = 1'000;  ///< after a failure; doubled with each
constexpr std::int64_t kCopyPauseMsMax = 60'000;
constexpr std::size_t kThreads = 8;  ///< a far mirror takes a second for each answer
/// How long a mirror gets no orders: after it refused, stalled or lied; and after it was busy or
/// full, or could not fetch the blob, which may be the other mirror's fault.
constexpr std::int64_t kLeftMs = 120'000, kLeftForNowMs = 10'000;
/// Of a question that proves a copy: a list, a piece.
constexpr std::uint32_t kCheckMs = 10'000;
constexpr std::size_t kFetchersMax = mirror::kSourcesMax;
constexpr std::size_t kSizesMax = 4'096;

std::int64_t left_ms(ErrorCode code) {
    const bool for_now = code == ErrorCode::kOutOfRange || code == ErrorCode::kMismatch;
    return for_now ? kLeftForNowMs : kLeftMs;
}

std::uint64_t any_of(std::uint64_t count) {
    static thread_local std::mt19937_64 random(std::random_device{}());
    return std::uniform_int_distribution<std::uint64_t>(0, count - 1)(random);
}

}  // namespace

void DeltaCopier::set_mirrors(std::vector<std::string> mirrors) {
    const std::scoped_lock lock(mutex_);
    mirrors_ = std::move(mirrors);
}

std::string DeltaCopier::choose(const registry::DeltaCopy& copy) {
    const UnixMs now_ms = clock_.now_ms();
    const std::scoped_lock lock(mutex_);
    std::erase_if(left_until_ms_, [&](const auto& left) { return left.second <= now_ms; });
    const auto usable = [&](const std::string& url) {
        return url != copy.source && !left_until_ms_.contains(url);
    };
    if (usable(copy.target) && std::ranges::find(mirrors_, copy.target) != mirrors_.end())
        return copy.target;
    // The mirror that others ask first for this blob, or the one behind it.
    std::vector<std::string> ranked = mirrors_;
    std::ranges::sort(ranked, std::ranges::greater(), [&](const std::string& url) {
        return mirror::rank_of(copy.root, mirror::trimmed_url(url));
    });
    const auto found = std::ranges::find_if(ranked, usable);
    return found == ranked.end() ? std::string() : *found;
}

void DeltaCopier::leave(const std::string& mirror, std::int64_t ms) {
    const std::scoped_lock lock(mutex_);
    left_until_ms_[mirror] = clock_.now_ms() + ms;
    proven_.erase(mirror);
}

bool DeltaCopier::must_show(const std::string& mirror) {
    const std::scoped_lock lock(mutex_);
    return !proven_.contains(mirror) || any_of(kShownEvery) == 0;
}

Result<std::shared_ptr<mirror::Fetcher>> DeltaCopier::fetcher_of(const std::string& mirror) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = fetchers_.find(mirror); known != fetchers_.end()) return known->second;
    mirror::FetchOptions options;
    options.blob_bytes_max = blob_bytes_max_;
    options.list_timeout_ms = options.piece_timeout_ms = kCheckMs;
    // What the mirror would fetch now to show it is not there yet.
    options.headers = {{"Cache-Control", "only-if-cached"}};
    // It is asked about many deltas: a failure with one says what leave() says, no more.
    options.ban_ms = options.ban_ms_max = 1;
    GYM_TRY(auto made, mirror::Fetcher::create({mirror}, options));
    if (fetchers_.size() >= kFetchersMax) fetchers_.clear();
    return fetchers_[mirror] = std::move(made);
}

Result<std::uint64_t> DeltaCopier::size_at_source(const registry::DeltaCopy& copy,
                                                  const std::stop_token& stop) {
    {
        const std::scoped_lock lock(mutex_);
        if (const auto known = sizes_.find(copy.root); known != sizes_.end()) return known->second;
    }
    GYM_TRY(const auto fetcher, fetcher_of(copy.source));
    GYM_TRY(const blob::PieceList list, fetcher->pieces(copy.root, stop));
    const std::scoped_lock lock(mutex_);
    if (sizes_.size() >= kSizesMax) sizes_.clear();
    return sizes_[copy.root] = list.size_bytes();
}

Status DeltaCopier::check(const std::string& mirror, const Digest& root,
                          const std::stop_token& stop) {
    GYM_TRY(const auto fetcher, fetcher_of(mirror));
    GYM_TRY(const blob::PieceList list, fetcher->pieces(root, stop));
    if (list.count() == 0 || !must_show(mirror)) return {};
    GYM_TRY(const Bytes piece, fetcher->piece(list, any_of(list.count()), stop));
    bytes_received_ += piece.size();
    const std::scoped_lock lock(mutex_);
    proven_.insert(mirror);
    return {};
}

DeltaCopier::Step DeltaCopier::look_after(registry::DeltaCopy& copy, const std::stop_token& stop) {
    const UnixMs now_ms = clock_.now_ms();
    const auto size = size_at_source(copy, stop);
    if (!size.ok()) return {Outcome::kFailed, copy.source + ": " + size.error().message};
    const std::string target = choose(copy);
    if (target.empty()) {
        copy.target.clear();
        return {Outcome::kUnderWay, "", 0, kLeftForNowMs};
    }
    if (target != copy.target) {
        copy.target = target;
        copy.until_ms = now_ms + mirror::copy_ms_max(*size);
    }
    const rpc::UploadTicket ticket = rpc::sign_ticket(
        domain_, {key_.address(), copy.root, *size, now_ms + rpc::kTicketMs, {}}, key_);
    const auto ordered =
        mirror::order_copy(target, copy.root, copy.source,
                           rpc::upload_headers(domain_, rpc::encode(ticket), key_, now_ms), stop);
    if (!ordered.ok())
        return {Outcome::kFailed, target + ": " + ordered.error().message,
                left_ms(ordered.error().code)};
    if (*ordered == mirror::CopyState::kUnderWay) {
        const auto likely_ms = static_cast<std::int64_t>(*size / kBytesPerMs);
        if (now_ms < copy.until_ms)
            return {Outcome::kUnderWay, "", 0, std::clamp(likely_ms, kAskAgainMs, kAskAgainMsMax)};
        return {Outcome::kFailed, target + ": it takes too long", kLeftMs};
    }
    const Status shown = check(target, copy.root, stop);
    if (shown.ok()) return {Outcome::kCopied};
    return {Outcome::kFailed,
            target + " says that it has the blob, and does not show it: " + shown.error().message,
            kLeftMs};
}

Result<bool> DeltaCopier::step(registry::DeltaCopy copy, const std::stop_token& stop) {
    const Step now = look_after(copy, stop);
    if (stop.stop_requested()) return false;
    if (now.outcome == Outcome::kFailed) {
        if (now.left_ms > 0) leave(copy.target, now.left_ms);
        spdlog::warn("delta {} is at one mirror still: {}", copy.root.hex(), now.why);
    }
    if (now.outcome != Outcome::kUnderWay) {
        const std::scoped_lock lock(mutex_);
        sizes_.erase(copy.root);
    }
    const UnixMs now_ms = clock_.now_ms();
    GYM_CHECK(database_.transact([&](db::Transaction& tx) -> Status {
        if (now.outcome == Outcome::kCopied) return registry::set_copied(tx, copy);
        if (now.outcome == Outcome::kUnderWay)
            return registry::set_copy_ordered(tx, copy, now_ms + now.pause_ms);
        const std::int64_t pause_ms =
            std::min(kCopyPauseMs << std::min(copy.failed, 16U), kCopyPauseMsMax);
        return registry::set_copy_failed(tx, copy, now_ms + pause_ms);
    }));
    return now.outcome == Outcome::kCopied;
}

Result<std::uint32_t> DeltaCopier::pass(const std::stop_token& stop) {
    GYM_TRY(const auto due, database_.transact([&](db::Transaction& tx) {
        return registry::lease_copies(tx, clock_.now_ms(), kCopyLeaseMs, kCopiesAtOnce);
    }));
    std::atomic<std::size_t> next{0};
    std::atomic<std::uint32_t> copied{0};
    std::mutex mutex;
    Status first;
    const auto work = [&] {
        for (std::size_t i = next++; i < due.size() && !stop.stop_requested(); i = next++) {
            const auto done = step(due[i], stop);
            if (done.ok() && *done) ++copied;
            if (done.ok()) continue;
            const std::scoped_lock lock(mutex);
            if (first.ok()) first = done.error();
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < std::min(due.size(), kThreads); ++i)
            threads.emplace_back(work);
        work();
    }
    GYM_CHECK(first);
    return copied.load();
}

}  // namespace gym::coordinator
