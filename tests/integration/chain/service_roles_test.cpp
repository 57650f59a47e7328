// Whoever holds the database role of one service tries to stop the transactions of another, over
// PostgreSQL with the real roles and a real chain.

#include "anvil.hpp"
#include "gym/chain/tx_manager.hpp"
#include "manual_clock.hpp"
#include "stores.hpp"

namespace gym::testing {
namespace {

using chain::IntentState;

/// A service that sends, as the programs do: its login, its key, its rows.
class Service {
  public:
    Service(TestDatabase& database, TestAnvil& anvil, const std::string& role, std::uint32_t key)
        : anvil_(anvil),
          role_(role),
          login_(database.as(role)),
          key_(anvil.funded_key(key)),
          store_(chain_store::postgres_intents(*login_, {role}, anvil.chain_id(), key_.address())),
          manager_(anvil.client(), *store_, key_.clone(), clock_, test_policy(anvil.chain_id()),
                   [](ByteView) { return std::string("reverted"); }) {}

    [[nodiscard]] const std::string& role() const { return role_; }
    [[nodiscard]] const Address& sender() const { return key_.address(); }
    [[nodiscard]] db::Database& login() { return *login_; }
    [[nodiscard]] chain::IntentStore& store() { return *store_; }

    void order(const std::string& id) {
        chain::IntentRequest request;
        request.id = id;
        request.to = chain::private_chain_key(100).address();
        request.value_wei = Amount(1);
        ASSERT_TRUE(manager_.submit(request).ok());
    }
    void tick() {
        const auto report = manager_.tick();
        ASSERT_TRUE(report.ok()) << role_ << ": " << report.error().message;
    }
    [[nodiscard]] IntentState state(const std::string& id) {
        return store_->find(id).value().state;
    }
    void expect_done(const std::string& id) {
        for (int i = 0; i < 5 && state(id) != IntentState::kDone; ++i) {
            ASSERT_NO_FATAL_FAILURE(tick());
            anvil_.mine(4);
        }
        EXPECT_EQ(chain::to_string(state(id)), chain::to_string(IntentState::kDone)) << role_;
    }

  private:
    TestAnvil& anvil_;
    std::string role_;
    std::unique_ptr<db::Database> login_;
    crypto::PrivateKey key_;
    std::unique_ptr<chain::IntentStore> store_;
    ManualClock clock_{1};
    chain::TxManager manager_;
};

class ServiceRoles : public ::testing::Test {
  protected:
    /// Rows of the attacker's own service that own the next nonces of the victim's sender.
    Status take_nonces(db::Transaction& tx, const Service& attacker, const Service& victim) {
        for (std::uint64_t nonce = 0; nonce < kNonces; ++nonce)
            GYM_CHECK(
                tx.exec("INSERT INTO chain.intent (service, chain_id, sender, id, value_wei, "
                        "data, label, submitted_at_ms, state, nonce, gas_limit) "
                        "VALUES ($1, $2, $3, $4, 0, '', '', 1, 'signed', $5, 21000)",
                        {attacker.role(), anvil_.chain_id(), victim.sender(),
                         "mine/" + std::to_string(nonce), nonce}));
        return {};
    }
    static Status run(db::Database& as, const std::string& sql, std::uint64_t* affected = nullptr) {
        return as.transact([&](db::Transaction& tx) -> Status {
            GYM_TRY(const db::Rows rows, tx.exec(sql));
            if (affected != nullptr) *affected = rows.affected();
            return {};
        });
    }
    std::vector<std::string> senders_of_two_services() {
        return database_.owner()
            .transact([](db::Transaction& tx) -> Result<std::vector<std::string>> {
                GYM_TRY(const db::Rows rows,
                        tx.exec("SELECT services FROM audit.chain_sender_of_two_services"));
                std::vector<std::string> out;
                for (const db::Row& row : rows)
                    out.push_back(row.get<std::string>("services"));
                return out;
            })
            .value();
    }

    static constexpr std::uint64_t kNonces = 16;
    TestDatabase database_;
    TestAnvil anvil_;
    Service rewards_{database_, anvil_, "gym_rewards", 1};
    Service coordinator_{database_, anvil_, "gym_coordinator", 2};
};

TEST_F(ServiceRoles, NoneFreezesAnotherByItsNonces) {
    for (auto [attacker, victim] :
         {std::pair(&coordinator_, &rewards_), std::pair(&rewards_, &coordinator_)}) {
        SCOPED_TRACE(attacker->role() + " against " + victim->role());
        victim->order("before");
        // In a transaction that stays open: nobody waits for its rows either.
        const Status held = attacker->login().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(take_nonces(tx, *attacker, *victim));
            victim->expect_done("before");
            return {};
        });
        ASSERT_TRUE(held.ok()) << held.error().message;
        victim->order("after");
        victim->expect_done("after");
    }
    EXPECT_EQ(
        senders_of_two_services(),
        (std::vector<std::string>{"gym_coordinator, gym_rewards", "gym_coordinator, gym_rewards"}));
}

TEST_F(ServiceRoles, NoneReadsWritesOrLocksAnothersIntents) {
    for (auto [attacker, victim] :
         {std::pair(&coordinator_, &rewards_), std::pair(&rewards_, &coordinator_)}) {
        SCOPED_TRACE(attacker->role() + " against " + victim->role());
        victim->order("payout");
        for (const char* sql :
             {"SELECT * FROM chain.intent", "SELECT * FROM chain.intent FOR UPDATE",
              "SELECT * FROM chain.attempt", "UPDATE chain.intent SET cancel_requested = true",
              "UPDATE chain.intent SET state = 'cancelled', settled_at_ms = 1"}) {
            std::uint64_t rows = 99;
            const Status done = run(attacker->login(), sql, &rows);
            ASSERT_TRUE(done.ok()) << sql << ": " << done.error().message;
            EXPECT_EQ(rows, 0U) << sql;
        }
        for (const std::string& sql :
             {"INSERT INTO chain.intent (service, chain_id, sender, id, value_wei, data, label, "
              "submitted_at_ms, state) VALUES ('" +
                  victim->role() +
                  "', 1, decode(repeat('11', 20), 'hex'), 'forged', 0, '', '', 1, 'queued')",
              std::string("LOCK TABLE chain.intent IN SHARE MODE"),
              std::string("LOCK TABLE chain.attempt IN ACCESS EXCLUSIVE MODE"),
              std::string("TRUNCATE chain.attempt, chain.intent")})
            EXPECT_EQ(run(attacker->login(), sql).error().code, ErrorCode::kPermissionDenied)
                << sql;
        victim->expect_done("payout");
        ASSERT_TRUE(run(database_.owner(),
                        "SET session_replication_role = replica; "
                        "TRUNCATE chain.attempt, chain.intent")
                        .ok());
    }
    EXPECT_TRUE(senders_of_two_services().empty());
}

/// The other roles write no intents at all.
TEST_F(ServiceRoles, OthersSendNothing) {
    rewards_.order("payout");
    for (const char* role : {"gym_api", "gym_auditor", "gym_evaluator"}) {
        const auto login = database_.as(role);
        for (const char* service : {"gym_rewards", "gym_coordinator"}) {
            const auto store = chain_store::postgres_intents(*login, {service}, anvil_.chain_id(),
                                                             rewards_.sender());
            chain::IntentRequest forged;
            forged.id = "forged";
            EXPECT_EQ(store->submit(forged, 1).error().code, ErrorCode::kPermissionDenied) << role;
        }
        for (const char* sql :
             {"UPDATE chain.intent SET cancel_requested = true",
              "SELECT * FROM chain.intent FOR UPDATE",
              "LOCK TABLE chain.intent IN ROW EXCLUSIVE MODE", "DELETE FROM chain.intent"})
            EXPECT_EQ(run(*login, sql).error().code, ErrorCode::kPermissionDenied)
                << role << ": " << sql;
    }
    rewards_.expect_done("payout");
}

}  // namespace
}  // namespace gym::testing
