// Jobs on mixes: each provider of a part is paid its own price for what was taken of it, the whole
// adds up to the last unit, and the audit finds what does not.
#include "rewards_fixture.hpp"

#include "gym/registry/dataset_parts.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/rewards/formulas.hpp"

namespace gym::rewards {
namespace {

constexpr std::uint64_t kTokens = testing::History::kTokens;  // of a unit

class MixTest : public RewardsTest {
  protected:
    MixTest() { history_.set_mix({dear_, cheap_}); }

    std::vector<Receipt> data_credits(const Digest& unit) {
        auto receipts =
            database_->transact([&](db::Transaction& tx) { return unit_receipts(tx, unit); });
        EXPECT_TRUE(receipts.ok()) << receipts.error().message;
        std::vector<Receipt> out;
        for (const Receipt& receipt : receipts.value_or({}))
            if (receipt.credit.kind() == CreditKind::kData) out.push_back(receipt);
        return out;
    }
    std::vector<registry::JobDataPart> data_of(const Digest& job) {
        return database_->transact([&](db::Transaction& tx) { return registry::job_data(tx, job); })
            .value_or({});
    }
    /// Past all triggers, which allow none of it.
    void tamper(const std::string& sql) {
        const auto done = test_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(tx.exec("SET LOCAL session_replication_role = replica"));
            GYM_CHECK(tx.exec(sql));
            return {};
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    void expect_problem(const std::string& view) {
        const auto found = test_.owner().transact(
            [&](db::Transaction& tx) { return tx.exec_one("SELECT count(*) FROM audit." + view); });
        ASSERT_TRUE(found.ok()) << found.error().message;
        EXPECT_GT(found->get<std::uint64_t>(0), 0U) << view;
    }
    ErrorCode sql(const std::string& text) {
        const auto rows =
            test_.owner().transact([&](db::Transaction& tx) { return tx.exec(text); });
        return rows.ok() ? ErrorCode::kCancelled : rows.error().code;  // kCancelled: it went
    }

    const testing::History::MixedPart dear_{testing::test_address(0x52, 1), Amount(3'000'001),
                                            1'000'000, 700'000},
        cheap_{testing::test_address(0x53, 1), Amount(1'000'003), 500'000, 300'000};
};

TEST_F(MixTest, BothProvidersOfAMixOfSevenAndThreeArePaidToTheLastUnit) {
    const Digest job = funded_job(50'000);
    const auto parts = data_of(job);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].owner, dear_.provider);
    EXPECT_EQ(parts[0].part_tokens, 700'000U);
    EXPECT_EQ(parts[0].mix_tokens, 1'000'000U);
    EXPECT_EQ(parts[1].weight_before, *data_weight(700'000, dear_.price, dear_.quality_ppm));
    history_.run_round(job, {{0, kPflop, Fate::kVerified}, {1, kPflop, Fate::kVerified}});
    settle();
    // 4,096 tokens: 0.7 * 4096 * 3.000001 and 0.3 * 4096 * 1.000003 * 0.5, together rounded down.
    EXPECT_EQ(summary_of(dear_.provider).payable, Amount(2 * 8'601));
    EXPECT_EQ(summary_of(cheap_.provider).payable, Amount(2 * 615));
    EXPECT_EQ(summary_of(testing::test_address(0x51, 1)).payable, Amount()) << "who mixed it";
    EXPECT_EQ(summary_of(history_.data_provider()).payable, Amount());
    const auto credits = data_credits(history_.unit_id(0));
    ASSERT_EQ(credits.size(), 2U);
    Amount paid;
    std::set<Digest> datasets;
    for (const Receipt& receipt : credits) {
        paid = *paid.plus(receipt.credit.amount);
        datasets.insert(receipt.credit.dataset.value_or(Digest()));
        EXPECT_EQ(std::get<DataInputs>(receipt.credit.inputs).tokens, kTokens);
        EXPECT_EQ(evaluate(receipt.credit.inputs).value(), receipt.credit.amount);
    }
    EXPECT_EQ(datasets,
              (std::set{testing::History::mixed_root(0), testing::History::mixed_root(1)}));
    // The whole: the tokens at the mix's price, rounded down once.
    const Amount weights =
        *parts[1].weight_before.plus(*data_weight(300'000, cheap_.price, cheap_.quality_ppm));
    EXPECT_EQ(paid, *weights.mul_div(Amount(kTokens), Amount(1'000'000'000'000'000'000)));
    // Every file names parts, and reads back as it is.
    const auto file = parse_epoch_file(published_.at(1));
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(
        std::ranges::count_if(file->credits, [](const Credit& c) { return c.dataset.has_value(); }),
        4);
}

TEST_F(MixTest, ARepeatedOrLateEventPaysNobodyTwice) {
    const Digest job = funded_job(50'000);
    history_.run_round(job, {{0, kPflop, Fate::kVerified}});
    settle();
    tamper("UPDATE rewards.cursor SET position = 0");  // every event again
    const auto again = accounting_->consume_unit_events();
    EXPECT_FALSE(again.ok()) << "a credit is booked once";
    EXPECT_EQ(summary_of(dear_.provider).payable, Amount(8'601));
    tamper(
        "UPDATE rewards.cursor SET position = (SELECT max(seq) FROM registry.unit_event) "
        "WHERE name = 'unit_event'");
    tamper(
        "UPDATE rewards.cursor SET position = (SELECT max(accepted_seq) FROM registry.report) "
        "WHERE name = 'accepted_report'");
}

TEST_F(MixTest, FreePartsEarnNothingAndTheOthersTheirShare) {
    const testing::History::MixedPart own{owner_, Amount(), 1'000'000, 900'000};
    history_.set_mix({own, cheap_});
    const Digest job = funded_job(50'000);
    history_.run_round(job, {{0, kPflop, Fate::kVerified}});
    settle();
    EXPECT_EQ(data_credits(history_.unit_id(0)).size(), 1U);
    // 4096 * 300,000 / 1,200,000 * 1.000003 * 0.5
    EXPECT_EQ(summary_of(cheap_.provider).payable, Amount(512));
}

TEST_F(MixTest, AJobPaysByTheTermsOfItsSubmission) {
    const Digest job = funded_job(50'000);
    tamper("UPDATE registry.dataset SET usefulness_ppm = 0 WHERE root = decode('" +
           to_hex(testing::History::mixed_root(0).view()) + "', 'hex')");
    history_.run_round(job, {{0, kPflop, Fate::kVerified}});
    settle();
    EXPECT_EQ(summary_of(dear_.provider).payable, Amount(8'601)) << "measured later";
    EXPECT_EQ(sql("UPDATE registry.job_data SET quality_ppm = 0"), ErrorCode::kConflict);
    EXPECT_EQ(sql("DELETE FROM registry.job_data"), ErrorCode::kConflict);
    EXPECT_EQ(sql("UPDATE registry.dataset_part SET tokens = 1"), ErrorCode::kConflict);
}

TEST_F(MixTest, TheMixCostsWhatItsPartsDoAndNeverLess) {
    const Digest job = funded_job(50'000);
    const auto stored =
        database_->transact([&](db::Transaction& tx) { return registry::get_job(tx, job); });
    ASSERT_TRUE(stored.ok()) << stored.error().message;
    const auto mix = database_->transact(
        [&](db::Transaction& tx) { return registry::get_dataset(tx, stored->dataset_root); });
    ASSERT_TRUE(mix.ok()) << mix.error().message;
    const auto terms = registry::mix_terms(mix->parts).value();
    EXPECT_EQ(stored->data_price_wei_per_mtoken, terms.price_wei_per_mtoken) << "SQL and C++";
    EXPECT_EQ(stored->data_quality_ppm, terms.quality_ppm);
    EXPECT_EQ(mix->price_wei_per_mtoken, terms.price_wei_per_mtoken);
    EXPECT_EQ(mix->quality_ppm, terms.quality_ppm);
    EXPECT_EQ(terms.price_wei_per_mtoken, Amount(2'400'002)) << "2400001.6, rounded up";
    EXPECT_EQ(terms.quality_ppm, 937'500U) << "by what the tokens cost";
}

TEST_F(MixTest, TheViewsFindASplitThatIsNotThatOfTheParts) {
    const Digest job = funded_job(50'000);
    history_.run_round(job, {{0, kPflop, Fate::kVerified}});
    settle();
    const std::string dear =
        " WHERE dataset = decode('" + to_hex(testing::History::mixed_root(0).view()) + "', 'hex')";
    tamper("UPDATE rewards.credit SET amount = amount + 1" + dear);
    expect_problem("rewards_data_shares");
    tamper("UPDATE rewards.credit SET amount = amount - 1" + dear);
    tamper("UPDATE rewards.credit SET price = price + 1" + dear);
    expect_problem("rewards_data_terms");
    tamper("UPDATE rewards.credit SET price = price - 1" + dear);
    tamper("UPDATE rewards.credit SET dataset = decode('" +
           to_hex(testing::History::mixed_root(1).view()) + "', 'hex')" + dear);
    expect_problem("rewards_data_paid_twice");
    tamper("UPDATE rewards.credit SET dataset = decode('" +
           to_hex(testing::History::mixed_root(0).view()) +
           "', 'hex') WHERE kind = 'data' AND "
           "weight_before = 0");
    tamper("UPDATE registry.dataset_part SET tokens = tokens + 1 WHERE position = 0");
    expect_problem("registry_mix");
    expect_problem("registry_job_data");
    tamper("UPDATE registry.dataset_part SET tokens = tokens - 1 WHERE position = 0");
}

TEST_F(MixTest, TheSchemaKeepsMixesAsTheyWereMade) {
    funded_job(50'000);
    const auto hex = [](const Digest& root) {
        return "decode('" + to_hex(root.view()) + "', 'hex')";
    };
    const std::string mix = "(SELECT root FROM registry.dataset WHERE parts > 0)";
    const std::string part = hex(testing::History::mixed_root(0));
    EXPECT_EQ(sql("INSERT INTO registry.dataset_part VALUES (" + mix + ", 2, " + part + ", 1, 1)"),
              ErrorCode::kConflict)
        << "it has two parts";
    EXPECT_EQ(sql("INSERT INTO registry.dataset_part VALUES (" + part + ", 0, " +
                  hex(testing::History::mixed_root(1)) + ", 1, 1)"),
              ErrorCode::kConflict)
        << "a dataset of its own";
    EXPECT_EQ(sql("DELETE FROM registry.mix_recipe"), ErrorCode::kConflict);
    EXPECT_NE(sql("INSERT INTO registry.dataset (root, blob, owner, name, tokens, vocabulary, "
                  "price_wei_per_mtoken, registered_at_ms, number, licence, novelty_ppm, "
                  "usefulness_ppm, sketch_level, sketch_chunks, compared_tokens, parts) SELECT "
                  "sha256('x'), blob, owner, 'x', 1, 256, 5, 1, 99, 'MIT', 0, 0, 0, 0, 0, 2 FROM "
                  "registry.dataset LIMIT 1"),
              ErrorCode::kCancelled)
        << "a mix has no price of its own";
}

}  // namespace
}  // namespace gym::rewards
