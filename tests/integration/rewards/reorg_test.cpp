// Reorganisations of every depth that finality allows, deposits in them, from the node to the
// ledger.

#include <vector>

#include "gym/chain/transaction.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "settlement_fixture.hpp"

namespace gym::rewards {
namespace {

constexpr std::uint32_t kFinalityDepth = 64;

chain::AnvilOptions deep_finality() {
    chain::AnvilOptions out;
    out.slots_in_an_epoch = kFinalityDepth / 2;
    return out;
}

/// The depths of one test, so many apart: anvil forgets states when it has made hundreds of blocks.
constexpr std::uint32_t kGroups = 8;

class ReorgTest : public SettlementFixture {
  protected:
    ReorgTest() : SettlementFixture(deep_finality()) {
        const contracts::GymToken token(anvil_.chain_id(), deployment_.token);
        chain::TxManager manager = manager_of(owner_key_);
        const auto approve = token.approve(deployment_.escrow, *Amount::parse_tokens("1000"));
        must(manager.submit(approve.intent("approve")));
        must(manager.wait_mined("approve", 20'000));
        next_nonce_ = must(anvil_.client().nonce(owner_key_.address(), chain::BlockTag::kLatest));
        anvil_.mine(kFinalityDepth + 1);
        anvil_.rpc("evm_setAutomine", "[false]");
    }

    /// A deposit to an account of its own, of an amount of its own: which ones count is to be seen.
    struct Deposit {
        Address owner;
        Amount amount;
        Bytes raw;
        bool counts = true;
    };
    std::size_t sign_deposit(std::uint64_t nonce) {
        const std::size_t i = deposits_.size();
        Deposit out;
        out.owner = testing::test_address(static_cast<std::uint8_t>(0x80 + i / 200),
                                          static_cast<std::uint8_t>(i % 200));
        out.amount = Amount(1'000'000 + i);
        chain::Transaction tx;
        tx.chain_id = anvil_.chain_id();
        tx.nonce = nonce;
        tx.fee_max_wei = Amount(100'000'000'000);
        tx.priority_fee_wei = Amount(1'000'000'000);
        tx.gas_limit = 200'000;
        tx.to = deployment_.escrow;
        tx.data = contracts::JobEscrow(deployment_.escrow).deposit(out.owner, out.amount).data;
        out.raw = chain::sign_transaction(tx, owner_key_).raw;
        deposits_.push_back(out);
        return i;
    }
    void send(std::size_t deposit) {
        ASSERT_EQ(must(anvil_.client().send(deposits_[deposit].raw)),
                  chain::SendOutcome::kAccepted);
    }
    void reorg(std::uint32_t depth,
               const std::vector<std::pair<std::size_t, std::uint32_t>>& kept) {
        std::string pairs;
        for (const auto& [deposit, block] : kept)
            pairs += (pairs.empty() ? "" : ",") + ("[\"" + to_hex0x(deposits_[deposit].raw)) +
                     "\"," + std::to_string(block) + "]";
        anvil_.rpc("anvil_reorg", "[" + std::to_string(depth) + ",[" + pairs + "]]");
    }
    /// By a daemon that was started for it.
    void tick() {
        const auto tick = fresh_tick();
        ASSERT_TRUE(tick.ok()) << tick.error().message;
    }
    /// Two deposits within the last `depth` blocks, one in the first of them and one in the last;
    /// then these blocks are replaced.
    void round(std::uint32_t depth) {
        const std::size_t first = sign_deposit(next_nonce_);
        const std::size_t last = sign_deposit(next_nonce_ + 1);
        next_nonce_ += 2;
        send(first);
        if (depth > 1) anvil_.mine(depth - 1);
        send(last);
        anvil_.mine(1);
        tick();
        const std::uint32_t variant = (depth + depth / kGroups) % 4;
        switch (variant) {
            case 0:  // both are dropped, and come again later
                reorg(depth, {});
                tick();
                send(first);
                break;
            case 1:  // the first moves to another block, the last is dropped and comes again
                reorg(depth, {{first, depth - 1}});
                break;
            case 2: {  // the first is replaced by another one for ever
                const std::size_t other = sign_deposit(next_nonce_ - 2);
                deposits_[first].counts = false;
                reorg(depth, {{other, 0}});
                tick();
                break;
            }
            case 3:  // both move to the first block
                reorg(depth, {{first, 0}, {last, 0}});
                break;
        }
        if (variant != 3) send(last);
        anvil_.mine(1);
    }
    void expect_credited_once() {
        const contracts::JobEscrow escrow(deployment_.escrow);
        std::int64_t count = 0;
        for (const Deposit& deposit : deposits_) {
            const Amount wanted = deposit.counts ? deposit.amount : Amount();
            EXPECT_EQ(balance(available_account(asset(), deposit.owner)).spendable(), wanted);
            EXPECT_EQ(must(escrow.balance_of(anvil_.client(), deposit.owner)), wanted);
            count += deposit.counts;
        }
        EXPECT_EQ(counted("SELECT count(*) FROM rewards.chain_event WHERE kind = 'deposited'"),
                  count);
        EXPECT_EQ(counted("SELECT count(*) FROM ledger.transfer WHERE reason = 'deposit'"), count);
    }
    std::int64_t counted(const char* sql) {
        return must(test_.owner().transact([&](db::Transaction& tx) -> Result<std::int64_t> {
            GYM_TRY(const db::Row row, tx.exec_one(sql));
            return row.get<std::int64_t>(0);
        }));
    }
    template <class T>
    static T must(Result<T> result) {
        return testing::must(std::move(result));
    }

    std::vector<Deposit> deposits_;
    std::uint64_t next_nonce_ = 0;
};

class ReorgDepths : public ReorgTest, public ::testing::WithParamInterface<std::uint32_t> {};

TEST_P(ReorgDepths, CreditEveryDepositOnceFromTheChainThatWon) {
    std::uint32_t replaced = 0;
    for (std::uint32_t depth = GetParam(); depth <= kFinalityDepth; depth += kGroups) {
        SCOPED_TRACE("depth " + std::to_string(depth));
        round(depth);
        if (HasFatalFailure()) return;
        replaced += depth;
    }
    tick();
    anvil_.mine(kFinalityDepth);
    tick();
    tick();
    EXPECT_GE(deposits_.size(), 2 * kFinalityDepth / kGroups);
    expect_credited_once();
    EXPECT_GE(counted("SELECT count(*) FROM chain.block WHERE orphaned"), replaced)
        << "each of them was seen, and is kept";
    expect_reconciled();
    expect_sound();
}

INSTANTIATE_TEST_SUITE_P(From, ReorgDepths, ::testing::Range(std::uint32_t{1}, kGroups + 1));

TEST_F(ReorgTest, BelowFinalityStopsTheDaemonWithTheBlockNamedAndNothingBooked) {
    const std::size_t deposit = sign_deposit(next_nonce_);
    send(deposit);
    anvil_.mine(kFinalityDepth + 1);
    tick();
    expect_credited_once();
    reorg(kFinalityDepth + 2, {});
    anvil_.mine(kFinalityDepth);
    for (int i = 0; i < 2; ++i) {
        const auto stopped = fresh_tick();
        ASSERT_FALSE(stopped.ok());
        EXPECT_EQ(stopped.error().code, ErrorCode::kMismatch);
        EXPECT_NE(stopped.error().message.find("was finalized, now the chain has"),
                  std::string::npos)
            << stopped.error().message;
    }
    EXPECT_EQ(balance(available_account(asset(), deposits_[deposit].owner)).spendable(),
              deposits_[deposit].amount);
}

}  // namespace
}  // namespace gym::rewards
