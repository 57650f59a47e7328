#include "upstream.hpp"

#include <algorithm>
#include <utility>

#include "gym/mirror/copy.hpp"

namespace gym::mirror {
namespace {

/// The operator chose the sources, often one: a blob that rotted there must not stop the others.
constexpr std::uint32_t kBanMsMax = 60'000;
/// Nodes wait for this mirror meanwhile, and the origins have what a peer is asked for: asking them
/// too early costs a transfer, waiting for a region that is cut off costs everybody the time.
constexpr std::uint32_t kPeerListMs = 3'000, kPeerSilenceMs = 5'000;

}  // namespace

Result<std::unique_ptr<Upstream>> Upstream::create(const PullOptions& options) {
    if (options.origins.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "a mirror needs an origin: the address of the network's blobs (--origin)");
    FetchOptions fetch = options.fetch;
    // Each may hold what the others do not.
    fetch.lists_asked_max = fetch.lists_absent_max = kSourcesMax;
    fetch.ban_ms_max = std::min(fetch.ban_ms_max, kBanMsMax);
    std::unique_ptr<Upstream> out(new Upstream());
    GYM_TRY(out->origins_, Fetcher::create(options.origins, fetch));
    if (options.peers.empty()) return out;
    if (options.self.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "a mirror among peers needs its own address among theirs (self)");
    out->self_ = trimmed_url(options.self);
    std::vector<std::string> others;
    fetch.headers = {{kMirrorHeader, "1"}};
    fetch.list_timeout_ms = std::min(fetch.list_timeout_ms, kPeerListMs);
    fetch.silence_ms = std::min(fetch.silence_ms, kPeerSilenceMs);
    for (const std::string& peer : options.peers) {
        if (trimmed_url(peer) == out->self_) continue;
        others.push_back(peer);
        GYM_TRY(out->peers_[trimmed_url(peer)], Fetcher::create({peer}, fetch));
    }
    fetch.headers.emplace_back("Cache-Control", "only-if-cached");
    if (!others.empty()) {
        GYM_TRY(out->holders_, Fetcher::create(others, fetch));
    }
    return out;
}

Fetcher* Upstream::home_of(const Digest& root) const {
    Fetcher* home = nullptr;
    Digest best = rank_of(root, self_);
    for (const auto& [url, fetcher] : peers_) {
        const Digest its = rank_of(root, url);
        if (its <= best) continue;
        best = its;
        home = fetcher.get();
    }
    return home;
}

Fetcher* Upstream::holders_of(const Digest& root) {
    return holders_ && !not_held_.has(root) ? holders_.get() : nullptr;
}

Result<blob::PieceList> Upstream::pieces(const Digest& root, Asker::Reach reach,
                                         const std::stop_token& stop) {
    Fetcher* const home = reach == Asker::Reach::kAnywhere ? home_of(root) : nullptr;
    for (Fetcher* const mirrors : {home, holders_of(root)}) {
        if (mirrors == nullptr) continue;
        auto list = mirrors->pieces(root, stop);
        if (list.ok() || stop.stop_requested()) return list;
        if (mirrors != home) not_held_.add(root);
    }
    return origins_->pieces(root, stop);
}

Result<Upstream::Piece> Upstream::piece(const blob::PieceList& list, std::uint64_t index,
                                        Asker::Reach reach, const std::stop_token& stop) {
    Fetcher* const home = reach == Asker::Reach::kAnywhere ? home_of(list.root()) : nullptr;
    for (Fetcher* const mirrors : {home, holders_of(list.root())}) {
        if (mirrors == nullptr) continue;
        auto bytes = mirrors->piece(list, index, stop);
        if (bytes.ok()) return Piece{std::move(bytes).value(), true};
        if (stop.stop_requested()) return bytes.error();
        if (mirrors != home) not_held_.add(list.root());
    }
    GYM_TRY(Bytes bytes, origins_->piece(list, index, stop));
    return Piece{std::move(bytes), false};
}

std::vector<SourceReport> Upstream::sources() const {
    return origins_->sources();
}

}  // namespace gym::mirror
