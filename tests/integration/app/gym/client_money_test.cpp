// `gym stake` and `gym rewards` against a real EVM; gym-api answers from memory.
#include <chrono>
#include <set>
#include <thread>

#include "gym/contracts/deployment.hpp"
#include "gym/game/dispute_params.hpp"
#include "money_fixture.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using testing::MoneyCommandsTest;
using testing::tokens;

TEST_F(MoneyCommandsTest, StakeIsAddedThawedAndWithdrawnAfterTheDelay) {
    EXPECT_EQ(gym({"stake", "withdraw"}, true).exit_code, 5) << "nothing thaws";
    const auto more = gym({"stake", "add", "1001"}, true);
    EXPECT_EQ(more.exit_code, 5) << "more than the wallet holds";
    EXPECT_NE(more.err.find("send at least 1 GYM, and some ether for gas, to " +
                            crypto::to_checksum(owner_.address()) + " on chain "),
              std::string::npos)
        << more.err;
    EXPECT_EQ(gym({"stake", "add", "0"}, true).exit_code, 2);
    const auto added = gym({"stake", "add", "10", "--json"}, true);
    ASSERT_EQ(added.exit_code, 0) << added.err << added.out;
    const json::value stake = json::parse(added.out);
    EXPECT_EQ(stake.at("done").as_string(), "staked");
    EXPECT_EQ(stake.at("active_wei").as_string(), tokens("10").to_string());
    EXPECT_EQ(stake.at("wallet_wei").as_string(), tokens("990").to_string());
    EXPECT_NE(added.err.find("waiting until it is final"), std::string::npos) << added.err;

    const auto too_much = gym({"stake", "thaw", "11"}, true);
    EXPECT_EQ(too_much.exit_code, 5);
    EXPECT_NE(too_much.err.find("only 10 GYM are active"), std::string::npos) << too_much.err;
    const auto balance = gym({"wallet", "balance"}, false);
    EXPECT_NE(balance.out.find("staked             10 GYM"), std::string::npos) << balance.out;
    ASSERT_EQ(gym({"stake", "thaw", "3"}, true).exit_code, 0);
    ASSERT_EQ(gym({"stake", "thaw", "3"}, true).exit_code, 0) << "the same amount once more";
    const auto early = gym({"stake", "withdraw"}, true);
    EXPECT_EQ(early.exit_code, 5);
    EXPECT_NE(early.err.find("nothing has thawed yet: 3 GYM can be withdrawn from "),
              std::string::npos)
        << early.err;
    const auto shown = gym({"stake", "show", "--json"}, false);
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_EQ(json::parse(shown.out).at("thaws").as_array().size(), 2U) << shown.out;
    EXPECT_EQ(json::parse(shown.out).at("thawing_wei").as_string(), tokens("6").to_string());
    EXPECT_EQ(json::parse(shown.out).at("thaws").at(0).at("worth_wei").as_string(),
              tokens("3").to_string());

    anvil_.rpc("evm_increaseTime", "[" + std::to_string(game::DisputeParams{}.thaw_period_s) + "]");
    anvil_.mine(1);
    const auto paid = gym({"stake", "withdraw", "--json"}, true);
    ASSERT_EQ(paid.exit_code, 0) << paid.err << paid.out;
    EXPECT_EQ(json::parse(paid.out).at("amount_wei").as_string(), tokens("6").to_string());
    EXPECT_TRUE(json::parse(paid.out).at("thaws").as_array().empty());
    EXPECT_EQ(balance_of(owner_.address()).to_tokens(), "996");
    const auto text = gym({"stake", "show"}, false);
    EXPECT_NE(text.out.find("active             4 GYM"), std::string::npos) << text.out;
}

TEST_F(MoneyCommandsTest, CommandsThatSendFromOneKeyAtOnceAllDoWhatTheySay) {
    const gym::testing::TemporaryFolder second_place, third_place;
    const auto start = [&](const gym::testing::TemporaryFolder& output, const char* amount) {
        return gym::testing::Command(
            output, {"stake", "add", amount, "--json", "--data-dir", (place_ / ".").string(),
                     "--passphrase-file", (place_ / "pass").string()});
    };
    const auto one = start(place_, "5");
    const auto same = start(second_place, "5");
    const auto other = start(third_place, "4");
    std::set<std::string> hashes;
    int waited = 0;
    for (const auto* command : {&one, &same, &other}) {
        const auto done = command->wait();
        ASSERT_EQ(done.exit_code, 0) << done.err << done.out;
        hashes.emplace(json::parse(done.out).at("transaction").as_string());
        if (done.err.find("waiting            until another gym command that sends from 0x") !=
            std::string::npos)
            ++waited;
    }
    EXPECT_EQ(hashes.size(), 3U) << "a transaction of another command was taken for an own one";
    EXPECT_GE(waited, 1);
    EXPECT_EQ(balance_of(owner_.address()).to_tokens(), "986");
}

TEST_F(MoneyCommandsTest, WatchingDisputesTellsThatTheChainIsGoneAndThatItIsBack) {
    const gym::testing::Command watching(place_, {"dispute", "watch"});
    const auto told = [&](const char* words) {
        for (int look = 0; look < 600; ++look) {
            if (watching.errors_so_far().find(words) != std::string::npos) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return false;
    };
    EXPECT_TRUE(told("no game is open: waiting for one\n"));
    anvil_.stop(false);
    EXPECT_TRUE(told("the chain does not answer, trying again: "));
    anvil_.start();
    EXPECT_TRUE(told("the chain answers again\n"));
    watching.send(SIGTERM);
    const std::string errors = watching.wait().err;
    const std::size_t first = errors.find("does not answer");
    EXPECT_EQ(errors.find("does not answer", first + 1), std::string::npos)
        << "once for an outage\n"
        << errors;
}

TEST_F(MoneyCommandsTest, SomebodyElseCanAddToTheStakeOfANode) {
    const Address node = chain::private_chain_key(5).address();
    const auto added = gym({"stake", "add", "7", "--owner", node.hex()}, true);
    ASSERT_EQ(added.exit_code, 0) << added.err;
    const auto shown = gym({"stake", "show", "--address", node.hex(), "--json"}, false);
    EXPECT_EQ(json::parse(shown.out).at("active_wei").as_string(), tokens("7").to_string());
}

TEST_F(MoneyCommandsTest, AStakeHasADefenderAndARecipientOfItsOwn) {
    const std::string other = chain::private_chain_key(5).address().hex();
    const auto run = [&](const std::vector<std::string>& arguments) {
        const auto done = gym(arguments, true);
        EXPECT_EQ(done.exit_code, 0) << done.err;
        return json::parse(done.out);
    };
    EXPECT_EQ(run({"stake", "defender", other, "--json"}).at("defender").as_string(), other);
    EXPECT_TRUE(run({"stake", "defender", "none", "--json"}).at("defender").is_null());
    const json::value set = run({"stake", "recipient", other, "--json"});
    EXPECT_EQ(set.at("recipient").as_string(), other);
    EXPECT_TRUE(set.at("next_recipient").is_null());
    const std::string self = owner_.address().hex();
    const json::value requested = run({"stake", "recipient", self, "--json"});
    EXPECT_EQ(requested.at("recipient").as_string(), other) << "the recipient may refuse";
    EXPECT_EQ(requested.at("next_recipient").as_string(), self);
    const auto text = gym({"stake", "show"}, false);
    EXPECT_NE(text.out.find("next recipient     "), std::string::npos) << text.out;
    const auto foreign = gym({"stake", "thaw", "1", "--owner", other}, true);
    EXPECT_NE(foreign.exit_code, 0);
    EXPECT_NE(foreign.err.find("is not the recipient of the stake of"), std::string::npos)
        << foreign.err;
}

TEST_F(MoneyCommandsTest, ClaimPaysOnceWithTheProofOfTheApi) {
    post_root(owner_.address());
    const Amount before = balance_of(owner_.address());
    const auto claim = gym({"rewards", "claim", "--json"}, true);
    ASSERT_EQ(claim.exit_code, 0) << claim.err << claim.out;
    EXPECT_EQ(json::parse(claim.out).at("paid_wei").as_string(), tokens("30").to_string());
    EXPECT_EQ(json::parse(claim.out).at("recipient").as_string(), owner_.address().hex());
    EXPECT_EQ(balance_of(owner_.address()), before.plus(tokens("30")).value());
    const auto again = gym({"rewards", "claim"}, true);
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_NE(again.out.find("nothing to claim"), std::string::npos) << again.out;
    EXPECT_EQ(balance_of(owner_.address()), before.plus(tokens("30")).value());
}

/// The chain has a new root, of which gym-api does not know yet.
TEST_F(MoneyCommandsTest, AClaimWaitsForTheProofUnderTheRootThatIsActive) {
    post_root(owner_.address());
    const rewards::ClaimProof former = *backend_.payout;
    post_root(owner_.address(), 2);
    backend_.outdated = {former, former};
    const auto claim = gym({"rewards", "claim", "--json"}, true);
    ASSERT_EQ(claim.exit_code, 0) << claim.err << claim.out;
    EXPECT_EQ(json::parse(claim.out).at("paid_wei").as_string(), tokens("30").to_string());
    EXPECT_NE(claim.err.find("a new payout root is becoming active"), std::string::npos)
        << claim.err;
    EXPECT_TRUE(backend_.outdated.empty());
}

TEST_F(MoneyCommandsTest, NothingToClaimIsSaidWithTheCommandThatTellsWhy) {
    const auto early = gym({"rewards", "claim"}, true);
    EXPECT_NE(early.exit_code, 0);
    const std::string earner = owner_.address().hex();
    EXPECT_NE(early.err.find("nothing to claim for " + earner + " yet: no payout root on chain"),
              std::string::npos)
        << early.err;
    EXPECT_NE(early.err.find("`gym rewards show --address " + earner + "`"), std::string::npos)
        << early.err;
}

TEST_F(MoneyCommandsTest, AClaimWithoutGasMoneyIsRefusedAtOnce) {
    const auto poor = crypto::PrivateKey::generate();
    std::filesystem::remove(place_ / "key.json");
    ASSERT_TRUE(crypto::save_keystore(place_ / "key.json", poor,
                                      crypto::SecretBytes(std::string_view("pass")),
                                      crypto::ScryptCost::light())
                    .ok());
    post_root(poor.address());
    const auto refused = gym({"rewards", "claim"}, true);
    EXPECT_EQ(refused.exit_code, 5) << refused.err << refused.out;
    EXPECT_NE(refused.err.find("cannot pay for gas"), std::string::npos) << refused.err;
    EXPECT_TRUE(balance_of(poor.address()).is_zero());
}

TEST_F(MoneyCommandsTest, AClaimWithAnAlteredProofIsNotSentAndStandsInNoOnesWay) {
    post_root(owner_.address());
    backend_.payout->path[0].sibling.hash.data[5] ^= 1;
    const auto claim = gym({"rewards", "claim"}, true);
    EXPECT_EQ(claim.exit_code, 3) << claim.out;
    EXPECT_NE(claim.err.find("does not lead to the chain's active payout root"), std::string::npos)
        << claim.err;
    backend_.payout->path[0].sibling.hash.data[5] ^= 1;
    EXPECT_EQ(gym({"rewards", "claim"}, true).exit_code, 0);
}

TEST_F(MoneyCommandsTest, OtherContractsThanTheUsersAreRefused) {
    post_root(owner_.address());
    contracts::Deployment other = deployment_;
    other.distributor.data[0] ^= 1;
    ASSERT_TRUE(contracts::save_deployment(place_ / "deployment.json", other).ok());
    EXPECT_EQ(gym({"rewards", "claim"}, true).exit_code, 3);
}

TEST_F(MoneyCommandsTest, RewardsAreShownAndExplained) {
    const auto show = gym({"rewards", "show"}, false);
    ASSERT_EQ(show.exit_code, 0) << show.err;
    EXPECT_NE(show.out.find("pending"), std::string::npos);
    const auto explain = gym({"rewards", "explain", "00000000-0000-8000-8000-000000000000"}, false);
    ASSERT_EQ(explain.exit_code, 0) << explain.err;
    EXPECT_NE(explain.out.find("flops * price / 10^15"), std::string::npos) << explain.out;
    EXPECT_EQ(gym({"rewards", "explain", "../x"}, false).exit_code, 2);
}

TEST_F(MoneyCommandsTest, CreditsSayTheirJobTheirTimeAndWhatBecameOfThem) {
    backend_.edit_account = [](AccountView& view) {
        view.rewards.payable = Amount(30);
        view.rewards.claimed = Amount(20);
        view.last_credits.clear();
        // Of payouts 2 (10, not claimed) and 1 (20, claimed), and one that waits for its epoch.
        for (const auto& [amount, epoch] :
             {std::pair{10U, 2U}, std::pair{20U, 1U}, std::pair{5U, 0U}}) {
            rewards::Receipt credit = testing::FakeBackend::sample_receipt();
            credit.credit.amount = Amount(amount);
            credit.credit.job_id = Digest::parse("0xabcdef12" + std::string(56, '3')).value();
            credit.state = rewards::CreditState::kPosted;
            credit.created_at = 1'790'000'000'000;
            if (epoch != 0) credit.payout_epoch = epoch;
            view.last_credits.push_back(credit);
        }
    };
    const auto shown = gym({"rewards", "show"}, false);
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    for (const char* part :
         {"to be claimed      0.00000000000000001 GYM",
          "0.00000000000000001 GYM  payable (payout 2)",
          "0.00000000000000002 GYM  claimed (payout 1)", "0.000000000000000005 GYM  earned\n",
          "job 0xabcdef12 round 0", "2026-09-21 "})
        EXPECT_NE(shown.out.find(part), std::string::npos) << part << " in:\n" << shown.out;
    EXPECT_EQ(shown.out.find("posted"), std::string::npos) << shown.out;
}

TEST_F(MoneyCommandsTest, AnEmptyAddressIsAMistakeAndNotTheOwnKey) {
    for (const std::vector<std::string>& command : {std::vector<std::string>{"rewards", "show"},
                                                    {"rewards", "claim"},
                                                    {"stake", "show"},
                                                    {"wallet", "balance"}}) {
        std::vector<std::string> words = command;
        words.insert(words.end(), {"--address", ""});
        const auto refused = gym(words, false);
        EXPECT_EQ(refused.exit_code, 2) << refused.out;
        EXPECT_NE(refused.err.find("it is empty"), std::string::npos) << refused.err;
    }
}

}  // namespace
}  // namespace gym::api
