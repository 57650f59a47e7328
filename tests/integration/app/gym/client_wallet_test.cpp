// `gym wallet` against a real EVM; gym-api answers from memory.
#include <atomic>
#include <set>

#include "gym/contracts/deployment.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "money_fixture.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using testing::address_of;
using testing::kWithdrawalDelayS;
using testing::tokens;

class WalletTest : public testing::MoneyCommandsTest {
  protected:
    /// A deposit that the services have booked: all of it is free.
    void deposit_and_book(const char* amount) {
        ASSERT_EQ(gym({"wallet", "deposit", amount, "--wait", "0"}, true).exit_code, 0);
        backend_.available = tokens(amount);
    }
};

TEST_F(WalletTest, DepositMovesTokensIntoTheEscrow) {
    const auto first = gym({"wallet", "deposit", "12.5", "--wait", "0", "--json"}, true);
    ASSERT_EQ(first.exit_code, 0) << first.err << first.out;
    const std::string hash(json::parse(first.out).at("transaction").as_string());
    EXPECT_NE(first.err.find("transaction " + hash + "; waiting until it is final"),
              std::string::npos)
        << first.err;
    EXPECT_TRUE(json::parse(first.out).at("credited").is_null()) << "nothing was waited for";
    const auto second = gym({"wallet", "deposit", "0.5", "--wait", "0"}, true);
    ASSERT_EQ(second.exit_code, 0) << second.err << second.out;
    const contracts::JobEscrow escrow(deployment_.escrow);
    EXPECT_EQ(escrow.balance_of(anvil_.client(), owner_.address()).value().to_tokens(), "13");
    EXPECT_EQ(balance_of(owner_.address()).to_tokens(), "987");
    const auto too_much = gym({"wallet", "deposit", "988"}, true);
    EXPECT_EQ(too_much.exit_code, 5) << too_much.err;
    EXPECT_EQ(gym({"wallet", "deposit", "1e3"}, true).exit_code, 2);
    EXPECT_EQ(gym({"wallet", "deposit", "0"}, true).exit_code, 2);
    const auto balance = gym({"wallet", "balance"}, false);
    ASSERT_EQ(balance.exit_code, 0) << balance.err;
    EXPECT_NE(balance.out.find("in the wallet      987 GYM"), std::string::npos) << balance.out;
}

TEST_F(WalletTest, ADepositWaitsUntilJobsCanUseIt) {
    std::atomic<int> asked = 0;  // the server counts in a thread of its own
    std::atomic<int> booked_at = 3;
    backend_.edit_account = [&](AccountView& view) {
        view.available = tokens(++asked > booked_at ? "8" : "1");
    };
    const auto waited = gym({"wallet", "deposit", "7", "--json"}, true);
    ASSERT_EQ(waited.exit_code, 0) << waited.err << waited.out;
    EXPECT_EQ(json::parse(waited.out).at("credited"), json::value(true));
    EXPECT_EQ(asked, 4) << "once before the deposit, thrice after it";

    asked = 0;
    booked_at = 1'000'000;
    const auto late = gym({"wallet", "deposit", "7", "--wait", "1", "--json"}, true);
    ASSERT_EQ(late.exit_code, 0) << "the deposit itself is final";
    EXPECT_EQ(json::parse(late.out).at("credited"), json::value(false));
    EXPECT_EQ(gym({"wallet", "deposit", "7", "--wait", "-1"}, true).exit_code, 2);
}

TEST_F(WalletTest, AWithdrawalIsAskedForAndPaidAfterTheDelay) {
    EXPECT_EQ(gym({"wallet", "withdraw"}, true).exit_code, 5) << "nothing was asked for";
    deposit_and_book("10");
    const auto too_much = gym({"wallet", "withdraw", "11"}, true);
    EXPECT_EQ(too_much.exit_code, 5);
    EXPECT_NE(too_much.err.find("10 GYM are free and 0 are locked in jobs"), std::string::npos)
        << too_much.err;
    EXPECT_EQ(too_much.err.find("intent"), std::string::npos) << too_much.err;

    const auto asked = gym({"wallet", "withdraw", "4", "--json"}, true);
    ASSERT_EQ(asked.exit_code, 0) << asked.err << asked.out;
    const json::value request = json::parse(asked.out);
    EXPECT_EQ(request.at("state").as_string(), "requested");
    EXPECT_EQ(request.at("amount_wei").as_string(), tokens("4").to_string());
    EXPECT_GT(request.at("available_at_s").to_number<std::uint64_t>(), 0U);
    const auto early = gym({"wallet", "withdraw"}, true);
    EXPECT_EQ(early.exit_code, 5);
    EXPECT_NE(early.err.find("is available at"), std::string::npos) << early.err;
    EXPECT_NE(early.err.find(" UTC, in "), std::string::npos) << early.err;

    anvil_.rpc("evm_increaseTime", "[" + std::to_string(kWithdrawalDelayS) + "]");
    anvil_.mine(1);
    const auto paid = gym({"wallet", "withdraw", "--json"}, true);
    ASSERT_EQ(paid.exit_code, 0) << paid.err << paid.out;
    EXPECT_EQ(json::parse(paid.out).at("state").as_string(), "paid");
    EXPECT_EQ(json::parse(paid.out).at("amount_wei").as_string(), tokens("4").to_string());
    EXPECT_EQ(balance_of(owner_.address()).to_tokens(), "994");
    EXPECT_EQ(gym({"wallet", "withdraw"}, true).exit_code, 5) << "it is paid once";
}

TEST_F(WalletTest, AWithdrawalCanBeTakenBack) {
    deposit_and_book("10");
    ASSERT_EQ(gym({"wallet", "withdraw", "4"}, true).exit_code, 0);
    const auto cancelled = gym({"wallet", "withdraw", "--cancel"}, true);
    ASSERT_EQ(cancelled.exit_code, 0) << cancelled.err;
    const auto late = gym({"wallet", "withdraw"}, true);
    EXPECT_EQ(late.exit_code, 5);
    EXPECT_NE(late.err.find("no withdrawal is waiting"), std::string::npos) << late.err;
    EXPECT_EQ(gym({"wallet", "withdraw", "1", "--cancel"}, true).exit_code, 2);
}

// The settler unlocks nothing; the wallet needs neither it nor gym-api.
TEST_F(WalletTest, WhoeverLeavesGetsEverythingThoughTheSettlerUnlocksNothing) {
    constexpr std::uint64_t kExitDelayS = 30 * 86'400;
    EXPECT_EQ(gym({"wallet", "leave"}, true).exit_code, 5) << "there is nothing to take";
    deposit_and_book("10");
    EXPECT_EQ(gym({"wallet", "leave", "--cancel"}, true).exit_code, 5) << "nothing was requested";
    const auto asked = gym({"wallet", "leave", "--json"}, true);
    ASSERT_EQ(asked.exit_code, 0) << asked.err << asked.out;
    EXPECT_EQ(json::parse(asked.out).at("state").as_string(), "leaving");
    EXPECT_GT(json::parse(asked.out).at("available_at_s").to_number<std::uint64_t>(), kExitDelayS);
    const auto early = gym({"wallet", "leave"}, true);
    EXPECT_EQ(early.exit_code, 5);
    EXPECT_NE(early.err.find("everything is available at"), std::string::npos) << early.err;

    const records::JobFunding order{owner_.address(), {}, tokens("10"), {}, 4'000'000'000};
    const auto seal =
        records::seal_order({deployment_.chain_id, deployment_.escrow}, order, owner_);
    execute(admin_, contracts::JobEscrow(deployment_.escrow).lock(order, seal.signature), "lock");
    const auto locked = gym({"wallet", "withdraw", "10"}, true);
    EXPECT_EQ(locked.exit_code, 5);
    EXPECT_NE(locked.err.find("0 GYM are free and 10 are locked"), std::string::npos) << locked.err;
    anvil_.rpc("evm_increaseTime", "[" + std::to_string(kExitDelayS) + "]");
    anvil_.mine(1);
    const auto paid = gym({"wallet", "leave", "--json"}, true);
    ASSERT_EQ(paid.exit_code, 0) << paid.err << paid.out;
    EXPECT_EQ(json::parse(paid.out).at("state").as_string(), "paid");
    EXPECT_EQ(json::parse(paid.out).at("amount_wei").as_string(), tokens("10").to_string());
    EXPECT_EQ(balance_of(owner_.address()).to_tokens(), "1000");

    deposit_and_book("1");
    ASSERT_EQ(gym({"wallet", "leave"}, true).exit_code, 0);
    ASSERT_EQ(gym({"wallet", "leave", "--cancel"}, true).exit_code, 0);
    anvil_.rpc("evm_increaseTime", "[" + std::to_string(kExitDelayS) + "]");
    anvil_.mine(1);
    const auto again = gym({"wallet", "leave", "--json"}, true);
    EXPECT_EQ(json::parse(again.out).at("state").as_string(), "leaving") << "a new wait";
}

TEST_F(WalletTest, EachWithdrawalWithinASecondIsATransactionOfItsOwn) {
    deposit_and_book("10");
    anvil_.rpc("anvil_setBlockTimestampInterval", "[0]");  // all blocks from now on in one second
    std::set<std::string> hashes;
    for (const std::vector<std::string>& one :
         {std::vector<std::string>{"4"}, {"--cancel"}, {"4"}, {"--cancel"}, {"4"}}) {
        std::vector<std::string> arguments{"wallet", "withdraw", "--json"};
        arguments.insert(arguments.end(), one.begin(), one.end());
        const auto done = gym(arguments, true);
        ASSERT_EQ(done.exit_code, 0) << done.err;
        hashes.emplace(json::parse(done.out).at("transaction").as_string());
    }
    EXPECT_EQ(hashes.size(), 5U) << "an earlier transaction was taken for another one";
    const contracts::JobEscrow escrow(deployment_.escrow);
    EXPECT_EQ(escrow.withdrawal_of(anvil_.client(), owner_.address())->first, tokens("4"));
}

TEST_F(WalletTest, ACancellationWithoutARequestSendsNothing) {
    const auto refused = gym({"wallet", "withdraw", "--cancel"}, true);
    EXPECT_EQ(refused.exit_code, 5) << refused.err << refused.out;
    EXPECT_NE(refused.err.find("no request"), std::string::npos) << refused.err;
}

TEST_F(WalletTest, OneSetOfKeyFlagsFitsEveryCommand) {
    for (const char* command : {"show", "balance"}) {
        const auto answer = gym({"wallet", command}, true);
        EXPECT_EQ(answer.exit_code, 0) << command << answer.err;
    }
    const auto wrong = gym({"wallet", "deposit", "1", "--owner", "0x12"}, true);
    EXPECT_NE(wrong.err.find("'0x12' is not an address"), std::string::npos) << wrong.err;
}

TEST_F(WalletTest, WalletsAreMadeOnceAndShown) {
    const auto made = gym({"wallet", "new", "--keystore", "new.json", "--json"}, true);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const std::string address(json::parse(made.out).at("address").as_string());
    const auto shown = gym({"wallet", "show", "--keystore", "new.json"}, false);
    EXPECT_EQ(shown.out, address + "\n");
    EXPECT_NE(gym({"wallet", "new", "--keystore", "new.json"}, true).exit_code, 0)
        << "a key is never overwritten";
    const auto key =
        crypto::load_keystore(place_ / "new.json", crypto::SecretBytes(std::string_view("pass")));
    ASSERT_TRUE(key.ok()) << key.error().message;
    EXPECT_EQ(crypto::to_checksum(key->address()), address);
}

TEST_F(WalletTest, ADepositIntoAnAddressWithoutACodeIsRefusedBeforeAnythingIsSigned) {
    contracts::Deployment other = deployment_;
    other.escrow = address_of(0x11);
    use(other);
    ::unsetenv("GYM_API");
    const auto nonce = anvil_.client().nonce(owner_.address(), chain::BlockTag::kLatest).value();
    for (const char* command : {"deposit", "withdraw"}) {
        const auto refused = gym({"wallet", command, "1"}, true);
        EXPECT_EQ(refused.exit_code, 1) << refused.out << refused.err;
        EXPECT_NE(refused.err.find("there is no contract at " + other.escrow.hex() +
                                   ", where the job escrow should be"),
                  std::string::npos)
            << refused.err;
    }
    other = deployment_;
    other.stake = address_of(0x12);
    use(other);
    EXPECT_EQ(gym({"stake", "add", "1"}, true).exit_code, 1);
    EXPECT_EQ(anvil_.client().nonce(owner_.address(), chain::BlockTag::kLatest).value(), nonce);
    EXPECT_EQ(balance_of(owner_.address()), tokens("1000"));
}

TEST_F(WalletTest, ADepositThatTheEscrowDoesNotConfirmIsNoSuccess) {
    // A contract that takes every call and does nothing: one STOP.
    contracts::Deployment other = deployment_;
    other.escrow = address_of(0x13);
    anvil_.rpc("anvil_setCode", R"([")" + other.escrow.hex() + R"(","0x00"])");
    use(other);
    ::unsetenv("GYM_API");
    const auto nothing = gym({"wallet", "deposit", "1"}, true);
    EXPECT_EQ(nothing.exit_code, 3) << nothing.out << nothing.err;
    EXPECT_NE(nothing.err.find("does not say that 1 GYM arrived"), std::string::npos)
        << nothing.err;
    EXPECT_EQ(nothing.out.find("deposited"), std::string::npos) << nothing.out;
}

TEST_F(WalletTest, AFileOfAnotherNetworkIsRefusedByEveryCommandThatSends) {
    contracts::Deployment other = deployment_;
    other.dispute_game.data[3] ^= 1;
    use(other);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"wallet", "deposit", "1"},
          {"wallet", "withdraw", "1"},
          {"stake", "add", "1"},
          {"stake", "thaw", "1"},
          {"stake", "withdraw"},
          {"rewards", "claim"}}) {
        const auto refused = gym(command, true);
        EXPECT_EQ(refused.exit_code, 3) << command[1] << refused.out << refused.err;
        EXPECT_NE(refused.err.find("the dispute game of gym-api's network is " +
                                   deployment_.dispute_game.hex()),
                  std::string::npos)
            << refused.err;
    }
}

TEST_F(WalletTest, AnApiThatDoesNotAnswerKeepsNobodyFromItsMoney) {
    deposit_and_book("10");
    const auto asked = gym({"wallet", "withdraw", "4", "--api", "http://127.0.0.1:1"}, true);
    ASSERT_EQ(asked.exit_code, 0) << asked.err;
    EXPECT_NE(asked.err.find("your deployment is not compared: "), std::string::npos) << asked.err;
    EXPECT_NE(asked.err.find("orders that the chain has not locked yet are unknown"),
              std::string::npos)
        << asked.err;
}

TEST_F(WalletTest, WhatIsLockedInJobsCannotBeAskedFor) {
    deposit_and_book("10");
    backend_.available = tokens("3");
    backend_.withdrawing = tokens("1");
    backend_.escrowed = tokens("6");
    const auto refused = gym({"wallet", "withdraw", "4.5"}, true);
    EXPECT_EQ(refused.exit_code, 5) << refused.out;
    EXPECT_NE(refused.err.find("4 GYM are free and 6 are locked in jobs"), std::string::npos)
        << refused.err;
    const auto asked = gym({"wallet", "withdraw", "4", "--json"}, true);
    ASSERT_EQ(asked.exit_code, 0) << asked.err;
    EXPECT_EQ(json::parse(asked.out).at("free_wei").as_string(), tokens("4").to_string());
    EXPECT_EQ(json::parse(asked.out).at("locked_wei").as_string(), tokens("6").to_string());
}

TEST_F(WalletTest, AnAccountLocksWhatPaysEmission) {
    const auto done = gym({"wallet", "deposit", "10", "--lock", "--wait", "0", "--json"}, true);
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_TRUE(json::parse(done.out).at("locked").as_bool());
    const contracts::JobEscrow escrow(deployment_.escrow);
    EXPECT_EQ(escrow.locked_of(anvil_.client(), owner_.address()).value(), tokens("10"));
    const auto others =
        gym({"wallet", "deposit", "1", "--lock", "--owner", address_of(0x14).hex()}, true);
    EXPECT_EQ(others.exit_code, 2) << others.err;
}

TEST_F(WalletTest, ARequestThatReplacesAnotherSaysSoAndThatTheWaitBeginsAgain) {
    deposit_and_book("10");
    ASSERT_EQ(gym({"wallet", "withdraw", "4"}, true).exit_code, 0);
    const auto again = gym({"wallet", "withdraw", "5", "--json"}, true);
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_NE(again.err.find("replaces           the request of 4 GYM, payable at "),
              std::string::npos)
        << again.err;
    EXPECT_NE(again.err.find("the wait begins again"), std::string::npos) << again.err;
    EXPECT_EQ(json::parse(again.out).at("replaced_wei").as_string(), tokens("4").to_string());
}

}  // namespace
}  // namespace gym::api
