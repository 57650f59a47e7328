#include "params/params_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/contracts_file.hpp"
#include "gym/game/dispute_params.hpp"
#include "temporary_folder.hpp"

namespace gym::app {
namespace {

std::string source(const char* path) {
    return std::string(std::getenv("GYM_SOURCE_DIR")) + "/" + path;
}

std::string example() {
    std::stringstream text;
    text << std::ifstream(source("examples/params.yaml")).rdbuf();
    return text.str();
}

class ParamsFileTest : public ::testing::Test {
  protected:
    /// The example with `from` replaced by `to`.
    Result<ParamsFile> load(const std::string& from, const std::string& to,
                            const std::optional<game::DisputeParams>& contracts = {}) {
        std::string text = example();
        const std::size_t at = text.find(from);
        GYM_ASSERT(at != std::string::npos, "the example has the words");
        std::ofstream(place_ / "params.yaml") << text.replace(at, from.size(), to);
        return load_params_file((place_ / "params.yaml").string(), contracts);
    }
    std::string error_of(const std::string& from, const std::string& to) {
        const auto loaded = load(from, to);
        if (loaded.ok()) return "accepted";
        EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
        return loaded.error().message;
    }

    gym::testing::TemporaryFolder place_;
};

bool safe(const protocol::IncentiveParams& params) {
    for (const protocol::Condition& one : protocol::check_incentives(params))
        if (!one.holds) return false;
    return true;
}

TEST_F(ParamsFileTest, TheExampleIsSafeAndHasTheTermsOfADeployment) {
    const auto read = load_params_file(source("examples/params.yaml"), {});
    ASSERT_TRUE(read.ok()) << read.error().message;
    const protocol::IncentiveParams* const written = &read->params;
    EXPECT_TRUE(safe(*written));
    EXPECT_EQ(written->worker.stake_tokens, 2'000);
    EXPECT_EQ(written->times.slowest_verifier_seconds, 600);

    const auto contracts = load_contracts_file(source("deploy/config/contracts.yaml"));
    ASSERT_TRUE(contracts.ok()) << contracts.error().message;
    for (const game::DisputeParams& terms : {game::DisputeParams{}, contracts->params.dispute}) {
        EXPECT_EQ(written->slash.burned_ppm, terms.burned_ppm);
        EXPECT_EQ(written->slash.compensation_ppm, terms.compensation_ppm);
        EXPECT_EQ(written->slash.missed_clock_ppm, terms.missed_clock_ppm);
        EXPECT_EQ(written->challenge.bond_tokens, std::stod(terms.bond.to_tokens()));
        EXPECT_EQ(written->challenge.escrow_gas, terms.escrow_gas);
        EXPECT_EQ(written->times.window_seconds,
                  static_cast<double>(terms.window_blocks * terms.block_time_s));
        EXPECT_EQ(written->times.clock_seconds, static_cast<double>(terms.clock_s));
        EXPECT_EQ(written->times.settling_seconds, static_cast<double>(terms.settling_s));
        EXPECT_EQ(written->times.thaw_seconds, static_cast<double>(terms.thaw_period_s));
    }
}

TEST_F(ParamsFileTest, WhatIsLeftOutIsWhatTheContractsHave) {
    game::DisputeParams contracts;
    contracts.bond = Amount::parse_tokens("2.5").value();
    contracts.clock_s = 7;
    contracts.window_blocks = 50;
    contracts.block_time_s = 2;
    EXPECT_EQ(load("  bond: 10 ", "", contracts)->params.challenge.bond_tokens, 2.5);
    EXPECT_EQ(load("  clock_s: 172800 ", "", contracts)->params.times.clock_seconds, 7);
    EXPECT_EQ(load("  window_s: 86400 ", "", contracts)->params.times.window_seconds, 100);
}

TEST_F(ParamsFileTest, AFileDoesNotChangeWhatContractsSayAndIsToldToDiffer) {
    game::DisputeParams contracts;
    contracts.bond = Amount::parse_tokens("2.5").value();
    contracts.burned_ppm = 600'000;
    const auto read = load("  clock_s: 172800 ", "", contracts);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->params.challenge.bond_tokens, 2.5);
    EXPECT_EQ(read->params.slash.burned_ppm, 600'000U);
    ASSERT_EQ(read->overruled.size(), 2U) << "and no key that is left out or says the same";
    EXPECT_EQ(read->overruled[0].key, "challenge.bond");
    EXPECT_EQ(read->overruled[0].written, 10);
    EXPECT_EQ(read->overruled[0].deployed, 2.5);
    EXPECT_EQ(read->overruled[1].key, "slash.burned_ppm");
    const auto own = load("  bond: 10 ", "  bond: 3 ");
    EXPECT_EQ(own->params.challenge.bond_tokens, 3) << "without contracts the file's terms hold";
    EXPECT_TRUE(own->overruled.empty());
}

TEST_F(ParamsFileTest, ErrorsNameFileKeyAndWhatIsExpected) {
    const auto has = [](const std::string& text, const std::string& words) {
        return text.find(words) != std::string::npos;
    };
    const auto expect = [&](const char* from, const char* to, const char* words) {
        const std::string error = error_of(from, to);
        EXPECT_TRUE(has(error, "params.yaml") && has(error, words)) << to << ": " << error;
    };
    expect("  stake: 2000 ", "  stake: much ", "stake");
    expect("  stake: 2000 ", "  stake: .nan ", "stake");
    expect("  stake: 2000 ", "  stake: -1 ", "stake");
    expect("  stake: 2000 ", "", "stake");
    expect("  unit_reward: 10 ", "  unit_reward: 0 ", "unit_reward");
    expect("  open_units_max: 8 ", "  open_units_max: 0 ", "open_units_max");
    expect("  floor_ppm: 50000 ", "  floor_ppm: 1000001 ", "floor_ppm");
    expect("  burned_ppm: 500000 ", "  burned_ppm: 499999 ", "burned_ppm");
    expect("  compensation_ppm: 100000 ", "  compensation_ppm: 500001 ", "compensation_ppm");
    expect("  missed_clock_ppm: 500000 ", "  missed_clock_ppm: 0 ", "missed_clock_ppm");
    expect("  verifiers: 10", "  verifier: 10", "verifier");
    expect("sampling:", "samplings:", "sampling");
    expect("capital_cost_ppm: 100000 ", "capital_cost: 0.1 ", "capital_cost");
    EXPECT_EQ(load_params_file((place_ / "none").string(), {}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace gym::app
