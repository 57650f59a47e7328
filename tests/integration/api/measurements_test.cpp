// Evaluations and measurements on a real PostgreSQL: which one measures a dataset, what follows
// from the losses, and what the database refuses whoever asks.
#include <bit>

#include "api_fixture.hpp"
#include "gym/api/api.hpp"
#include "gym/quality/usefulness.hpp"
#include "random_seed.hpp"
#include "sample_evaluation.hpp"
#include "streams.hpp"

namespace gym::api {
namespace {

using gym::testing::sample_evaluation;
using gym::testing::sample_measurement;
using gym::testing::sample_retirement;

class MeasurementsTest : public testing::ApiDatabaseTest {
  protected:
    void SetUp() override {
        ApiDatabaseTest::SetUp();
        evaluator_ = database_.as("gym_evaluator");
    }
    /// A new dataset with bytes' vocabulary, or with another.
    registry::Dataset enter(std::uint32_t vocabulary = 256) {
        const auto tokens = quality::random_tokens(random_, 3'000, 200);
        const Bytes file = blob::Dataset::from_tokens(tokens, vocabulary).value().encode();
        return add(testing::address_of(2), "text", file).value().dataset;
    }
    Result<bool> publish(const registry::Evaluation& evaluation) {
        return evaluator_->transact(
            [&](db::Transaction& tx) { return registry::publish_evaluation(tx, evaluation); });
    }
    Result<registry::Dataset> record(const registry::NewMeasurement& measurement) {
        return evaluator_->transact(
            [&](db::Transaction& tx) { return registry::record_measurement(tx, measurement); });
    }
    Status retire(const Digest& id, const registry::Retirement& opening) {
        return evaluator_->transact([&](db::Transaction& tx) -> Status {
            return registry::retire_evaluation(tx, id, opening);
        });
    }
    std::optional<Digest> evaluation_for(const Digest& dataset) {
        return evaluator_
            ->transact([&](db::Transaction& tx) { return registry::evaluation_for(tx, dataset); })
            .value();
    }
    /// The code of what refused `text`; kCancelled: it went through.
    static ErrorCode sql(db::Database& as, const std::string& text) {
        const auto rows = as.transact([&](db::Transaction& tx) { return tx.exec(text); });
        return rows.ok() ? ErrorCode::kCancelled : rows.error().code;
    }
    std::uint64_t violations() {
        return count("audit.registry_dataset_usefulness") + count("audit.registry_measurement");
    }

    std::unique_ptr<db::Database> evaluator_;
    std::mt19937_64 random_{gym::testing::random_seed()};
};

TEST_F(MeasurementsTest, AMeasurementReplacesTheDefaultOnce) {
    const auto evaluation = sample_evaluation(dataset_);
    EXPECT_TRUE(publish(evaluation).value());
    EXPECT_FALSE(publish(evaluation).value()) << "the same again";
    const auto dataset = enter();
    EXPECT_FALSE(dataset.measurement);
    const auto measured = record(sample_measurement(dataset.root, evaluation.id, 4.5F)).value();
    EXPECT_EQ(measured.usefulness_ppm, 250'000U);
    EXPECT_EQ(measured.quality_ppm, quality::quality_ppm(dataset.novelty_ppm, 250'000).value());
    const auto shown = backend().dataset(dataset.root, registry::Viewer::service()).value();
    ASSERT_TRUE(shown.measurement);
    EXPECT_EQ(shown.measurement->evaluation, evaluation.id);
    EXPECT_EQ(shown.measurement->before_bits, evaluation.before_bits);
    EXPECT_EQ(shown.measurement->after_bits, std::bit_cast<std::uint32_t>(4.5F));
    EXPECT_EQ(shown.measurement->baseline_bits, evaluation.baseline_bits);
    const auto again = record(sample_measurement(dataset.root, evaluation.id, 3.0F));
    EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
    EXPECT_EQ(backend().dataset(dataset.root, registry::Viewer::service())->usefulness_ppm,
              250'000U);
    EXPECT_EQ(violations(), 0U);
}

TEST_F(MeasurementsTest, OnlyTheNewestEvaluationThatWasInForceMeasuresADataset) {
    const auto early = enter();
    const auto first = sample_evaluation(dataset_, 1), second = sample_evaluation(dataset_, 2),
               late = sample_evaluation(dataset_, 3);
    ASSERT_TRUE(publish(first).ok() && publish(second).ok());
    const auto dataset = enter();
    ASSERT_TRUE(publish(late).ok());
    EXPECT_FALSE(evaluation_for(early.root)) << "none was published when it came";
    EXPECT_FALSE(evaluation_for(dataset_)) << "the reference came before all";
    EXPECT_EQ(evaluation_for(dataset.root), second.id);
    for (const auto& other : {first, late}) {
        const auto refused = record(sample_measurement(dataset.root, other.id, 4.0F));
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
        EXPECT_NE(refused.error().message.find(second.id.hex()), std::string::npos)
            << refused.error().message;
    }
    const auto none = record(sample_measurement(early.root, first.id, 4.0F));
    EXPECT_NE(none.error().message.find("registered: none"), std::string::npos)
        << none.error().message;
    EXPECT_TRUE(record(sample_measurement(dataset.root, second.id, 4.0F)).ok());
    EXPECT_EQ(violations(), 0U);
}

TEST_F(MeasurementsTest, RetirementOpensTheCommitmentAndEndsItForLaterDatasets) {
    const auto evaluation = sample_evaluation(dataset_);
    ASSERT_TRUE(publish(evaluation).ok());
    const auto before = enter();
    EXPECT_EQ(retire(evaluation.id, sample_retirement(2)).error().code, ErrorCode::kInvalidArgument)
        << "another salt and text";
    EXPECT_EQ(retire(Digest{}, sample_retirement()).error().code, ErrorCode::kNotFound);
    ASSERT_TRUE(retire(evaluation.id, sample_retirement()).ok());
    EXPECT_EQ(retire(evaluation.id, sample_retirement()).error().code, ErrorCode::kConflict);
    const auto after = enter();
    EXPECT_EQ(evaluation_for(before.root), evaluation.id) << "it came in time";
    EXPECT_FALSE(evaluation_for(after.root)) << "its provider could have read the text";
    EXPECT_TRUE(record(sample_measurement(before.root, evaluation.id, 4.0F)).ok());
    EXPECT_EQ(record(sample_measurement(after.root, evaluation.id, 4.0F)).error().code,
              ErrorCode::kConflict);
    const auto shown = backend().evaluation(evaluation.id).value();
    ASSERT_TRUE(shown.retired);
    EXPECT_EQ(shown.retired->salt, sample_retirement().salt);
    EXPECT_EQ(shown.retired->datasets_until, before.number);
    EXPECT_EQ(violations(), 0U);
}

TEST_F(MeasurementsTest, AnotherVocabularyIsRefused) {
    const auto evaluation = sample_evaluation(dataset_);
    ASSERT_TRUE(publish(evaluation).ok());
    const auto words = enter(1'000);
    const auto refused = record(sample_measurement(words.root, evaluation.id, 4.0F));
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("vocabulary has 1000 tokens, the evaluation is for 256"),
              std::string::npos)
        << refused.error().message;
    EXPECT_EQ(record(sample_measurement(words.root, Digest{}, 4.0F)).error().code,
              ErrorCode::kNotFound);
    EXPECT_EQ(record(sample_measurement(Digest{}, evaluation.id, 4.0F)).error().code,
              ErrorCode::kNotFound);
    // A reference of another vocabulary, or of nobody's.
    EXPECT_EQ(publish(sample_evaluation(words.root)).error().code, ErrorCode::kConflict);
    EXPECT_EQ(publish(sample_evaluation(Digest{})).error().code, ErrorCode::kConflict);
}

TEST_F(MeasurementsTest, AnEvaluationIsWhatItsIdSays) {
    const auto good = sample_evaluation(dataset_);
    const auto code = [&](auto change) {
        registry::Evaluation bad = good;
        change(bad);
        const auto published = publish(bad);
        return published.ok() ? ErrorCode::kCancelled : published.error().code;
    };
    using enum ErrorCode;
    EXPECT_EQ(code([](auto& bad) { bad.terms.program_root.data[0] ^= 1; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& bad) { bad.terms.seed.data[0] ^= 1; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& bad) { ++bad.terms.base_steps; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& bad) { ++bad.terms.steps; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& bad) { ++bad.terms.windows; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& bad) { bad.terms.held_out.data[0] ^= 1; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& bad) { std::swap(bad.before_bits, bad.baseline_bits); }),
              kInvalidArgument);
    EXPECT_EQ(code([](auto& bad) { bad.before_bits = 0x7f80'0000; }), kInvalidArgument)
        << "infinity";
    EXPECT_EQ(code([](auto&) {}), kCancelled);
    EXPECT_EQ(code([](auto& other) { ++other.baseline_bits; }), kConflict)
        << "the same id with another loss";
}

// quality::usefulness_ppm() stands there a second time, in SQL.
TEST_F(MeasurementsTest, TheDatabaseComputesWhatTheFunctionDoes) {
    const auto any_loss = [&]() -> std::uint32_t {
        const std::uint32_t finite = 0x7f7f'ffff;
        switch (random_() % 3) {
            case 0:
                return static_cast<std::uint32_t>(random_() % (finite + 1));
            case 1:
                return std::bit_cast<std::uint32_t>(2.0F) +
                       static_cast<std::uint32_t>(random_() % 64);
            default:
                return static_cast<std::uint32_t>(random_() % 8 * 0x0010'0001);
        }
    };
    std::vector<quality::LossBits> cases{{0x7f7f'ffff, 1, 0},
                                         {0x7f7f'ffff, 0x7f7f'fffe, 0},
                                         {3, 2, 0},
                                         {0x0100'0000, 0x0080'0000, 0},
                                         {0, 0, 0}};
    for (int i = 0; i < 2'000; ++i)
        cases.push_back({any_loss(), any_loss(), any_loss()});
    const Status compared = database_.owner().transact([&](db::Transaction& tx) -> Status {
        for (const quality::LossBits& one : cases) {
            GYM_TRY(const db::Row row,
                    tx.exec_one("SELECT registry.usefulness_ppm($1, $2, $3) AS ppm",
                                {one.before, one.after, one.baseline}));
            EXPECT_EQ(row.get<std::uint32_t>("ppm"), quality::usefulness_ppm(one).value())
                << one.before << " " << one.after << " " << one.baseline;
        }
        return {};
    });
    ASSERT_TRUE(compared.ok()) << compared.error().message;
}

TEST_F(MeasurementsTest, NoRoleWritesWhatIsNotItsOwnAndNobodyRewrites) {
    const auto evaluation = sample_evaluation(dataset_);
    ASSERT_TRUE(publish(evaluation).ok());
    const auto dataset = enter(), other = enter();
    ASSERT_TRUE(record(sample_measurement(dataset.root, evaluation.id, 4.0F)).ok());
    const std::string insert =
        "INSERT INTO registry.measurement (dataset, evaluation, state_root, after_bits, "
        "measured_at_ms) SELECT root, (SELECT id FROM registry.evaluation), root, 1, 1 "
        "FROM registry.dataset WHERE number = " +
        std::to_string(other.number);
    for (const char* group : {"gym_api", "gym_coordinator", "gym_rewards", "gym_auditor"}) {
        const auto role = database_.as(group);
        EXPECT_EQ(sql(*role, insert), ErrorCode::kPermissionDenied) << group;
        EXPECT_EQ(sql(*role, "UPDATE registry.dataset SET usefulness_ppm = 1"),
                  ErrorCode::kPermissionDenied)
            << group;
        EXPECT_EQ(sql(*role, "UPDATE registry.evaluation SET salt = id"),
                  ErrorCode::kPermissionDenied)
            << group;
    }
    for (const char* change :
         {"UPDATE registry.dataset SET usefulness_ppm = 1",
          "UPDATE registry.evaluation SET steps = 1", "DELETE FROM registry.evaluation",
          "UPDATE registry.measurement SET after_bits = 1", "DELETE FROM registry.measurement",
          "TRUNCATE registry.measurement", "INSERT INTO registry.dataset_key VALUES (1, 1)",
          "SELECT * FROM ledger.account", "SELECT registry.last_dataset()"})
        EXPECT_EQ(sql(*evaluator_, change), ErrorCode::kPermissionDenied) << change;
    // Whoever owns the schema is refused by the triggers.
    for (const std::string& change : {std::string("UPDATE registry.dataset SET usefulness_ppm = 1"),
                                      std::string("UPDATE registry.evaluation SET steps = 1"),
                                      std::string("DELETE FROM registry.evaluation"),
                                      std::string("UPDATE registry.measurement SET after_bits = 1"),
                                      std::string("DELETE FROM registry.measurement")})
        EXPECT_EQ(sql(database_.owner(), change), ErrorCode::kConflict) << change;
    // Losses and usefulness that are offered beside the measured one are not taken.
    EXPECT_NE(sql(*evaluator_,
                  "INSERT INTO registry.measurement (dataset, evaluation, state_root, after_bits, "
                  "measured_at_ms, usefulness_ppm) SELECT root, root, root, 1, 1, 1000000 "
                  "FROM registry.dataset"),
              ErrorCode::kCancelled);
    EXPECT_EQ(sql(*evaluator_,
                  "INSERT INTO registry.measurement (dataset, evaluation, state_root, before_bits, "
                  "after_bits, baseline_bits, measured_at_ms) SELECT root, (SELECT id FROM "
                  "registry.evaluation), root, 2000000000, 1082130432, 0, 1 FROM registry.dataset "
                  "WHERE number = " +
                      std::to_string(other.number)),
              ErrorCode::kCancelled);
    EXPECT_EQ(backend().dataset(other.root, registry::Viewer::service())->usefulness_ppm, 500'000U)
        << "of 5, 4 and 3 nats";
    EXPECT_EQ(violations(), 0U);
}

TEST_F(MeasurementsTest, TheAuditSeesWhatWasChangedWithTheTriggersOff) {
    const auto evaluation = sample_evaluation(dataset_);
    ASSERT_TRUE(publish(evaluation).ok());
    const auto dataset = enter();
    ASSERT_TRUE(record(sample_measurement(dataset.root, evaluation.id, 4.0F)).ok());
    const std::string off = "SET LOCAL session_replication_role = replica; ";
    const auto change = [&](const std::string& text) {
        const Status done = database_.owner().transact(
            [&](db::Transaction& tx) { return tx.exec_script(off + text); });
        ASSERT_TRUE(done.ok()) << done.error().message;
    };
    change("UPDATE registry.dataset SET usefulness_ppm = 900000 WHERE number = 2");
    EXPECT_EQ(count("audit.registry_dataset_usefulness"), 1U);
    change("UPDATE registry.dataset SET usefulness_ppm = 500000 WHERE number = 2");
    EXPECT_EQ(violations(), 0U);
    change("UPDATE registry.measurement SET baseline_bits = 0");
    EXPECT_EQ(count("audit.registry_measurement"), 1U);
    const auto auditor = database_.as("gym_auditor");
    EXPECT_EQ(sql(*auditor, "SELECT * FROM audit.registry_measurement"), ErrorCode::kCancelled);
    EXPECT_EQ(sql(*auditor, "SELECT * FROM audit.registry_dataset_usefulness"),
              ErrorCode::kCancelled);
}

TEST_F(MeasurementsTest, TheApiShowsThem) {
    PostgresBackend storage = backend();
    Api api({storage, storage, storage, clock_}, {});
    const auto evaluation = sample_evaluation(dataset_);
    ASSERT_TRUE(publish(evaluation).ok());
    const auto dataset = enter();
    const auto get = [&](const std::string& target) { return api.handle({.target = target}); };
    EXPECT_NE(get("/v1/datasets/" + dataset.root.hex()).body.find("\"measurement\":null"),
              std::string::npos);
    ASSERT_TRUE(record(sample_measurement(dataset.root, evaluation.id, 4.0F)).ok());
    const std::string shown = get("/v1/datasets/" + dataset.root.hex()).body;
    EXPECT_NE(shown.find("\"before_bits\":\"0x40a00000\""), std::string::npos) << shown;
    EXPECT_NE(shown.find("\"after_bits\":\"0x40800000\""), std::string::npos) << shown;
    EXPECT_NE(shown.find("\"usefulness_ppm\":500000"), std::string::npos) << shown;
    const std::string one = get("/v1/evaluations/" + evaluation.id.hex()).body;
    EXPECT_NE(one.find("\"datasets_before\":1,"), std::string::npos) << one;
    EXPECT_NE(one.find("\"retired\":null"), std::string::npos) << one;
    EXPECT_NE(get("/v1/evaluations").body.find(evaluation.id.hex()), std::string::npos);
    EXPECT_EQ(get("/v1/evaluations/" + dataset.root.hex()).status, 404U);
}

TEST_F(MeasurementsTest, LaterJobsPayByTheMeasuredQualityAndEarlierOnesKeepTheirs) {
    deposit(owner_, "250", "d1");
    const auto evaluation = sample_evaluation(dataset_);
    ASSERT_TRUE(publish(evaluation).ok());
    const auto dataset = enter();
    const auto job_of = [&](const char* key) {
        return submit({owner_, key, testing::job_spec(dataset.root), true}).value().job;
    };
    const auto first = job_of("k1");
    EXPECT_EQ(first.data_quality_ppm, dataset.quality_ppm);
    const auto measured = record(sample_measurement(dataset.root, evaluation.id, 3.5F)).value();
    EXPECT_EQ(measured.usefulness_ppm, 750'000U);
    EXPECT_EQ(job_of("k2").data_quality_ppm, measured.quality_ppm);
    EXPECT_GT(measured.quality_ppm, dataset.quality_ppm);
    EXPECT_EQ(backend().job(first.id)->job.data_quality_ppm, dataset.quality_ppm);
    EXPECT_EQ(job_of("k1").data_quality_ppm, dataset.quality_ppm) << "the same submission again";
}

}  // namespace
}  // namespace gym::api
