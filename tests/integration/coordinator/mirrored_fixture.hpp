#pragma once

#include <array>
#include <csignal>

#include "coordinator_peers.hpp"
#include "gym/http/connection.hpp"
#include "gym/http_server/server.hpp"
#include "gym/mirror/blob_handler.hpp"
#include "gym/mirror/pull_through.hpp"
#include "gym/rpc/delta_upload.hpp"
#include "reserved_port.hpp"

namespace gym::testing {

class MirroredRound : public PeersTest {
  protected:
    std::string more_config() override {
        return "blob_server:\n  port: " + blob_port_.text() + "\nmirrors: " + mirrors() + "\n";
    }
    /// Another text for each unit, so that deltas differ.
    [[nodiscard]] Bytes words() const override {
        Bytes out(4'000);
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<std::uint8_t>(i * i % 251);
        return out;
    }
    [[nodiscard]] virtual std::string mirrors() const { return "[\"" + mirror_url() + "\"]"; }
    [[nodiscard]] std::string mirror_url() const {
        return "http://127.0.0.1:" + mirror_port_.text();
    }
    [[nodiscard]] std::string blob_url() const { return "http://127.0.0.1:" + blob_port_.text(); }
    void start_mirror() {
        mirror::PullOptions options;
        options.folder = folder() / "mirror";
        options.origins = {blob_url()};
        pull_ = mirror::PullThrough::open(options, {}).value();
        handler_ = std::make_unique<mirror::BlobHandler>(*pull_);
        http_server::ServerOptions listen;
        listen.port = mirror_port_.number();
        listen.threads = 16;
        server_ = http_server::Server::start(listen, *handler_).value();
    }
    void TearDown() override {
        if (server_) server_->stop();
        PeersTest::TearDown();
    }
    void set_visibility(const std::string& table, const std::string& visibility) {
        const auto done = database_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(tx.exec("UPDATE registry." + table + " SET visibility = $1", {visibility}));
            return {};
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    static http::Reply get(const std::string& url) {
        const auto at = http::parse_url(url).value();
        const auto connection = http::Connection::create(at, {});
        http::Request request;
        request.target = at.target;
        return connection->exchange(request).value();
    }
    /// A counter of the coordinator or of a mirror.
    [[nodiscard]] std::uint64_t metric(const std::string& name) const {
        return metric_of(blob_url(), name);
    }
    [[nodiscard]] static std::uint64_t metric_of(const std::string& url, const std::string& name) {
        const std::string text = "\n" + get(url + "/metrics").body;
        const std::size_t at = text.find("\n" + name + " ");
        EXPECT_NE(at, std::string::npos) << text;
        return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 2));
    }
    Result<Bytes> fetch(Peer& peer, const Digest& root, rpc::BlobCache::Traffic* traffic) {
        const auto path = folder() / ("fetched-" + peer.key.address().hex());
        auto cache =
            rpc::BlobCache::open(path, *peer.coordinator, vault::StoreKey::of(peer.key)).value();
        auto blob = cache.fetch(root);
        if (traffic != nullptr) *traffic = cache.traffic();
        if (!blob.ok()) return blob.error();
        return std::move(blob).value().take();
    }

    const ReservedPort blob_port_;
    const ReservedPort mirror_port_;
    std::unique_ptr<mirror::PullThrough> pull_;
    std::unique_ptr<mirror::BlobHandler> handler_;
    std::unique_ptr<http_server::Server> server_;
};

/// The same with two mirrors that are what an operator starts: `gym mirror` with a file, as the
/// unit of systemd has it.
class MirrorPrograms : public MirroredRound {
  protected:
    [[nodiscard]] std::string mirrors() const override {
        return "[\"" + url_of(0) + "\", \"" + url_of(1) + "\"]";
    }
    [[nodiscard]] std::string url_of(std::size_t i) const {
        return "http://127.0.0.1:" + ports_[i].text();
    }
    void start_mirrors() {
        for (std::size_t i = 0; i < ports_.size(); ++i)
            ASSERT_NO_FATAL_FAILURE(start_mirror_program(i));
    }
    void start_mirror_program(std::size_t i) {
        const std::string name = "mirror-" + std::to_string(i);
        const auto port_file = folder() / (name + ".port");
        std::filesystem::remove(port_file);
        write(name + ".yaml",
              "origins: [\"" + origin_url() + "\"]\nlisten:\n  address: 127.0.0.1\n  port: " +
                  ports_[i].text() + "\n  port_file: " + port_file.string() +
                  "\nfolder: " + (folder() / name).string() + "\n" + more_of_mirror(i),
              0644);
        SubprocessOptions options;
        options.argv = {std::string(std::getenv("GYM_BINARY_DIR")) + "/bin/gym", "mirror",
                        "--config", (folder() / (name + ".yaml")).string()};
        options.log_file = folder() / (name + ".log");
        programs_[i].emplace(Subprocess::start(options).value());
        ASSERT_TRUE(eventually([&] { return !text_of(port_file).empty(); }))
            << text_of(options.log_file);
    }
    /// Further keys of a mirror's file.
    virtual std::string more_of_mirror(std::size_t) { return {}; }
    [[nodiscard]] virtual std::string origin_url() const { return blob_url(); }
    void kill_mirror(std::size_t i) {
        programs_[i]->signal(SIGKILL);
        (void)programs_[i]->wait(10'000);
        programs_[i].reset();
    }
    void TearDown() override {
        for (auto& program : programs_) {
            if (!program) continue;
            EXPECT_TRUE(program->stop().ok());
            EXPECT_EQ(program->wait(10'000).value(), 0);
        }
        MirroredRound::TearDown();
    }
    [[nodiscard]] double share_of_coordinator() const {
        const double sent = static_cast<double>(metric("gym_blob_grpc_bytes_total") +
                                                metric("gym_blob_http_bytes_total"));
        const double by_mirrors =
            static_cast<double>(metric_of(url_of(0), "gym_blob_http_bytes_total") +
                                metric_of(url_of(1), "gym_blob_http_bytes_total"));
        return sent / (sent + by_mirrors);
    }

    const std::array<ReservedPort, 2> ports_;
    std::array<std::optional<Subprocess>, 2> programs_;
};

}  // namespace gym::testing
