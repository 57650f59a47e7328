#include "gym/rpc/delta_upload.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "gym/mirror/copy.hpp"
#include "gym/rpc/upload_ticket.hpp"

namespace gym::rpc {
namespace {

/// The near ones first, then those of which nothing is known, then those that failed; strangers in
/// an order that is the root's: not all workers use the first of the list, and who repeats an
/// upload comes to the mirror that has it.
std::vector<std::string> near_first(std::vector<std::string> mirrors, const Digest& root,
                                    const std::vector<mirror::SourceReport>& known) {
    constexpr double kUnknownMs = 1e6, kBannedMs = 1e9;
    std::map<std::string, double> distance;
    for (const mirror::SourceReport& report : known) {
        const double measured = report.latency_ms > 0 ? report.latency_ms : kUnknownMs;
        distance[report.url] = report.banned_because.empty() ? measured : kBannedMs;
    }
    std::ranges::sort(mirrors, std::ranges::greater(), [&](const std::string& url) {
        return mirror::rank_of(root, mirror::trimmed_url(url));
    });
    std::ranges::stable_sort(mirrors, {}, [&](const std::string& url) {
        const auto found = distance.find(url);
        return found == distance.end() ? kUnknownMs : found->second;
    });
    return mirrors;
}

}  // namespace

Result<bool> DeltaUpload::place(const blob::VerifiedBlob& delta,
                                const std::vector<mirror::SourceReport>& known) {
    GYM_TRY(const UploadPermit permit,
            coordinator_.permit_upload(delta.root(), delta.bytes().size()));
    if (permit.ticket.empty() || permit.mirrors.size() < kMirrorsMin) return false;
    GYM_TRY(const records::NetworkDescription network, coordinator_.network());
    const crypto::Eip712Domain domain = network.domain();
    const auto headers = [&]() -> Result<mirror::Uploader::Headers> {
        return upload_headers(domain, permit.ticket, key_, clock_.now_ms());
    };
    GYM_TRY(const auto placed,
            uploader_.place(near_first(permit.mirrors, delta.root(), known), delta.root(),
                            delta.bytes(), permit.copies, headers, coordinator_.stop()));
    mirror_bytes_ += placed.size() * delta.bytes().size();
    if (placed.size() < permit.copies) {
        spdlog::info("{} mirrors took delta {}, {} are needed: it goes to the coordinator",
                     placed.size(), delta.root().hex(), permit.copies);
        return false;
    }
    const Status named = coordinator_.name_delta(delta.root(), placed);
    // The list of mirrors may have changed, or the job may be private now.
    if (named.ok() || named.error().code == ErrorCode::kUnavailable) {
        GYM_CHECK(named);
        asks_until_ = std::chrono::steady_clock::now() + kAskFor;
        return true;
    }
    spdlog::info("delta {} goes to the coordinator: {}", delta.root().hex(), named.error().message);
    return false;
}

Status DeltaUpload::send(const blob::VerifiedBlob& delta,
                         const std::vector<mirror::SourceReport>& known) {
    const auto placed = place(delta, known);
    if (placed.ok() && *placed) return {};
    if (!placed.ok() && (placed.error().code == ErrorCode::kUnavailable ||
                         placed.error().code == ErrorCode::kCancelled))
        return placed.error();
    return send_here(delta);
}

Status DeltaUpload::send_here(const blob::VerifiedBlob& delta) {
    GYM_CHECK(coordinator_.put_blob(delta.root(), delta.bytes()));
    coordinator_bytes_ += delta.bytes().size();
    return {};
}

Status DeltaUpload::send_wanted(const FindDelta& delta) {
    if (std::chrono::steady_clock::now() > asks_until_.load()) return {};
    GYM_TRY(const auto roots, coordinator_.wanted_deltas());
    for (const Digest& root : roots) {
        GYM_TRY(const blob::VerifiedBlob found, delta(root));
        spdlog::info("no mirror gave delta {} to the coordinator: it is sent there", root.hex());
        GYM_CHECK(send_here(found));
    }
    return {};
}

}  // namespace gym::rpc
