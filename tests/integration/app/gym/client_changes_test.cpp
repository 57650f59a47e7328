// What the admin and the guardian of the contracts do by `gym operator`, against a real EVM.
#include <boost/json.hpp>

#include "command.hpp"
#include "deployed.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/admin_timelock.hpp"
#include "gym/crypto/keystore.hpp"
#include "must.hpp"

namespace gym::testing {
namespace {

namespace json = boost::json;
using contracts::AdminRole;

constexpr std::uint64_t kDelayS = 7'200;
constexpr int kMissing = 1, kUsage = 2, kRefused = 5;

class ChangesTest : public ::testing::Test {
  protected:
    void SetUp() override {
        contracts::DeployParams params;
        params.token_holder = admin_.address();
        params.token_supply = tokens("1000");
        params.growth_limit = params.release_cap = tokens("10");
        params.admin_delay_s = kDelayS;
        params.withdrawal_delay_s = params.activation_delay_s = kDelayS / 2;
        params.settler = settler_.address();
        params.coordinator = settler_.address();
        params.guardian = guardian_.address();
        deployment_ = must(contracts::deploy(*sender_.manager, anvil_.client(),
                                             must(contracts::find_artifacts()), params, 60'000));
        must(contracts::wait_deployment_final(*sender_.manager, 60'000));
        must(contracts::save_deployment(place_ / "deployment.json", deployment_));
        must(write_file_atomic(place_ / "pass", as_bytes("pass\n"), 0600));
        for (const auto& [name, key] : {std::pair{"admin", &admin_}, {"guardian", &guardian_}}) {
            std::filesystem::create_directory(place_ / name);
            must(crypto::save_keystore(place_ / name / "key.json", *key,
                                       crypto::SecretBytes(std::string_view("pass")),
                                       crypto::ScryptCost::light()));
        }
    }
    /// @param who whose key: "admin" or "guardian"; empty: none is needed.
    Outcome gym(const std::string& who, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "operator");
        std::vector<std::string> more{"--chain", anvil_.url(), "--deployment",
                                      (place_ / "deployment.json").string(), "--json"};
        if (!who.empty())
            more.insert(more.end(), {"--data-dir", (place_ / who).string(), "--passphrase-file",
                                     (place_ / "pass").string()});
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(place_, std::move(arguments));
    }
    json::object done(const std::string& who, std::vector<std::string> arguments) {
        const Outcome outcome = gym(who, std::move(arguments));
        EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
        if (outcome.exit_code != 0) return {};
        return json::parse(outcome.out.substr(0, outcome.out.find('\n'))).as_object();
    }
    void expect_refused(const Outcome& outcome, int exit_code, const std::string& because) {
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
        EXPECT_NE(outcome.out.find(because), std::string::npos) << outcome.out;
    }
    std::string text(const json::object& object, const char* key) {
        const json::value* value = object.if_contains(key);
        return value == nullptr ? "" : std::string(value->as_string());
    }
    std::size_t announced() { return done("", {"changes"}).at("announced").as_array().size(); }
    bool holds(AdminRole role, const Address& who) {
        const auto timelock = must(contracts::AdminTimelock::of(anvil_.client(), deployment_));
        return must(
            contracts::holds_role(anvil_.client(), deployment_, timelock.address(), role, who));
    }
    Amount growth_limit() {
        return must(
            contracts::RewardsDistributor(deployment_.distributor).growth_limit(anvil_.client()));
    }
    void pass(std::uint64_t seconds) {
        anvil_.rpc("evm_increaseTime", "[" + std::to_string(seconds) + "]");
        anvil_.mine(1);
    }
    static chain::AnvilOptions quick_blocks() {
        chain::AnvilOptions options;
        options.block_time_ms = 100;
        return options;
    }

    TestAnvil anvil_{quick_blocks()};
    TemporaryFolder place_;
    SystemClock clock_;
    crypto::PrivateKey admin_ = anvil_.funded_key(0);
    crypto::PrivateKey settler_ = anvil_.funded_key(2);
    crypto::PrivateKey guardian_ = anvil_.funded_key(5);
    Address next_ = anvil_.funded_key(6).address();
    Sender sender_{anvil_, admin_.clone(), clock_};
    contracts::Deployment deployment_;
};

TEST_F(ChangesTest, ASettlersKeyIsReplacedAfterTheDelay) {
    const std::vector<std::string> rotation{"announce", "settler", next_.hex(), "--instead-of",
                                            settler_.address().hex()};
    expect_refused(gym("admin", {"announce", "settler", next_.hex(), "--instead-of", next_.hex()}),
                   kUsage, "names the same address");
    expect_refused(gym("admin", {"announce", "settler", next_.hex(), "--instead-of",
                                 guardian_.address().hex()}),
                   kRefused, "does not hold the role");
    expect_refused(gym("guardian", rotation), kRefused, "AccessControlUnauthorizedAccount");
    EXPECT_EQ(announced(), 0U);

    const json::object change = done("admin", rotation);
    const std::string id = text(change, "id");
    ASSERT_EQ(id.size(), 66U);
    EXPECT_FALSE(change.at("ready").as_bool());
    ASSERT_EQ(change.at("calls").as_array().size(), 4U);
    EXPECT_EQ(change.at("calls").as_array()[3].as_string(),
              "revoke SETTLER_ROLE from " + settler_.address().hex() + " in RewardsDistributor");
    expect_refused(gym("admin", rotation), kRefused, "announced already, as change " + id);
    expect_refused(gym("admin", {"execute", id}), kRefused, "can be executed from");
    pass(kDelayS - 60);
    expect_refused(gym("admin", {"execute", id}), kRefused, "can be executed from");
    EXPECT_TRUE(holds(AdminRole::kSettler, settler_.address()));
    EXPECT_FALSE(holds(AdminRole::kSettler, next_));

    pass(60);
    EXPECT_TRUE(done("", {"changes"}).at("announced").as_array().at(0).at("ready").as_bool());
    EXPECT_EQ(text(done("admin", {"execute", id}), "state"), "executed");
    EXPECT_FALSE(holds(AdminRole::kSettler, settler_.address()));
    EXPECT_TRUE(holds(AdminRole::kSettler, next_));
    EXPECT_EQ(announced(), 0U);
    expect_refused(gym("admin", {"execute", id}), kMissing, "is not announced");
}

TEST_F(ChangesTest, TheGuardianCancelsWhatAStolenAdminKeyAnnounced) {
    const std::string id = text(done("admin", {"announce", "growth-limit", "1000"}), "id");
    EXPECT_EQ(text(done("guardian", {"cancel", id}), "state"), "cancelled");
    pass(kDelayS);
    expect_refused(gym("admin", {"execute", id}), kMissing, "is not announced");
    EXPECT_EQ(growth_limit(), tokens("10"));

    // The same again, with another id, to its end.
    const std::string again = text(done("admin", {"announce", "growth-limit", "1000"}), "id");
    EXPECT_NE(again, id);
    pass(kDelayS);
    done("admin", {"execute", again});
    EXPECT_EQ(growth_limit(), tokens("1000"));
}

TEST_F(ChangesTest, TheGuardianRevokesAndLowersAtOnce) {
    done("guardian", {"lower", "growth-limit", "4"});
    EXPECT_EQ(growth_limit(), tokens("4"));
    expect_refused(gym("guardian", {"lower", "growth-limit", "5"}), kRefused,
                   "raising it takes `gym operator announce`");
    expect_refused(gym("admin", {"lower", "growth-limit", "3"}), kRefused,
                   "AccessControlUnauthorizedAccount");
    const Outcome revoked = gym("guardian", {"revoke", "settler", settler_.address().hex()});
    EXPECT_EQ(revoked.exit_code, 0) << revoked.out << revoked.err;
    EXPECT_FALSE(holds(AdminRole::kSettler, settler_.address()));
    expect_refused(gym("guardian", {"revoke", "settler", settler_.address().hex()}), kRefused,
                   "does not hold the role");
}

TEST_F(ChangesTest, APauseEndsAfterTheDelay) {
    expect_refused(gym("admin", {"announce", "unpause"}), kRefused, "nothing is paused");
    Sender guardian(anvil_, guardian_.clone(), clock_);
    contracts::ContractCall pause;
    pause.to = deployment_.escrow;
    pause.data = must(from_hex("8456cb59"));  // pause()
    (void)must(guardian.manager->execute(pause.intent("pause"), 20'000));
    const json::object change = done("admin", {"announce", "unpause"});
    ASSERT_EQ(change.at("calls").as_array().size(), 1U);
    EXPECT_EQ(change.at("calls").as_array()[0].as_string(), "end the pause of JobEscrow");
    pass(kDelayS);
    done("admin", {"execute", text(change, "id")});
    expect_refused(gym("admin", {"announce", "unpause"}), kRefused, "nothing is paused");
}

}  // namespace
}  // namespace gym::testing
