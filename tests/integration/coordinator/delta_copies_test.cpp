// Second copies of deltas: ordered by the coordinator, made by real mirrors over HTTP.
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "blob_site.hpp"
#include "fake_world.hpp"
#include "gym/coordinator/delta_collector.hpp"
#include "gym/coordinator/delta_copier.hpp"
#include "gym/http_server/problem.hpp"
#include "gym/mirror/pull_through.hpp"
#include "gym/mirror/upload.hpp"
#include "gym/rpc/upload_ticket.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

/// A mirror as `gym mirror` runs it, or a server with a fault in its place.
class MirrorSite final : public http_server::Handler {
  public:
    enum class Kind {
        kMirror,
        kSaysYes,   ///< answers 200 and an empty object to everything
        kSaysSoon,  ///< answers 202 to orders, for ever
        kRefuses,   ///< 403
    };
    explicit MirrorSite(Kind kind) : kind_(kind) {
        http_server::ServerOptions listen;
        listen.threads = 8;
        server_ = http_server::Server::start(listen, *this).value();
    }
    ~MirrorSite() override { stop(); }
    MirrorSite(const MirrorSite&) = delete;
    MirrorSite& operator=(const MirrorSite&) = delete;

    void begin(const std::filesystem::path& folder, const std::vector<std::string>& peers,
               const crypto::Eip712Domain& domain, const Address& coordinator, const Clock& clock,
               const std::string& origin) {
        mirror::PullOptions options;
        options.folder = folder;
        options.origins = {origin};
        options.peers = peers;
        options.self = url();
        options.fetch.silence_ms = 500;
        options.uploads_bytes_max = std::uint64_t{64} << 20;
        pull_ = mirror::PullThrough::open(options, {}).value();
        gate_.emplace(domain, std::set{coordinator}, std::uint64_t{64} << 20, clock);
        handler_ = std::make_unique<mirror::BlobHandler>(*pull_, std::function<std::string()>(),
                                                         mirror::Uploads{&*gate_, pull_.get(), 4});
    }
    Admission admit(const http_server::Request& head) override {
        orders += head.header("gym-copy-from").empty() ? 0 : 1;
        const unsigned says = kind_ == Kind::kSaysYes ? 200 : kind_ == Kind::kSaysSoon ? 202 : 403;
        if (kind_ == Kind::kMirror) return handler_->admit(head);
        return {.refused = http_server::Response{.status = says, .headers = {}, .body = "{}\n"}};
    }
    http_server::Response handle(const http_server::Request& request) override {
        return handler_->handle(request);
    }
    http_server::Response refuse(unsigned status, std::string_view detail,
                                 std::string_view id) override {
        return http_server::problem(status, "http", detail, id);
    }
    http_server::Response refuse_body(const Error& error, std::string_view id) override {
        return handler_->refuse_body(error, id);
    }
    void connections(std::int64_t) override {}
    void stop() { server_->stop(0); }
    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server_->port());
    }
    [[nodiscard]] std::uint64_t uploaded() const { return handler_->bytes_received(); }
    [[nodiscard]] std::uint64_t copied() const { return pull_->counters().peer_bytes; }
    [[nodiscard]] bool has(const Digest& root) { return pull_->has(root).value(); }

    std::atomic<int> orders{0};

  private:
    const Kind kind_;
    std::unique_ptr<mirror::PullThrough> pull_;
    std::optional<rpc::TicketGate> gate_;
    std::unique_ptr<mirror::BlobHandler> handler_;
    std::unique_ptr<http_server::Server> server_;
};

/// Two workers in a round of a public job; the delta of one goes to a mirror.
class DeltaCopies : public ::testing::Test {
  protected:
    using Kind = MirrorSite::Kind;
    void SetUp() override {
        registry::JobTerms terms = World::terms();
        terms.rounds = 2;
        job_ = world_.submit_job(terms);
        change("UPDATE registry.job SET visibility = 'public'");
        world_.settle();
        work_ = world_.work(mirrored_);
        root_ = work_.commitment.commitment.delta_root;
        delta_ = world_.blobs.get(root_).value();
        // World uploads every delta: this one has not been.
        ASSERT_TRUE(world_.blobs.remove(root_).ok());
        change("DELETE FROM registry.delta_upload");
    }
    void begin(const std::vector<Kind>& kinds) {
        for (const Kind kind : kinds)
            mirrors_.emplace_back(kind);
        for (const MirrorSite& mirror : mirrors_)
            urls_.push_back(mirror.url());
        for (std::size_t i = 0; i < mirrors_.size(); ++i)
            mirrors_[i].begin(dir_.path() / std::to_string(i), urls_, world_.options.domain,
                              world_.key.address(), world_.clock, origin_.url());
        copier_ = make_copier();
        collector_.set_mirrors(urls_);
    }
    std::unique_ptr<coordinator::DeltaCopier> make_copier() {
        auto out = std::make_unique<coordinator::DeltaCopier>(world_.database(), world_.clock,
                                                              world_.options.domain, world_.key,
                                                              std::uint64_t{64} << 20);
        out->set_mirrors(urls_);
        return out;
    }
    void change(const std::string& sql) {
        const auto done = world_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(tx.exec(sql));
            return {};
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    /// The worker sends its delta to mirror 0 alone, names it and commits.
    void send_and_commit() {
        mirror::Uploader uploader;
        const auto sign = [&]() -> Result<mirror::Uploader::Headers> {
            const rpc::UploadTicket ticket = rpc::sign_ticket(
                world_.options.domain,
                {mirrored_.address(), root_, delta_.size(), world_.clock.now_ms() + 60'000, {}},
                world_.key);
            return rpc::upload_headers(world_.options.domain, rpc::encode(ticket), mirrored_.key,
                                       world_.clock.now_ms());
        };
        const auto placed = uploader.place({urls_[0]}, root_, delta_, 1, sign, {});
        ASSERT_EQ(placed.value(), std::vector<std::string>{urls_[0]});
        ASSERT_TRUE(world_.core().name_delta(mirrored_.address(), root_, {urls_[0]}).ok());
        ASSERT_TRUE(world_.commit(mirrored_, work_).ok());
    }
    /// The other worker, and the verification of both.
    void finish_round() {
        ASSERT_TRUE(world_.commit(other_, world_.work(other_)).ok());
        world_.settle();
        while (world_.verify(verifier_)) {
        }
        world_.settle();
    }
    /// Passes, a second apart by the world's clock, until the delta is at two mirrors.
    void copy(int passes = 200) {
        for (int i = 0; i < passes && !place("copy_at_ms").empty(); ++i) {
            const auto passed = copier_->pass({});
            ASSERT_TRUE(passed.ok()) << passed.error().message;
            world_.clock.advance_ms(1'000);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
    /// A column of the delta's place; empty: null.
    std::string place(const std::string& column) {
        const auto row = world_.owner().transact(
            [&](db::Transaction& tx) {
                return tx.exec_one("SELECT coalesce(" + column +
                                       "::text, '') FROM registry.delta_place WHERE root = $1",
                                   {root_});
            },
            {.read_only = true});
        return row.ok() ? row->get<std::string>(0) : row.error().message;
    }
    [[nodiscard]] std::string at(std::size_t i, std::size_t j) const {
        return urls_[i] + "\n" + urls_[j];
    }
    std::uint32_t collect() { return collector_.collect({}).value(); }
    registry::RoundState round() { return world_.rounds(job_).front().state; }
    registry::Unit unit() { return world_.unit(work_.assignment.unit_id()); }

    World world_;
    const FakeNode mirrored_ = world_.add_node(NodeRole::kWorker);
    const FakeNode other_ = world_.add_node(NodeRole::kWorker);
    const FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);
    Digest job_, root_;
    World::Work work_;
    Bytes delta_;
    gym::TemporaryFolder dir_ = gym::TemporaryFolder::create("gym-copies-").value();
    blob::MemoryStore nothing_;
    BlobSite origin_{nothing_};
    std::deque<MirrorSite> mirrors_;
    std::vector<std::string> urls_;
    std::unique_ptr<coordinator::DeltaCopier> copier_;
    coordinator::DeltaCollector collector_{world_.database(), world_.blobs, world_.clock,
                                           std::uint64_t{1} << 30};
};

TEST_F(DeltaCopies, ASecondMirrorHasItBeforeTheCoordinatorAndTheFirstMayDie) {
    ASSERT_NO_FATAL_FAILURE(begin({Kind::kMirror, Kind::kMirror}));
    ASSERT_NO_FATAL_FAILURE(send_and_commit());
    EXPECT_EQ(mirrors_[0].uploaded(), delta_.size());
    EXPECT_FALSE(mirrors_[1].has(root_));
    ASSERT_NO_FATAL_FAILURE(copy());
    EXPECT_EQ(place("mirrors"), at(0, 1));
    EXPECT_EQ(place("state"), "named") << "the coordinator has not fetched it yet";
    EXPECT_TRUE(mirrors_[1].has(root_));
    EXPECT_EQ(mirrors_[1].uploaded(), 0U) << "its worker sent it once";
    EXPECT_EQ(mirrors_[1].copied(), delta_.size());
    mirrors_[0].stop();
    EXPECT_EQ(collect(), 1U);
    ASSERT_NO_FATAL_FAILURE(finish_round());
    EXPECT_EQ(round(), registry::RoundState::kAggregated);
    EXPECT_TRUE(unit().included);
}

TEST_F(DeltaCopies, AMirrorThatDiesBetweenTheCopiesLosesNoUnit) {
    ASSERT_NO_FATAL_FAILURE(begin({Kind::kMirror, Kind::kMirror}));
    ASSERT_NO_FATAL_FAILURE(send_and_commit());
    mirrors_[0].stop();
    ASSERT_NO_FATAL_FAILURE(copy(10));
    EXPECT_EQ(place("mirrors"), urls_[0]);
    EXPECT_EQ(place("copies_failed"), "4") << "after 1, 2 and 4 seconds";
    EXPECT_EQ(mirrors_[1].orders, 0) << "nobody has it to copy";
    ASSERT_NO_FATAL_FAILURE(finish_round());
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(collect(), 0U);
        world_.clock.advance_ms(10'000);
    }
    const std::vector<Digest> wanted = world_.core().wanted_deltas(mirrored_.address()).value();
    ASSERT_EQ(wanted, std::vector<Digest>{root_});
    ASSERT_TRUE(world_.blobs.put(delta_).ok());
    ASSERT_TRUE(world_.core().note_upload(mirrored_.address(), root_).ok());
    world_.settle();
    EXPECT_EQ(round(), registry::RoundState::kAggregated);
    EXPECT_TRUE(unit().included);
}

TEST_F(DeltaCopies, OnesThatRefuseOrLieAreLeftAndAnotherCopies) {
    ASSERT_NO_FATAL_FAILURE(begin({Kind::kMirror, Kind::kSaysYes, Kind::kRefuses, Kind::kMirror}));
    ASSERT_NO_FATAL_FAILURE(send_and_commit());
    ASSERT_NO_FATAL_FAILURE(copy());
    EXPECT_EQ(place("mirrors"), at(0, 3));
    EXPECT_LE(mirrors_[1].orders, 1) << "it said that it had it, and did not show it";
    EXPECT_LE(mirrors_[2].orders, 1);
    EXPECT_TRUE(mirrors_[3].has(root_));
}

TEST_F(DeltaCopies, OneThatNeverEndsIsGivenUp) {
    ASSERT_NO_FATAL_FAILURE(begin({Kind::kMirror, Kind::kSaysSoon}));
    ASSERT_NO_FATAL_FAILURE(send_and_commit());
    ASSERT_NO_FATAL_FAILURE(copy(150));
    EXPECT_EQ(place("mirrors"), urls_[0]);
    EXPECT_EQ(place("copies_failed"), "1");
    // A minute for a small delta, asked about each second; then it is told nothing for two.
    EXPECT_LE(mirrors_[1].orders, 62);
    EXPECT_GE(mirrors_[1].orders, 60);
    EXPECT_EQ(place("copy_to"), "");
    EXPECT_EQ(collect(), 1U) << "the coordinator's own copy is the second one";
}

TEST_F(DeltaCopies, AnotherInstanceGoesOnWithWhatWasOrdered) {
    ASSERT_NO_FATAL_FAILURE(begin({Kind::kMirror, Kind::kSaysSoon}));
    ASSERT_NO_FATAL_FAILURE(send_and_commit());
    ASSERT_TRUE(copier_->pass({}).ok());
    EXPECT_EQ(place("copy_to"), urls_[1]);
    const std::string until = place("copy_until_ms");
    copier_ = make_copier();
    ASSERT_TRUE(copier_->pass({}).ok());
    EXPECT_EQ(mirrors_[1].orders, 1) << "not due yet";
    world_.clock.advance_ms(1'000);
    ASSERT_TRUE(copier_->pass({}).ok());
    EXPECT_EQ(mirrors_[1].orders, 2);
    EXPECT_EQ(place("copy_until_ms"), until);
}

TEST_F(DeltaCopies, NothingIsOrderedBeforeACommitmentOrForOneAtTwoMirrors) {
    ASSERT_NO_FATAL_FAILURE(begin({Kind::kMirror, Kind::kMirror}));
    ASSERT_TRUE(world_.core().name_delta(mirrored_.address(), root_, {urls_[0]}).ok());
    EXPECT_EQ(copier_->pass({}).value(), 0U);
    ASSERT_TRUE(world_.core().name_delta(mirrored_.address(), root_, urls_).ok());
    ASSERT_TRUE(world_.commit(mirrored_, work_).ok());
    EXPECT_EQ(copier_->pass({}).value(), 0U);
    EXPECT_EQ(mirrors_[0].orders + mirrors_[1].orders, 0);
}

TEST_F(DeltaCopies, AUnitIsNotFinalWhileItsDeltaIsAtOneMirrorAlone) {
    ASSERT_NO_FATAL_FAILURE(begin({Kind::kMirror, Kind::kMirror}));
    ASSERT_NO_FATAL_FAILURE(send_and_commit());
    ASSERT_NO_FATAL_FAILURE(finish_round());
    ASSERT_EQ(unit().status.state, UnitState::kVerified);
    change("UPDATE registry.unit SET deadline_ms = 1 WHERE state = 'verified'");
    world_.settle();
    EXPECT_EQ(unit().status.state, UnitState::kVerified) << "its worker keeps the delta";
    ASSERT_NO_FATAL_FAILURE(copy());
    ASSERT_EQ(place("mirrors"), at(0, 1));
    world_.settle();
    EXPECT_EQ(unit().status.state, UnitState::kFinal);
}

TEST_F(DeltaCopies, ItWaitsForTheSecondCopyNoLongerThanTheRoundDoes) {
    ASSERT_NO_FATAL_FAILURE(begin({Kind::kMirror, Kind::kMirror}));
    ASSERT_NO_FATAL_FAILURE(send_and_commit());
    ASSERT_NO_FATAL_FAILURE(finish_round());
    change("UPDATE registry.unit SET deadline_ms = 1 WHERE state = 'verified'");
    world_.clock.advance_ms(world_.options.delta_wait_ms - 1'000);
    world_.settle();
    EXPECT_EQ(unit().status.state, UnitState::kVerified);
    world_.clock.advance_ms(2'000);
    world_.settle();
    EXPECT_TRUE(protocol::is_terminal(unit().status.state));
}

}  // namespace
}  // namespace gym::testing
