// `gym wallet` and `gym rewards` against a real EVM; gym-api answers from memory.
#include <boost/json.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "anvil.hpp"
#include "command.hpp"
#include "fake_backend.hpp"
#include "gym/api/server.hpp"
#include "gym/chain/contracts.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/file.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/rewards/payout_tree.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using gym::testing::run;
using gym::testing::spill;

constexpr std::uint64_t kWithdrawalDelayS = 3'600;

Amount tokens(const char* text) {
    return Amount::parse_tokens(text).value();
}

chain::AnvilOptions quick_blocks() {
    chain::AnvilOptions options;
    options.block_time_ms = 100;  // so that the chain goes on and blocks become final
    options.persist = true;       // for the test that stops it
    return options;
}

class MoneyCommandsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        store_ = chain_store::SqliteChainStore::open(":memory:").value();
        deploy();
        ASSERT_TRUE(chain::save_deployment(place_ / "deployment.json", deployment_).ok());
        ASSERT_TRUE(crypto::save_keystore(place_ / "key.json", owner_,
                                          crypto::SecretBytes(std::string_view("pass")),
                                          crypto::ScryptCost::light())
                        .ok());
        ASSERT_TRUE(write_file_atomic(place_ / "pass", as_bytes("pass\n"), 0600).ok());
        ApiOptions options;
        options.network = {deployment_.chain_id, deployment_.token, deployment_.escrow,
                           deployment_.distributor, deployment_.commitment_log};
        api_.emplace(ApiDependencies{backend_, backend_, backend_, clock_}, options);
        server_ = Server::start({}, *api_).value();
        ::setenv("GYM_API", ("http://127.0.0.1:" + std::to_string(server_->port())).c_str(), 1);
        ::setenv("GYM_CHAIN", anvil_.url().c_str(), 1);
        ::setenv("GYM_DEPLOYMENT", (place_ / "deployment.json").c_str(), 1);
    }
    void TearDown() override {
        if (server_) server_->stop(1'000);
        for (const char* name : {"GYM_API", "GYM_CHAIN", "GYM_DEPLOYMENT"})
            ::unsetenv(name);
    }

    chain::Outcome execute(const crypto::PrivateKey& key, const chain::ContractCall& call,
                           const std::string& id) {
        const auto intents = store_->intents(anvil_.chain_id(), key.address());
        chain::TxManager manager(anvil_.client(), *intents, key.clone(), clock_,
                                 gym::testing::test_policy(anvil_.chain_id()),
                                 chain::describe_revert);
        const auto outcome = manager.execute(call.intent(id), 60'000);
        EXPECT_TRUE(outcome.ok()) << outcome.error().message;
        return outcome.value_or({});
    }

    void deploy() {
        const auto intents = store_->intents(anvil_.chain_id(), admin_.address());
        chain::TxManager manager(anvil_.client(), *intents, admin_.clone(), clock_,
                                 gym::testing::test_policy(anvil_.chain_id()),
                                 chain::describe_revert);
        chain::DeployParams params;
        params.token_holder = owner_.address();
        params.token_supply = tokens("1000");
        params.growth_limit = params.release_cap = tokens("1000");
        params.withdrawal_delay_s = kWithdrawalDelayS;
        params.settler = params.guardian = params.coordinator = admin_.address();
        const auto deployed = chain::deploy(manager, anvil_.client(),
                                            chain::find_artifacts().value(), params, 60'000);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        deployment_ = *deployed;
    }

    /// Puts 100 tokens into the distributor and a root that pays `earner` 30 of them.
    void post_root(const Address& earner) {
        execute(owner_, token().transfer(deployment_.distributor, tokens("100")), "fund");
        const rewards::PayoutDomain domain{deployment_.chain_id, deployment_.distributor,
                                           deployment_.token};
        Address other;
        other.data.fill(0x77);
        const auto tree =
            rewards::PayoutTree::build(domain, {{earner, tokens("30")}, {other, tokens("5")}})
                .value();
        chain::RootSubmitted root;
        root.epoch = 1;
        root.root = tree.root();
        root.total_cumulative = tokens("35");
        root.epoch_file_root.data.fill(1);
        execute(admin_, chain::RewardsDistributor(deployment_.distributor).submit_root(root),
                "root");
        rewards::ClaimProof proof;
        proof.epoch = 1;
        proof.root = tree.root();
        proof.cumulative = tokens("30");
        proof.proof = tree.prove(earner).value();
        backend_.payout = proof;
    }

    gym::testing::Outcome gym(std::vector<std::string> arguments, bool signs) {
        arguments.insert(arguments.end(), {"--data-dir", (place_ / ".").string()});
        if (signs)
            arguments.insert(arguments.end(), {"--passphrase-file", (place_ / "pass").string()});
        return run(place_, std::move(arguments));
    }
    chain::GymToken token() const { return {deployment_.chain_id, deployment_.token}; }
    Amount balance_of(const Address& who) {
        return token().balance_of(anvil_.client(), who).value();
    }

    gym::testing::TestAnvil anvil_{quick_blocks()};
    gym::testing::TemporaryFolder place_;
    SystemClock clock_;
    crypto::PrivateKey owner_ = anvil_.funded_key(1);
    crypto::PrivateKey admin_ = anvil_.funded_key(0);
    std::unique_ptr<chain_store::SqliteChainStore> store_;
    chain::Deployment deployment_;
    testing::FakeBackend backend_;
    std::optional<Api> api_;
    std::unique_ptr<Server> server_;
};

TEST_F(MoneyCommandsTest, DepositMovesTokensIntoTheEscrow) {
    const auto first = gym({"wallet", "deposit", "12.5", "--json"}, true);
    ASSERT_EQ(first.exit_code, 0) << first.err << first.out;
    const std::string hash(json::parse(first.out).at("transaction").as_string());
    EXPECT_NE(first.err.find("transaction " + hash + "; it goes on even if"), std::string::npos)
        << first.err;
    const auto second = gym({"wallet", "deposit", "0.5"}, true);
    ASSERT_EQ(second.exit_code, 0) << second.err << second.out;
    const chain::JobEscrow escrow(deployment_.escrow);
    EXPECT_EQ(escrow.balance_of(anvil_.client(), owner_.address()).value().to_tokens(), "13");
    EXPECT_EQ(balance_of(owner_.address()).to_tokens(), "987");
    const auto too_much = gym({"wallet", "deposit", "988"}, true);
    EXPECT_EQ(too_much.exit_code, 5) << too_much.err;
    EXPECT_EQ(gym({"wallet", "deposit", "1e3"}, true).exit_code, 2);
    EXPECT_EQ(gym({"wallet", "deposit", "0"}, true).exit_code, 2);
    const auto balance = gym({"wallet", "balance"}, false);
    ASSERT_EQ(balance.exit_code, 0) << balance.err;
    EXPECT_NE(balance.out.find("in the wallet      987 tokens"), std::string::npos) << balance.out;
}

TEST_F(MoneyCommandsTest, AWithdrawalIsAskedForAndPaidAfterTheDelay) {
    EXPECT_EQ(gym({"wallet", "withdraw"}, true).exit_code, 5) << "nothing was asked for";
    ASSERT_EQ(gym({"wallet", "deposit", "10"}, true).exit_code, 0);
    const auto too_much = gym({"wallet", "withdraw", "11"}, true);
    EXPECT_EQ(too_much.exit_code, 5);
    EXPECT_NE(too_much.err.find("InsufficientBalance"), std::string::npos) << too_much.err;

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

TEST_F(MoneyCommandsTest, AWithdrawalCanBeTakenBack) {
    ASSERT_EQ(gym({"wallet", "deposit", "10"}, true).exit_code, 0);
    ASSERT_EQ(gym({"wallet", "withdraw", "4"}, true).exit_code, 0);
    const auto cancelled = gym({"wallet", "withdraw", "--cancel"}, true);
    ASSERT_EQ(cancelled.exit_code, 0) << cancelled.err;
    const auto late = gym({"wallet", "withdraw"}, true);
    EXPECT_EQ(late.exit_code, 5);
    EXPECT_NE(late.err.find("no withdrawal was requested"), std::string::npos) << late.err;
    EXPECT_EQ(gym({"wallet", "withdraw", "1", "--cancel"}, true).exit_code, 2);
}

TEST_F(MoneyCommandsTest, EachWithdrawalWithinASecondIsATransactionOfItsOwn) {
    ASSERT_EQ(gym({"wallet", "deposit", "10"}, true).exit_code, 0);
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
    const chain::JobEscrow escrow(deployment_.escrow);
    EXPECT_EQ(escrow.withdrawal_of(anvil_.client(), owner_.address())->first, tokens("4"));
}

TEST_F(MoneyCommandsTest, StakeIsAddedThawedAndWithdrawnAfterTheDelay) {
    EXPECT_EQ(gym({"stake", "withdraw"}, true).exit_code, 5) << "nothing thaws";
    EXPECT_EQ(gym({"stake", "add", "1001"}, true).exit_code, 5) << "more than the wallet holds";
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
    EXPECT_NE(too_much.err.find("only 10 tokens are active"), std::string::npos) << too_much.err;
    ASSERT_EQ(gym({"stake", "thaw", "3"}, true).exit_code, 0);
    ASSERT_EQ(gym({"stake", "thaw", "3"}, true).exit_code, 0) << "the same amount once more";
    const auto early = gym({"stake", "withdraw"}, true);
    EXPECT_EQ(early.exit_code, 5);
    EXPECT_NE(early.err.find("nothing has thawed yet: 3 tokens, can be withdrawn from "),
              std::string::npos)
        << early.err;
    const auto shown = gym({"stake", "show", "--json"}, false);
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_EQ(json::parse(shown.out).at("thaws").as_array().size(), 2U) << shown.out;
    EXPECT_EQ(json::parse(shown.out).at("thawing_wei").as_string(), tokens("6").to_string());
    EXPECT_EQ(json::parse(shown.out).at("thaws").at(0).at("worth_wei").as_string(),
              tokens("3").to_string());

    anvil_.rpc("evm_increaseTime",
               "[" + std::to_string(chain::DisputeParams{}.thaw_period_s) + "]");
    anvil_.mine(1);
    const auto paid = gym({"stake", "withdraw", "--json"}, true);
    ASSERT_EQ(paid.exit_code, 0) << paid.err << paid.out;
    EXPECT_EQ(json::parse(paid.out).at("amount_wei").as_string(), tokens("6").to_string());
    EXPECT_TRUE(json::parse(paid.out).at("thaws").as_array().empty());
    EXPECT_EQ(balance_of(owner_.address()).to_tokens(), "996");
    const auto text = gym({"stake", "show"}, false);
    EXPECT_NE(text.out.find("active             4 tokens"), std::string::npos) << text.out;
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
    EXPECT_TRUE(told("the chain does not answer, it is asked again: "));
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

TEST_F(MoneyCommandsTest, ClaimPaysOnceWithTheProofOfTheApi) {
    post_root(owner_.address());
    const Amount before = balance_of(owner_.address());
    const auto claim = gym({"rewards", "claim", "--json"}, true);
    ASSERT_EQ(claim.exit_code, 0) << claim.err << claim.out;
    EXPECT_EQ(json::parse(claim.out).at("paid_wei").as_string(), tokens("30").to_string());
    EXPECT_EQ(balance_of(owner_.address()), before.plus(tokens("30")).value());
    const auto again = gym({"rewards", "claim"}, true);
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_NE(again.out.find("nothing to claim"), std::string::npos) << again.out;
    EXPECT_EQ(balance_of(owner_.address()), before.plus(tokens("30")).value());
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

TEST_F(MoneyCommandsTest, ACancellationWithoutARequestSendsNothing) {
    const auto refused = gym({"wallet", "withdraw", "--cancel"}, true);
    EXPECT_EQ(refused.exit_code, 5) << refused.err << refused.out;
    EXPECT_NE(refused.err.find("no request"), std::string::npos) << refused.err;
}

TEST_F(MoneyCommandsTest, OneSetOfKeyFlagsFitsEveryCommand) {
    for (const char* command : {"show", "balance"}) {
        const auto answer = gym({"wallet", command}, true);
        EXPECT_EQ(answer.exit_code, 0) << command << answer.err;
    }
    const auto wrong = gym({"wallet", "deposit", "1", "--owner", "0x12"}, true);
    EXPECT_NE(wrong.err.find("'0x12' is no address"), std::string::npos) << wrong.err;
}

TEST_F(MoneyCommandsTest, AClaimWithAnAlteredProofIsRefusedByTheContract) {
    post_root(owner_.address());
    backend_.payout->proof[0].data[5] ^= 1;
    const auto claim = gym({"rewards", "claim"}, true);
    EXPECT_EQ(claim.exit_code, 5) << claim.out;
    EXPECT_NE(claim.err.find("InvalidProof"), std::string::npos) << claim.err;
}

TEST_F(MoneyCommandsTest, OtherContractsThanTheUsersAreRefused) {
    post_root(owner_.address());
    chain::Deployment other = deployment_;
    other.distributor.data[0] ^= 1;
    ASSERT_TRUE(chain::save_deployment(place_ / "deployment.json", other).ok());
    EXPECT_EQ(gym({"rewards", "claim"}, true).exit_code, 3);
}

TEST_F(MoneyCommandsTest, WalletsAreMadeOnceAndShown) {
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

TEST_F(MoneyCommandsTest, RewardsAreShownAndExplained) {
    const auto show = gym({"rewards", "show"}, false);
    ASSERT_EQ(show.exit_code, 0) << show.err;
    EXPECT_NE(show.out.find("pending"), std::string::npos);
    const auto explain = gym({"rewards", "explain", "00000000-0000-8000-8000-000000000000"}, false);
    ASSERT_EQ(explain.exit_code, 0) << explain.err;
    EXPECT_NE(explain.out.find("flops * price / 10^15"), std::string::npos) << explain.out;
    EXPECT_EQ(gym({"rewards", "explain", "../x"}, false).exit_code, 2);
}

}  // namespace
}  // namespace gym::api
