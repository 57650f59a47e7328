// `gym rewards disable`, and what `gym rewards audit` says before, against a real EVM: a settler
// that posts a root under which an earner has less than before.
#include <boost/json.hpp>

#include "anvil.hpp"
#include "command.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/admin_timelock.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/rewards/epoch_file.hpp"
#include "must.hpp"

namespace gym::testing {
namespace {

namespace json = boost::json;
using rewards::EpochFile;

constexpr std::uint64_t kDelayS = 3'600;

chain::AnvilOptions quick_blocks() {
    chain::AnvilOptions options;
    options.block_time_ms = 100;
    return options;
}

Address earner(std::uint8_t number) {
    Address out;
    out.data.fill(number);
    return out;
}

class DisableTest : public ::testing::Test {
  protected:
    void SetUp() override {
        contracts::DeployParams params;
        params.token_holder = admin_.address();
        params.token_supply = params.growth_limit = params.release_cap = Amount(1'000'000);
        params.activation_delay_s = kDelayS;
        params.admin_delay_s = 2 * kDelayS;
        params.settler = params.guardian = params.coordinator = admin_.address();
        deployment_ = must(contracts::deploy(manager_, anvil_.client(),
                                             must(contracts::find_artifacts()), params, 60'000));
        must(contracts::save_deployment(place_ / "deployment.json", deployment_));
        must(crypto::save_keystore(place_ / "key.json", anybody_,
                                   crypto::SecretBytes(std::string_view("pass")),
                                   crypto::ScryptCost::light()));
        must(write_file_atomic(place_ / "pass", as_bytes("pass\n"), 0600));
        send(contracts::GymToken(deployment_.chain_id, deployment_.token)
                 .transfer(deployment_.distributor, Amount(1'000)),
             "fund");
    }
    void send(const contracts::ContractCall& call, const std::string& id) {
        (void)must(manager_.execute(call.intent(id), 60'000));
    }
    /// Publishes a file over these payouts and posts its root.
    void post(std::uint64_t epoch, const std::vector<payouts::Payout>& payouts) {
        EpochFile file;
        file.epoch = epoch;
        file.previous = file_root_;
        file.domain = {deployment_.chain_id, deployment_.distributor, deployment_.token};
        file.payouts = payouts;
        for (const payouts::Payout& payout : payouts)
            file.total_cumulative = *file.total_cumulative.plus(payout.cumulative);
        file.payout_root = must(payouts::PayoutTree::build(file.domain, payouts)).root();
        const std::string text = rewards::encode_epoch_file(file);
        spill(path(epoch), text);
        file_root_ = rewards::epoch_file_root(text);
        contracts::RootSubmitted root;
        root.epoch = epoch;
        root.root = file.payout_root;
        root.total_cumulative = file.total_cumulative;
        root.epoch_file_root = *file_root_;
        send(distributor().submit_root(root), "root/" + std::to_string(epoch));
    }
    void activate() {
        anvil_.rpc("evm_increaseTime", "[" + std::to_string(kDelayS) + "]");
        anvil_.mine(1);
        ASSERT_EQ(pending(), 0U);
    }
    std::filesystem::path path(std::uint64_t epoch) {
        return place_ / ("epoch-" + std::to_string(epoch) + ".json");
    }
    Outcome gym(std::vector<std::string> arguments) {
        const std::vector<std::string> chain{"--files",      (place_ / ".").string(),
                                             "--chain",      anvil_.url(),
                                             "--deployment", (place_ / "deployment.json").string()};
        arguments.insert(arguments.begin(), "rewards");
        arguments.insert(arguments.end(), chain.begin(), chain.end());
        return run(place_, std::move(arguments));
    }
    Outcome disable(const std::string& epoch, std::vector<std::string> more = {}) {
        const std::vector<std::string> words{"disable",           epoch,
                                             "--data-dir",        (place_ / ".").string(),
                                             "--passphrase-file", (place_ / "pass").string()};
        more.insert(more.begin(), words.begin(), words.end());
        return gym(std::move(more));
    }
    Outcome demand(const std::string& epoch, const Address& earner,
                   std::vector<std::string> more = {}) {
        return of_leaf("demand", epoch, earner, std::move(more));
    }
    Outcome reclaim(const std::string& epoch, const Address& earner,
                    std::vector<std::string> more = {}) {
        return of_leaf("reclaim", epoch, earner, std::move(more));
    }
    Outcome of_leaf(const std::string& command, const std::string& epoch, const Address& earner,
                    std::vector<std::string> more) {
        const std::vector<std::string> words{command,
                                             epoch,
                                             "--address",
                                             earner.hex(),
                                             "--data-dir",
                                             (place_ / ".").string(),
                                             "--passphrase-file",
                                             (place_ / "pass").string()};
        more.insert(more.begin(), words.begin(), words.end());
        if (command == "demand") return gym(std::move(more));
        more.insert(more.begin(), "rewards");
        const std::vector<std::string> chain{"--chain", anvil_.url(), "--deployment",
                                             (place_ / "deployment.json").string()};
        more.insert(more.end(), chain.begin(), chain.end());
        return run(place_, std::move(more));
    }
    void expect_refused(const Outcome& outcome, int exit_code, const std::string& because) {
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
        EXPECT_NE(outcome.err.find(because), std::string::npos) << outcome.err;
        EXPECT_EQ(outcome.out, "");
    }
    std::uint64_t sent() {
        return must(anvil_.client().nonce(anybody_.address(), chain::BlockTag::kLatest));
    }
    std::uint64_t pending() { return must(distributor().pending_root(anvil_.client())).epoch; }
    contracts::RewardsDistributor distributor() const {
        return contracts::RewardsDistributor(deployment_.distributor);
    }

    TestAnvil anvil_{quick_blocks()};
    TemporaryFolder place_;
    SystemClock clock_;
    crypto::PrivateKey admin_ = anvil_.funded_key(0);
    crypto::PrivateKey anybody_ = anvil_.funded_key(5);
    std::unique_ptr<chain_store::SqliteChainStore> store_ =
        must(chain_store::SqliteChainStore::open(":memory:"));
    std::unique_ptr<chain::IntentStore> intents_ =
        store_->intents(anvil_.chain_id(), admin_.address());
    chain::TxManager manager_{anvil_.client(),
                              *intents_,
                              admin_.clone(),
                              clock_,
                              test_policy(anvil_.chain_id()),
                              contracts::describe_revert};
    contracts::Deployment deployment_;
    std::optional<Digest> file_root_;
};

TEST_F(DisableTest, AnybodyDisablesARootThatTakesFromAnEarner) {
    post(1, {{earner(1), Amount(50)}, {earner(2), Amount(30)}, {earner(3), Amount(20)}});
    expect_refused(disable("1"), 5, "no payout root is active yet");
    activate();
    post(2, {{earner(1), Amount(90)}, {earner(2), Amount(20)}, {earner(3), Amount(19)}});

    const Outcome audit = gym({"audit", "--files-only"});
    EXPECT_EQ(audit.exit_code, 3);
    EXPECT_NE(audit.out.find(earner(2).hex() + " has 20 wei under the pending root of epoch 2, and "
                                               "30 under the active one: `gym rewards disable 2`"),
              std::string::npos)
        << audit.out;

    expect_refused(disable("1"), 5, "the payout root of epoch 1 is not pending");
    const Outcome tried = disable("2", {"--dry-run", "--json"});
    ASSERT_EQ(tried.exit_code, 0) << tried.out << tried.err;
    json::object said = json::parse(tried.out).as_object();
    EXPECT_EQ(said.at("earner").as_string(), earner(2).hex());
    EXPECT_EQ(said.at("active_wei").as_string(), "30");
    EXPECT_EQ(said.at("pending_wei").as_string(), "20");
    EXPECT_TRUE(said.at("dry_run").as_bool());
    EXPECT_GT(said.at("gas").to_number<std::uint64_t>(), 21'000U);
    EXPECT_EQ(sent(), 0U);
    EXPECT_EQ(pending(), 2U);

    const Outcome done = disable("2", {"--json"});
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
    said = json::parse(done.out).as_object();
    EXPECT_FALSE(said.at("dry_run").as_bool());
    EXPECT_EQ(said.at("transaction").as_string().size(), 66U);
    EXPECT_EQ(said.at("active_epoch").to_number<std::uint64_t>(), 1U);
    EXPECT_EQ(sent(), 1U);
    EXPECT_EQ(pending(), 0U);
    EXPECT_EQ(must(distributor().active_root(anvil_.client())).epoch, 1U);
    expect_refused(disable("2"), 5, "none is pending");
    EXPECT_EQ(sent(), 1U);
}

TEST_F(DisableTest, ARootUnderWhichNobodyFellIsLeftAlone) {
    post(1, {{earner(1), Amount(50)}, {earner(2), Amount(30)}});
    activate();
    post(2, {{earner(1), Amount(50)}, {earner(2), Amount(31)}, {earner(3), Amount(40)}});
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, std::vector<std::string>{"--dry-run"}})
        expect_refused(disable("2", more), 5, "no earner has less under the pending root");
    EXPECT_EQ(sent(), 0U);
    EXPECT_EQ(pending(), 2U);
    const Outcome audit = gym({"audit", "--files-only"});
    EXPECT_EQ(audit.out.find("gym rewards disable"), std::string::npos) << audit.out;
}

// What the admin will be able to do is no deviation, but who audits has to see it.
TEST_F(DisableTest, AnAuditNamesWhatTheAdminAnnounced) {
    post(1, {{earner(1), Amount(50)}});
    // Files without credits deviate; what is announced is told all the same.
    Outcome audit = gym({"audit", "--files-only"});
    EXPECT_EQ(audit.out.find("announced"), std::string::npos) << audit.out;
    const auto timelock = must(contracts::AdminTimelock::of(anvil_.client(), deployment_));
    contracts::AdminChange change;
    change.calls = contracts::grant_calls(deployment_, timelock.address(),
                                          contracts::AdminRole::kSettler, earner(9));
    send(timelock.announce(change, 2 * kDelayS), "announce");
    audit = gym({"audit", "--files-only"});
    EXPECT_NE(audit.out.find("grant SETTLER_ROLE to " + earner(9).hex() + " in JobEscrow"),
              std::string::npos)
        << audit.out;
    const std::string lines = gym({"audit", "--files-only", "--json"}).out;
    const json::object said = json::parse(lines.substr(0, lines.find('\n'))).as_object();
    EXPECT_EQ(said.at("announced").as_array().at(0).at("id").as_string(), change.id().hex());
}

TEST_F(DisableTest, AnybodyDisablesARootThatLeavesAnEarnerOut) {
    post(1, {{earner(1), Amount(50)}, {earner(2), Amount(30)}});
    activate();
    post(2, {{earner(1), Amount(50)}, {earner(3), Amount(40)}});
    const Outcome done = disable("2", {"--json"});
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
    const json::object said = json::parse(done.out).as_object();
    EXPECT_EQ(said.at("earner").as_string(), earner(2).hex());
    EXPECT_EQ(said.at("active_wei").as_string(), "30");
    EXPECT_EQ(said.at("pending_wei").as_string(), "0");
    EXPECT_EQ(pending(), 0U);
}

// The settler publishes nothing about its root, so that nobody can prove anything.
TEST_F(DisableTest, ARootWhoseLeafIsNotShownNeverPaysAndTheBondComesBack) {
    post(1, {{earner(1), Amount(50)}, {earner(2), Amount(30)}});
    expect_refused(demand("1", earner(2)), 5, "no payout root is active yet");
    activate();
    post(2, {{earner(3), Amount(80)}});
    std::filesystem::remove(path(2));
    expect_refused(demand("2", earner(3)), 1, "pays nothing to " + earner(3).hex());
    expect_refused(demand("3", earner(2)), 5, "the payout root of epoch 3 is not pending");
    EXPECT_EQ(sent(), 0U);
    const Outcome asked = demand("2", earner(2), {"--json"});
    ASSERT_EQ(asked.exit_code, 0) << asked.out << asked.err;
    const json::object said = json::parse(asked.out).as_object();
    EXPECT_EQ(said.at("earner").as_string(), earner(2).hex());
    EXPECT_EQ(said.at("bond_wei").as_string(), "10000000000000000");
    EXPECT_EQ(demand("2", earner(2)).exit_code, 0) << "the same demand again";
    EXPECT_EQ(sent(), 1U);
    expect_refused(reclaim("2", earner(2)), 5, "RootPending");

    activate();
    EXPECT_EQ(must(distributor().active_root(anvil_.client())).epoch, 1U);
    const Outcome back = reclaim("2", earner(2), {"--json"});
    ASSERT_EQ(back.exit_code, 0) << back.out << back.err;
    EXPECT_EQ(sent(), 2U);
    EXPECT_TRUE(
        must(anvil_.client().balance(deployment_.distributor, chain::BlockTag::kLatest)).is_zero());
    expect_refused(reclaim("2", earner(1)), 5, "NotDemanded");
    EXPECT_EQ(sent(), 2U);
}

TEST_F(DisableTest, FilesThatDoNotGiveTheRootsProveNothing) {
    post(1, {{earner(1), Amount(50)}, {earner(2), Amount(30)}});
    activate();
    post(2, {{earner(1), Amount(60)}, {earner(2), Amount(20)}});
    std::string lie = slurp(path(2));
    lie.replace(lie.find("\"20\""), 4, "\"19\"");
    spill(path(2), lie);
    expect_refused(disable("2"), 3, "the file of epoch 2 gives the payout root");
    std::filesystem::remove(path(2));
    expect_refused(disable("2"), 1, "epoch-2.json");
    EXPECT_EQ(sent(), 0U);
}

}  // namespace
}  // namespace gym::testing
