// Blobs by HTTP over loopback, in MB/s: downloads with every piece checked against the root, and
// the peer, curl, which takes the same file from the same server without checking anything.
//
// Rows: mirror/fetch (from a store of files), mirror/pull (through a mirror that has the blob on
// its disk), mirror/round (how much of a round's bytes passes the process that aggregates).
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/http_server/server.hpp"
#include "gym/mirror/blob_handler.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/mirror/pull_through.hpp"
#include "mirror_round.hpp"

namespace {

using namespace gym;
using gym::bench::give_up;
using gym::bench::must;

constexpr std::size_t kBytes = std::size_t{256} << 20;
constexpr int kCurlTimeoutMs = 120'000;

class StoreSource final : public mirror::BlobSource {
  public:
    explicit StoreSource(const blob::BlobStore& store, const Digest& root)
        : store_(store),
          list_(std::make_shared<const blob::PieceList>(
              must(blob::PieceList::of(*must(store.open_reader(root)))))) {}
    Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest&,
                                                          const mirror::Asker&) override {
        return list_;
    }
    Result<std::shared_ptr<const blob::BlobReader>> open(const Digest& root,
                                                         const mirror::Asker&) override {
        GYM_TRY(auto reader, store_.open_reader(root));
        return std::shared_ptr<const blob::BlobReader>(std::move(reader));
    }

  private:
    const blob::BlobStore& store_;
    const std::shared_ptr<const blob::PieceList> list_;
};

/// Takes pieces to their place in memory.
class MemorySink final : public mirror::PieceSink {
  public:
    explicit MemorySink(Bytes& out) : out_(out) {}
    bool has(std::uint64_t) override { return false; }
    Status write(std::uint64_t index, ByteView bytes) override {
        std::ranges::copy(bytes,
                          out_.begin() + static_cast<std::ptrdiff_t>(index * blob::kPieceBytes));
        return {};
    }

  private:
    Bytes& out_;
};

std::string url_of(const http_server::Server& server) {
    return "http://127.0.0.1:" + std::to_string(server.port());
}

void compare(const bench::Options& options, const std::string& name, const std::string& url,
             const Digest& root) {
    Bytes out(kBytes);
    const auto fetcher = must(mirror::Fetcher::create({url}));
    const auto fetch = [&] {
        const blob::PieceList list = must(fetcher->pieces(root, {}));
        MemorySink sink(out);
        must(fetcher->download(list, sink, {}));
    };
    const auto curl = [&] {
        (void)must(run_command(
            {.argv = {"curl", "-sf", "-o", "/dev/null", url + "/b/" + to_hex(root.view())}},
            kCurlTimeoutMs));
    };
    fetch();  // a mirror has it afterwards
    const std::vector<std::function<void()>> calls{fetch, curl};
    const auto seconds = bench::interleaved_seconds(calls, options.repeats);
    bench::report(options, {.name = "mirror/" + name,
                            .ours = kBytes / seconds[0] * 1e-6,
                            .peer = kBytes / seconds[1] * 1e-6,
                            .ratio = seconds[1] / seconds[0],
                            .unit = "MB/s",
                            .threads = 6,
                            .isa = std::string(isa_name(options.isa)),
                            .peer_name = "curl, one connection, nothing is checked",
                            .note = "256 MiB over loopback, each piece checked"});
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    const auto folder = must(TemporaryFolder::create("gym-bench-mirror-"));
    Bytes data(kBytes);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::uint8_t>(i * 2654435761U >> 13);
    auto store = must(blob::DirectoryStore::open(folder.path() / "store"));
    const Digest root = must(store.put(data));
    data = {};
    StoreSource source(store, root);
    mirror::BlobHandler handler(source);
    const auto server = must(http_server::Server::start({}, handler));
    if (options.wants("fetch")) compare(options, "fetch", url_of(*server), root);
    if (options.wants("pull")) {
        mirror::PullOptions of_mirror;
        of_mirror.folder = folder.path() / "mirror";
        of_mirror.origins = {url_of(*server)};
        const auto pull = must(mirror::PullThrough::open(of_mirror, {}));
        mirror::BlobHandler of_pull(*pull);
        const auto mirror_server = must(http_server::Server::start({}, of_pull));
        compare(options, "pull", url_of(*mirror_server), root);
    }
    if (options.wants("round")) bench::report_mirrored_round(options);
    return 0;
}
