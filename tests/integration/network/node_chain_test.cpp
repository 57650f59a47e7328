// Nodes that check their coordinator against a real chain and the real contract.

#include <algorithm>
#include <csignal>

#include "anvil.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/node/device_errors.hpp"
#include "gym/player/claim.hpp"
#include "gym/verifier/chain_audit.hpp"
#include "local_coordinator.hpp"
#include "log_storage.hpp"
#include "node_process.hpp"

namespace gym {
namespace {

using std::chrono::milliseconds;
using testing::program;

constexpr std::uint64_t kEpoch = 1;

/// The contracts on a chain with a block every 100 ms; one key is the coordinator's.
class NodeChainTest : public testing::NodeProcess {
  protected:
    void SetUp() override {
        NodeProcess::SetUp();
        contracts::DeployParams params;
        params.token_holder = operator_.address();
        params.token_supply = params.growth_limit = params.release_cap = Amount(1'000);
        params.settler = params.guardian = params.coordinator = operator_.address();
        const auto deployed = contracts::deploy(
            manager_, anvil_.client(), contracts::find_artifacts().value(), params, 20'000);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        deployed_ = *deployed;
        log_ = deployed->commitment_log;
        server_.reset();
        handler_.info.chain_id = anvil_.chain_id();
        handler_.info.commitment_log = log_;
        handler_.registered = {key_.address(), verifier_key_.address()};
        server_ = rpc::Server::start({.ask_every_ms = 50}, handler_, clock_).value();
    }

    static chain::AnvilOptions options() {
        chain::AnvilOptions out;
        out.block_time_ms = 100;
        return out;
    }
    void send(const contracts::ContractCall& call) {
        const std::string id = "call-" + std::to_string(calls_++);
        ASSERT_TRUE(manager_.submit(call.intent(id)).ok());
        const auto done = manager_.wait(id, 20'000);
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    void post_round(const protocol::RoundRecord& record) {
        gym::testing::put_round(anvil_, log_, record);
    }
    void post_epoch(const Digest& root, std::uint32_t count) {
        send(contracts::CommitmentLog(log_).post_epoch(
            {kEpoch, job_.record.job_id, job_.record.round, root, count}));
    }
    std::unique_ptr<node::ChainView> view() const {
        return node::make_chain_view({anvil_.url(), anvil_.chain_id(), log_}).value();
    }
    SubprocessOptions start_command() const {
        return command({program("gym"), "node", "start", "--chain-rpc", anvil_.url(),
                        "--commitment-log", log_.hex()});
    }
    /// The unit as a worker commits to it, under a root of two leaves that is on chain.
    records::VerifyTask committed_unit() {
        const engine::UnitResult result = job_.run(0);
        records::VerifyTask task;
        task.unit = job_.unit(0);
        task.record = protocol::unit_record(job_.record, 0);
        task.inputs = job_.inputs;
        task.commitment = protocol::sign(handler_.info.domain(), job_.commitment(0, result), key_);
        task.committer = key_.address();
        handler_.commitments[unit_] = {task.commitment, engine::encode_records(result.records)};
        const std::vector<Digest> leaves{protocol::commitment_leaf(task.commitment), Digest{}};
        handler_.units[unit_].status.state = protocol::UnitState::kSampled;
        handler_.units[unit_].inclusion = records::InclusionReceipt{
            kEpoch, commit::merkle_root(leaves), 0, 2, commit::merkle_prove(leaves, 0).value()};
        post_round(job_.record);
        handler_.records = {job_.record};
        post_epoch(commit::merkle_root(leaves), 2);
        const std::uint64_t block =
            view()->epoch(kEpoch).value()->block + handler_.info.beacon_delay_blocks;
        EXPECT_TRUE(eventually([&] { return view()->randomness(block).value().has_value(); }));
        task.beacon = view()->randomness(block).value().value_or(Digest{});
        return task;
    }

    testing::TestAnvil anvil_{options()};
    const crypto::PrivateKey verifier_key_ = testing::test_key(7);
    crypto::PrivateKey operator_ = anvil_.funded_key(0);
    std::unique_ptr<chain_store::SqliteChainStore> file_ =
        chain_store::SqliteChainStore::open(":memory:").value();
    std::unique_ptr<chain::IntentStore> intents_ =
        file_->intents(anvil_.chain_id(), operator_.address());
    chain::TxManager manager_{anvil_.client(),
                              *intents_,
                              operator_.clone(),
                              clock_,
                              testing::test_policy(anvil_.chain_id()),
                              contracts::describe_revert};
    Address log_;
    contracts::Deployment deployed_;
    int calls_ = 0;
};

TEST_F(NodeChainTest, TheViewReadsWhatTheContractHolds) {
    const auto chain = view();
    ASSERT_TRUE(chain->check().ok());
    EXPECT_FALSE(chain->round(job_.record.job_id, 1).value().has_value());
    EXPECT_FALSE(chain->epoch(kEpoch).value().has_value());
    post_round(job_.record);
    const auto open = chain->round(job_.record.job_id, 1).value();
    ASSERT_TRUE(open.has_value());
    EXPECT_EQ(open->record_hash, protocol::hash(job_.record));
    EXPECT_EQ(open->epoch, 0u);
    post_epoch(job_.record.job_seed, 3);
    EXPECT_EQ(chain->round(job_.record.job_id, 1).value()->epoch, kEpoch);
    const auto epoch = chain->epoch(kEpoch).value();
    ASSERT_TRUE(epoch.has_value());
    EXPECT_EQ(epoch->commitments_root, job_.record.job_seed);
    EXPECT_EQ(epoch->count, 3u);
    EXPECT_EQ(chain->randomness(epoch->block).value(),
              anvil_.client().block(epoch->block).value()->prevrandao);
    EXPECT_FALSE(chain->randomness(epoch->block + 100'000).value().has_value());
}

TEST_F(NodeChainTest, AnotherChainOrNoContractIsNamed) {
    const auto wrong_chain = node::make_chain_view({anvil_.url(), 1, log_}).value();
    EXPECT_EQ(wrong_chain->check().error().code, ErrorCode::kMismatch);
    EXPECT_EQ(wrong_chain->round({}, 1).error().code, ErrorCode::kMismatch);
    const auto wrong_contract =
        node::make_chain_view({anvil_.url(), anvil_.chain_id(), key_.address()}).value();
    EXPECT_EQ(wrong_contract->check().error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(node::make_chain_view({"no url", 1, log_}).ok());
    anvil_.stop(true);
    EXPECT_EQ(view()->check().error().code, ErrorCode::kUnavailable);
}

TEST_F(NodeChainTest, TheWorkerProgramComputesOnceTheRecordIsOnChain) {
    auto node = Subprocess::start(start_command());
    ASSERT_TRUE(node.ok());
    ASSERT_TRUE(eventually([this] {
        return log().find("not on the chain yet") != std::string::npos;
    })) << log();
    EXPECT_TRUE(handler_.commitments.empty());
    post_round(job_.record);
    EXPECT_TRUE(eventually([this] { return handler_.commitments.contains(unit_); })) << log();
    EXPECT_TRUE(node->stop().ok());
}

TEST_F(NodeChainTest, TheWorkerProgramRefusesWhatTheChainContradicts) {
    protocol::RoundRecord other = job_.record;
    other.job_seed.data[0] ^= 1;
    post_round(other);
    auto node = Subprocess::start(start_command());
    ASSERT_TRUE(node.ok());
    EXPECT_TRUE(eventually([this] {
        return log().find("nothing is computed for it") != std::string::npos;
    })) << log();
    EXPECT_TRUE(node->stop().ok());
    EXPECT_TRUE(handler_.commitments.empty());
    EXPECT_EQ(log().find("started"), std::string::npos) << log();
}

TEST_F(NodeChainTest, AWorkerSetToAnotherContractDoesNotStart) {
    SubprocessOptions wrong = start_command();
    std::ranges::replace(wrong.argv, log_.hex(), key_.address().hex());
    const Ended refused = run(wrong);
    EXPECT_EQ(refused.code, 3) << refused.text;
    EXPECT_NE(refused.text.find("this node is set to"), std::string::npos) << refused.text;
}

TEST_F(NodeChainTest, TheVerifierConfirmsAndContradictsByTheChain) {
    const records::VerifyTask honest = committed_unit();
    testing::LocalCoordinator coordinator(handler_, verifier_key_.address());
    const auto chain = view();
    const std::uint32_t delay_blocks = handler_.info.beacon_delay_blocks;
    const auto checked = verifier::check_on_chain(*chain, coordinator, honest, delay_blocks);
    ASSERT_TRUE(checked.ok()) << checked.error().message;
    EXPECT_EQ(checked->number, kEpoch);
    EXPECT_EQ(checked->beacon, honest.beacon);

    const auto code = [&](const records::VerifyTask& task) {
        return verifier::check_on_chain(*chain, coordinator, task, delay_blocks).error().code;
    };
    records::VerifyTask forged = honest;
    forged.beacon.data[0] ^= 1;
    EXPECT_EQ(code(forged), ErrorCode::kMismatch);
    forged = honest;
    forged.record.job_seed.data[0] ^= 1;
    EXPECT_EQ(code(forged), ErrorCode::kMismatch);
    forged = honest;
    forged.record.round = 2;
    EXPECT_EQ(code(forged), ErrorCode::kUnavailable) << "no such round on chain";
    forged = honest;
    forged.commitment.commitment.delta_root.data[0] ^= 1;
    EXPECT_EQ(code(forged), ErrorCode::kMismatch) << "not the leaf that is under the root";
}

TEST_F(NodeChainTest, TheVerifierProgramReportsOnWhatTheChainConfirms) {
    records::VerifyTask task = committed_unit();
    handler_.tasks.clear();
    ASSERT_TRUE(crypto::save_keystore(dir_.path() / "verifier.json", verifier_key_,
                                      crypto::SecretBytes(std::string_view("secret")),
                                      crypto::ScryptCost::light())
                    .ok());
    auto node =
        Subprocess::start(command({program("gym-verifier"), "--keystore", "verifier.json",
                                   "--chain-rpc", anvil_.url(), "--commitment-log", log_.hex()}));
    ASSERT_TRUE(node.ok());
    const Digest beacon = task.beacon;
    {
        const std::scoped_lock lock(handler_.mutex);
        task.beacon.data[0] ^= 1;
        handler_.tasks[verifier_key_.address()] = task;
    }
    ASSERT_TRUE(eventually([this] { return log().find("beacon from block") != std::string::npos; }))
        << log();
    {
        const std::scoped_lock lock(handler_.mutex);
        EXPECT_TRUE(handler_.report_commits.empty());
        task.beacon = beacon;
        handler_.tasks[verifier_key_.address()] = task;
    }
    EXPECT_TRUE(eventually([this] { return handler_.reveals.contains(unit_); })) << log();
    EXPECT_TRUE(node->stop().ok());
}

/// The coordinator names its contracts, so that a node can see what it has at stake.
class NodeDisputesTest : public NodeChainTest {
  protected:
    void SetUp() override {
        NodeChainTest::SetUp();
        handler_.tasks.clear();
        coordinator_names(deployed_.stake, deployed_.dispute_game);
    }
    void coordinator_names(const Address& stake, const Address& game) {
        const std::scoped_lock lock(handler_.mutex);
        handler_.info.stake = stake;
        handler_.info.dispute_game = game;
    }
    SubprocessOptions node(const char* sub, const std::string& game) const {
        std::vector<std::string> argv{program("gym"), "node", sub, "--chain-rpc", anvil_.url()};
        if (!game.empty()) argv.insert(argv.end(), {"--dispute-game", game});
        return command(argv);
    }
    void expect_refused(const std::string& game, int code, const std::string& says) {
        const Ended ended = run(node("start", game));
        EXPECT_EQ(ended.code, code) << ended.text;
        EXPECT_NE(ended.text.find(says), std::string::npos) << says << "\n" << ended.text;
        EXPECT_EQ(std::ranges::count(handler_.calls, "next_task"), 0);
        const Ended doctor = run(node("doctor", game));
        EXPECT_NE(doctor.text.find("FAIL disputes "), std::string::npos) << doctor.text;
        EXPECT_NE(doctor.text.find(says), std::string::npos) << says << "\n" << doctor.text;
    }
    void file_claim() {
        player::Claim claim;
        claim.key = job_.unit(0);
        claim.evidence.commitment =
            protocol::sign(handler_.info.domain(), job_.commitment(0, job_.run(0)), key_);
        claim.evidence.record = protocol::unit_record(job_.record, 0);
        claim.program_blob = job_.inputs.program_blob;
        claim.dataset_blob = *job_.inputs.dataset_blob;
        claim.base_state_blob = job_.inputs.base_state_blob;
        ASSERT_TRUE(player::ClaimStore::open(dir_.path() / "disputes").value()->save(claim).ok());
    }
    void set_ether(const Address& owner, const Amount& wei) {
        anvil_.rpc("anvil_setBalance",
                   "[\"" + owner.hex() + "\",\"" + testing::quantity(wei) + "\"]");
    }
};

TEST_F(NodeDisputesTest, AWorkerWithStakeDoesNotStartWithoutTheGame) {
    send(contracts::GymToken(deployed_.chain_id, deployed_.token)
             .approve(deployed_.stake, Amount(7)));
    send(contracts::Stake(deployed_.stake).stake(key_.address(), Amount(7)));
    expect_refused("", 2, "has a stake of 0.000000000000000007 GYM, but dispute_game is not set");
    expect_refused(key_.address().hex(), 2,
                   "there is no contract at dispute_game " + key_.address().hex());
    expect_refused(log_.hex(), 2, "the contract at dispute_game " + log_.hex() + " is another one");
    coordinator_names(key_.address(), deployed_.dispute_game);
    expect_refused("", 2, "there is no contract at stake " + key_.address().hex());
    expect_refused(deployed_.dispute_game.hex(), 3,
                   "the coordinator works with the stake contract");
    coordinator_names(deployed_.stake, log_);
    expect_refused(deployed_.dispute_game.hex(), 3, "the coordinator works with the dispute game");
    const Ended verifier = run(command({program("gym-verifier"), "--chain-rpc", anvil_.url(),
                                        "--dispute-game", key_.address().hex()}));
    EXPECT_EQ(verifier.code, 2) << verifier.text;
    EXPECT_NE(verifier.text.find("there is no contract at dispute_game"), std::string::npos)
        << verifier.text;
}

TEST_F(NodeDisputesTest, AWorkerWithAClaimToDefendStaysUpAndTakesNoNewWork) {
    file_claim();
    const auto expect_up = [&](const std::string& game, const std::string& says) {
        auto started = Subprocess::start(node("start", game));
        ASSERT_TRUE(started.ok());
        EXPECT_TRUE(eventually([&] {
            return log().find("DISPUTES: no new unit is requested: " + says) != std::string::npos;
        })) << log();
        EXPECT_TRUE(started->stop().ok()) << "it was still there";
        EXPECT_EQ(std::ranges::count(handler_.calls, "next_task"), 0);
    };
    coordinator_names(deployed_.stake, log_);
    expect_up(deployed_.dispute_game.hex(), "the coordinator works with the dispute game");
    EXPECT_NE(log().find("its games are played"), std::string::npos) << log();
    expect_up(log_.hex(), "the contract at dispute_game " + log_.hex() + " is another one");
}

/// A third error at night, or a card that is gone: games are played on the CPU.
TEST_F(NodeDisputesTest, AWorkerWhoseDeviceIsOfNoUseStaysUpForItsClaims) {
    const std::string game = deployed_.dispute_game.hex();
    const auto expect_up = [&](const std::vector<std::string>& flags, const std::string& says) {
        SubprocessOptions command = node("start", game);
        command.argv.insert(command.argv.end(), flags.begin(), flags.end());
        auto started = Subprocess::start(command);
        ASSERT_TRUE(started.ok());
        EXPECT_TRUE(eventually([&] {
            const std::string text = log();
            const std::size_t at = text.rfind("DISPUTES: ");
            return at != std::string::npos && text.find(says, at) != std::string::npos;
        })) << log();
        EXPECT_TRUE(started->stop().ok()) << "it was still there: " << log();
        EXPECT_EQ(std::ranges::count(handler_.calls, "next_task"), 0);
    };
    file_claim();
    expect_up({"--device", "cuda:99"}, "device 'cuda:99'");
    const node::DeviceErrors errors(dir_.path(), "cpu");
    for (unsigned error = 0; error < node::DeviceErrors::kErrorsMax; ++error)
        ASSERT_TRUE(errors.add("op 3 (matmul): a product is wrong", 1'000).ok());
    expect_up({}, "cpu gave wrong results 3 times");
    expect_up({"--register"}, "cpu gave wrong results 3 times");
}

TEST_F(NodeDisputesTest, WhatDoesNotFitIsFoundWhenTheChainComesBack) {
    anvil_.stop(false);
    const std::string nothing = key_.address().hex();
    auto started = Subprocess::start(node("start", nothing));
    ASSERT_TRUE(started.ok());
    ASSERT_TRUE(eventually([&] {
        return log().find("no game can be played until") != std::string::npos;
    })) << log();
    anvil_.start();
    EXPECT_EQ(started->wait(60'000).value_or(-1), 2) << log();
    EXPECT_NE(log().find("gym: there is no contract at dispute_game " + nothing), std::string::npos)
        << log();
}

TEST_F(NodeDisputesTest, AWorkerWithoutEtherForAGameIsToldSoLoudly) {
    set_ether(key_.address(), Amount(5));
    const std::string game = deployed_.dispute_game.hex();
    const std::string says = "has 0.000000000000000005 ether, the moves of one game may cost ";
    const Ended doctor = run(node("doctor", game));
    EXPECT_NE(doctor.text.find("FAIL disputes     this node's key " + says), std::string::npos)
        << doctor.text;
    auto started = Subprocess::start(node("start", game));
    ASSERT_TRUE(started.ok());
    EXPECT_TRUE(eventually([&] { return log().find("DISPUTES: ") != std::string::npos; })) << log();
    EXPECT_NE(log().find(says), std::string::npos) << log();
    EXPECT_TRUE(started->stop().ok());

    set_ether(key_.address(), Amount::parse_tokens("10").value());
    const Ended rich = run(node("doctor", game));
    EXPECT_NE(rich.text.find("ok   disputes     contract " + game + "; 10 ether, a game may cost "),
              std::string::npos)
        << rich.text;
}

}  // namespace
}  // namespace gym
