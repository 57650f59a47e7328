// A round of a public job through a mirror: the real coordinator is its origin, and sends the
// workers and the verifier nothing themselves.
#include <array>
#include <csignal>
#include <iostream>
#include <set>

#include "coordinator_peers.hpp"
#include "gym/http/connection.hpp"
#include "gym/http_server/server.hpp"
#include "gym/mirror/blob_handler.hpp"
#include "gym/mirror/pull_through.hpp"

namespace gym::testing {
namespace {

std::uint16_t free_port() {
    // A server that is stopped again leaves its port.
    class Nothing final : public mirror::BlobSource {
        Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest&,
                                                              const std::string&) override {
            return fail(ErrorCode::kNotFound, "nothing");
        }
        Result<std::shared_ptr<const blob::BlobReader>> open(const Digest&,
                                                             const std::string&) override {
            return fail(ErrorCode::kNotFound, "nothing");
        }
    } nothing;
    mirror::BlobHandler handler(nothing);
    return http_server::Server::start({}, handler).value()->port();
}

class MirroredRound : public PeersTest {
  protected:
    std::string more_config() override {
        return "blob_server:\n  port: " + std::to_string(blob_port_) + "\nmirrors: " + mirrors() +
               "\n";
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
        return "http://127.0.0.1:" + std::to_string(mirror_port_);
    }
    [[nodiscard]] std::string blob_url() const {
        return "http://127.0.0.1:" + std::to_string(blob_port_);
    }
    void start_mirror() {
        mirror::PullOptions options;
        options.folder = folder() / "mirror";
        options.origins = {blob_url()};
        pull_ = mirror::PullThrough::open(options, {}).value();
        handler_ = std::make_unique<mirror::BlobHandler>(*pull_);
        http_server::ServerOptions listen;
        listen.port = mirror_port_;
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

    const std::uint16_t blob_port_ = free_port();
    const std::uint16_t mirror_port_ = free_port();
    std::unique_ptr<mirror::PullThrough> pull_;
    std::unique_ptr<mirror::BlobHandler> handler_;
    std::unique_ptr<http_server::Server> server_;
};

TEST_F(MirroredRound, TheCoordinatorSendsTheMirrorEachByteOnceAndTheNodesNone) {
    ASSERT_NO_FATAL_FAILURE(start_with(4));
    set_visibility("job", "public");
    set_visibility("dataset", "public");
    start_mirror();
    std::vector<PeerWork> done;
    for (Peer& peer : peers_) {
        done.push_back(train(peer));
        ASSERT_TRUE(upload(peer, done.back()).ok());
        const auto accepted = peer.coordinator->submit_commitment(done.back().submission);
        ASSERT_TRUE(accepted.ok()) << accepted.error().message;
    }
    Peer verifier;
    ASSERT_NO_FATAL_FAILURE(join(verifier));
    for (const PeerWork& work : done) {
        rpc::BlobCache::Traffic traffic;
        const Digest& root = work.submission.commitment.commitment.delta_root;
        const auto delta = fetch(verifier, root, &traffic);
        ASSERT_TRUE(delta.ok()) << delta.error().message;
        EXPECT_EQ(*delta, work.delta);
        EXPECT_EQ(traffic.mirror_bytes, work.delta.size());
    }
    EXPECT_EQ(metric("gym_blob_grpc_bytes_total"), 0U);
    const std::uint64_t by_coordinator = metric("gym_blob_http_bytes_total");
    EXPECT_GT(by_coordinator, 0U);
    EXPECT_EQ(pull_->counters().not_kept, 0U);
    // Four workers fetch the same program, text and base; their deltas differ.
    EXPECT_GT(handler_->bytes_sent(), 2 * by_coordinator);
}

TEST_F(MirroredRound, WhatIsPrivateGoesToTheTasksHolderByTheCoordinatorAlone) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    set_visibility("dataset", "private");
    start_mirror();
    (void)train(peers_[0]);
    EXPECT_GT(metric("gym_blob_grpc_bytes_total"), 0U);
    EXPECT_EQ(metric("gym_blob_http_bytes_total"), 0U);
    const records::UnitInputs& inputs = peers_[0].task.inputs;
    for (const Digest& root : {*inputs.dataset_blob, inputs.base_state_blob, inputs.program_blob})
        for (const std::string& from : {blob_url(), mirror_url()})
            for (const char* suffix : {"", ".pieces"})
                EXPECT_EQ(get(from + "/b/" + to_hex(root.view()) + suffix).status, 404U);
}

TEST_F(MirroredRound, AMirrorThatIsAwayDelaysNobody) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    set_visibility("job", "public");
    set_visibility("dataset", "public");
    const auto begin = std::chrono::steady_clock::now();
    (void)train(peers_[0]);  // nothing listens on the mirror's port
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_GT(metric("gym_blob_grpc_bytes_total"), 0U);
}

/// The same with two mirrors that are what an operator starts: `gym mirror` with a file, as the
/// unit of systemd has it.
class MirrorPrograms : public MirroredRound {
  protected:
    [[nodiscard]] std::string mirrors() const override {
        return "[\"" + url_of(0) + "\", \"" + url_of(1) + "\"]";
    }
    [[nodiscard]] std::string url_of(std::size_t i) const {
        return "http://127.0.0.1:" + std::to_string(ports_[i]);
    }
    void start_mirrors() {
        for (std::size_t i = 0; i < ports_.size(); ++i) {
            const std::string name = "mirror-" + std::to_string(i);
            write(name + ".yaml",
                  "origins: [\"" + blob_url() +
                      "\"]\nlisten:\n  address: 127.0.0.1\n  port: " + std::to_string(ports_[i]) +
                      "\n  port_file: " + (folder() / (name + ".port")).string() +
                      "\nfolder: " + (folder() / name).string() + "\n",
                  0644);
            SubprocessOptions options;
            options.argv = {std::string(std::getenv("GYM_BINARY_DIR")) + "/bin/gym", "mirror",
                            "--config", (folder() / (name + ".yaml")).string()};
            options.log_file = folder() / (name + ".log");
            programs_.push_back(Subprocess::start(options).value());
            ASSERT_TRUE(eventually([&] { return !text_of(folder() / (name + ".port")).empty(); }))
                << text_of(options.log_file);
        }
    }
    void TearDown() override {
        for (Subprocess& program : programs_) {
            EXPECT_TRUE(program.stop().ok());
            EXPECT_EQ(program.wait(10'000).value(), 0);
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

    const std::array<std::uint16_t, 2> ports_{free_port(), free_port()};
    std::vector<Subprocess> programs_;
};

TEST_F(MirrorPrograms, TwoOfThemCarryMostBytesOfAJob) {
    constexpr std::uint32_t kWorkers = 8, kVerifiers = 3;
    ASSERT_NO_FATAL_FAILURE(start_with(kWorkers));
    set_visibility("job", "public");
    set_visibility("dataset", "public");
    ASSERT_NO_FATAL_FAILURE(start_mirrors());
    std::vector<PeerWork> done;
    std::set<Digest> deltas;
    for (Peer& peer : peers_) {
        done.push_back(train(peer));
        ASSERT_TRUE(upload(peer, done.back()).ok());
        const auto accepted = peer.coordinator->submit_commitment(done.back().submission);
        ASSERT_TRUE(accepted.ok()) << accepted.error().message;
        deltas.insert(done.back().submission.commitment.commitment.delta_root);
    }
    ASSERT_EQ(deltas.size(), kWorkers);
    const double inputs = share_of_coordinator();
    // Each of two mirrors fetches each blob once at most, and eight workers fetch it: 2 of 10.
    EXPECT_LE(inputs, 0.2);
    std::vector<Peer> verifiers(kVerifiers);
    for (Peer& verifier : verifiers) {
        ASSERT_NO_FATAL_FAILURE(join(verifier));
        for (const PeerWork& work : done)
            ASSERT_TRUE(
                fetch(verifier, work.submission.commitment.commitment.delta_root, nullptr).ok());
    }
    const double all = share_of_coordinator();
    // Of a delta that three verifiers fetch: 2 of 5 at most.
    EXPECT_LE(all, 0.4);
    EXPECT_EQ(metric("gym_blob_grpc_bytes_total"), 0U);
    std::cout << "the coordinator sent " << 100 * inputs << " % of the bytes to " << kWorkers
              << " workers, and " << 100 * all << " % with the deltas to " << kVerifiers
              << " verifiers\n";
}

TEST_F(MirrorPrograms, AWorkerTrainsOnWhenAMirrorIsKilled) {
    ASSERT_NO_FATAL_FAILURE(start_with(2));
    set_visibility("job", "public");
    set_visibility("dataset", "public");
    ASSERT_NO_FATAL_FAILURE(start_mirrors());
    (void)train(peers_[0]);
    programs_[0].signal(SIGKILL);
    (void)programs_[0].wait(10'000);
    programs_.erase(programs_.begin());
    (void)train(peers_[1]);
    EXPECT_EQ(metric("gym_blob_grpc_bytes_total"), 0U) << "the other mirror has it";
}

}  // namespace
}  // namespace gym::testing
