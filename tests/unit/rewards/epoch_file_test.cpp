#include "gym/rewards/epoch_file.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "random.hpp"

namespace gym::rewards {
namespace {

const PayoutDomain kDomain = {31337, *Address::parse("0x1111111111111111111111111111111111111111"),
                              *Address::parse("0x2222222222222222222222222222222222222222")};

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

Credit credit(std::uint8_t n, const CreditInputs& inputs, std::uint8_t earner) {
    const CreditKind kind = kind_of(inputs);
    Credit out;
    out.id = "00000000-0000-8000-8000-0000000000" + to_hex(ByteView(&n, 1));
    out.earner = address(earner);
    out.job_id = digest(0xaa);
    out.round = 1;
    if (is_of_unit(kind)) out.unit = digest(n);
    if (kind != CreditKind::kFee && kind != CreditKind::kBurn) out.node = address(earner);
    if (kind == CreditKind::kEmission) out.payer = address(0xef);
    out.inputs = inputs;
    out.amount = *evaluate(inputs);
    return out;
}

/// Fills in what follows from the credits and the file before.
void complete(EpochFile& file, const std::optional<EpochFile>& previous) {
    file.domain = kDomain;
    std::map<Address, Amount> cumulative;
    if (previous) {
        file.epoch = previous->epoch + 1;
        file.previous = epoch_file_root(encode_epoch_file(*previous));
        for (const Payout& payout : previous->payouts)
            cumulative[payout.earner] = payout.cumulative;
    } else {
        file.epoch = 1;
    }
    std::map<Address, Amount> spent;
    for (const Credit& c : file.credits) {
        cumulative[c.earner] = *cumulative[c.earner].plus(c.amount);
        Amount& paid = spent[c.payer.value_or(address(0xee))];
        paid = *paid.plus(c.amount);
    }
    file.releases.clear();
    for (const auto& [owner, amount] : spent)
        file.releases.push_back({owner, amount});
    file.payouts.clear();
    file.total_cumulative = Amount();
    for (const auto& [earner, amount] : cumulative) {
        file.payouts.push_back({earner, amount});
        file.total_cumulative = *file.total_cumulative.plus(amount);
    }
    file.payout_root = PayoutTree::build(file.domain, file.payouts)->root();
}

EpochFile first_file() {
    EpochFile file;
    file.rounds = {{digest(0xaa), 1, 5, digest(0xcc), UptimeSpan{1'000, 2'000}},
                   {digest(0xaa), 2, 6, std::nullopt}};  // as in files of old
    file.credits = {
        credit(1, ComputeInputs{2'000'000'000'000'000, Amount(1000)}, 0x01),
        credit(2, VerificationInputs{2'000'000'000'000'000, Amount(1000), 1'100'000}, 0x02),
        credit(3,
               UptimeInputs{.compute = Amount(2000),
                            .uptime_ppm = 1'000'000,
                            .bonus_max_ppm = 50'000,
                            .challenges = 20,
                            .answered = 20},
               0x01),
        credit(4, DataInputs{3'000'000, Amount(7), 500'000}, 0x03),
        credit(5, FeeInputs{Amount(4'310), 20'000, 500'000}, 0x06),
        credit(6, BurnInputs{Amount(4'310), 20'000, 500'000}, 0xdd),
        credit(7, EmissionInputs{Amount(43), 1'000'000, Amount(2'000), Amount(2'000)}, 0x01)};
    complete(file, std::nullopt);
    file.ledger_seal = ledger::SealHead{7, digest(0x5e)};
    return file;
}

EpochFile second_file() {
    EpochFile file;
    file.rounds = {{digest(0xaa), 3, 7, digest(0xcd)}};
    file.credits = {credit(8, ComputeInputs{1'000'000'000'000'000, Amount(1000)}, 0x04)};
    complete(file, first_file());
    file.ledger_seal = ledger::SealHead{8, digest(0x5f)};
    return file;
}

TEST(EpochFile, ReadsBackAndItsBytesAreCanonical) {
    const EpochFile file = first_file();
    const std::string json = encode_epoch_file(file);
    const auto parsed = parse_epoch_file(json);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(*parsed, file);
    EXPECT_EQ(encode_epoch_file(*parsed), json);
    EXPECT_EQ(json.find(' '), std::string::npos);
    EXPECT_NE(epoch_file_root(json), epoch_file_root(json + " "));
}

TEST(EpochFile, CreditsOfAMixNameTheirPartAndOthersAreWrittenAsBefore) {
    EpochFile file = first_file();
    EXPECT_EQ(encode_epoch_file(file).find("mix_tokens"), std::string::npos);
    EXPECT_EQ(encode_epoch_file(file).find("\"dataset\""), std::string::npos);
    Credit part = credit(8,
                         DataInputs{.tokens = 3'000'000,
                                    .price = Amount(7),
                                    .quality_ppm = 500'000,
                                    .part_tokens = 3,
                                    .mix_tokens = 4,
                                    .weight_before = Amount(1'000'000)},
                         0x03);
    part.dataset = digest(0xb1);
    file.credits.push_back(part);
    complete(file, std::nullopt);
    EXPECT_EQ(check_epoch_file(file, std::nullopt), std::vector<std::string>{});
    const auto parsed = parse_epoch_file(encode_epoch_file(file));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(*parsed, file);
    file.credits.back().dataset.reset();
    EXPECT_FALSE(check_epoch_file(file, std::nullopt).empty());
    file = first_file();
    file.credits[3].dataset = digest(0xb1);
    EXPECT_FALSE(check_epoch_file(file, std::nullopt).empty()) << "a dataset that is no mix";
}

TEST(EpochFile, AFileFromBeforeThereWereSealsReadsBackToo) {
    EpochFile file = first_file();
    file.ledger_seal.reset();
    const std::string json = encode_epoch_file(file);
    EXPECT_EQ(json.find("seal"), std::string::npos);
    EXPECT_EQ(*parse_epoch_file(json), file);
    EXPECT_EQ(check_epoch_file(second_file(), file).size(), 1U) << "another file before it";
}

TEST(EpochFile, AnotherSpellingOfTheSameContentIsRefused) {
    const std::string json = encode_epoch_file(first_file());
    EXPECT_FALSE(parse_epoch_file(json + "\n").ok());
    EXPECT_FALSE(parse_epoch_file(" " + json).ok());
    std::string upper = json;
    upper.replace(upper.find("0xaa"), 4, "0xAA");
    EXPECT_FALSE(parse_epoch_file(upper).ok());
    std::string padded = json;
    padded.replace(padded.find("\"amount\":\""), 10, "\"amount\":\"0");
    EXPECT_FALSE(parse_epoch_file(padded).ok());
}

TEST(EpochFile, NegativeNumbersAreRefused) {
    const std::string json = encode_epoch_file(first_file());
    for (const std::string key :
         {"\"flops\":", "\"tokens\":", "\"premium_ppm\":", "\"uptime_ppm\":", "\"answered\":",
          "\"fee_ppm\":", "\"uptime_from_ms\":", "\"uptime_to_ms\":"}) {
        std::string negative = json;
        negative.insert(negative.find(key) + key.size(), "-");
        EXPECT_EQ(parse_epoch_file(negative).error().code, ErrorCode::kMalformed) << key;
    }
    for (const std::string key : {"\"amount\":\"", "\"price\":\"", "\"compute\":\"",
                                  "\"charged\":\"", "\"cumulative\":\""}) {
        std::string negative = json;
        negative.insert(negative.find(key) + key.size(), "-");
        EXPECT_EQ(parse_epoch_file(negative).error().code, ErrorCode::kMalformed) << key;
    }
}

TEST(EpochFile, TheRootDoesNotDependOnTheOrderInWhichCreditsCame) {
    const std::uint64_t seed = test_seed();
    SCOPED_TRACE("GYM_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    EpochFile file = first_file();
    for (int n = 10; n < 60; ++n) {
        ComputeInputs compute;
        // 2^20 FLOPs are worth one unit at this price: a credit of nothing is none.
        compute.flops = any_u64(random) | (std::uint64_t{1} << 20);
        compute.price = Amount(1'000'000'007);
        file.credits.push_back(
            credit(static_cast<std::uint8_t>(n), compute, static_cast<std::uint8_t>(random() % 7)));
    }
    complete(file, std::nullopt);
    for (int i = 0; i < 20; ++i) {
        EpochFile shuffled = file;
        std::shuffle(shuffled.credits.begin(), shuffled.credits.end(), random);
        complete(shuffled, std::nullopt);
        EXPECT_EQ(shuffled.payout_root, file.payout_root);
        EXPECT_EQ(shuffled.payouts, file.payouts);
        EXPECT_EQ(shuffled.releases, file.releases);
    }
}

TEST(EpochFile, RefusesCutAndMutilatedText) {
    const std::string json = encode_epoch_file(first_file());
    for (std::size_t cut = 0; cut < json.size(); cut += 13)
        EXPECT_EQ(parse_epoch_file(json.substr(0, cut)).error().code, ErrorCode::kMalformed) << cut;
    std::mt19937_64 random(3);
    for (int i = 0; i < 500; ++i) {
        std::string bent = json;
        bent[random() % bent.size()] = static_cast<char>(random());
        const auto parsed = parse_epoch_file(bent);
        EXPECT_TRUE(!parsed.ok() || encode_epoch_file(*parsed) == bent);
    }
}

TEST(CheckEpochFile, AcceptsWhatTheRulesGive) {
    EXPECT_EQ(check_epoch_file(first_file(), std::nullopt), std::vector<std::string>{});
    EXPECT_EQ(check_epoch_file(second_file(), first_file()), std::vector<std::string>{});
}

TEST(CheckEpochFile, FindsEveryLie) {
    const std::vector<std::pair<const char*, std::function<void(EpochFile&)>>> lies = {
        {"a mispriced credit", [](EpochFile& f) { f.credits[0].amount = Amount(3000); }},
        {"flops that nobody counted",
         [](EpochFile& f) { std::get<ComputeInputs>(f.credits[0].inputs).flops *= 2; }},
        {"a repeated credit", [](EpochFile& f) { f.credits.push_back(f.credits[0]); }},
        {"a unit paid twice",
         [](EpochFile& f) {
             f.credits.push_back(f.credits[0]);
             f.credits.back().id.back() = '9';
         }},
        {"a credit without a unit", [](EpochFile& f) { f.credits[0].unit.reset(); }},
        {"an earner who loses", [](EpochFile& f) { f.payouts[0].cumulative = Amount(1); }},
        {"an earner from nowhere",
         [](EpochFile& f) {
             f.payouts.push_back({address(0x77), Amount(5)});
         }},
        {"an earner left out", [](EpochFile& f) { f.payouts.erase(f.payouts.begin()); }},
        {"another total", [](EpochFile& f) { f.total_cumulative = Amount(1); }},
        {"another root", [](EpochFile& f) { f.payout_root = digest(9); }},
        {"an owner who pays less", [](EpochFile& f) { f.releases[0].amount = Amount(1); }},
        {"a skipped epoch", [](EpochFile& f) { f.epoch += 1; }},
        {"another file before", [](EpochFile& f) { f.previous = digest(1); }},
        {"seals that are gone", [](EpochFile& f) { f.ledger_seal.reset(); }},
        {"fewer seals", [](EpochFile& f) { f.ledger_seal->number = 6; }},
        {"another seal under the same number", [](EpochFile& f) { f.ledger_seal->number = 7; }},
        {"another distributor", [](EpochFile& f) { f.domain.distributor = address(5); }},
    };
    for (const auto& [name, lie] : lies) {
        EpochFile file = second_file();
        lie(file);
        EXPECT_FALSE(check_epoch_file(file, first_file()).empty()) << name;
    }
    const std::vector<std::pair<const char*, std::function<void(EpochFile&)>>> lies_of_rounds = {
        {"an uptime that the challenges do not give",
         [](EpochFile& f) { std::get<UptimeInputs>(f.credits[2].inputs).answered -= 1; }},
        {"more answers than challenges",
         [](EpochFile& f) { std::get<UptimeInputs>(f.credits[2].inputs).answered += 1; }},
        {"a bonus with a unit", [](EpochFile& f) { f.credits[2].unit = digest(1); }},
        {"a fee that is not charged",
         [](EpochFile& f) { std::get<FeeInputs>(f.credits[4].inputs).charged = Amount(9'000); }},
        {"emission without its burn", [](EpochFile& f) { f.credits.erase(f.credits.begin() + 5); }},
        {"emission on more than was burned",
         [](EpochFile& f) {
             std::get<EmissionInputs>(f.credits[6].inputs).burned = Amount(44);
             f.credits[6].amount = Amount(44);
         }},
        {"emission twice",
         [](EpochFile& f) {
             f.credits.push_back(f.credits[6]);
             f.credits.back().id.back() = '9';
         }},
        {"emission that the job pays", [](EpochFile& f) { f.credits[6].payer.reset(); }},
        {"work that somebody else pays", [](EpochFile& f) { f.credits[0].payer = address(9); }},
        {"a credit of nothing",
         [](EpochFile& f) {
             std::get<ComputeInputs>(f.credits[0].inputs).flops = 0;
             f.credits[0].amount = Amount();
         }},
    };
    for (const auto& [name, lie] : lies_of_rounds) {
        EpochFile file = first_file();
        lie(file);
        complete(file, std::nullopt);  // carried through to the root
        EXPECT_FALSE(check_epoch_file(file, std::nullopt).empty()) << name;
    }
    EXPECT_FALSE(check_epoch_file(second_file(), std::nullopt).empty())
        << "the file before is missing";
}

}  // namespace
}  // namespace gym::rewards
