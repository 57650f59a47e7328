#include <boost/json.hpp>

#include "command.hpp"
#include "gym/api/api.hpp"
#include "gym/api/postgres.hpp"
#include "gym/http_server/server.hpp"
#include "gym/ledger/sealer.hpp"
#include "gym/registry/orders.hpp"
#include "gym/rewards/epoch_file.hpp"
#include "ledger_client.hpp"
#include "manual_clock.hpp"
#include "owner_orders.hpp"
#include "postgres.hpp"

namespace gym::ledger {
namespace {

namespace json = boost::json;
using gym::testing::Outcome;
using gym::testing::spill;

/// A sealed ledger, read through the auditor's role.
class LedgerCommands : public ::testing::Test {
  protected:
    LedgerCommands() {
        const db::ConnectionConfig config = test_.config_as("gym_auditor");
        ::setenv("PGPASSWORD", config.password.c_str(), 1);
        database_ = {"--host",     config.host,     "--port", std::to_string(config.port),
                     "--database", config.database, "--user", config.user};
        const auto rewards = test_.as("gym_rewards");
        Ledger ledger(*rewards, clock_);
        TransferRequest request;
        request.id = transfer_id("payment");
        request.debit = *ledger.open_account({"system", "erc20:1:t", AccountKind::kChainEscrow});
        request.credit = *ledger.open_account({"0xa", "erc20:1:t", AccountKind::kAvailable});
        request.amount = Amount(250);
        EXPECT_EQ(ledger.submit(std::vector{request})->at(0), TransferStatus::kCreated);
        Sealer sealer(*rewards, clock_, key_);
        seal_ = sealer.tick().value();
    }
    ~LedgerCommands() override { ::unsetenv("PGPASSWORD"); }

    Outcome gym(std::vector<std::string> command, bool with_database = true) {
        command.insert(command.begin(), "ledger");
        if (with_database) command.insert(command.end(), database_.begin(), database_.end());
        return run(place_, std::move(command));
    }
    void tamper(const std::string& sql) {
        ASSERT_TRUE(test_.owner()
                        .transact([&](db::Transaction& tx) {
                            return tx.exec_script("SET LOCAL session_replication_role = replica;" +
                                                  sql);
                        })
                        .ok());
    }

    gym::testing::TemporaryFolder place_;
    gym::testing::TestDatabase test_;
    gym::testing::ManualClock clock_{1'800'000'000'000};
    const crypto::PrivateKey key_ = crypto::PrivateKey::generate();
    const std::string id_ = to_uuid(transfer_id("payment"));
    std::vector<std::string> database_;
    std::optional<Seal> seal_;
};

TEST_F(LedgerCommands, VerifySaysWhatItSawAndNamesTheFirstBadRow) {
    const Outcome good = gym({"verify"});
    EXPECT_EQ(good.exit_code, 0) << good.err;
    EXPECT_NE(good.out.find("every balance, entry and seal follows"), std::string::npos);
    const json::object counts = json::parse(gym({"verify", "--json"}).out).as_object();
    EXPECT_EQ(counts.at("transfers").as_int64(), 1);
    EXPECT_EQ(counts.at("seals").as_int64(), 1);
    EXPECT_EQ(gym({"verify", "--signer", key_.address().hex()}).exit_code, 0);
    EXPECT_EQ(gym({"verify", "--signer", "0x1111111111111111111111111111111111111111"}).exit_code,
              3);

    tamper("UPDATE ledger.account SET credits = credits + 1 WHERE owner = '0xa'");
    const Outcome bad = gym({"verify"});
    EXPECT_EQ(bad.exit_code, 3);
    EXPECT_NE(bad.err.find("account "), std::string::npos) << bad.err;
    EXPECT_NE(bad.err.find("expected debits 0, credits 250"), std::string::npos) << bad.err;
    EXPECT_NE(bad.err.find("found debits 0, credits 251"), std::string::npos) << bad.err;
}

/// As a gym-rewards that checks nothing would leave it.
TEST_F(LedgerCommands, AnOrderThatNobodySignedIsNamed) {
    const Address owner = key_.address();
    records::JobOrder order{.owner = owner, .datasets = {Digest()}, .budget_wei = Amount(5)};
    const auto store = [&](const records::OrderSeal& seal) {
        const Status stored = test_.owner().transact([&](db::Transaction& tx) -> Status {
            const Digest job = order.nonce;
            GYM_CHECK(registry::store_order(tx, job, order, seal, 1));
            return gym::testing::lock_orders(tx, job, 1);
        });
        ASSERT_TRUE(stored.ok()) << stored.error().message;
    };
    const records::OrderNetwork network{31'337, owner};
    store(records::seal_order(network, order, key_));
    const json::object good = json::parse(gym({"verify", "--json"}).out).as_object();
    EXPECT_EQ(good.at("orders").as_int64(), 1);
    EXPECT_TRUE(good.at("problems").as_array().empty());
    order.nonce.data[0] = 1;
    store({network, 0, {}});
    const Outcome bad = gym({"verify"});
    EXPECT_EQ(bad.exit_code, 3);
    EXPECT_NE(bad.err.find("order of " + owner.hex()), std::string::npos) << bad.err;
    EXPECT_NE(bad.err.find("is not signed by its owner"), std::string::npos) << bad.err;
}

TEST_F(LedgerCommands, ManyProblemsOfOneKindDoNotFillTheScreen) {
    const auto rewards = test_.as("gym_rewards");
    Ledger ledger(*rewards, clock_);
    const auto from = *ledger.open_account({"system", "erc20:1:t", AccountKind::kChainEscrow});
    const auto to = *ledger.open_account({"0xa", "erc20:1:t", AccountKind::kAvailable});
    Sealer sealer(*rewards, clock_, key_);
    constexpr int kMore = 12;
    for (int i = 0; i < kMore; ++i) {
        TransferRequest request;
        request.id = transfer_id("payment " + std::to_string(i));
        request.debit = from;
        request.credit = to;
        request.amount = Amount(1);
        ASSERT_EQ(ledger.submit(std::vector{request})->at(0), TransferStatus::kCreated);
        ASSERT_TRUE(sealer.tick().ok());
    }
    const std::vector<std::string> wrong{"verify", "--signer",
                                         "0x1111111111111111111111111111111111111111"};
    const Outcome shown = gym(wrong);
    EXPECT_EQ(shown.exit_code, 3);
    std::size_t lines = 0;
    for (std::size_t at = 0; (at = shown.out.find("\nproblem ", at)) != std::string::npos; ++at)
        ++lines;
    EXPECT_EQ(lines, 10U) << shown.out;
    EXPECT_NE(shown.out.find(" more (all with --json)"), std::string::npos) << shown.out;
}

TEST_F(LedgerCommands, VerifyHoldsPublishedEpochFilesAgainstTheSeals) {
    rewards::EpochFile file;
    file.epoch = 1;
    file.ledger_seal = SealHead{1, seal_->hash};
    spill(place_ / "epoch-1.json", rewards::encode_epoch_file(file));
    const std::string path = (place_ / "epoch-1.json").string();
    EXPECT_EQ(gym({"verify", "--epoch-file", path}).exit_code, 0);
    file.ledger_seal->hash.data[0] ^= 1;
    spill(place_ / "epoch-1.json", rewards::encode_epoch_file(file));
    const Outcome other = gym({"verify", "--epoch-file", path});
    EXPECT_EQ(other.exit_code, 3);
    EXPECT_NE(other.err.find("seal 1: a file from outside names another"), std::string::npos)
        << other.err;
}

TEST_F(LedgerCommands, AProofHoldsWithoutTheDatabaseUntilAByteIsChanged) {
    const Outcome proof = gym({"prove", id_});
    ASSERT_EQ(proof.exit_code, 0) << proof.err;
    spill(place_ / "proof.json", proof.out);
    const std::string path = (place_ / "proof.json").string();
    const Outcome checked =
        gym({"verify", "--proof", path, "--signer", key_.address().hex()}, false);
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
    EXPECT_NE(checked.out.find("amount             0.00000000000000025 GYM of erc20:1:t"),
              std::string::npos)
        << checked.out;
    EXPECT_EQ(
        gym({"verify", "--proof", path, "--signer", "0x1111111111111111111111111111111111111111"},
            false)
            .exit_code,
        3);
    std::string more = proof.out;
    more.replace(more.find("\"250\""), 5, "\"251\"");
    spill(place_ / "proof.json", more);
    EXPECT_EQ(gym({"verify", "--proof", path}, false).exit_code, 3);
    spill(place_ / "proof.json", proof.out.substr(1));
    const Outcome broken = gym({"verify", "--proof", path}, false);
    EXPECT_EQ(broken.exit_code, 1);
    EXPECT_TRUE(broken.err.starts_with("gym: " + path + ": no proof of a transfer: "))
        << broken.err;
    EXPECT_EQ(broken.err.find("function"), std::string::npos) << "a line of a library";
}

/// The same with a gym-api over that database, for customers who have a key and no login.
class ProofsOfTheApi : public LedgerCommands {
  protected:
    ProofsOfTheApi() {
        payee_.data.back() = 1;
        const auto rewards = test_.as("gym_rewards");
        Ledger ledger(*rewards, clock_);
        TransferRequest request;
        request.id = transfer_id("deposit");
        request.debit = *ledger.open_account({"system", "erc20:1:t", AccountKind::kChainEscrow});
        request.credit = *ledger.open_account({payee_.hex(), "erc20:1:t", AccountKind::kAvailable});
        request.amount = Amount::parse_tokens("12.5").value();
        EXPECT_EQ(ledger.submit(std::vector{request})->at(0), TransferStatus::kCreated);
        Sealer sealer(*rewards, clock_, key_);
        EXPECT_TRUE(sealer.tick().value().has_value());
        server_ = http_server::Server::start({}, api_).value();
        ::setenv("GYM_API", ("http://127.0.0.1:" + std::to_string(server_->port())).c_str(), 1);
        ::unsetenv("PGPASSWORD");
    }
    ~ProofsOfTheApi() override {
        server_->stop(1'000);
        for (const char* name : {"GYM_API", "GYM_API_KEY", "PGHOST"})
            ::unsetenv(name);
    }
    void use_key_of(const Address& owner) {
        const std::string key = api::create_key(*api_db_, owner, "test", 1).value();
        ::setenv("GYM_API_KEY", key.c_str(), 1);
    }

    Address payee_;
    const std::string deposit_ = to_uuid(transfer_id("deposit"));
    const std::unique_ptr<db::Database> api_db_ = test_.as("gym_api");
    blob::MemoryStore blobs_;
    api::PostgresBackend backend_{*api_db_, blobs_, clock_, {"erc20:1:t"}};
    api::Api api_{{backend_, backend_, backend_, clock_}, {}};
    std::unique_ptr<http_server::Server> server_;
};

TEST_F(ProofsOfTheApi, APayeeKeepsAndChecksOneWithoutTheDatabase) {
    use_key_of(payee_);
    const Outcome proof = gym({"prove", deposit_}, false);
    ASSERT_EQ(proof.exit_code, 0) << proof.err;
    spill(place_ / "proof.json", proof.out);
    const std::string path = (place_ / "proof.json").string();
    ::setenv("PGHOST", "/nonexistent", 1);
    const std::vector<std::string> check{"verify", "--proof", path, "--signer",
                                         key_.address().hex()};
    const Outcome checked = gym(check, false);
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
    EXPECT_NE(checked.out.find("amount             12.5 GYM of erc20:1:t"), std::string::npos)
        << checked.out;
    EXPECT_EQ(checked.out.find("12500000000000000000"), std::string::npos) << "base units";
    std::vector<std::string> as_json = check;
    as_json.emplace_back("--json");
    EXPECT_EQ(json::parse(gym(as_json, false).out).as_object().at("amount_wei").as_string(),
              "12500000000000000000");

    EXPECT_EQ(gym({"prove", deposit_}, false).exit_code, 4) << "PGHOST names a database";
    const Outcome named = gym({"prove", deposit_, "--api", std::getenv("GYM_API")}, false);
    EXPECT_EQ(named.exit_code, 0) << named.err;
    EXPECT_EQ(named.out, proof.out);
}

TEST_F(ProofsOfTheApi, AStatementHasTheIdsThatProveTakes) {
    use_key_of(payee_);
    const auto statement = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"wallet", "statement", "--address", payee_.hex()});
        return run(place_, std::move(more));
    };
    const Outcome lines = statement({});
    ASSERT_EQ(lines.exit_code, 0) << lines.err;
    EXPECT_NE(lines.out.find(" UTC  " + deposit_ + "  +12.5 GYM  chain_escrow -> available"),
              std::string::npos)
        << lines.out;
    EXPECT_EQ(lines.out.find("not sealed"), std::string::npos) << lines.out;
    const json::object object = json::parse(statement({"--json"}).out).as_object();
    const std::string id(object.at("transfers").at(0).at("id").as_string());
    EXPECT_EQ(gym({"prove", id}, false).exit_code, 0);

    const json::object last = json::parse(statement({"--json", "--limit", "1"}).out).as_object();
    const std::string before = json::serialize(last.at("next_before"));
    EXPECT_EQ(statement({"--before", before}).out, "no transfers\n");
    EXPECT_EQ(statement({"--limit", "0"}).exit_code, 2);
    Address stranger;
    stranger.data.back() = 2;
    use_key_of(stranger);
    EXPECT_EQ(statement({}).exit_code, 5);
}

TEST_F(ProofsOfTheApi, OthersAreToldWhyTheyGetNone) {
    const Outcome without = gym({"prove", deposit_}, false);
    EXPECT_NE(without.err.find("this needs an API key"), std::string::npos) << without.err;
    Address stranger;
    stranger.data.back() = 2;
    use_key_of(stranger);
    const Outcome refused = gym({"prove", deposit_}, false);
    EXPECT_EQ(refused.exit_code, 5) << refused.err;
    EXPECT_TRUE(refused.out.empty()) << refused.out;
    EXPECT_NE(refused.err.find("only the payer and the payee"), std::string::npos) << refused.err;
}

TEST_F(LedgerCommands, ATransferThatIsNotThereHasNoProof) {
    EXPECT_NE(gym({"prove", "00000000-0000-8000-8000-000000000000"}).exit_code, 0);
    EXPECT_NE(gym({"prove", "payment"}).exit_code, 0);
}

}  // namespace
}  // namespace gym::ledger
