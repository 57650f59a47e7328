// Queries that gym_api may make with its own rights, on a network with a node, a job, a round and
// units.
#include "api_fixture.hpp"
#include "gym/protocol/reason.hpp"

namespace gym::api {
namespace {

using testing::address_of;

class QueriesTest : public testing::ApiDatabaseTest {
  protected:
    void SetUp() override {
        ApiDatabaseTest::SetUp();
        deposit(owner_, "250", "d1");
        job_ = submit({owner_, "k", testing::job_spec(dataset_)}).value().job.id;
        const Status seeded =
            database_.owner().transact([&](db::Transaction& tx) { return seed(tx); });
        ASSERT_TRUE(seeded.ok()) << seeded.error().message;
    }

    Status seed(db::Transaction& tx) {
        registry::NewNode node;
        node.address = worker_;
        node.owner = worker_;
        node.name = "w";
        node.profile.device = "cpu";
        node.profile.software_version = "gym";
        GYM_TRY([[maybe_unused]] const auto registered,
                registry::register_node(tx, node, clock_.now_ms()));
        GYM_CHECK(registry::start_job(tx, job_, {}, clock_.now_ms()));
        protocol::RoundRecord record;
        record.job_id = job_;
        record.round = 1;
        record.checkpoint_every = 4;
        record.slots = {{0, worker_, kPpm, 4}};
        GYM_TRY([[maybe_unused]] const auto round,
                registry::record_round(tx, record, {}, {}, clock_.now_ms()));
        registry::NewUnit unit;
        unit.key = {job_, 1, 0, 0};
        unit.worker = worker_;
        unit.owner = worker_;
        GYM_CHECK(registry::assign_unit(tx, unit, {}, clock_.now_ms()));
        unit_ = protocol::unit_id(unit.key);
        GYM_TRY(
            [[maybe_unused]] const auto expired,
            registry::advance(tx, unit_, protocol::event::TimePassed{}, {},
                              clock_.now_ms() + 3'600'000, protocol::late_commitment(unit.key)));
        return registry::exclude_node(tx, worker_, protocol::late_commitment(unit.key), unit_,
                                      clock_.now_ms());
    }

    const Address worker_ = address_of(7);
    Digest job_;
    Digest unit_;
};

TEST_F(QueriesTest, UnitsShowTheirHistoryAndReason) {
    const auto view = backend().unit(unit_);
    ASSERT_TRUE(view.ok()) << view.error().message;
    ASSERT_EQ(view->history.size(), 2U);
    EXPECT_EQ(view->history[1].to, protocol::UnitState::kExpired);
    EXPECT_FALSE(view->unit.reason.empty());
    EXPECT_EQ(backend().unit(Digest{}).error().code, ErrorCode::kNotFound);
    registry::UnitFilter filter;
    filter.job_id = job_;
    EXPECT_EQ(backend().units(filter).value().size(), 1U);
}

TEST_F(QueriesTest, JobsShowRoundsAndUnits) {
    const auto view = backend().job(job_);
    ASSERT_TRUE(view.ok()) << view.error().message;
    EXPECT_EQ(view->rounds.size(), 1U);
    EXPECT_EQ(view->units.at("expired"), 1U);
    EXPECT_EQ(backend().jobs({}).value().size(), 1U);
    EXPECT_EQ(backend().datasets({}).value().size(), 1U);
}

TEST_F(QueriesTest, UnitsThatMustStillEndAreCountedWithTheEndOfTheirWindows) {
    EXPECT_EQ(backend().job(job_).value().open_units.count, 0U) << "an expired unit has ended";
    const Status written = database_.owner().transact([&](db::Transaction& tx) -> Status {
        for (std::uint32_t slot = 1; slot <= 3; ++slot) {
            registry::NewUnit unit;
            unit.key = {job_, 1, slot, 0};
            unit.worker = worker_;
            unit.owner = worker_;
            GYM_CHECK(registry::assign_unit(tx, unit, {}, clock_.now_ms()));
        }
        // States that only work can lead to; what guards them is not what is tested here.
        GYM_CHECK(tx.exec("SET LOCAL session_replication_role = replica"));
        GYM_CHECK(
            tx.exec("UPDATE registry.unit SET state = CASE slot WHEN 1 THEN 'verified' ELSE "
                    "'unsampled' END, committed_at_ms = 1, deadline_ms = 5000000 + slot "
                    "WHERE slot IN (1, 2)"));
        return {};
    });
    ASSERT_TRUE(written.ok()) << written.error().message;
    const OpenUnits open = backend().job(job_).value().open_units;
    EXPECT_EQ(open.count, 3U);
    EXPECT_EQ(open.in_window, 2U);
    EXPECT_EQ(open.window_end_ms, 5'000'002);
}

TEST_F(QueriesTest, OnlyWhatIsOverIsPublished) {
    const auto view = backend().round(job_, 1);
    ASSERT_TRUE(view.ok()) << view.error().message;
    EXPECT_EQ(protocol::hash(view->round.record), view->round.record_hash);
    EXPECT_FALSE(view->aggregate.has_value());
    EXPECT_EQ(backend().round(job_, 2).error().code, ErrorCode::kNotFound);
    const auto write = [&](const std::string& sql) {
        const Status written = database_.owner().transact([&](db::Transaction& tx) -> Status {
            // States that only work can lead to; what guards them is not what is tested here.
            GYM_CHECK(tx.exec("SET LOCAL session_replication_role = replica"));
            GYM_CHECK(tx.exec(sql));
            return {};
        });
        ASSERT_TRUE(written.ok()) << written.error().message;
    };
    const std::string digest = "decode(repeat('07', 32), 'hex')";
    write("INSERT INTO registry.unit_commitment SELECT id, '\\x0102', id, 1 FROM registry.unit");
    write(
        "INSERT INTO registry.report (unit_id, draw, verifier, digest, committed_at_ms, "
        "records_root, final_state_root, delta_root, trace, challenge_signature, salt, records, "
        "is_equal, revealed_at_ms) SELECT id, 0, worker, " +
        digest + ", 1, " + digest + ", " + digest + ", " + digest + ", " + digest +
        ", decode(repeat('08', 65), 'hex'), " + digest + ", '', true, 1 FROM registry.unit");
    write(
        "UPDATE registry.unit SET state = 'revealed', draws = 1, ended_at_ms = NULL, "
        "committed_at_ms = 1");
    EXPECT_EQ(backend().commitments(job_, 1, {}).value().size(), 0U) << "the round is not sealed";
    EXPECT_EQ(backend().reports(job_, 1, {}).value().size(), 0U) << "the unit has not ended";
    write("UPDATE registry.unit SET state = 'final', ended_at_ms = 2, epoch = 1, leaf_index = 0");
    const auto commitments = backend().commitments(job_, 1, {}).value();
    ASSERT_EQ(commitments.size(), 1U);
    EXPECT_EQ(commitments[0].unit, unit_);
    EXPECT_EQ(commitments[0].commitment, (Bytes{1, 2}));
    EXPECT_EQ(backend().commitments(job_, 1, {1, 1000}).value().size(), 0U) << "the next page";
    const auto reports = backend().reports(job_, 1, {}).value();
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0].report.unit, unit_);
    EXPECT_TRUE(reports[0].equal);
    EXPECT_FALSE(reports[0].accepted);
    EXPECT_EQ(backend().reports(job_, 2, {}).value().size(), 0U);
}

TEST_F(QueriesTest, ChallengesArePublishedByTheirSpan) {
    const Status written = database_.owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(
            tx.exec("INSERT INTO registry.challenge (node, nonce, issued_at_ms, deadline_ms) "
                    "SELECT $1, decode(lpad(to_hex(n), 64, '0'), 'hex'), 100 * n, 100 * n + 50 "
                    "FROM generate_series(1, 3) AS n",
                    {worker_}));
        return {};
    });
    ASSERT_TRUE(written.ok()) << written.error().message;
    const auto count = [&](UnixMs from, UnixMs to, const registry::Page& page = {}) {
        return backend().challenges(worker_, from, to, page).value().size();
    };
    EXPECT_EQ(count(0, 1'000), 3U);
    EXPECT_EQ(count(100, 351), 3U);
    EXPECT_EQ(count(101, 351), 2U);
    EXPECT_EQ(count(100, 350), 2U) << "a deadline at the end is not over";
    EXPECT_EQ(count(0, 1'000, {1, 1}), 1U);
    EXPECT_EQ(backend().challenges(worker_, 0, 1'000, {1, 1}).value()[0].challenge.issued_ms, 200);
    EXPECT_EQ(backend().challenges(address_of(99), 0, 1'000, {}).error().code,
              ErrorCode::kNotFound);
    EXPECT_EQ(backend().terms().error().code, ErrorCode::kNotFound) << "no gym-rewards runs here";
}

TEST_F(QueriesTest, NodesShowWhyTheyAreExcluded) {
    const auto node = backend().node(worker_);
    ASSERT_TRUE(node.ok()) << node.error().message;
    EXPECT_TRUE(node->excluded);
    EXPECT_FALSE(node->excluded_reason.empty());
    EXPECT_EQ(backend().nodes({}).value().size(), 1U);
    const auto gauges = backend().gauges();
    ASSERT_TRUE(gauges.ok()) << gauges.error().message;
    EXPECT_EQ(gauges->nodes_excluded, 1U);
    EXPECT_EQ(gauges->workers_live, 1U);
    EXPECT_EQ(gauges->jobs.at("running"), 1U);
    EXPECT_FALSE(gauges->rounds.empty());
    EXPECT_GT(gauges->unit_events_waiting, 0U);  // no gym-rewards runs here
    EXPECT_EQ(gauges->payout_epoch, 0U);
    EXPECT_FALSE(gauges->books_equal.has_value());
}

TEST_F(QueriesTest, AnAddressWithoutMoneyHasZeroBalancesAndNoProof) {
    const auto view = backend().account(address_of(99));
    ASSERT_TRUE(view.ok()) << view.error().message;
    EXPECT_TRUE(view->available.is_zero());
    EXPECT_TRUE(view->last_credits.empty());
    EXPECT_EQ(backend().proof(address_of(99)).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(backend().epoch_file(1).error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(backend().epochs(10).value().empty());
}

TEST_F(QueriesTest, TheApiCannotWriteWhatIsNotItsOwn) {
    for (const char* statement :
         {"UPDATE registry.unit SET state = 'final'", "DELETE FROM registry.job",
          "UPDATE registry.job SET status = 'completed'", "DELETE FROM ledger.transfer",
          "UPDATE ledger.account SET credits = 1", "DELETE FROM api.idempotency",
          "SELECT records FROM registry.unit_records", "SELECT salt FROM registry.report",
          "SELECT trace FROM registry.report", "SELECT audit FROM registry.report",
          "UPDATE rewards.fee_terms SET fee_ppm = 0"}) {
        const auto result =
            api_db_->transact([&](db::Transaction& tx) { return tx.exec(statement); });
        ASSERT_FALSE(result.ok()) << statement;
        EXPECT_EQ(result.error().code, ErrorCode::kPermissionDenied) << statement;
    }
}

}  // namespace
}  // namespace gym::api
