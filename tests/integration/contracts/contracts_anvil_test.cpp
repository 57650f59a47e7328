// The money's way over the chain: deposit by permit, release, payout root, claim; and what the
// contracts refuse.

#include "deployed.hpp"
#include "gym/chain/log_follower.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/game/evidence.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::testing {
namespace {

using chain::BlockTag;

class ContractsOnAnvil : public DeployedTest {
  protected:
    /// Root and leaves of a tree of two.
    struct TwoClaims {
        Digest root;
        contracts::Claim a;
        contracts::Claim b;
    };
    TwoClaims tree_of(const Address& a, const Amount& a_total, const Address& b,
                      const Amount& b_total) {
        const payouts::PayoutDomain domain{deployment_.chain_id, deployment_.distributor,
                                           deployment_.token};
        EXPECT_EQ(distributor().leaf_of(anvil_.client(), a, a_total).value(),
                  payouts::payout_leaf(domain, {a, a_total}));
        const auto tree = payouts::PayoutTree::build(domain, {{a, a_total}, {b, b_total}}).value();
        return {
            tree.root(), {a, a_total, tree.prove(a).value()}, {b, b_total, tree.prove(b).value()}};
    }
    /// The lock of an order that the owner signed.
    contracts::ContractCall lock_order(const Amount& budget) {
        const records::JobOrder order{.owner = owner_.address(),
                                      .spec = crypto::keccak256_text("text"),
                                      .datasets = {crypto::keccak256_text("a"), Digest()},
                                      .budget_wei = budget,
                                      .price_wei_per_pflop = Amount(7),
                                      .max_data_price_wei = Amount(3),
                                      .nonce = records::order_nonce("order"),
                                      .expiry_s = 4'000'000'000};
        return escrow().lock(
            order,
            records::seal_order({anvil_.chain_id(), deployment_.escrow}, order, owner_).signature);
    }
    Amount balance(const Address& who) { return token().balance_of(anvil_.client(), who).value(); }
};

TEST_F(ContractsOnAnvil, DeployedTwiceIsDeployedOnce) {
    contracts::DeployParams params;
    params.token_holder = owner_.address();
    params.token_supply = tokens("1000000");
    params.growth_limit = tokens("1000000");
    params.release_cap = tokens("1000");
    params.settler = params.guardian = params.coordinator = deployer_.address();
    const auto again = contracts::deploy(*admin_.manager, anvil_.client(),
                                         contracts::find_artifacts().value(), params, kTimeoutMs);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, deployment_);
    const auto path = anvil_.folder() / "deployment.json";
    ASSERT_TRUE(contracts::save_deployment(path, deployment_).ok());
    EXPECT_EQ(contracts::load_deployment(path).value(), deployment_);
}

TEST_F(ContractsOnAnvil, DepositsReleasesAndClaimsToTheLastWei) {
    const Amount deposit = Amount::parse("123456789012345678901").value();
    send(payer_, permit_deposit(deposit), "deposit");
    EXPECT_EQ(escrow().balance_of(anvil_.client(), owner_.address()).value(), deposit);
    EXPECT_EQ(balance(deployment_.escrow), deposit);

    const Address earner_a = chain::private_chain_key(7).address();
    const Address earner_b = chain::private_chain_key(8).address();
    const Amount a_total = Amount::parse("1000000000000000001").value();
    const Amount b_total = Amount::parse("2999999999999999999").value();
    const Amount spent = a_total.plus(b_total).value();
    send(admin_, lock_order(spent), "lock/1");
    send(admin_, escrow().release(1, {{owner_.address(), spent}}), "release/1");
    EXPECT_EQ(balance(deployment_.distributor), spent);
    EXPECT_EQ(escrow().released_of(anvil_.client(), 1, owner_.address()).value(), spent);

    const TwoClaims tree = tree_of(earner_a, a_total, earner_b, b_total);
    contracts::RootSubmitted root{1, tree.root, spent, crypto::keccak256_text("epoch file"), 0};
    send(admin_, distributor().submit_root(root), "root/1");
    const auto active = distributor().active_root(anvil_.client()).value();
    EXPECT_EQ(active.root, tree.root);
    EXPECT_EQ(active.total_cumulative, spent);

    send(payer_, distributor().claim(tree.a), "claim/a");
    EXPECT_EQ(balance(earner_a), a_total);
    const auto repeated =
        payer_.manager->execute(distributor().claim(tree.a).intent("claim/a/2"), kTimeoutMs);
    ASSERT_FALSE(repeated.ok());
    EXPECT_NE(repeated.error().message.find("NothingToClaim(earner="), std::string::npos)
        << repeated.error().message;
    send(payer_, distributor().claim_many({tree.a, tree.b}), "claim/both");
    EXPECT_EQ(balance(earner_a), a_total) << "not paid twice";
    EXPECT_EQ(balance(earner_b), b_total);
    EXPECT_EQ(distributor().total_claimed(anvil_.client()).value(), spent);
    EXPECT_TRUE(balance(deployment_.distributor).is_zero());

    contracts::Claim forged = tree.b;
    forged.cumulative = b_total.plus(Amount(1)).value();
    const auto refused =
        payer_.manager->execute(distributor().claim(forged).intent("forged"), kTimeoutMs);
    EXPECT_NE(refused.error().message.find("InvalidProof"), std::string::npos);
}

TEST_F(ContractsOnAnvil, EveryEventArrivesOnceItIsFinal) {
    const Digest job = crypto::keccak256_text("job");
    protocol::RoundRecord first;
    first.job_id = job;
    first.round = 1;
    const Bytes head = protocol::encode(protocol::head_of(first));
    const Digest record = protocol::hash(first);
    send(payer_, permit_deposit(tokens("10")), "deposit");
    send(payer_, escrow().request_withdrawal(tokens("4")), "request");
    send(admin_, lock_order(tokens("7")), "lock");
    send(payer_, escrow().lock_own(tokens("1")), "own");
    send(admin_, escrow().unlock({{owner_.address(), tokens("2")}}), "unlock");
    send(payer_, escrow().withdraw(), "withdraw");
    send(admin_, commitments().post_round({job, 1, head, {}}), "round");
    protocol::UnitCommitment made;
    made.kind = protocol::UnitKind::kAggregate;
    made.round_record = record;
    made.slot = protocol::kAggregateSlot;
    const auto domain = protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
    const auto aggregate = protocol::sign(domain, made, deployer_);
    send(admin_, commitments().post_aggregate(job, 1, protocol::encode(aggregate)), "aggregate");
    protocol::UnitCommitment trained;
    trained.round_record = record;
    trained.slot = 3;
    const auto worked = protocol::sign(domain, trained, owner_);
    send(payer_, commitments().post_commitment(job, 1, protocol::encode(worked)), "commitment");
    send(admin_, commitments().post_epoch({1, job, 1, record, 5}), "epoch");
    EXPECT_EQ(commitments().round_of(anvil_.client(), job, 1).value().epoch, 1U);
    EXPECT_EQ(commitments().epoch_of(anvil_.client(), 1).value().count, 5U);

    std::vector<contracts::EscrowEvent> money;
    std::vector<contracts::CommitmentEvent> posts;
    const auto memory = payer_.file->follower("all", anvil_.chain_id()).value();
    chain::FollowerOptions options;
    options.chain_id = anvil_.chain_id();
    options.start_block = deployment_.start_block;
    options.filter.addresses = {deployment_.escrow, deployment_.commitment_log};
    chain::LogFollower follower(anvil_.client(), *memory, options,
                                [&](const chain::LogKey&, const chain::Log& log) -> Status {
                                    GYM_TRY(const auto escrow_event, escrow().parse_event(log));
                                    if (escrow_event) money.push_back(*escrow_event);
                                    GYM_TRY(const auto post, commitments().parse_event(log));
                                    if (post) posts.push_back(*post);
                                    return {};
                                });
    for (int i = 0; i < 100 && (money.size() < 6 || posts.size() < 4); ++i) {
        const auto report = follower.tick();
        ASSERT_TRUE(report.ok()) << report.error().message;
        anvil_.mine(1);
    }
    const Address owner = owner_.address();
    ASSERT_EQ(money.size(), 6U);
    EXPECT_EQ(std::get<contracts::Deposited>(money[0]),
              (contracts::Deposited{owner, owner, tokens("10"), Amount(1)}));
    EXPECT_EQ(std::get<contracts::WithdrawalRequested>(money[1]).amount, tokens("4"));
    EXPECT_EQ(std::get<contracts::Locked>(money[2]),
              (contracts::Locked{owner, records::order_nonce("order"), Digest(), tokens("7")}));
    EXPECT_EQ(std::get<contracts::LockedOwn>(money[3]), (contracts::LockedOwn{owner, tokens("1")}));
    EXPECT_EQ(std::get<contracts::Unlocked>(money[4]),
              (contracts::Unlocked{owner, tokens("2"), tokens("2")}));
    EXPECT_EQ(std::get<contracts::Withdrawn>(money[5]), (contracts::Withdrawn{owner, tokens("4")}));
    EXPECT_EQ(escrow().locked_of(anvil_.client(), owner).value(), tokens("6"));
    ASSERT_EQ(posts.size(), 4U);
    EXPECT_EQ(std::get<contracts::RoundPosted>(posts[0]), (contracts::RoundPosted{job, 1, record}));
    const Digest unit = game::unit_of(domain, aggregate).value();
    EXPECT_EQ(std::get<contracts::AggregatePosted>(posts[1]),
              (contracts::AggregatePosted{job, 1, deployer_.address(), unit,
                                          protocol::encode(aggregate)}));
    EXPECT_EQ(commitments().aggregate_of(anvil_.client(), job, 1).value().unit, unit);
    EXPECT_EQ(std::get<contracts::CommitmentPosted>(posts[2]),
              (contracts::CommitmentPosted{job, 1, owner, protocol::encode(worked)}));
    const Digest leaf = protocol::commitment_leaf(worked);
    EXPECT_GT(commitments().published_at(anvil_.client(), leaf).value(), 0U);
    EXPECT_EQ(commitments().poster_of(anvil_.client(), 1).value(), deployer_.address());
    EXPECT_EQ(std::get<contracts::EpochPosted>(posts[3]),
              (contracts::EpochPosted{1, job, 1, record, 5}));
}

// What `gym job submit` signs is what the contract recovers.
TEST_F(ContractsOnAnvil, OrdersLockWhatTheirOwnerSignedForAndNothingElse) {
    send(payer_, permit_deposit(tokens("10")), "deposit");
    records::JobFunding more{owner_.address(), crypto::keccak256_text("job"), tokens("3"),
                             records::order_nonce("more"), 4'000'000'000};
    const auto seal = records::seal_order({anvil_.chain_id(), deployment_.escrow}, more, owner_);
    send(admin_, escrow().lock(more, seal.signature), "more");
    send(admin_, lock_order(tokens("4")), "lock");
    EXPECT_EQ(escrow().locked_of(anvil_.client(), owner_.address()).value(), tokens("7"));
    EXPECT_EQ(escrow().lock_of(anvil_.client(), more).value(), tokens("3"));
    EXPECT_EQ(escrow().total_locked(anvil_.client()).value(), tokens("7"));
    more.amount_wei = tokens("6");
    const auto raised =
        admin_.manager->execute(escrow().lock(more, seal.signature).intent("raised"), kTimeoutMs);
    ASSERT_FALSE(raised.ok());
    EXPECT_NE(raised.error().message.find("NotSigned(owner="), std::string::npos)
        << raised.error().message;
    const auto taken = admin_.manager->execute(
        escrow().release(1, {{owner_.address(), tokens("8")}}).intent("release"), kTimeoutMs);
    ASSERT_FALSE(taken.ok());
    EXPECT_NE(taken.error().message.find("InsufficientLock(owner="), std::string::npos)
        << taken.error().message;
}

TEST_F(ContractsOnAnvil, WhoLacksTheRoleIsRefusedWithTheRoleNamed) {
    const auto refused = payer_.manager->execute(
        commitments().post_round({Digest{}, 1, Bytes(464), {}}).intent("round"), kTimeoutMs);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("AccessControlUnauthorizedAccount(account="),
              std::string::npos)
        << refused.error().message;
}

TEST_F(ContractsOnAnvil, APermitForAnotherAmountIsRefused) {
    const Amount amount = tokens("5");
    const auto nonce = token().permit_nonce(anvil_.client(), owner_.address()).value();
    const auto permit =
        token().sign_permit(owner_, deployment_.escrow, tokens("4"), nonce, 4'000'000'000);
    const auto refused = payer_.manager->execute(
        escrow().deposit_with_permit(owner_.address(), amount, 4'000'000'000, permit).intent("d"),
        kTimeoutMs);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("InsufficientAllowance"), std::string::npos)
        << refused.error().message;
}

TEST_F(ContractsOnAnvil, AViewWhereNoContractIsSaysSo) {
    const contracts::JobEscrow nowhere(chain::private_chain_key(9).address());
    EXPECT_EQ(nowhere.total_balance(anvil_.client()).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace gym::testing
