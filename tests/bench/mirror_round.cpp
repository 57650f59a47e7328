#include "mirror_round.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench_must.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/http_server/server.hpp"
#include "gym/mirror/blob_handler.hpp"
#include "gym/mirror/copy.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/mirror/pull_through.hpp"
#include "gym/mirror/upload.hpp"

namespace gym::bench {
namespace {

constexpr std::size_t kMirrors = 3, kWorkers = 32, kVerifiers = 3;
constexpr std::size_t kModelBytes = std::size_t{8} << 20;

Bytes noise(std::uint64_t seed) {
    Bytes out(kModelBytes);
    std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
    for (std::uint8_t& byte : out) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<std::uint8_t>(state >> 56);
    }
    return out;
}

/// The store of the process that aggregates, as the mirrors' origin.
class Origin final : public mirror::BlobSource {
  public:
    Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest& root,
                                                          const mirror::Asker&) override {
        GYM_TRY(const auto reader, store.open_reader(root));
        GYM_TRY(blob::PieceList list, blob::PieceList::of(*reader));
        return std::make_shared<const blob::PieceList>(std::move(list));
    }
    Result<std::shared_ptr<const blob::BlobReader>> open(const Digest& root,
                                                         const mirror::Asker&) override {
        GYM_TRY(auto reader, store.open_reader(root));
        return std::shared_ptr<const blob::BlobReader>(std::move(reader));
    }
    blob::MemoryStore store;
};

/// Tickets are not what is measured.
class OpenGate final : public mirror::UploadGate {
  public:
    Result<std::uint64_t> admit(const Digest&, const http_server::Request&) override {
        return kModelBytes;
    }
};

/// A mirror whose address is known before its peers are.
class Mirror final : public http_server::Handler {
  public:
    Mirror() {
        http_server::ServerOptions listen;
        listen.threads = 32;
        server_ = must(http_server::Server::start(listen, *this));
    }
    ~Mirror() override { server_->stop(); }
    Mirror(const Mirror&) = delete;
    Mirror& operator=(const Mirror&) = delete;

    void begin(const mirror::PullOptions& options) {
        pull_ = must(mirror::PullThrough::open(options, {}));
        handler_ = std::make_unique<mirror::BlobHandler>(*pull_, std::function<std::string()>(),
                                                         mirror::Uploads{&gate_, pull_.get()});
    }
    Admission admit(const http_server::Request& head) override { return handler_->admit(head); }
    http_server::Response handle(const http_server::Request& request) override {
        return handler_->handle(request);
    }
    http_server::Response refuse(unsigned status, std::string_view detail,
                                 std::string_view id) override {
        return handler_->refuse(status, detail, id);
    }
    void connections(std::int64_t) override {}
    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server_->port());
    }
    [[nodiscard]] std::uint64_t bytes() const {
        return handler_->bytes_sent() + handler_->bytes_received();
    }

  private:
    OpenGate gate_;
    std::unique_ptr<mirror::PullThrough> pull_;
    std::unique_ptr<mirror::BlobHandler> handler_;
    std::unique_ptr<http_server::Server> server_;
};

class Discard final : public mirror::PieceSink {
  public:
    bool has(std::uint64_t) override { return false; }
    Status write(std::uint64_t, ByteView bytes) override {
        received += bytes.size();
        return {};
    }
    std::atomic<std::uint64_t> received{0};
};

/// A node, which measures its mirrors anew, as one that has just started.
std::uint64_t fetch(const std::vector<std::string>& urls, const Digest& root) {
    const auto fetcher = must(mirror::Fetcher::create(urls));
    Discard sink;
    must(fetcher->download(must(fetcher->pieces(root, {})), sink, {}));
    return sink.received;
}

/// A worker's upload to one mirror, and the coordinator's order for the second copy.
/// @return both mirrors.
std::vector<std::string> place(const std::vector<std::string>& urls, const Digest& root,
                               ByteView delta) {
    mirror::Uploader uploader;
    auto placed = must(uploader.place(
        urls, root, delta, 1,
        [] { return Result<mirror::Uploader::Headers>(mirror::Uploader::Headers()); }, {}));
    if (placed.empty()) give_up("a mirror took no upload");
    while (must(mirror::order_copy(urls[1], root, placed[0], {}, {})) != mirror::CopyState::kHere)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    placed.push_back(urls[1]);
    return placed;
}

}  // namespace

void report_mirrored_round(const Options& options) {
    const auto folder = must(TemporaryFolder::create("gym-bench-round-"));
    Origin origin;
    mirror::BlobHandler of_origin(origin);
    http_server::ServerOptions listen;
    listen.threads = 16;
    const auto server = must(http_server::Server::start(listen, of_origin));
    std::array<Mirror, kMirrors> mirrors;
    std::vector<std::string> urls;
    for (const Mirror& mirror : mirrors)
        urls.push_back(mirror.url());
    for (std::size_t i = 0; i < kMirrors; ++i) {
        mirror::PullOptions pull;
        pull.folder = folder.path() / std::to_string(i);
        pull.origins = {"http://127.0.0.1:" + std::to_string(server->port())};
        pull.peers = urls;
        pull.self = urls[i];
        pull.uploads_bytes_max = pull.bytes_max;
        mirrors[i].begin(pull);
    }
    const double begin = seconds_now();
    const Digest base = must(origin.store.put(noise(0)));
    const Digest momentum = must(origin.store.put(noise(1)));
    std::uint64_t collected = 0, uploaded = 0;
    std::vector<Digest> deltas;
    for (std::size_t worker = 0; worker < kWorkers; ++worker) {
        (void)fetch(urls, base);
        const Bytes delta = noise(100 + worker);
        deltas.push_back(blob::blob_root(delta));
        std::vector<std::string> order = urls;
        std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>(worker % kMirrors));
        collected += fetch(place(order, deltas.back(), delta), deltas.back());
        uploaded += delta.size();
    }
    for (std::size_t verifier = 0; verifier < kVerifiers; ++verifier) {
        (void)fetch(urls, base);
        (void)fetch(urls, momentum);
        for (const Digest& delta : deltas)
            (void)fetch(urls, delta);
    }
    const double seconds = seconds_now() - begin;
    std::uint64_t all = of_origin.bytes_sent();
    for (const Mirror& mirror : mirrors)
        all += mirror.bytes();
    const auto carried = static_cast<double>(of_origin.bytes_sent() + collected);
    report(options, {.name = "mirror/round",
                     .ours = carried * 1e-6,
                     .peer = static_cast<double>(all) * 1e-6,
                     .ratio = static_cast<double>(all) / carried,
                     .unit = "MB",
                     .threads = 1,
                     .isa = std::string(isa_name(options.isa)),
                     .peer_name = "all transfers of the round",
                     .note = "passed the process that aggregates, both ways: " +
                             std::to_string(of_origin.bytes_sent()) + " bytes sent, " +
                             std::to_string(collected) + " received; " + std::to_string(uploaded) +
                             " sent by " + std::to_string(kWorkers) + " workers, " +
                             std::to_string(kVerifiers) + " verifiers of the aggregate, " +
                             std::to_string(kMirrors) + " mirrors, 8 MiB a model; " +
                             std::to_string(seconds) +
                             " s. None of it passes a coordinator that leaves "
                             "the rounds to another"});
}

}  // namespace gym::bench
