#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gym/chain/abi.hpp"
#include "gym/contracts/admin_timelock.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::contracts {
namespace {

Artifact artifact(const char* name) {
    return load_artifact(find_artifacts().value(), name).value();
}

Address address_of(std::uint8_t byte) {
    Address out;
    out.data.fill(byte);
    return out;
}

Digest digest_of(std::uint8_t byte) {
    Digest out;
    out.data.fill(byte);
    return out;
}

std::set<std::string> selectors_of(const Artifact& artifact) {
    std::set<std::string> out;
    for (const std::string& function : artifact.functions)
        out.insert(to_hex(chain::AbiSignature::parse(function).value().selector()));
    return out;
}

void expect_in(const Artifact& artifact, const std::vector<ContractCall>& calls) {
    const auto selectors = selectors_of(artifact);
    for (const ContractCall& call : calls)
        EXPECT_EQ(selectors.count(to_hex(ByteView(call.data).first(4))), 1U)
            << artifact.name << " has no function for: " << call.label;
}

void expect_topics(const Artifact& artifact, const std::vector<Digest>& topics) {
    std::set<Digest> known;
    for (const std::string& event : artifact.events)
        known.insert(crypto::keccak256_text(event));
    for (const Digest& topic : topics)
        EXPECT_EQ(known.count(topic), 1U) << artifact.name << " " << topic.hex();
}

TEST(Bindings, EveryCallIsAFunctionOfItsContract) {
    const Amount one(1);
    const Address who = address_of(7);
    const GymToken token(1, address_of(1));
    expect_in(artifact("GymToken"), {token.approve(who, one), token.transfer(who, one)});
    const JobEscrow escrow(address_of(2));
    expect_in(
        artifact("JobEscrow"),
        {escrow.deposit(who, one), escrow.deposit_with_permit(who, one, 5, {}),
         escrow.release(3, {{who, one}}), escrow.request_withdrawal(one),
         escrow.lock(records::JobOrder(), {}), escrow.lock(records::JobFunding(), {}),
         escrow.lock_own(one), escrow.unlock({{who, one}}), escrow.withdraw(),
         escrow.request_exit(), escrow.cancel_exit(), escrow.exit(), escrow.set_release_cap(one)});
    const AdminTimelock timelock(address_of(9));
    AdminChange change{{{who, {}, Bytes{1}}}, digest_of(1), digest_of(2)};
    for (const bool single : {false, true}) {
        change.single = single;
        expect_in(artifact("AdminTimelock"),
                  {timelock.announce(change, 5), timelock.execute(change), timelock.cancel({})});
    }
    const CommitmentLog log(address_of(3));
    expect_in(artifact("CommitmentLog"),
              {log.post_round({digest_of(1), 2, Bytes{1}, Bytes{2}}), log.post_epoch({}),
               log.post_aggregate(digest_of(1), 2, Bytes{1}),
               log.post_commitment(digest_of(1), 2, Bytes{1})});
    const RewardsDistributor distributor(address_of(4));
    expect_in(artifact("RewardsDistributor"),
              {distributor.submit_root({}), distributor.disable(1),
               distributor.disable_fallen(1, {}, {}), distributor.claim({}),
               distributor.claim_many({Claim{who, one, {{{digest_of(1), one}, who}}}})});
}

TEST(Bindings, ChangesAreToldInWords) {
    Deployment at;
    at.escrow = address_of(2);
    at.distributor = address_of(4);
    at.commitment_log = address_of(3);
    const Address timelock = address_of(9);
    const Address who = address_of(7);
    const auto told = [&](const AdminCall& call) { return describe_call(at, timelock, call); };
    const auto granted = grant_calls(at, timelock, AdminRole::kSettler, who);
    ASSERT_EQ(granted.size(), 2U);
    EXPECT_EQ(told(granted[0]), "grant SETTLER_ROLE to " + who.hex() + " in JobEscrow");
    EXPECT_EQ(told(granted[1]), "grant SETTLER_ROLE to " + who.hex() + " in RewardsDistributor");
    EXPECT_EQ(told(revoke_calls(at, timelock, AdminRole::kAdmin, who)[0]),
              "revoke PROPOSER_ROLE from " + who.hex() + " in AdminTimelock");
    EXPECT_EQ(told(limit_call(at, AdminLimit::kGrowthLimit, Amount::parse_tokens("5").value())),
              "set growthLimit of RewardsDistributor to 5 GYM");
    AdminCall other{who, Amount(3), Bytes{1, 2}};
    EXPECT_EQ(told(other), "call " + who.hex() + " with 0x0102 and 3 wei");
    // A call of ours that is cut short is told as it is, not as what it resembles.
    other = granted[0];
    other.data.pop_back();
    EXPECT_EQ(told(other).substr(0, 14), "call JobEscrow");
}

TEST(Bindings, EveryCallOfStakeAndDisputesIsAFunctionOfItsContract) {
    const Amount one(1);
    const Address who = address_of(7);
    const Stake stake(address_of(5));
    expect_in(artifact("Stake"),
              {stake.stake(who, one), stake.stake_with_permit(who, one, 5, {}), stake.thaw(one),
               stake.withdraw(), stake.thaw(who, one), stake.withdraw(who),
               stake.set_defender(who, who), stake.set_recipient(who, who), stake.compensate(1)});
    const DisputeGame game(address_of(6));
    const Digest id = digest_of(1);
    expect_in(artifact("DisputeGame"),
              {game.announce(id), game.reclaim(id, id), game.forfeit(id), game.timeout(id),
               game.close(id), game.settle(id), game.withdraw_ether()});
}

TEST(Bindings, EveryEventOfTheDisputeContractsHasABinding) {
    for (const auto& [name, topics] :
         {std::pair{"Stake", Stake::topics()}, {"DisputeGame", DisputeGame::topics()}}) {
        expect_topics(artifact(name), topics);
        EXPECT_EQ(topics.size(), artifact(name).events.size()) << name;
    }
}

TEST(Bindings, EveryEventIsOneOfItsContract) {
    expect_topics(artifact("JobEscrow"), JobEscrow::topics());
    expect_topics(artifact("CommitmentLog"), CommitmentLog::topics());
    expect_topics(artifact("RewardsDistributor"), RewardsDistributor::topics());
}

TEST(Bindings, EveryErrorOfTheContractsIsKnown) {
    std::set<std::string> known;
    for (const std::string& text : known_errors()) {
        // "Name(type a, type b)" -> "Name(type,type)"
        std::string canonical = text.substr(0, text.find('(') + 1);
        for (std::size_t at = text.find('(') + 1; at < text.size() && text[at] != ')';) {
            const std::size_t space = text.find(' ', at);
            const std::size_t end = text.find_first_of(",)", space);
            canonical += text.substr(at, space - at) + (text[end] == ',' ? "," : "");
            at = text[end] == ',' ? end + 2 : end;
        }
        known.insert(canonical + ")");
    }
    for (const char* name :
         {"GymToken",  "AdminTimelock",  "JobEscrow",    "CommitmentLog", "RewardsDistributor",
          "Stake",     "DisputeGame",    "OpeningRules", "ReportRules",   "TreeRules",
          "StepRules", "FaultRules",     "ElementRules", "OuterRules",    "OuterProofs",
          "OneStep",   "ElementwiseOps", "MovementOps",  "SumOps",        "ProductOps"})
        for (const std::string& error : artifact(name).errors)
            EXPECT_EQ(known.count(error), 1U) << name << " " << error;
}

chain::Log log_of(const Address& contract, const char* event, std::vector<Digest> indexed,
                  Bytes data) {
    chain::Log log;
    log.address = contract;
    log.topics = {crypto::keccak256_text(event)};
    log.topics.insert(log.topics.end(), indexed.begin(), indexed.end());
    log.data = std::move(data);
    return log;
}

Digest padded(const Address& address) {
    Digest out;
    std::copy(address.data.begin(), address.data.end(), out.data.begin() + 12);
    return out;
}

Digest number(std::uint64_t value) {
    return Digest{Amount(value).to_be32()};
}

Bytes word(std::uint64_t value) {
    const Digest digest = number(value);
    return Bytes(digest.data.begin(), digest.data.end());
}

TEST(Bindings, ParsesADeposit) {
    const JobEscrow escrow(address_of(2));
    const chain::Log log =
        log_of(escrow.address(), "Deposited(address,address,uint256,uint256)",
               {padded(address_of(5)), padded(address_of(6)), number(9)}, word(1000));
    const auto event = escrow.parse_event(log).value();
    EXPECT_EQ(std::get<Deposited>(*event),
              (Deposited{address_of(5), address_of(6), Amount(1000), Amount(9)}));
}

TEST(Bindings, ParsesAMoveWithItsCursor) {
    const DisputeGame game(address_of(6));
    game::Cursor cursor{game::Stage::kTensor, true,         3,           4, 5,
                        digest_of(6),         digest_of(7), digest_of(8)};
    Bytes data = word(1);
    for (const Bytes& part :
         {word(9), word(1), word(3), word(4), word(5), Bytes(32, 6), Bytes(32, 7), Bytes(32, 8),
          Bytes(32, 9), word(11 * 32), word(3), Bytes{1, 2, 3}, Bytes(29, 0)})
        data.insert(data.end(), part.begin(), part.end());
    const char* event =
        "Moved(bytes32,bytes32,bool,(uint8,bool,uint8,uint64,uint64,bytes32,bytes32,bytes32),"
        "bytes32,bytes)";
    const chain::Log log = log_of(game.address(), event, {digest_of(1), digest_of(2)}, data);
    const auto parsed = game.parse_event(log).value();
    EXPECT_EQ(std::get<Moved>(*parsed),
              (Moved{digest_of(1), digest_of(2), true, cursor, digest_of(9), {1, 2, 3}}));
    chain::Log cut = log;
    cut.data.resize(cut.data.size() - 32);
    EXPECT_EQ(game.parse_event(cut).error().code, ErrorCode::kMalformed);
}

TEST(Bindings, AGameThatEndedInNoKnownWayIsMalformed) {
    const DisputeGame game(address_of(6));
    const char* event = "GameEnded(bytes32,bytes32,uint8,uint256,uint256)";
    Bytes data = word(6);
    for (const Bytes& part : {word(1), word(2)})
        data.insert(data.end(), part.begin(), part.end());
    chain::Log log = log_of(game.address(), event, {digest_of(1), digest_of(2)}, data);
    EXPECT_EQ(std::get<GameEnded>(*game.parse_event(log).value()).status, game::GameStatus::kMoot);
    log.data[31] = 7;
    EXPECT_EQ(game.parse_event(log).error().code, ErrorCode::kMalformed);
}

TEST(Bindings, LeavesOtherLogsAndRefusesMalformedOnes) {
    const JobEscrow escrow(address_of(2));
    chain::Log log =
        log_of(escrow.address(), "Withdrawn(address,uint256)", {padded(address_of(5))}, word(1));
    EXPECT_TRUE(escrow.parse_event(log).value().has_value());
    chain::Log foreign = log;
    foreign.address = address_of(3);
    EXPECT_FALSE(escrow.parse_event(foreign).value().has_value());
    chain::Log other = log;
    other.topics[0] = crypto::keccak256_text("Other()");
    EXPECT_FALSE(escrow.parse_event(other).value().has_value());
    chain::Log none = log;
    none.topics.clear();
    EXPECT_FALSE(escrow.parse_event(none).value().has_value());
    chain::Log few = log;
    few.topics.pop_back();
    EXPECT_EQ(escrow.parse_event(few).error().code, ErrorCode::kMalformed);
    chain::Log dirty = log;
    dirty.topics[1].data[0] = 1;
    EXPECT_EQ(escrow.parse_event(dirty).error().code, ErrorCode::kMalformed);
    chain::Log cut = log;
    cut.data.pop_back();
    EXPECT_EQ(escrow.parse_event(cut).error().code, ErrorCode::kMalformed);
}

TEST(Reverts, AreDescribedWithNamesAndValues) {
    const Bytes data = chain::AbiSignature::parse("WithdrawalNotReady(uint64)")
                           .value()
                           .encode_call({std::uint64_t{77}})
                           .value();
    EXPECT_EQ(describe_revert(data), "WithdrawalNotReady(availableAt=77)");
    const Bytes text =
        chain::AbiSignature::parse("Error(string)").value().encode_call({"no\nway"}).value();
    EXPECT_EQ(describe_revert(text), "no?way");
    const Bytes panic = chain::AbiSignature::parse("Panic(uint256)")
                            .value()
                            .encode_call({std::uint64_t{0x11}})
                            .value();
    EXPECT_EQ(describe_revert(panic), "arithmetic overflow");
}

TEST(Reverts, UnknownDataIsShownRaw) {
    EXPECT_EQ(describe_revert({}), "reverted without a reason");
    EXPECT_EQ(describe_revert(Bytes{1, 2, 3, 4}), "reverted with 0x01020304");
    EXPECT_EQ(describe_revert(Bytes{1}), "reverted with 0x01");
    Bytes cut = chain::AbiSignature::parse("WithdrawalNotReady(uint64)")
                    .value()
                    .encode_call({std::uint64_t{77}})
                    .value();
    cut.pop_back();
    EXPECT_TRUE(describe_revert(cut).starts_with("reverted with 0x"));
    EXPECT_LT(describe_revert(Bytes(100'000, 7)).size(), 200U);
}

TEST(Artifacts, MissingAndMalformedFilesAreSaidSo) {
    EXPECT_EQ(load_artifact(find_artifacts().value(), "NoSuch").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(load_deployment("/nonexistent.json").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace gym::contracts
