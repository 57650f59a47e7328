#include "gym/rewards/fact_check.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "gym/rewards/formulas.hpp"

namespace gym::rewards {
namespace {

using protocol::UnitState;

Digest digest(std::uint8_t byte) {
    Digest out;
    out.data.fill(byte);
    return out;
}
Address address(std::uint8_t byte) {
    Address out;
    out.data.fill(byte);
    return out;
}

constexpr std::uint64_t kPflop = 1'000'000'000'000'000;
const Digest kJob = digest(0xaa);
const Address kOwner = address(0xee);

class FakeFacts final : public FactSource {
  public:
    Result<JobFacts> job(const Digest& id) override {
        if (const auto found = jobs.find(id); found != jobs.end()) return found->second;
        return fail(ErrorCode::kNotFound, "no job " + id.hex());
    }
    Result<std::vector<UnitFacts>> units(const Digest& job_id, std::uint64_t round) override {
        const auto found = rounds.find({job_id, round});
        return found == rounds.end() ? std::vector<UnitFacts>{} : found->second;
    }
    Result<std::vector<Address>> accepted_reports(const Digest& unit) override {
        return reports[unit];
    }
    Result<std::optional<CreditState>> waiting_credit(const Digest& unit) override {
        if (unfunded.contains(unit)) return std::optional(CreditState::kUnfunded);
        return std::optional<CreditState>();
    }
    Result<std::vector<registry::Prefix>> prefixes(const Digest&, std::uint64_t round) override {
        return prefix_list[round];
    }
    std::map<Digest, JobFacts> jobs;
    std::map<std::uint64_t, std::vector<registry::Prefix>> prefix_list;
    std::map<std::pair<Digest, std::uint64_t>, std::vector<UnitFacts>> rounds;
    std::map<Digest, std::vector<Address>> reports;
    std::map<Digest, bool> unfunded;
};

/// Two epochs over two rounds: unit 1 and 2 in the first, 3 in the second.
class FactCheckTest : public ::testing::Test {
  protected:
    void SetUp() override {
        facts_.jobs[kJob] = {kOwner,        Amount(1'000),     kPflop, 2,
                             address(0xdd), Amount(5'000'000), 500'000};
        facts_.rounds[{kJob, 1}] = {unit(1, UnitState::kFinal), unit(2, UnitState::kRejected),
                                    aggregate(9)};
        facts_.rounds[{kJob, 2}] = {unit(3, UnitState::kFinal)};
        facts_.reports[digest(2)] = {address(0x30)};
        files_[0].rounds = {{kJob, 1, 1, digest(0xcc)}};
        files_[0].credits = {compute(1), data(1), verification(2), uptime(1, 2'000),
                             fee(2'000 + 100 + 10 + 2'200)};
        files_[1].rounds = {{kJob, 2, 2, digest(0xcd)}};
        files_[1].credits = {compute(3)};
        for (std::size_t i = 0; i < 2; ++i) {
            files_[i].epoch = i + 1;
            release(files_[i]);
        }
    }
    static UnitFacts unit(std::uint8_t n, UnitState state) {
        return {digest(n),  true, state, address(n), address(static_cast<std::uint8_t>(n + 0x40)),
                2 * kPflop, 4};
    }
    static UnitFacts aggregate(std::uint8_t n) {
        UnitFacts out = unit(n, UnitState::kFinal);
        out.is_train = false;
        return out;
    }
    static Credit credit(std::uint8_t n, const CreditInputs& inputs) {
        const CreditKind kind = kind_of(inputs);
        Credit out;
        out.id = std::string(to_string(kind)) + "-" + std::to_string(n);
        out.job_id = kJob;
        out.round = n == 3 ? 2 : 1;
        out.earner = address(static_cast<std::uint8_t>(n + 0x40));
        out.node = address(n);
        if (is_of_unit(kind)) out.unit = digest(n);
        out.inputs = inputs;
        out.amount = *evaluate(inputs);
        return out;
    }
    static Credit compute(std::uint8_t n) {
        return credit(n, ComputeInputs{2 * kPflop, Amount(1'000)});
    }
    static Credit data(std::uint8_t n) {
        Credit out = credit(n, DataInputs{4, Amount(5'000'000), 500'000});
        out.earner = address(0xdd);
        return out;
    }
    static Credit verification(std::uint8_t n) {
        Credit out = credit(n, VerificationInputs{2 * kPflop, Amount(1'000), 1'100'000});
        out.node = address(0x30);
        out.earner = address(0x70);
        return out;
    }
    static Credit uptime(std::uint8_t n, std::uint64_t on) {
        return credit(
            n,
            UptimeInputs{.compute = Amount(on), .uptime_ppm = 1'000'000, .bonus_max_ppm = 50'000});
    }
    static Credit fee(std::uint64_t on) {
        Credit out = credit(0x60, FeeInputs{.charged = Amount(on), .fee_ppm = 20'000});
        out.node.reset();
        return out;
    }
    static void release(EpochFile& file) {
        Amount spent;
        for (const Credit& credit : file.credits)
            spent = *spent.plus(credit.amount);
        file.releases = {{kOwner, spent}};
    }
    std::vector<std::string> check(const std::vector<EpochFile>& files) {
        const auto problems = check_facts(files, facts_);
        EXPECT_TRUE(problems.ok()) << problems.error().message;
        return problems.value_or({});
    }
    /// The first sentence about epoch 1 after `lie`, whose sums are carried through.
    std::string first_problem(const std::function<void(EpochFile&)>& lie) {
        EpochFile file = files_[0];
        lie(file);
        release(file);
        const auto problems = check({file});
        return problems.empty() ? "" : problems.front();
    }

    FakeFacts facts_;
    std::vector<EpochFile> files_{2};
};

TEST_F(FactCheckTest, WhatWasDoneIsAccepted) {
    EXPECT_EQ(check({files_[0]}), std::vector<std::string>{});
    EXPECT_EQ(check(files_), std::vector<std::string>{});
}

/// The job's dataset is a mix: 70 % of address 0xd1's, 30 % of 0xd2's.
class MixFactsTest : public FactCheckTest {
  protected:
    void SetUp() override {
        FactCheckTest::SetUp();
        facts_.jobs[kJob].data_parts = {
            {digest(0xb1), address(0xd1), 700, Amount(9'000'000), 500'000},
            {digest(0xb2), address(0xd2), 300, Amount(4'000'000), 1'000'000}};
        files_.resize(1);
        auto& credits = files_[0].credits;
        std::erase_if(credits, [](const Credit& c) { return c.kind() == CreditKind::kData; });
        credits.insert(credits.begin(), {part(0), part(1)});
        release(files_[0]);
    }
    Credit part(std::size_t index) {
        const auto& parts = facts_.jobs[kJob].data_parts;
        Amount before;
        for (std::size_t i = 0; i < index; ++i)
            before = *before.plus(
                *data_weight(parts[i].tokens, parts[i].price_wei_per_mtoken, parts[i].quality_ppm));
        Credit out = credit(1, DataInputs{.tokens = 4,
                                          .price = parts[index].price_wei_per_mtoken,
                                          .quality_ppm = parts[index].quality_ppm,
                                          .part_tokens = parts[index].tokens,
                                          .mix_tokens = 1'000,
                                          .weight_before = before});
        out.id = "part-" + std::to_string(index);
        out.earner = parts[index].owner;
        out.dataset = parts[index].root;
        return out;
    }
    static DataInputs& inputs(EpochFile& file) {
        return std::get<DataInputs>(file.credits[1].inputs);
    }
};

TEST_F(MixFactsTest, TheSplitOfItsPartsIsAccepted) {
    EXPECT_EQ(check(files_), std::vector<std::string>{});
}

TEST_F(MixFactsTest, AnotherSplitIsNamed) {
    const std::vector<std::pair<std::function<void(EpochFile&)>, const char*>> lies = {
        {[](EpochFile& f) { f.credits[1].earner = address(7); },
         "credit part-1: the mix's part is 0xd2d2"},
        {[](EpochFile& f) { f.credits[1].dataset = digest(0xb9); },
         "credit part-1: dataset 0xb9b9b9"},
        {[](EpochFile& f) { f.credits[1].dataset.reset(); },
         "credit part-1: the dataset is a mix, whose parts are paid"},
        {[](EpochFile& f) { inputs(f).price = Amount(1); },
         "credit part-1: the part's price is 4000000"},
        {[](EpochFile& f) { inputs(f).quality_ppm = 1; },
         "credit part-1: the part's quality is 1000000"},
        {[](EpochFile& f) { inputs(f).part_tokens = 301; },
         "credit part-1: the mix has 300 of 1000 tokens"},
        {[](EpochFile& f) { inputs(f).mix_tokens = 999; },
         "credit part-1: the mix has 300 of 1000 tokens"},
        {[](EpochFile& f) { inputs(f).weight_before = Amount(); },
         "credit part-1: the parts before it weigh"},
        {[](EpochFile& f) { inputs(f).tokens = 5; }, "credit part-1: unit 0x0101"}};
    for (const auto& [lie, named] : lies) {
        const std::string found = first_problem(lie);
        EXPECT_TRUE(found.starts_with(named)) << "expected: " << named << "\nfound: " << found;
    }
    EpochFile again = files_[0];
    again.epoch = 2;
    again.credits = {part(1)};
    again.credits[0].id = "again";
    release(again);
    const auto twice = check({files_[0], again});
    ASSERT_FALSE(twice.empty());
    EXPECT_NE(twice[0].find("for dataset 0xb2b2"), std::string::npos) << twice[0];
    facts_.jobs[kJob].data_parts.clear();
    EXPECT_NE(first_problem([](EpochFile&) {}).find("the dataset is no mix"), std::string::npos);
}

TEST_F(FactCheckTest, EveryLieIsNamedWithItsCredit) {
    struct Lie {
        const char* about;
        std::function<void(EpochFile&)> apply;
        const char* named;
    };
    const std::vector<Lie> lies = {
        {"another price",
         [](EpochFile& f) { std::get<ComputeInputs>(f.credits[0].inputs).price = Amount(1'001); },
         "credit compute-1: the job's price is 1000"},
        {"more FLOPs",
         [](EpochFile& f) { std::get<ComputeInputs>(f.credits[0].inputs).flops += 1; },
         "credit compute-1: unit 0x0101"},
        {"another earner", [](EpochFile& f) { f.credits[0].earner = address(7); },
         "credit compute-1: unit 0x0101"},
        {"another worker", [](EpochFile& f) { f.credits[0].node = address(7); },
         "credit compute-1: unit 0x0101"},
        {"a unit that nobody knows", [](EpochFile& f) { f.credits[0].unit = digest(0x77); },
         "credit compute-1: its round has no unit 0x7777"},
        {"another round", [](EpochFile& f) { f.credits[0].round = 2; },
         "credit compute-1: its round has no unit 0x0101"},
        {"a job that nobody knows", [](EpochFile& f) { f.credits[0].job_id = digest(0x77); },
         "credit compute-1: its job is unknown: 0x7777"},
        {"a rejected unit", [](EpochFile& f) { f.credits.push_back(compute(2)); },
         "credit compute-2: unit 0x0202"},
        {"the coordinator's own work", [](EpochFile& f) { f.credits.push_back(compute(9)); },
         "credit compute-9: unit 0x0909"},
        {"a unit twice",
         [](EpochFile& f) {
             f.credits.push_back(compute(1));
             f.credits.back().id = "again";
         },
         "credit again: compute of unit 0x0101"},
        {"a credit twice", [](EpochFile& f) { f.credits.push_back(f.credits[2]); },
         "credit verification-2 was paid by epoch 1 already"},
        {"tokens that nobody used",
         [](EpochFile& f) { std::get<DataInputs>(f.credits[1].inputs).tokens = 5; },
         "credit data-1: unit 0x0101"},
        {"a better dataset",
         [](EpochFile& f) { std::get<DataInputs>(f.credits[1].inputs).quality_ppm = 1'000'000; },
         "credit data-1: the dataset's quality is 500000"},
        {"a dearer dataset",
         [](EpochFile& f) { std::get<DataInputs>(f.credits[1].inputs).price = Amount(1); },
         "credit data-1: the dataset's price is 5000000"},
        {"another provider", [](EpochFile& f) { f.credits[1].earner = address(7); },
         "credit data-1: the dataset is 0xdddd"},
        {"a report that nobody accepted", [](EpochFile& f) { f.credits[2].node = address(0x31); },
         "credit verification-2: 0 reports"},
        {"a report of the worker's own verifier",
         [](EpochFile& f) { f.credits[2].earner = address(0x42); },
         "credit verification-2: unit 0x0202"},
        {"one report as two",
         [](EpochFile& f) {
             f.credits.push_back(f.credits[2]);
             f.credits.back().id = "again";
         },
         "credit verification-2: 1 reports"},
        {"a bonus on what was not earned",
         [](EpochFile& f) { std::get<UptimeInputs>(f.credits[3].inputs).compute = Amount(2'001); },
         "credit uptime-1: a bonus on more"},
        {"a fee on what was not credited",
         [](EpochFile& f) { std::get<FeeInputs>(f.credits[4].inputs).charged = Amount(4'311); },
         "credit fee-96: fees on more"},
        {"an earner who is left out", [](EpochFile& f) { f.credits.erase(f.credits.begin()); },
         "credit uptime-1: a bonus on more"},
        {"an earner who is left out, with its bonus",
         [](EpochFile& f) {
             f.credits.erase(f.credits.begin());
             f.credits.erase(f.credits.begin() + 2);
             std::get<FeeInputs>(f.credits.back().inputs).charged = Amount(1);
         },
         "unit 0x0101010101010101010101010101010101010101010101010101010101010101 of round 1 is "
         "final, and 0x4141"},
    };
    for (const auto& [about, apply, named] : lies)
        EXPECT_TRUE(first_problem(apply).starts_with(named))
            << about << ": " << first_problem(apply);
}

TEST_F(FactCheckTest, WhatAnEarlierEpochPaidIsNotPaidAgain) {
    files_[1].credits.push_back(compute(1));
    files_[1].credits.back().id = "again";
    release(files_[1]);
    const auto problems = check(files_);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems[0].ends_with("was paid by epoch 1 already")) << problems[0];
}

TEST_F(FactCheckTest, AUnitThatWaitsForBudgetIsNotDropped) {
    files_[0].credits = {verification(2)};
    release(files_[0]);
    EXPECT_EQ(check({files_[0]}).size(), 1U);
    facts_.unfunded[digest(1)] = true;
    EXPECT_EQ(check({files_[0]}), std::vector<std::string>{});
}

TEST_F(FactCheckTest, ABonusMayCountWhatWasPaidBefore) {
    files_[1].credits.push_back(uptime(1, 2'000));
    files_[1].credits.back().round = 1;
    files_[0].credits.erase(files_[0].credits.begin() + 3);
    files_[0].credits.back() = fee(2'000 + 10 + 2'200);
    release(files_[0]);
    release(files_[1]);
    EXPECT_EQ(check(files_), std::vector<std::string>{});
}

TEST_F(FactCheckTest, FlopsThatAreNotTheProgramsAreNamed) {
    JobFacts& job = facts_.jobs[kJob];
    job.steps_per_unit = 3;  // the units have two: they are of slow workers
    EXPECT_EQ(check({files_[0]}), std::vector<std::string>{});
    const auto expect_named = [&] {
        const auto problems = check({files_[0]});
        ASSERT_FALSE(problems.empty());
        EXPECT_NE(problems[0].find("the job's program counts"), std::string::npos) << problems[0];
    };
    job.steps_per_unit = 1;
    expect_named();
    job.steps_per_unit = 3;
    job.flops_per_step = kPflop - 1;
    expect_named();
}

TEST_F(FactCheckTest, OwnersPayForTheirOwnJobs) {
    EpochFile file = files_[0];
    file.releases = {{address(0x66), file.releases[0].amount}};
    EXPECT_EQ(check({file}).size(), 2U);
    facts_.jobs[kJob].owner = address(0x66);
    EXPECT_EQ(check({file}), std::vector<std::string>{});
}

TEST_F(FactCheckTest, APrefixIsPaidOnceAsItWasDecided) {
    facts_.rounds[{kJob, 1}].push_back(unit(4, UnitState::kExpired));
    registry::Prefix prefix;
    prefix.unit = digest(4);
    prefix.state = protocol::PrefixState::kVerified;
    prefix.flops = kPflop;
    prefix.verifier = address(0x30);
    prefix.verifier_paid = true;
    facts_.prefix_list[1] = {prefix};
    EXPECT_NE(first_problem([](EpochFile&) {}).find("has a verified prefix, and no credit for it"),
              std::string::npos);
    facts_.unfunded[digest(4)] = true;
    EXPECT_EQ(first_problem([](EpochFile&) {}), "") << "it waits for budget";
    facts_.unfunded.clear();

    Credit paid = credit(4, PrefixInputs{kPflop, Amount(1'000)});
    Credit checked = credit(4, VerificationInputs{kPflop, Amount(1'000), 1'100'000});
    checked.node = address(0x30);
    const auto problem = [&](const std::function<void(Credit&, Credit&)>& lie) {
        return first_problem([&](EpochFile& file) {
            Credit one = paid, other = checked;
            lie(one, other);
            one.amount = *evaluate(one.inputs);
            other.amount = *evaluate(other.inputs);
            file.credits.push_back(one);
            file.credits.push_back(other);
        });
    };
    const auto expect = [&](const std::function<void(Credit&, Credit&)>& lie,
                            const std::string& sentence) {
        const std::string found = problem(lie);
        EXPECT_NE(found.find(sentence), std::string::npos) << sentence << "\n" << found;
    };
    EXPECT_EQ(problem([](Credit&, Credit&) {}), "");
    expect([](Credit& p, Credit&) { std::get<PrefixInputs>(p.inputs).flops *= 2; },
           "has 1000000000000000 FLOPs");
    expect([](Credit& p, Credit&) { std::get<PrefixInputs>(p.inputs).price = Amount(2'000); },
           "the job's price is 1000");
    expect([](Credit& p, Credit&) { p.node = address(5); }, "was done by");
    expect([](Credit& p, Credit&) { p.earner = address(5); }, "is credited to");
    expect([](Credit&, Credit& v) { v.node = address(5); }, "did not verify the prefix");
    expect([](Credit&, Credit& v) { std::get<VerificationInputs>(v.inputs).flops *= 2; },
           "has 1000000000000000 FLOPs");
    facts_.prefix_list[1][0].state = protocol::PrefixState::kRefuted;
    expect([](Credit&, Credit&) {}, "is refuted");
    facts_.prefix_list[1][0].state = protocol::PrefixState::kVerified;
    facts_.rounds[{kJob, 1}].back().state = UnitState::kFinal;
    expect([](Credit&, Credit&) {}, "so that it has no prefix to pay");
    facts_.rounds[{kJob, 1}].back().state = UnitState::kExpired;
    facts_.prefix_list[1].clear();
    expect([](Credit&, Credit&) {}, "no prefix of unit");

    facts_.prefix_list[1] = {prefix};
    files_[0].credits.push_back(paid);
    files_[1].credits.push_back(paid);
    files_[1].credits.back().id = "prefix-again";
    release(files_[0]);
    release(files_[1]);
    const auto twice = check(files_);
    ASSERT_FALSE(twice.empty());
    EXPECT_NE(twice.front().find("was paid by epoch 1 already"), std::string::npos) << twice[0];
}

}  // namespace
}  // namespace gym::rewards
