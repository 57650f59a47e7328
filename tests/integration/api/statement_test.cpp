// An owner's statement, with the rights of gym_api.
#include <boost/json.hpp>

#include "api_fixture.hpp"
#include "gym/api/api.hpp"
#include "gym/api/statement.hpp"
#include "gym/ledger/sealer.hpp"

namespace gym::api {
namespace {

using testing::address_of;
using testing::kAsset;

class StatementTest : public testing::ApiDatabaseTest {
  protected:
    std::vector<StatementLine> read(std::uint64_t before = StatementFilter::kNewest,
                                    std::uint32_t limit = 1000) {
        auto lines = backend().statement({owner_, before, limit});
        EXPECT_TRUE(lines.ok()) << lines.error().message;
        return lines.value_or({});
    }

    /// Reserves, or ends what `pending` reserved.
    void submit(const std::string& purpose, ledger::TransferKind kind,
                const ledger::AccountKey& source, const ledger::AccountKey& target,
                const std::string& pending = "") {
        const Status done = database_.owner().transact([&](db::Transaction& tx) -> Status {
            ledger::TransferRequest request;
            request.id = ledger::transfer_id(purpose);
            request.kind = kind;
            if (pending.empty()) {
                GYM_TRY(request.debit, ledger::open_account(tx, source));
                GYM_TRY(request.credit, ledger::open_account(tx, target));
                request.amount = Amount::parse_tokens("2").value();
                request.reason = "compute of unit 1";
            } else {
                request.pending = ledger::transfer_id(pending);
            }
            GYM_TRY(const auto status, ledger::submit(tx, {&request, 1}, clock_.now_ms()));
            EXPECT_EQ(status.front(), ledger::TransferStatus::kCreated);
            return {};
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    }

    Digest submit_job(const Address& owner, const std::string& key) {
        return ApiDatabaseTest::submit({owner, key, testing::job_spec(dataset_)}).value().job.id;
    }

    /// The balance that the posted lines give.
    static std::string sum(const std::vector<StatementLine>& lines, const std::string& owner,
                           ledger::AccountKind kind) {
        Amount in, out;
        const auto is = [&](const StatementAccount& side) {
            return side.own && side.owner == owner && side.kind == kind;
        };
        for (const StatementLine& line : lines) {
            if (line.state != LineState::kPosted) continue;
            if (is(line.to)) in = in.plus(line.amount).value();
            if (is(line.from)) out = out.plus(line.amount).value();
        }
        return in.minus(out).value().to_tokens();
    }

    static std::string id_of(const std::string& purpose) {
        return ledger::to_uuid(ledger::transfer_id(purpose));
    }

    const Address worker_ = address_of(7);
    const Address stranger_ = address_of(66);
};

TEST_F(StatementTest, WhatWasPaidEarnedAndGivenBackAddsUpToTheBalances) {
    deposit(owner_, "250", "d1");
    deposit(stranger_, "900", "d2");
    const Digest job = submit_job(owner_, "k");
    submit_job(stranger_, "k");
    const auto escrow = rewards::escrow_account(kAsset, job);
    const auto earned = rewards::earned_account(kAsset, worker_);
    submit("c1", ledger::TransferKind::kPending, escrow, earned);
    submit("c1 final", ledger::TransferKind::kPost, escrow, earned, "c1");
    submit("c2", ledger::TransferKind::kPending, escrow, earned);
    submit("c2 void", ledger::TransferKind::kVoid, escrow, earned, "c2");
    submit("c3", ledger::TransferKind::kPending, escrow, earned);
    const auto rewards_db = database_.as("gym_rewards");
    const auto settler = crypto::PrivateKey::generate();
    ledger::Sealer sealer(*rewards_db, clock_, settler);
    ASSERT_TRUE(sealer.tick().value().has_value());
    book(escrow, rewards::available_account(kAsset, owner_), "30", "refund");

    const auto lines = read();
    std::string story;
    for (const StatementLine& line : lines)
        story += std::string(to_string(line.kind)) + " " + std::string(to_string(line.state)) +
                 " " + std::string(to_string(line.direction())) + " " + line.amount.to_tokens() +
                 (line.sealed ? " sealed\n" : "\n");
    EXPECT_EQ(story,
              "transfer posted within 30\n"
              "pending pending out 2 sealed\n"
              "void released out 2 sealed\n"
              "pending ended out 2 sealed\n"
              "post posted out 2 sealed\n"
              "pending ended out 2 sealed\n"
              "post posted within 100 sealed\n"
              "pending ended within 100 sealed\n"
              "transfer posted in 250 sealed\n");
    ASSERT_EQ(lines.size(), 9U);
    EXPECT_EQ(ledger::to_uuid(lines[8].id), id_of("d1"));
    EXPECT_FALSE(lines[8].job_id.has_value());
    EXPECT_EQ(lines[6].reason, "job budget");
    EXPECT_EQ(lines[6].job_id, job);
    EXPECT_EQ(lines[4].reason, "compute of unit 1") << "of what it ends";
    EXPECT_FALSE(lines[4].to.balance_after.has_value()) << "the worker's";

    const AccountView account = backend().account(owner_).value();
    EXPECT_EQ(sum(lines, owner_.hex(), ledger::AccountKind::kAvailable), "180");
    EXPECT_EQ(account.available.to_tokens(), "180");
    EXPECT_EQ(lines[0].to.balance_after, account.available.to_string());
    EXPECT_EQ(sum(lines, "job:" + job.hex(), ledger::AccountKind::kEscrow), "68");
    EXPECT_EQ(account.escrowed.to_tokens(), "68");
}

TEST_F(StatementTest, ACreditOfOnesNodeComesInWithItsJobAndRound) {
    deposit(stranger_, "250", "d1");
    const Digest job = submit_job(stranger_, "k");
    book(rewards::escrow_account(kAsset, job), rewards::earned_account(kAsset, owner_), "2", "c");
    ASSERT_TRUE(database_.owner()
                    .transact([&](db::Transaction& tx) -> Status {
                        GYM_CHECK(
                            tx.exec("INSERT INTO rewards.credit (id, kind, state, posting, "
                                    "earner, job_id, round, amount, created_at_ms, "
                                    "changed_at_ms) VALUES ($1, 'uptime', 'posted', $1, $2, "
                                    "$3, 3, 2, 1, 1)",
                                    {id_of("c"), owner_, job}));
                        return {};
                    })
                    .ok());
    const auto lines = read();
    ASSERT_EQ(lines.size(), 1U) << "nothing else of that job";
    EXPECT_EQ(lines[0].direction(), Direction::kIn);
    EXPECT_EQ(lines[0].to.kind, ledger::AccountKind::kEarned);
    EXPECT_FALSE(lines[0].from.own);
    EXPECT_FALSE(lines[0].from.balance_after.has_value()) << "of another's job";
    EXPECT_EQ(lines[0].job_id, job);
    EXPECT_EQ(lines[0].round, 3U);
}

TEST_F(StatementTest, PagesLoseAndRepeatNothingWhileTransfersComeIn) {
    deposit(owner_, "250", "d");
    const Digest job = submit_job(owner_, "k");
    const auto escrow = rewards::escrow_account(kAsset, job);
    const auto earned = rewards::earned_account(kAsset, worker_);
    for (int i = 0; i < 12; ++i) {
        const std::string name = std::to_string(i);
        if (i % 3 == 0) submit("p" + name, ledger::TransferKind::kPending, escrow, earned);
        if (i % 3 == 1) book(escrow, earned, "1", "b" + name);
        if (i % 3 == 2) deposit(owner_, "1", "d" + name);
        deposit(stranger_, "1", "s" + name);
    }
    const auto all = read();
    ASSERT_EQ(all.size(), 15U);
    for (const std::uint32_t limit : {1U, 3U, 5U}) {
        std::vector<std::uint64_t> seen;
        std::uint64_t before = StatementFilter::kNewest;
        for (auto page = read(before, limit); !page.empty(); page = read(before, limit)) {
            ASSERT_LE(page.size(), limit);
            for (const StatementLine& line : page)
                seen.push_back(line.seq);
            before = seen.back();
            deposit(owner_, "1", std::to_string(limit) + "while" + std::to_string(before));
        }
        std::vector<std::uint64_t> expected;
        for (const StatementLine& line : read())
            if (line.seq <= seen.front()) expected.push_back(line.seq);
        EXPECT_EQ(seen, expected) << "limit " << limit;
        EXPECT_GE(seen.size(), all.size());
    }
    EXPECT_TRUE(read(0).empty());
}

TEST_F(StatementTest, AnotherOwnersKeyIsRefused) {
    deposit(owner_, "250", "d1");
    PostgresBackend on_database = backend();
    Api api({on_database, on_database, on_database, clock_}, {});
    const auto ask = [&](const Address& key_owner) {
        Request request{"GET", "/v1/accounts/" + owner_.hex() + "/transfers", {}, "", "req"};
        request.headers["authorization"] =
            "Bearer " + create_key(*api_db_, key_owner, "test", clock_.now_ms()).value();
        const auto admission = api.admit(request);
        return admission.refused ? *admission.refused : api.handle(request);
    };
    const Response refused = ask(stranger_);
    EXPECT_EQ(refused.status, 403U) << refused.body;
    EXPECT_EQ(refused.body.find("250"), std::string::npos);
    const Response own = ask(owner_);
    ASSERT_EQ(own.status, 200U) << own.body;
    EXPECT_EQ(boost::json::parse(own.body).at("transfers").at(0).at("id").as_string(), id_of("d1"));
}

/// The rows that a page reads do not grow with the account.
TEST_F(StatementTest, ADeepPageOfALongAccountReadsFewRows) {
    deposit(owner_, "250", "d");
    for (int i = 0; i < 8; ++i) {
        const Status done = database_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_TRY(const auto from,
                    ledger::open_account(tx, rewards::chain_escrow_account(kAsset)));
            GYM_TRY(const auto to,
                    ledger::open_account(tx, rewards::available_account(kAsset, owner_)));
            std::vector<ledger::TransferRequest> batch(500);
            for (std::size_t k = 0; k < batch.size(); ++k) {
                batch[k].id = ledger::transfer_id(std::to_string(i) + ":" + std::to_string(k));
                batch[k].debit = from;
                batch[k].credit = to;
                batch[k].amount = Amount(1);
            }
            GYM_CHECK(ledger::submit(tx, batch, clock_.now_ms()));
            return {};
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    const auto newest = read(StatementFilter::kNewest, 1);
    ASSERT_EQ(newest.size(), 1U);
    const auto deep = read(newest[0].seq - 3'000, 10);
    ASSERT_EQ(deep.size(), 10U);
    EXPECT_EQ(deep[0].seq, newest[0].seq - 3'001);
    const auto rows_read = [&] {
        return database_.owner()
            .transact([](db::Transaction& tx) -> Result<std::uint64_t> {
                GYM_TRY(const db::Row row,
                        tx.exec_one("SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM "
                                    "pg_stat_xact_user_tables WHERE schemaname = 'ledger' AND "
                                    "relname = 'transfer'"));
                const auto before = row.get<std::uint64_t>(0);
                GYM_CHECK(
                    tx.exec("SELECT * FROM ledger.newest_transfers((SELECT id FROM "
                            "ledger.account WHERE kind = 'available'), 1000, 10)"));
                GYM_TRY(const db::Row after,
                        tx.exec_one("SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM "
                                    "pg_stat_xact_user_tables WHERE schemaname = 'ledger' AND "
                                    "relname = 'transfer'"));
                return after.get<std::uint64_t>(0) - before;
            })
            .value();
    }();
    EXPECT_GE(rows_read, 10U);
    EXPECT_LE(rows_read, 60U);
}

}  // namespace
}  // namespace gym::api
