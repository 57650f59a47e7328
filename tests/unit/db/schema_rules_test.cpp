// Rules that the schema itself keeps, whatever a service writes: tested with the superuser, whom no
// grant stops.
#include <gtest/gtest.h>

#include "gym/db/migrate.hpp"
#include "postgres.hpp"

namespace gym::db {
namespace {

/// A database with all migrations, whose rows SQL writes.
class SchemaRules : public ::testing::Test {
  protected:
    void SetUp() override {
        static int count = 0;
        name_ = "schema_rules_" + std::to_string(++count);
        ASSERT_TRUE(testing::postgres().create_database(name_).ok());
        auto opened = Database::open(testing::postgres().superuser(name_));
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        database_ = std::move(opened).value();
        const auto report = migrate(*database_, testing::migrations_folder());
        ASSERT_TRUE(report.ok()) << report.error().message;
    }
    void TearDown() override {
        database_.reset();
        ASSERT_TRUE(testing::postgres().drop_database(name_).ok());
    }
    Status run(const std::string& sql) {
        return database_->transact([&](Transaction& tx) -> Status {
            GYM_CHECK(tx.exec(sql));
            return {};
        });
    }
    void must(const std::string& sql) {
        const Status done = run(sql);
        ASSERT_TRUE(done.ok()) << sql << "\n" << done.error().message;
    }
    void expect_refused(const std::string& sql, ErrorCode code) {
        const Status done = run(sql);
        ASSERT_FALSE(done.ok()) << sql;
        EXPECT_EQ(done.error().code, code) << done.error().message;
    }
    /// The rows of a query, each as PostgreSQL writes it: "(1,,t)".
    std::vector<std::string> rows(const std::string& sql) {
        const auto found = database_->transact(
            [&](Transaction& tx) { return tx.exec("SELECT x::text FROM (" + sql + ") AS x"); });
        EXPECT_TRUE(found.ok()) << found.error().message;
        std::vector<std::string> out;
        if (!found.ok()) return out;
        for (const Row row : *found)
            out.push_back(row.get<std::string>(0));
        return out;
    }
    static std::string bytes(char digit, int length) {
        return "'\\x" + std::string(static_cast<std::size_t>(2 * length), digit) + "'";
    }
    static std::string dataset(char root, int number, int novelty_ppm, int price) {
        return "INSERT INTO registry.dataset (root, blob, owner, name, tokens, vocabulary, "
               "price_wei_per_mtoken, registered_at_ms, number, licence, novelty_ppm, "
               "usefulness_ppm, sketch_level, sketch_chunks, compared_tokens) VALUES (" +
               bytes(root, 32) + ", " + bytes(root, 32) + ", " + bytes('e', 20) +
               ", 'text', 1000, 256, " + std::to_string(price) + ", 200, " +
               std::to_string(number) + ", 'CC0-1.0', " + std::to_string(novelty_ppm) +
               ", 1000000, 0, 1, 1000)";
    }
    /// The owner's order of job(); who signed it, the database does not check.
    static std::string order(char id, char root) {
        return "INSERT INTO registry.job_order (job_id, owner, nonce, spec, datasets, budget_wei, "
               "price_wei_per_pflop, max_data_price_wei, expiry_s, chain_id, escrow, signature, "
               "received_at_ms) VALUES (" +
               bytes(id, 32) + ", " + bytes('e', 20) + ", " + bytes(id, 32) + ", sha256('{}'), " +
               bytes(root, 32) + ", 5, 1, 0, 1, 1, " + bytes('f', 20) + ", " + bytes('9', 65) +
               ", 1)";
    }
    static std::string funding(char id, int amount) {
        return "INSERT INTO registry.job_funding (job_id, owner, nonce, amount_wei, expiry_s, "
               "chain_id, escrow, signature, received_at_ms) VALUES (" +
               bytes(id, 32) + ", " + bytes('e', 20) + ", " + bytes('7', 32) + ", " +
               std::to_string(amount) + ", 1, 1, " + bytes('f', 20) + ", " + bytes('9', 65) +
               ", 1)";
    }
    static std::string job(char id, char root) {
        return "INSERT INTO registry.job (id, owner, name, spec_yaml, dataset_root, budget_wei, "
               "rounds, slots_max, workers_min, steps, checkpoint_every, evaluate_windows, "
               "price_wei_per_pflop, unit_ms, report_ms, reveal_ms, defence_ms, challenge_ms, "
               "draws_max, sampling_floor_ppm, sampling_aggregate_ppm, submitted_at_ms) VALUES (" +
               bytes(id, 32) + ", " + bytes('e', 20) + ", 'job', '{}', " + bytes(root, 32) +
               ", 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 50000, 1000000, 1)";
    }
    static std::string credit(char id, const std::string& kind, bool with_unit) {
        const std::string uuid(32, id);
        return "INSERT INTO rewards.credit (id, kind, state, posting, earner, node, job_id, round, "
               "unit_id, flops, amount, created_at_ms, changed_at_ms) VALUES ('" +
               uuid + "', '" + kind + "', 'posted', '" + uuid + "', " + bytes('1', 20) + ", " +
               bytes('2', 20) + ", " + bytes('a', 32) + ", 1, " +
               (with_unit ? bytes('3', 32) : "NULL") + ", 7, 100, 1, 1)";
    }

    std::string name_;
    std::unique_ptr<Database> database_;
};

TEST_F(SchemaRules, DatasetsAndTermsOfJobsNeverChange) {
    must(dataset('b', 1, 250'000, 7));
    expect_refused(job('5', 'b'), ErrorCode::kConflict);  // without an order
    must(order('5', 'b'));
    must(job('5', 'b'));
    EXPECT_EQ(rows("SELECT data_price_wei_per_mtoken, data_quality_ppm FROM registry.job"),
              std::vector<std::string>{"(7,250000)"})
        << "the terms of the dataset at submission";
    expect_refused("UPDATE registry.job SET price_wei_per_pflop = 2", ErrorCode::kConflict);
    expect_refused("UPDATE registry.job SET data_quality_ppm = 1", ErrorCode::kConflict);
    expect_refused("UPDATE registry.dataset SET price_wei_per_mtoken = 1", ErrorCode::kConflict);
    expect_refused("UPDATE registry.dataset SET novelty_ppm = 1", ErrorCode::kConflict);
    expect_refused("UPDATE registry.dataset SET usefulness_ppm = 400000", ErrorCode::kConflict);
    expect_refused("UPDATE registry.job SET budget_wei = 6", ErrorCode::kConflict);
    must(funding('5', 1));
    expect_refused("UPDATE registry.job SET budget_wei = 6", ErrorCode::kConflict);
    expect_refused("UPDATE registry.order_state SET state = 'locked', decided_at_ms = 1",
                   ErrorCode::kConflict);
    must("UPDATE registry.order_state SET state = 'locking', decided_at_ms = 1");
    expect_refused("UPDATE registry.job SET budget_wei = 6", ErrorCode::kConflict);
    must("UPDATE registry.order_state SET state = 'locked', decided_at_ms = 1");
    must("UPDATE registry.job SET budget_wei = 6");
    expect_refused("UPDATE registry.job SET budget_wei = 7", ErrorCode::kConflict);
    expect_refused("UPDATE registry.job SET budget_wei = 5", ErrorCode::kConflict);
}

TEST_F(SchemaRules, DatasetsNameTheirLicence) {
    must(dataset('b', 1, 250'000, 7));
    // No default fills in a licence, and no dataset with a sketch may leave it open.
    expect_refused(
        "INSERT INTO registry.dataset (root, blob, owner, name, tokens, vocabulary, "
        "price_wei_per_mtoken, novelty_ppm, usefulness_ppm, number, registered_at_ms) "
        "SELECT " +
            bytes('9', 32) +
            ", blob, owner, name, tokens, vocabulary, 1, 1, 1, "
            "2, 300 FROM registry.dataset",
        ErrorCode::kInvalidArgument);
    expect_refused(
        "INSERT INTO registry.dataset (root, blob, owner, name, tokens, vocabulary, "
        "price_wei_per_mtoken, novelty_ppm, usefulness_ppm, number, registered_at_ms, licence, "
        "sketch_level, sketch_chunks, compared_tokens) SELECT " +
            bytes('9', 32) +
            ", blob, owner, name, tokens, vocabulary, 1, 1, 1, "
            "2, 300, 'NOASSERTION', 0, 1, 1 FROM registry.dataset",
        ErrorCode::kInvalidArgument);
}

TEST_F(SchemaRules, CreditsHaveAUnitOrAPayerAsTheirKindAsks) {
    must(credit('1', "compute", true));
    must(credit('2', "uptime", false));
    EXPECT_EQ(rows("SELECT kind, flops, amount, challenges, answered, charged, fee_ppm, "
                   "burned_ppm, burned, emission_ppm, compute_total, payer FROM rewards.credit "
                   "ORDER BY id"),
              (std::vector<std::string>{"(compute,7,100,0,0,0,0,0,0,0,0,)",
                                        "(uptime,7,100,0,0,0,0,0,0,0,0,)"}));
    must(credit('3', "fee", false));
    must(credit('4', "burn", false));
    expect_refused(credit('5', "fee", true), ErrorCode::kInvalidArgument);
    expect_refused(credit('6', "compute", false), ErrorCode::kInvalidArgument);
    expect_refused(credit('7', "emission", false), ErrorCode::kInvalidArgument);
    expect_refused(credit('8', "tip", false), ErrorCode::kInvalidArgument);
    expect_refused("UPDATE rewards.credit SET answered = 1", ErrorCode::kInvalidArgument);
}

TEST_F(SchemaRules, RoundsSayOverWhichSpanUptimeCountedOrNothing) {
    must(
        "INSERT INTO rewards.finished_round (job_id, round, registry_epoch, finished_at_ms) "
        "VALUES (" +
        bytes('a', 32) + ", 1, 1, 5)");
    expect_refused("UPDATE rewards.finished_round SET uptime_from_ms = 1",
                   ErrorCode::kInvalidArgument);
    expect_refused("UPDATE rewards.finished_round SET uptime_from_ms = 2, uptime_to_ms = 1",
                   ErrorCode::kInvalidArgument);
    must("UPDATE rewards.finished_round SET uptime_from_ms = 1, uptime_to_ms = 1");
}

}  // namespace
}  // namespace gym::db
