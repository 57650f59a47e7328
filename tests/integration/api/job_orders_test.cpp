// Orders: what their owner signed, and when it is looked at.
#include "api_fixture.hpp"

namespace gym::api {
namespace {

using testing::address_of;
using testing::job_spec;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class JobOrdersTest : public testing::ApiDatabaseTest {};

TEST_F(JobOrdersTest, NothingIsSpentWithoutTheOwnersSignature) {
    deposit(owner_, "250", "d1");
    const Submission asked{owner_, "k", job_spec(dataset_)};
    const auto code = [&](const Submission& submission) {
        const auto result = backend().submit_job(submission);
        return result.ok() ? ErrorCode::kInternal : result.error().code;
    };
    EXPECT_EQ(code(asked), ErrorCode::kMismatch) << "no order at all";
    const Submission good = sealed(asked);
    Submission other = good;
    other.owner = address_of(2);  // somebody else's API key
    EXPECT_EQ(code(other), ErrorCode::kPermissionDenied);
    other = good;
    other.idempotency_key = "l";
    EXPECT_EQ(code(other), ErrorCode::kPermissionDenied) << "another nonce";
    other = good;
    other.spec_yaml += "# more\n";
    EXPECT_EQ(code(other), ErrorCode::kPermissionDenied) << "another text";
    other = good;
    other.seal.signature.data[0] ^= 1;
    EXPECT_EQ(code(other), ErrorCode::kPermissionDenied);
    other = good;
    other.seal.network.chain_id = 1;
    EXPECT_EQ(code(other), ErrorCode::kMismatch);
    other = good;
    other.terms.budget_wei = Amount(1);
    EXPECT_EQ(code(other), ErrorCode::kPermissionDenied) << "other terms than are signed";
    other.terms = good.terms;
    other.spec_yaml.replace(other.spec_yaml.find("budget: 100"), 11, "budget: 200");
    EXPECT_EQ(code(sealed_as(other, good.terms)), ErrorCode::kPermissionDenied)
        << "other terms than the text has";
    EXPECT_EQ(count("registry.job"), 0U);
    EXPECT_EQ(count("registry.job_order"), 0U);
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "250");
    EXPECT_EQ(code(good), ErrorCode::kInternal) << "accepted";
    EXPECT_EQ(count("registry.job_order"), 1U);
}

/// What reading and building it costs is not spent on strangers' texts.
TEST_F(JobOrdersTest, ATextIsNotReadBeforeItsOrderIsChecked) {
    const Submission text{owner_, "k", "not a job"};
    const auto error = [&](const Submission& submission) {
        const auto result = backend().submit_job(submission);
        return result.ok() ? Error() : result.error();
    };
    Submission asked = sealed(text);
    asked.seal.signature.data.fill(0x22);
    EXPECT_EQ(error(asked).code, ErrorCode::kPermissionDenied);
    EXPECT_TRUE(has(error(asked).message, "the order is not signed by its owner"))
        << error(asked).message;
    records::OrderTerms terms;
    terms.budget_wei = *Amount::parse_tokens("100");
    EXPECT_EQ(error(sealed_as(text, terms)).code, ErrorCode::kInsufficientFunds);
    deposit(owner_, "100", "d1");
    const Error read = error(sealed_as(text, terms));
    EXPECT_EQ(read.code, ErrorCode::kInvalidArgument) << read.message;
    EXPECT_TRUE(has(read.message, "mapping")) << read.message;
}

TEST_F(JobOrdersTest, ATextIsShortButForAnImportedProgram) {
    deposit(owner_, "250", "d1");
    const std::string lists(70'000, '[');
    const auto refused = submit({owner_, "k", lists});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
    EXPECT_TRUE(has(refused.error().message, "70000 bytes beside the program of an imported"))
        << refused.error().message;
    // Under another key than any, so that the text is read.
    const auto one_word = submit({owner_, "k", "program: " + std::string(300'000, 'A')});
    EXPECT_TRUE(has(one_word.error().message, "'name'")) << one_word.error().message;
}

TEST_F(JobOrdersTest, AnExpiredOrderIsRefusedAndItsRepetitionIsNot) {
    deposit(owner_, "250", "d1");
    const Submission early = sealed(Submission{owner_, "k", job_spec(dataset_)});
    clock_.advance_ms(static_cast<std::int64_t>(records::kOrderLifetimeSeconds) * 1'000 + 1'000);
    const auto late = backend().submit_job(early);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(late.error().message.find("the order expired at"), std::string::npos)
        << late.error().message;
    const Submission fresh = sealed(Submission{owner_, "k", job_spec(dataset_)});
    ASSERT_TRUE(backend().submit_job(fresh).ok());
    clock_.advance_ms(static_cast<std::int64_t>(records::kOrderLifetimeSeconds) * 1'000 + 1'000);
    EXPECT_TRUE(backend().submit_job(fresh).value().replayed) << "it was accepted in time";
    EXPECT_TRUE(submit({owner_, "k", job_spec(dataset_)}).value().replayed) << "signed again";
    EXPECT_EQ(submit({owner_, "k", job_spec(dataset_, "50")}).error().code, ErrorCode::kConflict);
    EXPECT_EQ(count("registry.job_order"), 1U);
}

TEST_F(JobOrdersTest, FundingNeedsAnOrderOfItsOwn) {
    deposit(owner_, "250", "d1");
    const Digest job = submit({owner_, "k", job_spec(dataset_)}).value().job.id;
    const Funding good = sealed(Funding{owner_, job, Amount(5), "more"});
    Funding dearer = good;
    dearer.amount = Amount(6);
    EXPECT_EQ(backend().fund_job(dearer).error().code, ErrorCode::kPermissionDenied);
    Funding unsigned_one = good;
    unsigned_one.seal = {};
    EXPECT_EQ(backend().fund_job(unsigned_one).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(count("registry.job_funding"), 0U);
    ASSERT_TRUE(backend().fund_job(good).ok());
    ASSERT_TRUE(backend().fund_job(good).ok()) << "the same again adds nothing";
    EXPECT_EQ(count("registry.job_funding"), 1U);
    clock_.advance_ms(static_cast<std::int64_t>(records::kOrderLifetimeSeconds) * 1'000 + 1'000);
    Funding late = sealed(Funding{owner_, job, Amount(5), "later"});
    late.seal.expiry_s = good.seal.expiry_s;
    EXPECT_EQ(backend().fund_job(late).error().code, ErrorCode::kPermissionDenied)
        << "the expiry is signed, too";
}

// Whoever takes gym-api over holds its role, which stores no job and no budget that no stored order
// covers.
TEST_F(JobOrdersTest, TheRoleCannotStoreWhatNoOrderCovers) {
    deposit(owner_, "250", "d1");
    const Digest job = submit({owner_, "k", job_spec(dataset_)}).value().job.id;
    const auto refused = [&](const std::string& sql) {
        const auto done = api_db_->transact([&](db::Transaction& tx) { return tx.exec(sql); });
        EXPECT_FALSE(done.ok()) << sql;
        return done.ok() ? std::string() : done.error().message;
    };
    const std::string copy =
        "INSERT INTO registry.job (id, owner, name, spec_yaml, dataset_root, budget_wei, rounds, "
        "slots_max, workers_min, steps, checkpoint_every, evaluate_windows, price_wei_per_pflop, "
        "unit_ms, report_ms, reveal_ms, defence_ms, challenge_ms, draws_max, sampling_floor_ppm, "
        "sampling_aggregate_ppm, submitted_at_ms) SELECT sha256('other'), owner, name, spec_yaml, "
        "dataset_root, budget_wei, rounds, slots_max, workers_min, steps, checkpoint_every, "
        "evaluate_windows, price_wei_per_pflop, unit_ms, report_ms, reveal_ms, defence_ms, "
        "challenge_ms, draws_max, sampling_floor_ppm, sampling_aggregate_ppm, submitted_at_ms "
        "FROM registry.job";
    EXPECT_NE(refused(copy).find("no order of its owner covers the job"), std::string::npos);
    EXPECT_NE(
        refused("UPDATE registry.job SET budget_wei = budget_wei + 1").find("permission denied"),
        std::string::npos);
    refused("UPDATE registry.job_order SET budget_wei = budget_wei + 1");
    refused("DELETE FROM registry.job_order");
    ASSERT_TRUE(fund({owner_, job, Amount(5), "more"}).ok());
    refused("UPDATE registry.job_funding SET amount_wei = amount_wei + 1");
    refused("UPDATE registry.job SET budget_wei = budget_wei + 1");
}

}  // namespace
}  // namespace gym::api
