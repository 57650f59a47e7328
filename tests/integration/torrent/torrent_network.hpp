#pragma once

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <fcntl.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "blob_site.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/rpc/blob_cache.hpp"
#include "gym/torrent/swarm.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "reserved_port.hpp"
#include "slow_line.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::testing {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

inline std::string program(const char* name) {
    return std::string(std::getenv("GYM_BINARY_DIR")) + "/bin/" + name;
}

inline bool within(std::chrono::seconds most, const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + most;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
}

/// `gym mirror` as a process.
class MirrorProcess {
  public:
    explicit MirrorProcess(const std::string& origin, const std::string& more = {},
                           std::uint16_t fixed_port = 0) {
        const std::string file =
            "origins: [\"" + origin + "\"]\nfolder: \"" + (dir_.path() / "kept").string() +
            "\"\nlisten: {address: 127.0.0.1, port: " + std::to_string(fixed_port) +
            ", port_file: \"" + (dir_.path() / "port").string() + "\"}\n" + more;
        EXPECT_TRUE(write_file_atomic(dir_.path() / "mirror.yaml", as_bytes(file)).ok());
        SubprocessOptions options;
        options.argv = {program("gym"), "mirror", "--config",
                        (dir_.path() / "mirror.yaml").string()};
        options.log_file = dir_.path() / "log";
        process_.emplace(Subprocess::start(options).value());
        EXPECT_TRUE(within(std::chrono::seconds(60), [&] { return port() != 0; })) << log();
    }
    [[nodiscard]] std::uint16_t port() const {
        const auto text = read_file(dir_.path() / "port");
        if (!text.ok() || text->empty()) return 0;
        return static_cast<std::uint16_t>(std::stoi(std::string(text->begin(), text->end())));
    }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
    [[nodiscard]] std::string log() const {
        const auto text = read_file(dir_.path() / "log");
        return text.ok() ? std::string(text->begin(), text->end()) : std::string();
    }

  private:
    TemporaryFolder dir_;
    std::optional<Subprocess> process_;
};

/// A node's cache of blobs with its gym-torrent. The coordinator has no blobs.
class TorrentNode {
  public:
    explicit TorrentNode(const std::string& mirror,
                         const std::function<void(torrent::SwarmOptions&)>& change = {}) {
        options_.program = program("gym-torrent");
        options_.folder = dir_.path() / "torrents";
        options_.address = "127.0.0.1";
        options_.port = 0;
        options_.upload_bytes_per_s_max = 0;
        if (change) change(options_);
        swarm_ = torrent::HelperSwarm::start(options_).value();
        forget(mirror);
    }
    Result<blob::VerifiedBlob> fetch(
        const Digest& root, rpc::BlobCache::Audience audience = rpc::BlobCache::Audience::kMany) {
        return cache_->fetch(root, {}, audience);
    }
    /// The blobs are gone, and what is shared stays. @param mirror the network's from here on.
    void forget(const std::string& mirror) {
        handler_.info.mirrors = {mirror};
        ++caches_;
        cache_.emplace(rpc::BlobCache::open(dir_.path() / ("blobs" + std::to_string(caches_)),
                                            coordinator_, key_)
                           .value());
        cache_->share_through(*swarm_);
    }
    [[nodiscard]] rpc::BlobCache::Traffic traffic() const { return cache_->traffic(); }
    [[nodiscard]] torrent::HelperSwarm& swarm() { return *swarm_; }
    [[nodiscard]] std::filesystem::path shared(const Digest& root) const {
        return options_.folder / to_hex(root.view());
    }
    [[nodiscard]] bool shares(const Digest& root) const {
        return std::filesystem::exists(shared(root).string() + ".seed");
    }
    /// The end of gym-torrent, without a warning.
    void kill_helper() const {
        const auto text = read_file(options_.folder / "lock").value();
        const std::string holder(text.begin(), text.end());
        const auto pid = static_cast<pid_t>(std::stoi(holder.substr(holder.rfind(' ') + 1)));
        ASSERT_GT(pid, 1);
        ASSERT_EQ(::kill(pid, SIGKILL), 0);
    }

  private:
    TemporaryFolder dir_;
    MemoryHandler handler_;
    LocalCoordinator coordinator_{handler_, test_key(1).address()};
    const vault::StoreKey key_ = vault::StoreKey::random();
    torrent::SwarmOptions options_;
    std::unique_ptr<torrent::HelperSwarm> swarm_;
    int caches_ = 0;
    std::optional<rpc::BlobCache> cache_;
};

/// gym-torrent-peer: a program of BitTorrent that is not Gym's.
class OtherProgram {
  public:
    OtherProgram(const std::filesystem::path& torrent, const std::filesystem::path& folder,
                 const std::vector<std::string>& more = {}) {
        std::array<int, 2> in{};
        EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
        const Descriptor theirs(in[0]);
        ours_.emplace(in[1]);
        SubprocessOptions options;
        options.argv = {program("gym-torrent-peer"), torrent.string(), folder.string()};
        options.argv.insert(options.argv.end(), more.begin(), more.end());
        options.input = theirs.get();
        options.log_file = dir_.path() / "log";
        process_.emplace(Subprocess::start(options).value());
        EXPECT_TRUE(within(std::chrono::seconds(30), [&] { return said("ready"); })) << log();
    }
    [[nodiscard]] std::string log() const {
        const auto text = read_file(dir_.path() / "log");
        return text.ok() ? std::string(text->begin(), text->end()) : std::string();
    }
    [[nodiscard]] bool said(const std::string& word) const {
        return log().find(word) != std::string::npos;
    }

  private:
    TemporaryFolder dir_;
    std::optional<Descriptor> ours_;
    std::optional<Subprocess> process_;
};

/// The log of this process, while it lives.
class CapturedLog {
  public:
    CapturedLog() {
        auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
        spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", std::move(sink)));
    }
    ~CapturedLog() { spdlog::set_default_logger(before_); }
    CapturedLog(const CapturedLog&) = delete;
    CapturedLog& operator=(const CapturedLog&) = delete;
    [[nodiscard]] std::string text() const { return text_.str(); }
    [[nodiscard]] bool has(const std::string& what) const {
        return text().find(what) != std::string::npos;
    }

  private:
    std::ostringstream text_;
    std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

/// A network of one origin.
class TorrentNetwork : public ::testing::Test {
  protected:
    /// The torrent of a mirror, once it is made.
    static Bytes torrent_of(const std::string& mirror, const Digest& root) {
        const auto fetcher = mirror::Fetcher::create({mirror}).value();
        Result<mirror::TorrentFile> file = fail(ErrorCode::kUnavailable, "not asked");
        EXPECT_TRUE(within(std::chrono::seconds(60), [&] {
            file = fetcher->torrent(root, {});
            return file.ok();
        })) << file.error().message;
        return file.ok() ? file->bytes : Bytes();
    }
    Digest put(std::uint64_t size, std::uint32_t seed) {
        content_ = noise(size, seed);
        return store_.put(content_).value();
    }

    blob::MemoryStore store_;
    Bytes content_;
    TemporaryFolder dir_;
};

}  // namespace gym::testing
