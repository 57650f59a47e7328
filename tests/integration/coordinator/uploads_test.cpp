// Deltas that go to mirrors: a round in which the coordinator that nodes call carries messages
// alone, and what happens when mirrors, workers or coordinators fail between the steps.
#include <iostream>

#include "gym/registry/delta_places.hpp"
#include "mirrored_fixture.hpp"

namespace gym::testing {
namespace {

/// Two mirrors that take uploads and know each other; one coordinator answers nodes, a second moves
/// the rounds and is the mirrors' origin.
class UploadPrograms : public MirrorPrograms {
  protected:
    [[nodiscard]] std::uint32_t width() const override { return 192; }
    std::string more_config() override {
        return "rounds: false\nblob_server:\n  port: " + calls_port_.text() +
               "\nmirrors: " + mirrors() + "\n";
    }
    std::string more_of_mirror(std::size_t i) override {
        return "self: " + url_of(i) + "\npeers: " + mirrors() +
               "\nuploads:\n  chain_id: " + std::to_string(anvil_.chain_id()) +
               "\n  commitment_log: \"" + log_.hex() + "\"\n  coordinators: [\"" +
               key_.address().hex() + "\"]\n";
    }
    void prepare(const contracts::Deployment& deployed, chain::TxManager&) override {
        log_ = deployed.commitment_log;
    }
    void begin(std::uint32_t workers) {
        write(
            "rounds.yaml",
            config(database_.config_as("gym_coordinator"), "rounds-",
                   "blob_server:\n  port: " + blob_port_.text() + "\nmirrors: " + mirrors() + "\n"),
            0644);
        start_rounds();
        ASSERT_NO_FATAL_FAILURE(start_with(workers));
        set_visibility("job", "public");
        set_visibility("dataset", "public");
        ASSERT_NO_FATAL_FAILURE(start_mirrors());
    }
    void start_rounds() {
        std::filesystem::remove(folder() / "rounds-port");
        rounds_.emplace(start("rounds"));
        ASSERT_TRUE(eventually([&] { return !text_of(folder() / "rounds-port").empty(); }))
            << text_of(folder() / "rounds.log");
    }
    void kill_rounds() {
        rounds_->signal(SIGKILL);
        (void)rounds_->wait(10'000);
        rounds_.reset();
    }
    void TearDown() override {
        if (rounds_) {
            EXPECT_TRUE(rounds_->stop(10'000).ok());
        }
        MirrorPrograms::TearDown();
    }
    static blob::VerifiedBlob delta_of(const PeerWork& work) {
        return blob::VerifiedBlob::hash(work.delta);
    }
    [[nodiscard]] static Digest root_of(const PeerWork& work) {
        return work.submission.commitment.commitment.delta_root;
    }
    rpc::DeltaUpload::Traffic send(Peer& peer, const PeerWork& work) {
        rpc::DeltaUpload upload(*peer.coordinator, peer.key, clock_);
        const Status sent = upload.send(delta_of(work), {});
        EXPECT_TRUE(sent.ok()) << sent.error().message;
        return upload.traffic();
    }
    static void commit(Peer& peer, const PeerWork& work) {
        const auto accepted = peer.coordinator->submit_commitment(work.submission);
        ASSERT_TRUE(accepted.ok()) << accepted.error().message;
    }
    std::string state_of(const Digest& root) {
        const auto row = database_.owner().transact(
            [&](db::Transaction& tx) {
                return tx.exec_optional("SELECT state FROM registry.delta_place WHERE root = $1",
                                        {root});
            },
            {.read_only = true});
        return *row ? (*row)->get<std::string>(0) : "none";
    }
    /// Mirrors that have a delta, as far as the coordinator knows.
    std::int64_t mirrors_of(const Digest& root) {
        const auto row = database_.owner().transact(
            [&](db::Transaction& tx) {
                return tx.exec_one(
                    "SELECT cardinality(string_to_array(mirrors, E'\n'))::bigint FROM "
                    "registry.delta_place WHERE root = $1",
                    {root});
            },
            {.read_only = true});
        return row.ok() ? row->get<std::int64_t>(0) : -1;
    }
    /// Whether a mirror has all of a blob without asking anybody.
    [[nodiscard]] bool has(std::size_t mirror, const Digest& root) const {
        const auto at = http::parse_url(url_of(mirror)).value();
        http::Request request;
        request.target = "/b/" + to_hex(root.view());
        request.headers = {{"Cache-Control", "only-if-cached"}};
        const auto reply = http::Connection::create(at, {})->exchange(request);
        return reply.ok() && reply->status == 200;
    }
    [[nodiscard]] std::uint64_t uploaded() const {
        return metric_of(url_of(0), "gym_blob_http_received_bytes_total") +
               metric_of(url_of(1), "gym_blob_http_received_bytes_total");
    }
    bool is_stored(const Digest& root) {
        auto blobs = vault::SealedStore::open(folder() / "blobs", std::filesystem::path()).value();
        return blobs.load(root).ok();
    }
    [[nodiscard]] std::string calls_url() const { return "http://127.0.0.1:" + calls_port_.text(); }
    /// Of the coordinator that nodes call, both ways, messages included.
    [[nodiscard]] std::uint64_t of_calls() const {
        std::uint64_t out = 0;
        for (const char* name : {"gym_blob_grpc_bytes_total", "gym_blob_grpc_received_bytes_total",
                                 "gym_blob_mirror_received_bytes_total",
                                 "gym_blob_http_bytes_total", "gym_grpc_message_bytes_total"})
            out += metric_of(calls_url(), name);
        return out;
    }
    /// Of the one that moves the rounds: what it sent its mirrors, and what it fetched there.
    [[nodiscard]] std::uint64_t of_rounds() const {
        return metric("gym_blob_http_bytes_total") + metric("gym_blob_mirror_received_bytes_total");
    }
    /// Of all transfers, each counted once.
    [[nodiscard]] std::uint64_t of_all() const {
        std::uint64_t out = of_calls() + metric("gym_blob_http_bytes_total");
        for (std::size_t i = 0; i < ports_.size(); ++i)
            out += metric_of(url_of(i), "gym_blob_http_bytes_total") +
                   metric_of(url_of(i), "gym_blob_http_received_bytes_total");
        return out;
    }

    const ReservedPort calls_port_;
    Address log_;
    std::optional<Subprocess> rounds_;
};

TEST_F(UploadPrograms, TheCoordinatorThatNodesCallCarriesLessThanAHundredth) {
    constexpr std::uint32_t kWorkers = 8, kVerifiers = 3;
    ASSERT_NO_FATAL_FAILURE(begin(kWorkers));
    std::vector<PeerWork> done;
    std::uint64_t uploaded = 0;
    for (Peer& peer : peers_) {
        done.push_back(train(peer));
        const auto traffic = send(peer, done.back());
        EXPECT_EQ(traffic.coordinator_bytes, 0U);
        EXPECT_EQ(traffic.mirror_bytes, done.back().delta.size());
        uploaded += traffic.mirror_bytes;
        ASSERT_NO_FATAL_FAILURE(commit(peer, done.back()));
    }
    std::vector<Peer> verifiers(kVerifiers);
    for (Peer& verifier : verifiers) {
        ASSERT_NO_FATAL_FAILURE(join(verifier));
        for (const PeerWork& work : done) {
            rpc::BlobCache::Traffic traffic;
            ASSERT_TRUE(fetch(verifier, root_of(work), &traffic).ok());
            EXPECT_EQ(traffic.coordinator_bytes, 0U);
        }
    }
    for (const PeerWork& work : done)
        ASSERT_TRUE(eventually([&] {
            return state_of(root_of(work)) == "held" && mirrors_of(root_of(work)) == 2;
        })) << text_of(folder() / "rounds.log");
    std::uint64_t deltas = 0;
    for (const PeerWork& work : done) {
        EXPECT_TRUE(is_stored(root_of(work)));
        deltas += work.delta.size();
    }
    const auto all = static_cast<double>(of_all());
    const double calls = static_cast<double>(of_calls()) / all;
    const double rounds = static_cast<double>(of_rounds()) / all;
    EXPECT_LT(calls, 0.01);
    EXPECT_EQ(metric_of(calls_url(), "gym_blob_grpc_bytes_total"), 0U);
    EXPECT_EQ(metric_of(calls_url(), "gym_blob_grpc_received_bytes_total"), 0U);
    // Workers sent each delta once, and it was fetched once, but for pieces of copies that are
    // looked at; of what it sent, the mirrors fetched each blob once.
    EXPECT_EQ(uploaded, deltas);
    EXPECT_GE(metric("gym_blob_mirror_received_bytes_total"), deltas);
    EXPECT_LT(metric("gym_blob_mirror_received_bytes_total"), 2 * deltas);
    EXPECT_LT(metric("gym_blob_http_bytes_total"), 3 * done.front().delta.size() / 2);
    EXPECT_EQ(this->uploaded(), uploaded);
    std::cout << "of " << all / 1e6 << " MB: the coordinator that " << kWorkers << " workers and "
              << kVerifiers << " verifiers call carried " << 100 * calls
              << " % (sent and received, messages included), the one that moves the rounds "
              << 100 * rounds << " %\n";
}

TEST_F(UploadPrograms, ADeltaThatBothMirrorsLostIsSentByItsWorker) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    Peer& peer = peers_[0];
    const PeerWork work = train(peer);
    kill_rounds();  // before it could fetch anything
    EXPECT_GT(send(peer, work).mirror_bytes, 0U);
    ASSERT_NO_FATAL_FAILURE(commit(peer, work));
    for (const std::size_t i : {0, 1}) {
        kill_mirror(i);
        std::filesystem::remove_all(folder() / ("mirror-" + std::to_string(i)));
        ASSERT_NO_FATAL_FAILURE(start_mirror_program(i));
    }
    start_rounds();
    EXPECT_TRUE(eventually([&] { return state_of(root_of(work)) == "wanted"; }))
        << text_of(folder() / "rounds.log");
    rpc::DeltaUpload upload(*peer.coordinator, peer.key, clock_);
    const Status sent = upload.send_wanted([&](const Digest& root) -> Result<blob::VerifiedBlob> {
        EXPECT_EQ(root, root_of(work));
        return delta_of(work);
    });
    ASSERT_TRUE(sent.ok()) << sent.error().message;
    EXPECT_EQ(state_of(root_of(work)), "held");
    EXPECT_TRUE(is_stored(root_of(work)));
    EXPECT_TRUE(peer.coordinator->wanted_deltas()->empty());
    EXPECT_EQ(unit(peer).status.state == protocol::UnitState::kVoid, false);
}

TEST_F(UploadPrograms, WhatIsWantedIsNoLongerThanADelta) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    Peer& peer = peers_[0];
    PeerWork work = train(peer);
    const Bytes large(work.delta.size() + (std::size_t{1} << 20), 7);
    const Digest root = blob::blob_root(large);
    work = changed(work, peer, [&](protocol::UnitCommitment& c) { c.delta_root = root; });
    ASSERT_TRUE(peer.coordinator->name_delta(root, {url_of(0)}).ok());
    ASSERT_NO_FATAL_FAILURE(commit(peer, work));
    EXPECT_TRUE(eventually([&] { return state_of(root) == "wanted"; }))
        << text_of(folder() / "rounds.log");
    const Status sent = peer.coordinator->put_blob(root, large);
    ASSERT_FALSE(sent.ok());
    EXPECT_EQ(sent.error().code, ErrorCode::kOutOfRange) << sent.error().message;
    EXPECT_FALSE(is_stored(root));
}

TEST_F(UploadPrograms, OneMirrorAndEitherCoordinatorMayDieBetweenTheSteps) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    Peer& peer = peers_[0];
    const PeerWork work = train(peer);
    kill_rounds();
    EXPECT_EQ(send(peer, work).mirror_bytes, work.delta.size());
    const std::size_t first = has(0, root_of(work)) ? 0 : 1;
    // The coordinator forgets what it held in memory; the worker begins the delivery anew.
    process_->signal(SIGKILL);
    (void)process_->wait(10'000);
    std::filesystem::remove(folder() / "port");
    process_ = start();
    peer.coordinator = dial(peer.key);
    (void)send(peer, work);
    EXPECT_EQ(uploaded(), work.delta.size()) << "the mirror had it, and took it again";
    ASSERT_NO_FATAL_FAILURE(commit(peer, work));
    ASSERT_NO_FATAL_FAILURE(commit(peer, work));  // its answer was lost
    kill_mirror(0);
    kill_mirror(1);
    ASSERT_NO_FATAL_FAILURE(start_mirror_program(first));  // what is on its disk is enough
    start_rounds();
    EXPECT_TRUE(eventually([&] { return state_of(root_of(work)) == "held"; }))
        << text_of(folder() / "rounds.log");
    EXPECT_TRUE(is_stored(root_of(work)));
}

/// A worker as its operator starts it.
class UploadingNode : public UploadPrograms {
  protected:
    void SetUp() override {
        UploadPrograms::SetUp();
        write("node/key-passphrase", kPassphrase, 0600);
        const auto secret = crypto::read_secret_file(folder() / "node/key-passphrase");
        ASSERT_TRUE(crypto::save_keystore(folder() / "node/key.json", node_key_, *secret,
                                          crypto::ScryptCost::light())
                        .ok());
    }
    SubprocessOptions node_command(const std::vector<std::string>& words) {
        SubprocessOptions options;
        options.argv = {std::string(std::getenv("GYM_BINARY_DIR")) + "/bin/gym", "node"};
        options.argv.insert(options.argv.end(), words.begin(), words.end());
        for (const std::string& flag :
             {std::string("--coordinator"), "127.0.0.1:" + std::to_string(port()),
              std::string("--data-dir"), (folder() / "node").string(),
              std::string("--passphrase-file"), (folder() / "node/key-passphrase").string(),
              std::string("--threads"), std::string("1")})
            options.argv.push_back(flag);
        options.log_file = folder() / "node.log";
        return options;
    }
    void write(const std::string& name, const std::string& text, unsigned mode) {
        std::filesystem::create_directories((folder() / name).parent_path());
        UploadPrograms::write(name, text, mode);
    }
    std::int64_t count(const std::string& sql) {
        const auto row = database_.owner().transact(
            [&](db::Transaction& tx) { return tx.exec_one(sql); }, {.read_only = true});
        return row.ok() ? row->get<std::int64_t>(0) : -1;
    }

    const crypto::PrivateKey node_key_ = crypto::PrivateKey::generate();
};

TEST_F(UploadingNode, KilledAfterItsUploadItCommitsAndSendsNothingToTheCoordinator) {
    ASSERT_NO_FATAL_FAILURE(begin(0));
    auto registering = Subprocess::start(node_command({"register", "--memory", "1GB"})).value();
    ASSERT_EQ(registering.wait(60'000).value(), 0) << text_of(folder() / "node.log");
    auto node = Subprocess::start(node_command({"start"})).value();
    // Named, and committed to or not: whichever it was, the next process brings it to its end.
    ASSERT_TRUE(eventually([&] { return count("SELECT count(*) FROM registry.delta_place") == 1; }))
        << text_of(folder() / "node.log");
    node.signal(SIGKILL);
    (void)node.wait(10'000);
    node = Subprocess::start(node_command({"start"})).value();
    EXPECT_TRUE(eventually([&] {
        return count("SELECT count(*) FROM registry.delta_place WHERE state = 'held'") == 1 &&
               count("SELECT count(*) FROM registry.unit WHERE committed_at_ms IS NOT NULL") == 1;
    })) << text_of(folder() / "node.log");
    EXPECT_EQ(metric_of(calls_url(), "gym_blob_grpc_received_bytes_total"), 0U);
    EXPECT_EQ(metric_of(calls_url(), "gym_blob_grpc_bytes_total"), 0U);
    EXPECT_TRUE(node.stop(20'000).ok());
}

TEST_F(UploadPrograms, TheSecondMirrorFetchesItFromTheFirstWhichMayDieThen) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    Peer& peer = peers_[0];
    const PeerWork work = train(peer);
    kill_rounds();
    EXPECT_EQ(send(peer, work).mirror_bytes, work.delta.size());
    ASSERT_NO_FATAL_FAILURE(commit(peer, work));
    const std::size_t first = has(0, root_of(work)) ? 0 : 1;
    EXPECT_TRUE(has(first, root_of(work)));
    EXPECT_FALSE(has(1 - first, root_of(work)));
    const auto copied = [&] { return metric_of(url_of(1 - first), "gym_mirror_peer_bytes_total"); };
    const std::uint64_t before = copied();
    start_rounds();
    EXPECT_TRUE(eventually([&] { return mirrors_of(root_of(work)) == 2; }))
        << text_of(folder() / "rounds.log");
    EXPECT_TRUE(has(1 - first, root_of(work)));
    EXPECT_EQ(copied() - before, work.delta.size());
    EXPECT_EQ(uploaded(), work.delta.size());
    kill_mirror(first);
    EXPECT_TRUE(eventually([&] { return state_of(root_of(work)) == "held"; }))
        << text_of(folder() / "rounds.log");
}

TEST_F(UploadPrograms, WithOneOfTwoMirrorsAwayTheOtherTakesIt) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    Peer& peer = peers_[0];
    const PeerWork work = train(peer);
    kill_mirror(1);
    EXPECT_EQ(send(peer, work).mirror_bytes, work.delta.size());
    ASSERT_NO_FATAL_FAILURE(commit(peer, work));
    EXPECT_TRUE(eventually([&] { return state_of(root_of(work)) == "held"; }))
        << text_of(folder() / "rounds.log");
    EXPECT_TRUE(is_stored(root_of(work)));
}

TEST_F(UploadPrograms, WithoutMirrorsTheCoordinatorTakesTheDelta) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    Peer& peer = peers_[0];
    const PeerWork work = train(peer);
    kill_mirror(0);
    kill_mirror(1);
    EXPECT_EQ(send(peer, work).coordinator_bytes, work.delta.size());
    EXPECT_EQ(state_of(root_of(work)), "none");
    ASSERT_NO_FATAL_FAILURE(commit(peer, work));
    EXPECT_TRUE(is_stored(root_of(work)));
}

TEST_F(UploadPrograms, WhatIsPrivateIsNeverPermitted) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    set_visibility("job", "private");
    Peer& peer = peers_[0];
    const PeerWork work = train(peer);
    const auto permit = peer.coordinator->permit_upload(root_of(work), work.delta.size());
    ASSERT_TRUE(permit.ok()) << permit.error().message;
    EXPECT_TRUE(permit->ticket.empty());
    EXPECT_EQ(peer.coordinator->name_delta(root_of(work), {url_of(0), url_of(1)}).error().code,
              ErrorCode::kPermissionDenied);
    EXPECT_EQ(send(peer, work).mirror_bytes, 0U);
    ASSERT_NO_FATAL_FAILURE(commit(peer, work));
    for (const std::size_t i : {0, 1})
        EXPECT_EQ(metric_of(url_of(i), "gym_blob_http_received_bytes_total"), 0U);
}

TEST_F(UploadPrograms, NobodySendsTheCoordinatorToAPlaceOfItsOwn) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    Peer& peer = peers_[0];
    const PeerWork work = train(peer);
    EXPECT_EQ(refused(peer, work), ErrorCode::kNotFound) << "neither sent nor named";
    const auto name = [&](const std::vector<std::string>& mirrors) {
        const Status named = peer.coordinator->name_delta(root_of(work), mirrors);
        return named.ok() ? ErrorCode::kInternal : named.error().code;
    };
    EXPECT_EQ(name({}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(name({"http://127.0.0.1:9"}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(name({url_of(0), "http://169.254.169.254/"}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(name(std::vector<std::string>(5, url_of(0))), ErrorCode::kInvalidArgument);
    EXPECT_EQ(peer.coordinator->permit_upload(root_of(work), 1 << 30).error().code,
              ErrorCode::kOutOfRange);
}

TEST_F(UploadPrograms, AUnitHasTicketsForTwoDeltas) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    Peer& peer = peers_[0];
    const PeerWork work = train(peer);
    const auto permit = [&](std::uint8_t junk) {
        return peer.coordinator->permit_upload(blob::blob_root(Bytes(work.delta.size(), junk)),
                                               work.delta.size());
    };
    for (const std::uint8_t junk : {1, 2, 1, 2})
        EXPECT_FALSE(permit(junk)->ticket.empty());
    const auto third = permit(3);
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(send(peer, work).mirror_bytes, 0U) << "the coordinator takes it still";
    EXPECT_NO_FATAL_FAILURE(commit(peer, work));
}

TEST_F(UploadPrograms, AnotherListOfMirrorsIsTakenWithoutARestart) {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    Peer& peer = peers_[0];
    EXPECT_EQ(peer.coordinator->mirrors().value().size(), 2U);
    std::string text = text_of(folder() / "coordinator.yaml");
    const std::string good = text;
    const std::size_t at = text.find("mirrors: ");
    text.replace(at, mirrors().size() + 9, "mirrors: [\"" + url_of(1) + "\"]");
    write("coordinator.yaml", "listen: no\n", 0644);
    EXPECT_TRUE(eventually([&] {
        return text_of(folder() / "coordinator.log").find("stay as they are") != std::string::npos;
    }));
    EXPECT_EQ(peer.coordinator->mirrors().value().size(), 2U);
    write("coordinator.yaml", text, 0644);
    EXPECT_TRUE(eventually([&] {
        return peer.coordinator->mirrors().value() == std::vector<std::string>{url_of(1)};
    }));
    write("coordinator.yaml", good, 0644);
    EXPECT_TRUE(eventually([&] { return peer.coordinator->mirrors().value().size() == 2; }));
}

}  // namespace
}  // namespace gym::testing
