// `gym rewards audit` from outside: the chain, gym-api over the network, published files. No access
// to the database.
#include "gym/api/api.hpp"
#include "gym/api/postgres.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/http_server/server.hpp"
#include "log_storage.hpp"
#include "manual_clock.hpp"
#include "settlement_fixture.hpp"

namespace gym::rewards {
namespace {

constexpr std::uint64_t kPflop = 1'000'000'000'000'000;

class AuditTest : public SettlementFixture {
  protected:
    AuditTest() {
        rewards_.fees.fee_ppm = 20'000;
        rewards_.fees.burned_ppm = 500'000;
        rewards_.fees.account = testing::test_address(0x81, 1);
    }
    void SetUp() override {
        std::filesystem::create_directories(folder_);
        ASSERT_TRUE(contracts::save_deployment(folder_ / "deployment.json", deployment_).ok());
        api::PostgresBackend::Options of_backend;
        of_backend.asset = asset();
        backend_.emplace(*web_, blobs_, system_clock_, of_backend);
        api::ApiOptions of_api;
        history_.domain =
            protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
        of_api.network = {deployment_.chain_id, deployment_.token, deployment_.escrow,
                          deployment_.distributor, deployment_.commitment_log};
        api_.emplace(api::ApiDependencies{*backend_, *backend_, *backend_, later_}, of_api);
        server_ = http_server::Server::start({}, *api_).value();
    }
    void TearDown() override { server_->stop(1'000); }

    /// Runs a round, has its roots on chain, and settles an epoch over it.
    void run_epoch(const Digest& job, const std::vector<testing::PlannedUnit>& units,
                   std::uint64_t epoch) {
        history_.commit_round(job, units);
        const registry::Round round = test_.owner()
                                          .transact([&](db::Transaction& tx) {
                                              return registry::get_round(tx, job, history_.round());
                                          })
                                          .value();
        const contracts::CommitmentLog log(deployment_.commitment_log);
        const std::string name = std::to_string(epoch);
        const crypto::PrivateKey coordinator = anvil_.funded_key(0);
        gym::testing::put_round(anvil_, log.address(), job, round.round, round.record_hash);
        execute(coordinator, "epoch:" + name,
                log.post_epoch({round.epoch, job, round.round, history_.commitments_root(),
                                history_.commitment_count()}));
        history_.posted_block = log.epoch_of(anvil_.client(), round.epoch).value().block_number;
        history_.beacon =
            anvil_.client().block(history_.posted_block + 1).value().value().prevrandao;
        history_.finish_round();
        for (int i = 0; i < 60; ++i) {
            const auto tick = fresh_tick();
            ASSERT_TRUE(tick.ok()) << tick.error().message;
            anvil_.mine(1);
            const auto last = last_epoch();
            if (last && last->epoch == epoch && last->state == EpochState::kSubmitted) return;
        }
        FAIL() << "epoch " << epoch << " was not settled";
    }
    Result<std::string> audit(const std::string& epoch, const std::vector<std::string>& more = {}) {
        SubprocessOptions command;
        const auto program = std::filesystem::canonical("/proc/self/exe").parent_path() / "gym";
        command.argv = {program.string(), "rewards",
                        "audit",          epoch,
                        "--api",          "http://127.0.0.1:" + std::to_string(server_->port()),
                        "--chain",        anvil_.url(),
                        "--deployment",   (folder_ / "deployment.json").string()};
        command.argv.insert(command.argv.end(), more.begin(), more.end());
        return run_command(command, 60'000);
    }
    void tamper(const std::string& sql) {
        const auto done = test_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(tx.exec("SET LOCAL session_replication_role = replica"));
            GYM_CHECK(tx.exec(sql));
            return {};
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    void expect_named(const Result<std::string>& output, const std::string& sentence) {
        ASSERT_FALSE(output.ok()) << *output;
        EXPECT_NE(output.error().message.find(sentence), std::string::npos)
            << "expected: " << sentence << "\nfound: " << output.error().message;
    }

    blob::MemoryStore blobs_;
    testing::ManualClock later_{SystemClock().now_ms() +
                                86'400'000};  // histories run ahead of the day
    std::optional<api::PostgresBackend> backend_;
    std::optional<api::Api> api_;
    std::unique_ptr<http_server::Server> server_;
};

TEST_F(AuditTest, PublicDataAloneGivesTheRootOnChainAndNamesWhatIsWrong) {
    deposit(*Amount::parse_tokens("10"), "1");
    ASSERT_TRUE(fresh_tick().ok());
    const Digest job = history_.submit_job(
        asset(), owner_key_.address(), *Amount::parse_tokens("10"), *Amount::parse_tokens("0.1"));
    run_epoch(job, {{0, kPflop, Fate::kVerified}, {1, kPflop, Fate::kRejected}}, 1);
    run_epoch(job, {{0, kPflop, Fate::kVerified}, {2, kPflop, Fate::kVerified}}, 2);
    for (const char* epoch : {"1", "2"}) {
        const auto fine = audit(epoch);
        ASSERT_TRUE(fine.ok()) << fine.error().message;
        EXPECT_NE(fine->find("verdict            the payout root follows"), std::string::npos)
            << *fine;
        EXPECT_NE(fine->find("2 commitments under roots on chain, 2 reports, "), std::string::npos)
            << *fine;
        EXPECT_EQ(fine->find("not checked"), std::string::npos) << *fine;
        EXPECT_NE(
            fine->find(last_epoch()->epoch == std::stoull(epoch) ? last_epoch()->root.hex()
                                                                 : std::string("payout root")),
            std::string::npos);
    }
    const std::string unit = history_.unit_id(0).hex();
    const std::string where = " WHERE id = '\\x" + unit.substr(2) + "'";

    // Records that do not have what the file pays for.
    const std::string reject =
        "UPDATE registry.unit SET state = 'rejected', reason_code = 'step_differs', reason = 'x'";
    tamper(reject + where);
    expect_named(audit("2"), "unit " + unit + " is rejected, not final");
    EXPECT_TRUE(audit("2", {"--files-only"}).ok()) << "in itself the file is right";
    EXPECT_TRUE(audit("1").ok());
    tamper("UPDATE registry.unit SET state = 'final', flops = flops - 1" + where);
    expect_named(audit("2"), "unit " + unit + " has 999999999999999 FLOPs");
    tamper("UPDATE registry.unit SET flops = flops + 1" + where);
    tamper("UPDATE registry.job SET price_wei_per_pflop = price_wei_per_pflop - 1");
    expect_named(audit("2"), "the job's price is 99999999999999999");
    tamper("UPDATE registry.job SET price_wei_per_pflop = price_wei_per_pflop + 1");
    tamper("UPDATE registry.unit SET state = 'final' WHERE state = 'rejected'");
    expect_named(audit("1"), "is final, and " + history_.earner(1).hex() + " has no credit for it");
    tamper(reject + " WHERE worker = '\\x" + history_.worker(1).hex().substr(2) + "'");
    EXPECT_TRUE(audit("1").ok()) << "as before";

    // Files that are not the posted ones.
    const auto folder = folder_ / "epochs";
    const auto bytes = read_file(folder / "epoch-1.json");
    ASSERT_TRUE(bytes.ok());
    std::string lie(bytes->begin(), bytes->end());
    const std::string price = "\"price\":\"100000000000000000\"";
    lie.replace(lie.find(price), price.size(), "\"price\":\"200000000000000000\"");
    ASSERT_TRUE(write_file_atomic(folder / "epoch-1.json", as_bytes(lie)).ok());
    const std::vector<std::string> files = {"--files", folder.string()};
    expect_named(audit("1", files), "file 1 is not the one that file 2 was made after");
    expect_named(audit("2", files), "file 1 is not the one that file 2 was made after");
}

/// gym-api hands out something other than what was signed.
TEST_F(AuditTest, TheSplitOfAMixIsMadeAgainFromPublicData) {
    const Amount dear = *Amount::parse_tokens("3"), cheap = *Amount::parse_tokens("1");
    history_.set_mix({{testing::test_address(0x52, 1), dear, 1'000'000, 700'000},
                      {testing::test_address(0x53, 1), cheap, 500'000, 300'000}});
    deposit(*Amount::parse_tokens("10"), "1");
    ASSERT_TRUE(fresh_tick().ok());
    const Digest job = history_.submit_job(
        asset(), owner_key_.address(), *Amount::parse_tokens("10"), *Amount::parse_tokens("0.1"));
    run_epoch(job, {{0, kPflop, Fate::kVerified}, {1, kPflop, Fate::kVerified}}, 1);
    const auto fine = audit("1");
    ASSERT_TRUE(fine.ok()) << fine.error().message;
    // 4,096 tokens of two units: 0.7 * 3 and 0.3 * 1 * 0.5 GYM a million.
    const auto paid = [&](std::uint8_t provider) {
        return web_
            ->transact([&](db::Transaction& tx) {
                return summary(tx, asset(), testing::test_address(provider, 1));
            })
            .value()
            .payable.to_tokens();
    };
    EXPECT_EQ(paid(0x52), "0.0172032");
    EXPECT_EQ(paid(0x53), "0.0012288");
    tamper("UPDATE registry.job_data SET part_tokens = part_tokens + 1 WHERE position = 1");
    expect_named(audit("1"), "the mix has 300001 of 1000001 tokens of the part");
    tamper("UPDATE registry.job_data SET part_tokens = part_tokens - 1");
    tamper("UPDATE registry.job_data SET part_tokens = part_tokens + 1 WHERE position = 0");
    tamper(
        "UPDATE registry.job_data SET owner = decode(repeat('ab', 20), 'hex') WHERE position = 0");
    expect_named(audit("1"), "the mix's part is 0xababab");
}

TEST_F(AuditTest, NothingThatNodesSignedCanBeChangedUnseen) {
    deposit(*Amount::parse_tokens("10"), "1");
    ASSERT_TRUE(fresh_tick().ok());
    const Digest job = history_.submit_job(
        asset(), owner_key_.address(), *Amount::parse_tokens("10"), *Amount::parse_tokens("0.1"));
    run_epoch(job, {{0, kPflop, Fate::kVerified}, {1, kPflop, Fate::kRejected}}, 1);
    ASSERT_TRUE(audit("1").ok()) << audit("1").error().message;
    EXPECT_EQ(backend_->terms().value().fee.fee_ppm, 20'000U);
    EXPECT_EQ(backend_->terms().value().fee.burned_ppm, 500'000U);

    const auto sql_of = [](const auto& bytes) { return "'\\x" + bytes.hex().substr(2) + "'"; };
    const std::string unit = sql_of(history_.unit_id(0));
    const std::string bit = "set_byte(%, 40, get_byte(%, 40) # 1)";
    const auto flip = [&](const std::string& table, const std::string& column,
                          const std::string& where) {
        std::string value = bit;
        for (std::size_t at; (at = value.find('%')) != std::string::npos;)
            value.replace(at, 1, column);
        tamper("UPDATE registry." + table + " SET " + column + " = " + value + " WHERE " + where);
    };
    const std::string round = "round 1 of job " + job.hex() + ": ";
    flip("unit_commitment", "commitment", "unit_id = " + unit);
    expect_named(audit("1"), round + "the chain has the commitments 0x");
    flip("unit_commitment", "commitment", "unit_id = " + unit);
    flip("job_order", "signature", "true");
    expect_named(audit("1"), "job " + job.hex() + ": the order is not signed by its owner");
    flip("job_order", "signature", "true");
    flip("report", "challenge_signature", "unit_id = " + unit);
    expect_named(audit("1"), round + "report on unit " + history_.unit_id(0).hex());
    flip("report", "challenge_signature", "unit_id = " + unit);
    tamper("UPDATE registry.unit SET epoch = NULL, leaf_index = NULL WHERE id = " + unit);
    expect_named(audit("1"), round + "the chain has a root over 2 commitments, 1 are published");
    tamper("UPDATE registry.unit SET epoch = 1, leaf_index = 0 WHERE id = " + unit);
    tamper("UPDATE registry.round SET posted_block = 1, beacon_block = 2");
    expect_named(audit("1"), round + "the sample is drawn by block 2, and the commitments are in");
    tamper("UPDATE registry.round SET beacon_block = " + std::to_string(history_.posted_block + 2));
    expect_named(audit("1"), round + "report on unit 0x");
    tamper("UPDATE registry.round SET beacon_block = " + std::to_string(history_.posted_block + 1));
    ASSERT_TRUE(audit("1").ok()) << "as before";

    const std::string of_node = "node = " + sql_of(history_.worker(0));
    const std::string node = "node " + history_.worker(0).hex();
    flip("challenge", "signature", of_node);
    expect_named(audit("1"), " to " + node + ": signed by 0x");
    flip("challenge", "signature", of_node);
    tamper(
        "DELETE FROM registry.challenge WHERE nonce = (SELECT nonce FROM registry.challenge "
        "WHERE " +
        of_node + " AND answered_at_ms IS NOT NULL LIMIT 1)");
    expect_named(audit("1"), node + " signed ");
}

/// The database says that a unit is final, its report is there, and the credit is right by the
/// formula: only nobody signed it before the root was posted.
TEST_F(AuditTest, ACreditForAUnitThatNobodyCommittedToIsNamed) {
    deposit(*Amount::parse_tokens("10"), "1");
    ASSERT_TRUE(fresh_tick().ok());
    const Digest job = history_.submit_job(
        asset(), owner_key_.address(), *Amount::parse_tokens("10"), *Amount::parse_tokens("0.1"));
    history_.left_out = {1};
    run_epoch(job, {{0, kPflop, Fate::kVerified}, {1, kPflop, Fate::kVerified}}, 1);
    expect_named(audit("1"), ": there is no commitment to unit " + history_.unit_id(1).hex());
    EXPECT_TRUE(audit("1", {"--files-only"}).ok());
}

}  // namespace
}  // namespace gym::rewards
