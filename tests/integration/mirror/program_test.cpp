// `gym mirror` as a process: killed while it stores, started again, stopped in order.
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "blob_site.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/mirror/fetcher.hpp"
#include "temporary_folder.hpp"

namespace gym::mirror {
namespace {

namespace fs = std::filesystem;
using testing::BlobSite;
using testing::noise;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class MemorySink final : public PieceSink {
  public:
    explicit MemorySink(std::uint64_t size) : bytes(size) {}
    bool has(std::uint64_t) override { return false; }
    Status write(std::uint64_t index, ByteView piece) override {
        std::ranges::copy(piece, bytes.begin() + static_cast<std::ptrdiff_t>(index * kMiB));
        return {};
    }
    Bytes bytes;
};

class MirrorProgram : public ::testing::Test {
  protected:
    [[nodiscard]] Subprocess start(const std::vector<std::string>& more) const {
        SubprocessOptions options;
        options.argv = {std::string(std::getenv("GYM_BINARY_DIR")) + "/bin/gym",
                        "--json",
                        "mirror",
                        "--listen",
                        "127.0.0.1:0",
                        "--folder",
                        (dir_.path() / "kept").string(),
                        "--port-file",
                        port_file_.string()};
        options.argv.insert(options.argv.end(), more.begin(), more.end());
        options.log_file = log_;
        fs::remove(port_file_);
        return Subprocess::start(options).value();
    }
    [[nodiscard]] std::string url() const {
        for (int i = 0; i < 400; ++i) {
            const auto port = read_file(port_file_);
            if (port.ok() && !port->empty())
                return "http://127.0.0.1:" +
                       std::to_string(std::stoi(std::string(port->begin(), port->end())));
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        ADD_FAILURE() << "the mirror does not start: " << log();
        return "http://127.0.0.1:9";
    }
    [[nodiscard]] std::string log() const {
        const auto bytes = read_file(log_);
        return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : std::string();
    }
    static Result<Bytes> fetch(const std::string& from, const Digest& root) {
        const auto fetcher = Fetcher::create({from}).value();
        GYM_TRY(const blob::PieceList list, fetcher->pieces(root, {}));
        MemorySink sink(list.size_bytes());
        GYM_CHECK(fetcher->download(list, sink, {}));
        return std::move(sink.bytes);
    }

    testing::TemporaryFolder dir_;
    const fs::path port_file_ = dir_.path() / "port";
    const fs::path log_ = dir_.path() / "log";
};

TEST_F(MirrorProgram, KilledWhileItStoresItGoesOnWithWhatIsRight) {
    blob::MemoryStore store;
    const Bytes content = noise(20 * kMiB + 3);
    const Digest root = store.put(content).value();
    BlobSite origin(store);
    origin.delay_ms = 20;
    for (int round = 0; round < 3; ++round) {
        Subprocess mirror = start({"--origin", origin.url()});
        const std::string at = url();
        const std::jthread peer([&] { (void)fetch(at, root); });
        const std::size_t before = origin.pieces;
        for (int i = 0; i < 400 && origin.pieces < before + 5; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        mirror.signal(SIGKILL);
        (void)mirror.wait(10'000);
    }
    Subprocess mirror = start({"--origin", origin.url()});
    const std::size_t before = origin.pieces;
    const auto got = fetch(url(), root);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(*got == content);
    EXPECT_LT(origin.pieces - before, 21U) << "what was stored before counts";
    ASSERT_TRUE(mirror.stop().ok());
    EXPECT_EQ(mirror.wait(10'000).value(), 0);
    EXPECT_NE(log().find("\"event\":\"ready\""), std::string::npos) << log();
    EXPECT_NE(log().find("\"event\":\"progress\""), std::string::npos) << log();
}

TEST_F(MirrorProgram, SaysWhatIsWrongAndExits) {
    Subprocess nothing = start({});
    EXPECT_EQ(nothing.wait(20'000).value(), 2);
    EXPECT_NE(log().find("--origin"), std::string::npos) << log();
    Subprocess no_url = start({"--origin", "coordinator:7601"});
    EXPECT_EQ(no_url.wait(20'000).value(), 2);
    EXPECT_NE(log().find("http(s)://host"), std::string::npos) << log();
    ASSERT_TRUE(write_file_atomic(dir_.path() / "bad.yaml", as_bytes("orgins: []\n")).ok());
    Subprocess unknown = start({"--config", (dir_.path() / "bad.yaml").string()});
    EXPECT_EQ(unknown.wait(20'000).value(), 2);
    EXPECT_NE(log().find("orgins"), std::string::npos) << log();
    Subprocess first = start({"--origin", "http://127.0.0.1:9"});
    (void)url();
    Subprocess second = start({"--origin", "http://127.0.0.1:9"});
    EXPECT_EQ(second.wait(20'000).value(), 5) << "another mirror has the folder";
}

}  // namespace
}  // namespace gym::mirror
