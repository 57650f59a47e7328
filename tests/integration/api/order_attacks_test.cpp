// Whoever takes gym-api over holds its database role: what it can store moves nobody's money
// without the owner's signature, which gym-rewards recovers.
#include <functional>

#include "api_fixture.hpp"

namespace gym::api {
namespace {

using registry::OrderState;
using testing::address_of;
using testing::job_spec;
using testing::kAsset;
using testing::kNetwork;

/// What the thief stores as gym_api for a job of the victim.
struct Forgery {
    records::JobOrder order;
    records::OrderSeal seal;
    registry::NewJob job;
};

class OrderAttacks : public testing::ApiDatabaseTest {
  protected:
    void SetUp() override {
        ApiDatabaseTest::SetUp();
        deposit(victim_, "250", "a deposit");
    }

    /// A job as its owner signs it: 100 GYM, and nothing for the data.
    Forgery signed_job(const std::string& key) {
        const std::string text = job_spec(dataset_);
        const auto spec = registry::parse_submitted_spec(text, "job").value();
        Forgery out;
        out.job = {.id = registry::make_job_id(victim_, key),
                   .owner = victim_,
                   .name = spec.spec.name,
                   .spec_yaml = text,
                   .dataset_root = spec.dataset_root,
                   .terms = spec.spec.terms,
                   .budget_wei = spec.spec.budget_wei};
        out.order = registry::job_order(spec, text, victim_, records::order_nonce(key));
        out.order.expiry_s = expiry();
        out.seal = records::seal_order(kNetwork, out.order, testing::signing_key_of(victim_));
        return out;
    }
    /// With the rights of gym_api alone.
    Status store(const Forgery& forgery) {
        return api_db_->transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(registry::store_order(tx, forgery.job.id, forgery.order, forgery.seal,
                                            clock_.now_ms()));
            GYM_CHECK(registry::submit_job(tx, forgery.job, clock_.now_ms()));
            return {};
        });
    }
    ErrorCode sql_as(db::Database& role, const std::string& text) {
        const auto done = role.transact([&](db::Transaction& tx) { return tx.exec(text); });
        return done.ok() ? ErrorCode::kCancelled
                         : done.error().code;  // kCancelled: it went through
    }
    registry::StoredOrder order_of(const Digest& job) {
        return api_db_
            ->transact([&](db::Transaction& tx) { return registry::order_of_job(tx, job); })
            .value();
    }
    /// gym-rewards decides, no money moves, and the job never starts.
    void expect_refused(const Digest& job, const std::string& reason) {
        EXPECT_EQ(take_orders(), 1U);
        const auto order = order_of(job);
        EXPECT_EQ(order.state, OrderState::kRefused);
        EXPECT_NE(order.reason.find(reason), std::string::npos) << order.reason;
        expect_untouched();
        const auto started = database_.as("gym_coordinator")->transact([&](db::Transaction& tx) {
            return registry::start_job(tx, job, {}, clock_.now_ms());
        });
        ASSERT_FALSE(started.ok());
        EXPECT_NE(started.error().message.find("the budget of the job is not locked"),
                  std::string::npos)
            << started.error().message;
    }
    void expect_untouched(const std::string& tokens = "250") {
        const auto held = api_db_->transact([&](db::Transaction& tx) {
            return ledger::balance(tx, rewards::available_account(kAsset, victim_));
        });
        EXPECT_EQ(held.value().spendable().to_tokens(), tokens);
    }

    const Address victim_ = owner_;
    const Address thief_ = address_of(66);
};

TEST_F(OrderAttacks, TheRoleOfTheApiBooksNothing) {
    const Forgery good = signed_job("k");
    ASSERT_TRUE(store(good).ok());
    const auto move = [&](const ledger::AccountKey& from, const ledger::AccountKey& to) {
        // Accounts that are there already.
        const auto id = [&](const ledger::AccountKey& key) {
            return database_.owner()
                .transact([&](db::Transaction& tx) { return ledger::open_account(tx, key); })
                .value();
        };
        ledger::TransferRequest request;
        request.id = ledger::transfer_id(from.owner + to.owner);
        request.debit = id(from);
        request.credit = id(to);
        request.amount = Amount(1);
        const auto moved = api_db_->transact([&](db::Transaction& tx) {
            return ledger::submit(tx, {&request, 1}, clock_.now_ms());
        });
        return moved.ok() ? ErrorCode::kCancelled : moved.error().code;
    };
    const auto money = rewards::available_account(kAsset, victim_);
    const auto job = rewards::escrow_account(kAsset, good.job.id);
    EXPECT_EQ(move(money, job), ErrorCode::kPermissionDenied) << "though its owner signed";
    EXPECT_EQ(move(money, rewards::available_account(kAsset, thief_)),
              ErrorCode::kPermissionDenied);
    EXPECT_EQ(take_orders(), 1U);
    EXPECT_EQ(move(job, money), ErrorCode::kPermissionDenied);
    expect_untouched("150");
}

TEST_F(OrderAttacks, TheRoleOfTheApiDecidesNothing) {
    const Forgery good = signed_job("k");
    ASSERT_TRUE(store(good).ok());
    for (const char* text :
         {"UPDATE registry.order_state SET state = 'locked', decided_at_ms = 1",
          "DELETE FROM registry.order_state", "DELETE FROM registry.job_order",
          "INSERT INTO registry.order_state (kind, owner, nonce, job_id, amount_wei, state, "
          "decided_at_ms) SELECT 'funding', owner, nonce, job_id, amount_wei, 'locked', 1 FROM "
          "registry.order_state",
          "UPDATE registry.job SET budget_wei = budget_wei + 1",
          "UPDATE registry.job_order SET budget_wei = budget_wei + 1"})
        EXPECT_NE(sql_as(*api_db_, text), ErrorCode::kCancelled) << text;
    EXPECT_EQ(order_of(good.job.id).state, OrderState::kWaiting);
}

// The attack as it was: data at a price of the thief's, a job in the victim's name, no signature.
TEST_F(OrderAttacks, AJobInAVictimsNameMovesNothing) {
    Forgery forgery = signed_job("k");
    forgery.seal.signature.data.fill(0);
    ASSERT_TRUE(store(forgery).ok()) << "the role may store it";
    expect_refused(forgery.job.id, "the order is not signed by its owner " + victim_.hex());
}

TEST_F(OrderAttacks, AJobThatTheThiefSignsMovesNothing) {
    Forgery forgery = signed_job("k");
    records::JobOrder own = forgery.order;
    own.owner = thief_;
    forgery.seal = records::seal_order(kNetwork, own, testing::signing_key_of(thief_));
    ASSERT_TRUE(store(forgery).ok());
    expect_refused(forgery.job.id, "the signature is that of");
}

TEST_F(OrderAttacks, AReplayedOrderMovesNothing) {
    const Forgery good = signed_job("k");
    ASSERT_TRUE(store(good).ok());
    EXPECT_EQ(take_orders(), 1U);
    EXPECT_EQ(order_of(good.job.id).state, OrderState::kLocked);
    expect_untouched("150");
    EXPECT_EQ(take_orders(), 0U) << "it was decided";

    Forgery again = good;
    again.job.id = registry::make_job_id(victim_, "another");
    EXPECT_EQ(store(again).error().code, ErrorCode::kAlreadyExists) << "its nonce is used";
    again.order.nonce = records::order_nonce("another");
    ASSERT_TRUE(store(again).ok());
    EXPECT_EQ(take_orders(), 1U);
    EXPECT_EQ(order_of(again.job.id).state, OrderState::kRefused);
    expect_untouched("150");
    for (const char* state : {"waiting", "locked"})
        EXPECT_NE(sql_as(*rewards_db_, "UPDATE registry.order_state SET reason = '', state = '" +
                                           std::string(state) + "'"),
                  ErrorCode::kCancelled)
            << "an order is decided once";
}

TEST_F(OrderAttacks, AnOrderForAnotherNetworkMovesNothing) {
    Forgery forgery = signed_job("k");
    const records::OrderNetwork other{kNetwork.chain_id + 1, kNetwork.escrow};
    forgery.seal = records::seal_order(other, forgery.order, testing::signing_key_of(victim_));
    ASSERT_TRUE(store(forgery).ok());
    expect_refused(forgery.job.id, "the order is signed for chain");
}

TEST_F(OrderAttacks, AnOldOrderMovesNothing) {
    const Forgery good = signed_job("k");
    clock_.advance_ms(static_cast<std::int64_t>(records::kOrderLifetimeSeconds) * 1'000 + 1'000);
    ASSERT_TRUE(store(good).ok());
    expect_refused(good.job.id, "the order expired at");
}

TEST_F(OrderAttacks, RaisedPricesMoveNothing) {
    using Change = std::function<void(Forgery&)>;
    const std::vector<std::pair<const char*, Change>> changes{
        {"budget",
         [](Forgery& f) {
             f.order.budget_wei = f.job.budget_wei = Amount::parse_tokens("250").value();
         }},
        {"price of work",
         [](Forgery& f) {
             f.order.price_wei_per_pflop = f.job.terms.price_wei_per_pflop =
                 Amount::parse_tokens("3").value();
         }},
        {"price of data",
         [](Forgery& f) { f.order.max_data_price_wei = Amount::parse_tokens("9").value(); }},
        {"expiry", [](Forgery& f) { f.seal.expiry_s += 60; }},
        {"text", [](Forgery& f) {
             f.job.spec_yaml += "# more\n";
             f.order.spec = records::spec_digest(f.job.spec_yaml);
         }}};
    for (const auto& [what, change] : changes) {
        SCOPED_TRACE(what);
        Forgery forgery = signed_job(what);
        change(forgery);
        ASSERT_TRUE(store(forgery).ok());
        expect_refused(forgery.job.id, "the order is not signed by its owner");
    }
}

/// The signature is good, and the job's row says something else than the signed text.
TEST_F(OrderAttacks, TermsThatAreNotTheSignedTextsMoveNothing) {
    Forgery forgery = signed_job("k");
    forgery.job.terms.rounds = 1'000;
    ASSERT_TRUE(store(forgery).ok());
    expect_refused(forgery.job.id, "the job has another set of terms than its owner signed");
}

TEST_F(OrderAttacks, DataThatCostsMoreThanItsOwnerSignedForMovesNothing) {
    const auto dear = backend().add_dataset({.owner = thief_,
                                             .name = "dear",
                                             .licence = "CC0-1.0",
                                             .price_wei_per_mtoken = Amount(1'000'000),
                                             .file = dataset_file(std::string(2'000, 'y'))});
    ASSERT_TRUE(dear.ok()) << dear.error().message;
    dataset_ = dear->dataset.root;
    const Forgery forgery = signed_job("k");
    ASSERT_TRUE(store(forgery).ok());
    expect_refused(forgery.job.id, "the job's data costs");
}

TEST_F(OrderAttacks, FundingsNeedTheSignatureOfTheJobsOwner) {
    const Digest job = submit({victim_, "k", job_spec(dataset_)}).value().job.id;
    expect_untouched("150");
    const auto attempt = [&](records::JobFunding funding, const Address& signer,
                             const std::string& reason) {
        funding.expiry_s = expiry();
        records::JobFunding shown = funding;
        shown.owner = signer;
        const auto seal = records::seal_order(kNetwork, shown, testing::signing_key_of(signer));
        const auto stored = api_db_->transact([&](db::Transaction& tx) {
            return registry::store_funding(tx, funding, seal, clock_.now_ms());
        });
        ASSERT_TRUE(stored.ok()) << stored.error().message;
        EXPECT_EQ(take_orders(), 1U);
        const auto orders = api_db_
                                ->transact([&](db::Transaction& tx) {
                                    return registry::orders_of_job(tx, funding.job);
                                })
                                .value();
        EXPECT_EQ(orders.back().state, OrderState::kRefused);
        EXPECT_NE(orders.back().reason.find(reason), std::string::npos) << orders.back().reason;
        expect_untouched("150");
        EXPECT_EQ(backend().job(job).value().job.budget_wei.to_tokens(), "100");
    };
    const Amount more = Amount::parse_tokens("50").value();
    attempt({victim_, job, more, records::order_nonce("a")}, thief_, "is not signed by its owner");
    attempt({victim_, job, Amount::parse_tokens("151").value(), records::order_nonce("b")}, victim_,
            "has less available");
    const Digest theirs = [&] {
        deposit(thief_, "100", "the thief's");
        return submit({thief_, "k", job_spec(dataset_)}).value().job.id;
    }();
    // Money of the victim for the thief's job: the row's owner is not the job's.
    EXPECT_EQ(sql_as(*api_db_,
                     "INSERT INTO registry.job_funding (job_id, owner, nonce, amount_wei, "
                     "expiry_s, chain_id, escrow, signature, received_at_ms) SELECT '\\x" +
                         theirs.hex().substr(2) +
                         "', owner, sha256('c'), budget_wei, expiry_s, chain_id, escrow, "
                         "signature, 1 FROM registry.job_order WHERE owner = '\\x" +
                         victim_.hex().substr(2) + "'"),
              ErrorCode::kCancelled);
    EXPECT_EQ(take_orders(), 1U);
    expect_untouched("150");
    EXPECT_TRUE(fund({victim_, job, more, "more"}).ok());
    expect_untouched("100");
}

// A job that starts shortly before its owner takes all that it has would not be paid.
TEST_F(OrderAttacks, AnOwnerThatLeavesGetsNoNewJob) {
    const auto leave = [&](const char* sql) {
        const auto done =
            rewards_db_->transact([&](db::Transaction& tx) { return tx.exec(sql, {victim_}); });
        ASSERT_TRUE(done.ok()) << done.error().message;
    };
    leave("INSERT INTO rewards.leaving VALUES ($1, 5)");
    const Forgery signed_by_its_owner = signed_job("k");
    ASSERT_TRUE(store(signed_by_its_owner).ok());
    expect_refused(signed_by_its_owner.job.id, "its owner leaves the network");
    leave("DELETE FROM rewards.leaving WHERE owner = $1");
    const Forgery again = signed_job("l");
    ASSERT_TRUE(store(again).ok());
    EXPECT_EQ(take_orders(), 1U);
    EXPECT_EQ(order_of(again.job.id).state, OrderState::kLocked);
}

TEST_F(OrderAttacks, OrdersThatWaitCountAsSpent) {
    ASSERT_TRUE(backend().submit_job(sealed(Submission{victim_, "a", job_spec(dataset_)})).ok());
    EXPECT_EQ(backend().account(victim_).value().available.to_tokens(), "150");
    EXPECT_EQ(backend().account(victim_).value().escrowed.to_tokens(), "100");
    const auto second =
        backend().submit_job(sealed(Submission{victim_, "b", job_spec(dataset_, "200")}));
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kInsufficientFunds);
    EXPECT_NE(second.error().message.find("150 are available: deposit 50 more"), std::string::npos)
        << second.error().message;
    EXPECT_EQ(check_orders(), 1U) << "now it waits for the chain";
    EXPECT_EQ(backend().account(victim_).value().available.to_tokens(), "150");
    EXPECT_EQ(backend().account(victim_).value().escrowed.to_tokens(), "100");
    EXPECT_EQ(take_orders(), 0U);
    EXPECT_EQ(backend().account(victim_).value().available.to_tokens(), "150");
    EXPECT_EQ(backend().account(victim_).value().escrowed.to_tokens(), "100");
}

/// An auditor recovers every signature again.
TEST_F(OrderAttacks, MoneyThatNoSignatureLocksIsFoundByTheAudit) {
    const Digest job = submit({victim_, "k", job_spec(dataset_)}).value().job.id;
    const auto auditor = database_.as("gym_auditor");
    const auto problems = [&] {
        const auto found = auditor->transact([&](db::Transaction& tx) {
            return tx.exec("SELECT problem FROM audit.orders_escrow");
        });
        return found.value().size();
    };
    EXPECT_EQ(problems(), 0U);
    book(rewards::available_account(kAsset, victim_), rewards::escrow_account(kAsset, job), "1",
         "what a wrong gym-rewards would book");
    EXPECT_EQ(problems(), 1U);
}

}  // namespace
}  // namespace gym::api
