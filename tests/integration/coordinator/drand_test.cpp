// Draws by a drand chain of our own key: contracts on a real node, relays over HTTP on this
// machine.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "anvil.hpp"
#include "drand_relay.hpp"
#include "drand_vectors.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/chain/prevrandao.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/drand_beacon.hpp"
#include "gym/coordinator/adapters/drand_relays.hpp"
#include "gym/coordinator/adapters/evm_chain.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/verifier/chain_audit.hpp"

namespace gym::testing {
namespace {

constexpr std::uint64_t kPeriodS = 30;
constexpr std::uint64_t kDelayS = 600;
constexpr std::uint32_t kTimeoutMs = 20'000;

Digest digest(std::string_view text) {
    return commit::sha256(as_bytes(text));
}

/// Deployments on a chain that mines each transaction at once, and whose time the test moves.
class DrandDraws : public ::testing::Test {
  protected:
    static chain::AnvilOptions options(std::uint64_t chain_id) {
        chain::AnvilOptions out;
        out.chain_id = chain_id;
        return out;
    }
    explicit DrandDraws(std::uint64_t chain_id = chain::AnvilOptions().chain_id)
        : anvil_(options(chain_id)) {}

    contracts::DeployParams params(bool by_drand) {
        contracts::DeployParams out;
        out.token_holder = key_.address();
        out.token_supply = out.growth_limit = out.release_cap = Amount(1'000);
        out.settler = out.guardian = out.coordinator = key_.address();
        out.dispute.bond = Amount(10);
        if (by_drand)
            out.drand = contracts::DrandChain{vectors_.public_key(), now_s(), kPeriodS, kDelayS, 1,
                                              vectors_.signature(1)};
        return out;
    }
    Result<contracts::Deployment> deploy(const contracts::DeployParams& params) {
        return contracts::deploy(manager_, anvil_.client(), contracts::find_artifacts().value(),
                                 params, kTimeoutMs);
    }
    void start() {
        const auto deployed = deploy(params(true));
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        deployment_ = *deployed;
    }
    std::unique_ptr<coordinator::ChainPort> port(coordinator::DrandRelays* relays) {
        return coordinator::make_evm_chain(anvil_.client(), manager_,
                                           {deployment_.commitment_log, {}}, 1, relays);
    }
    /// Ticks until `ask` has an answer; each look makes a block.
    template <class F>
    auto wait_for(F&& ask) {
        for (int looks = 0;; ++looks) {
            const auto ticked = manager_.tick();
            EXPECT_TRUE(ticked.ok()) << ticked.error().message;
            auto answer = ask();
            if (answer || looks == 1'000) return answer;
            anvil_.mine(1);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    /// The round that draws an epoch that is posted now.
    std::uint64_t post_epoch(coordinator::ChainPort& port, std::uint64_t number) {
        const coordinator::EpochPost epoch{number, digest("job " + std::to_string(number)), 1,
                                           digest("root"), 3};
        protocol::RoundRecord record;
        record.job_id = epoch.job_id;
        record.round = 1;
        const Digest hash = protocol::hash(record);
        const Bytes head = protocol::encode(protocol::head_of(record));
        EXPECT_TRUE(port.post_round({record.job_id, 1, hash, head, {}}).ok());
        EXPECT_TRUE(wait_for([&] { return port.round_posted(epoch.job_id, 1, hash).value(); }));
        EXPECT_TRUE(port.post_epoch(epoch).ok());
        const auto block = wait_for([&] { return port.epoch_block(epoch).value(); });
        EXPECT_TRUE(block);
        const auto round = port.drand_round(epoch).value();
        EXPECT_TRUE(round);
        const auto beacon = contracts::DrandBeacon(
            contracts::CommitmentLog(deployment_.commitment_log).beacon(anvil_.client()).value());
        const auto schedule = beacon.schedule(anvil_.client()).value();
        const std::uint64_t earliest = anvil_.client().block(*block).value()->timestamp_s + kDelayS;
        EXPECT_GE(schedule.begins_s(*round), earliest);
        EXPECT_LT(schedule.begins_s(*round), earliest + kPeriodS);
        return *round;
    }
    std::uint64_t now_s() {
        return anvil_.client().block(chain::BlockTag::kLatest).value()->timestamp_s;
    }
    void pass_s(std::uint64_t seconds) {
        anvil_.rpc("evm_increaseTime", "[" + std::to_string(seconds) + "]");
        anvil_.mine(1);
    }
    DrandRelay::Answer honest() {
        return [this](std::uint64_t round) {
            return DrandRelay::beacon(round, vectors_.signature(round));
        };
    }
    DrandRelay::Answer always(Bytes signature) {
        return [signature = std::move(signature)](std::uint64_t round) {
            return DrandRelay::beacon(round, signature);
        };
    }
    std::unique_ptr<node::ChainView> view() {
        return node::make_chain_view(
                   {anvil_.url(), anvil_.chain_id(), deployment_.commitment_log, {}})
            .value();
    }

    const DrandVectors vectors_;
    TestAnvil anvil_;
    SystemClock clock_;
    crypto::PrivateKey key_ = anvil_.funded_key(0);
    std::unique_ptr<chain_store::SqliteChainStore> file_ =
        chain_store::SqliteChainStore::open(":memory:").value();
    std::unique_ptr<chain::IntentStore> intents_ =
        file_->intents(anvil_.chain_id(), key_.address());
    chain::TxManager manager_{
        anvil_.client(),           *intents_, key_.clone(), clock_, test_policy(anvil_.chain_id()),
        contracts::describe_revert};
    contracts::Deployment deployment_;
};

std::unique_ptr<coordinator::DrandRelays> relays_of(const std::vector<std::string>& urls) {
    return coordinator::make_drand_relays(urls).value();
}

TEST_F(DrandDraws, TheFirstRoundBehindTheDelayDrawsWhateverRelaysSay) {
    start();
    DrandRelay other_key(always(vectors_.broken("another_key")));
    DrandRelay truncated(always(vectors_.broken("truncated")));
    DrandRelay off_the_curve(always(vectors_.broken("off_the_curve")));
    DrandRelay off_the_subgroup(always(vectors_.broken("off_the_subgroup")));
    DrandRelay another_round([&](std::uint64_t round) {
        return DrandRelay::beacon(round, vectors_.signature(round + 1));
    });
    DrandRelay says_another([&](std::uint64_t round) {
        return DrandRelay::beacon(round + 1, vectors_.signature(round + 1));
    });
    DrandRelay late([](std::uint64_t) { return std::string(); });
    DrandRelay page([](std::uint64_t) { return std::string("<html>"); });
    DrandRelay right(honest());
    const auto relays = relays_of({"http://127.0.0.1:1/gone", other_key.url(), truncated.url(),
                                   off_the_curve.url(), off_the_subgroup.url(), another_round.url(),
                                   says_another.url(), late.url(), page.url(), right.url()});
    const auto chain = port(relays.get());
    const std::uint64_t round = post_epoch(*chain, 1);
    EXPECT_FALSE(chain->drand_randomness(round).value());
    EXPECT_EQ(right.asked, 0U) << "the round has not begun, and nobody is asked for it";

    pass_s(kDelayS + kPeriodS);
    const auto drawn = wait_for([&] { return chain->drand_randomness(round).value(); });
    EXPECT_EQ(drawn, vectors_.randomness(round));
    EXPECT_EQ(right.asked, 1U) << "asked once, although the chain took a while";
    for (const DrandRelay* liar : {&other_key, &truncated, &off_the_curve, &off_the_subgroup,
                                   &another_round, &says_another, &late, &page})
        EXPECT_EQ(liar->asked, 1U);

    const std::uint64_t next = post_epoch(*chain, 2);
    EXPECT_GT(next, round);
    pass_s(kDelayS + kPeriodS);
    EXPECT_EQ(wait_for([&] { return chain->drand_randomness(next).value(); }),
              vectors_.randomness(next));
    EXPECT_EQ(other_key.asked, 1U) << "the relay that was right is asked first";
}

TEST_F(DrandDraws, RelaysThatLieOrAreSilentAreNamedAndDrawNothing) {
    start();
    DrandRelay liar(always(vectors_.broken("another_key")));
    DrandRelay silent([](std::uint64_t) { return std::string(); });
    const auto relays = relays_of({liar.url(), silent.url()});
    const auto chain = port(relays.get());
    const std::uint64_t round = post_epoch(*chain, 1);
    pass_s(kDelayS + kPeriodS);
    const auto failed = chain->drand_randomness(round);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    const std::string& text = failed.error().message;
    EXPECT_NE(text.find("no relay gives the beacon of drand's round " + std::to_string(round)),
              std::string::npos)
        << text;
    EXPECT_NE(text.find(liar.url() + " gives a wrong signature"), std::string::npos) << text;
    EXPECT_NE(text.find("WrongSignature(round=" + std::to_string(round)), std::string::npos)
        << text;
    EXPECT_NE(text.find(silent.url() + " answers HTTP 404"), std::string::npos) << text;
    EXPECT_FALSE(chain->drand_randomness(round).ok());
    EXPECT_EQ(liar.asked, 1U) << "not at every look";
    const contracts::DrandBeacon beacon(
        contracts::CommitmentLog(deployment_.commitment_log).beacon(anvil_.client()).value());
    EXPECT_TRUE(beacon.randomness_of(anvil_.client(), round).value().is_zero());

    // Anybody may bring it: whoever does, the coordinator draws with it, without a relay.
    anvil_.transact({.from = anvil_.node_account(),
                     .to = beacon.address(),
                     .data = beacon.prove(round, vectors_.signature(round)).data});
    EXPECT_EQ(port(nullptr)->drand_randomness(round).value(), vectors_.randomness(round));
}

TEST_F(DrandDraws, ANodeFindsTheBeaconByTheContractsAlone) {
    start();
    DrandRelay right(honest());
    const auto relays = relays_of({right.url()});
    const auto chain = port(relays.get());
    const std::uint64_t round = post_epoch(*chain, 1);
    const auto node = view();
    auto epoch = node->epoch(1).value();
    ASSERT_TRUE(epoch && epoch->drand);
    EXPECT_EQ(epoch->drand->round, round);
    const auto waits = verifier::beacon_of(*node, *epoch, 0);
    EXPECT_EQ(waits.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(waits.error().message.find("drand's round " + std::to_string(round)),
              std::string::npos);
    pass_s(kDelayS + kPeriodS);
    ASSERT_TRUE(wait_for([&] { return chain->drand_randomness(round).value(); }));
    epoch = node->epoch(1).value();
    EXPECT_EQ(verifier::beacon_of(*node, *epoch, 0).value(), vectors_.randomness(round))
        << "whatever delay the coordinator tells";
}

TEST_F(DrandDraws, AWrongKeyIsNotDeployed) {
    contracts::DeployParams wrong = params(true);
    wrong.drand->public_key = vectors_.quicknet_public_key();
    const auto refused = deploy(wrong);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("WrongSignature(round=1)"), std::string::npos)
        << refused.error().message;
}

TEST_F(DrandDraws, QuicknetIsTheLeagueOfEntropys) {
    const contracts::DrandChain quicknet = contracts::drand_quicknet();
    EXPECT_EQ(quicknet.public_key, vectors_.quicknet_public_key());
    EXPECT_EQ(quicknet.known_signature, vectors_.quicknet_signature());
    contracts::DeployParams by_default = params(false);
    by_default.drand = quicknet;
    const auto deployed = deploy(by_default);
    EXPECT_TRUE(deployed.ok()) << deployed.error().message;
}

/// A chain with the number of a rollup whose prevrandao is constant.
class DrandOnARollup : public DrandDraws {
  protected:
    DrandOnARollup() : DrandDraws(42'161) {}
};

TEST_F(DrandOnARollup, PrevrandaoIsRefusedByNameAndDrandTaken) {
    const auto refused = deploy(params(false));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("Arbitrum One"), std::string::npos)
        << refused.error().message;
    EXPECT_NE(refused.error().message.find("randomness: drand"), std::string::npos)
        << refused.error().message;
    start();
    EXPECT_TRUE(view()->check().ok());
}

TEST(DrandRelayUrls, AreCheckedBeforeAnythingIsAsked) {
    EXPECT_EQ(coordinator::make_drand_relays({}).error().code, ErrorCode::kInvalidArgument);
    const auto wrong = coordinator::make_drand_relays({"https://relay.example", "ftp://relay"});
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().message.find("ftp://relay"), std::string::npos);
}

}  // namespace
}  // namespace gym::testing
