// A unit that is interrupted, with everything real but the rewards program's chain: gym-coordinator
// as a process over PostgreSQL and a chain, nodes with their own connections, and the accounting.
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "coordinator_process.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/registry/prefixes.hpp"
#include "gym/rewards/accounting.hpp"
#include "gym/rewards/queries.hpp"
#include "gym/verifier/verifier.hpp"
#include "gym/worker/worker.hpp"

namespace gym::testing {
namespace {

constexpr std::uint32_t kSteps = 40;

/// A node with its key, its connection and, of a worker, the moment at which it is stopped.
struct RealNode {
    crypto::PrivateKey key = crypto::PrivateKey::generate();
    std::unique_ptr<rpc::Coordinator> connection;
    std::unique_ptr<worker::Worker> worker;
    std::vector<worker::WorkerEvent> events;
    std::stop_source stop;
};

class Interrupted : public CoordinatorProcess {
  protected:
    void change(registry::JobTerms& terms) const override {
        terms.steps = kSteps;
        terms.price_wei_per_pflop = Amount(100'000'000'000);
        terms.lifecycle.report_ms = 60'000;
        terms.lifecycle.challenge_ms = 1'000;
    }
    void join(RealNode& node, records::NodeRole role) {
        node.connection = dial(node.key);
        records::NodeProfile profile;
        profile.role = role;
        profile.device = "cpu";
        ASSERT_TRUE(node.connection->register_node(profile).ok());
        ASSERT_TRUE(node.connection->heartbeat({}).ok());
    }
    /// @param stop_after steps. @param step_time that each takes at least.
    void open_worker(RealNode& node, const std::string& name, std::uint64_t stop_after,
                     std::chrono::milliseconds step_time = {}) {
        worker::WorkerOptions options;
        options.data_dir = folder() / name;
        options.poll_wait = std::chrono::seconds(5);
        options.on_event = [&node](const worker::WorkerEvent& event) {
            node.events.push_back(event);
        };
        options.on_progress = [&node, stop_after, step_time](const engine::UnitProgress& progress) {
            std::this_thread::sleep_for(step_time);
            if (progress.step == stop_after) node.stop.request_stop();
        };
        node.worker =
            worker::Worker::open(*node.connection, node.key, clock_, std::move(options)).value();
    }
    /// Until it has had a unit.
    Status work(RealNode& node) {
        for (int i = 0; i < 20; ++i) {
            const auto ran = node.worker->run_once(node.stop.get_token());
            if (!ran.ok()) return ran.error();
            if (*ran) return {};
        }
        return fail(ErrorCode::kTimeout, "no unit came");
    }
    std::optional<registry::Prefix> prefix(const Digest& unit) {
        return database_.owner()
            .transact([&](db::Transaction& tx) { return registry::find_prefix(tx, unit); })
            .value();
    }
    /// As gym-rewards locks a job's budget.
    void lock_budget(const Digest& job, const std::string& asset) {
        const auto locked = database_.owner().transact([&](db::Transaction& tx) -> Status {
            ledger::TransferRequest in;
            in.id = ledger::transfer_id("deposit");
            GYM_TRY(in.debit, ledger::open_account(tx, rewards::chain_escrow_account(asset)));
            GYM_TRY(in.credit,
                    ledger::open_account(tx, rewards::available_account(asset, key_.address())));
            in.amount = Amount(1'000'000);
            ledger::TransferRequest lock;
            lock.id = ledger::transfer_id("budget");
            lock.debit = in.credit;
            GYM_TRY(lock.credit, ledger::open_account(tx, rewards::escrow_account(asset, job)));
            lock.amount = in.amount;
            for (const auto& request : {in, lock}) {
                GYM_TRY(const auto done, ledger::submit(tx, {&request, 1}, clock_.now_ms()));
                if (!ledger::done(done.at(0))) return fail(ErrorCode::kConflict, "not booked");
            }
            return {};
        });
        ASSERT_TRUE(locked.ok()) << locked.error().message;
    }
    /// A verifier runs the unit's prefix.
    void verify(RealNode& verifier, const Digest& unit) {
        verifier::VerifierOptions options;
        options.data_dir = folder() / "verifier";
        options.poll_wait = std::chrono::seconds(1);
        const auto verifying =
            verifier::Verifier::open(*verifier.connection, verifier.key, options).value();
        for (int i = 0; i < 90; ++i) {
            if (prefix(unit)->state == protocol::PrefixState::kVerified) break;
            (void)verifier.connection->heartbeat({});
            const auto ran = verifying->run_once({});
            ASSERT_TRUE(ran.ok()) << ran.error().message;
        }
        ASSERT_EQ(prefix(unit)->state, protocol::PrefixState::kVerified)
            << text_of(folder() / "coordinator.log");
    }
    /// Books what was decided: the prefix is paid to its worker.
    void expect_paid(const Digest& job, const Digest& unit, const RealNode& worker) {
        rewards::RewardsConfig config;
        ASSERT_NO_FATAL_FAILURE(lock_budget(job, config.asset()));
        const auto books = database_.as("gym_rewards");
        rewards::Accounting accounting(*books, clock_, config);
        ASSERT_TRUE(accounting.consume_prefixes().ok());
        const auto receipt =
            books->transact([&](db::Transaction& tx) { return rewards::explain(tx, unit.hex()); });
        ASSERT_TRUE(receipt.ok()) << receipt.error().message;
        EXPECT_EQ(receipt->state, rewards::CreditState::kPosted);
        EXPECT_EQ(receipt->credit.kind(), rewards::CreditKind::kPrefix);
        EXPECT_EQ(receipt->credit.node, worker.key.address());
        EXPECT_FALSE(receipt->credit.amount.is_zero());
        const auto balance = books->transact([&](db::Transaction& tx) {
            return rewards::summary(tx, config.asset(), receipt->credit.earner);
        });
        ASSERT_TRUE(balance.ok());
        EXPECT_EQ(balance->earned, receipt->credit.amount) << "and it grew";
    }
};

TEST_F(Interrupted, ItsWorkerIsPaidForTheStepsThatAVerifierFindsAgain) {
    const Digest job = submit_job(2, 15'000);
    std::optional<Subprocess> process = start();
    RealNode steady, broken, verifier;
    ASSERT_NO_FATAL_FAILURE(join(verifier, records::NodeRole::kVerifier));
    ASSERT_NO_FATAL_FAILURE(join(steady, records::NodeRole::kWorker));
    ASSERT_NO_FATAL_FAILURE(join(broken, records::NodeRole::kWorker));
    open_worker(steady, "steady", kSteps + 1);
    open_worker(broken, "broken", 7);

    EXPECT_EQ(work(broken).error().code, ErrorCode::kCancelled);
    const auto words = broken.worker->last_words();
    ASSERT_TRUE(words.has_value());
    EXPECT_EQ(words->prefix.steps, 7U);
    ASSERT_TRUE(broken.connection->submit_prefix(*words).ok());
    ASSERT_TRUE(broken.connection->leave().ok());
    const Digest unit = protocol::unit_id({job, 1, words->prefix.slot, 0});
    ASSERT_TRUE(work(steady).ok());

    ASSERT_NO_FATAL_FAILURE(verify(verifier, unit));
    EXPECT_EQ(prefix(unit)->link, words->prefix.link);
    ASSERT_NO_FATAL_FAILURE(expect_paid(job, unit, broken));
    EXPECT_TRUE(process->stop().ok());
}

/// A unit of forty steps in fifteen seconds, for a machine that takes a second a step: an owner who
/// wants work for nothing.
TEST_F(Interrupted, AUnitThatItsDeadlineCutsOffIsPaidAndKeepsItsWorkerNoLonger) {
    const Digest job = submit_job(2, 15'000);
    std::optional<Subprocess> process = start();
    RealNode steady, slow, verifier;
    ASSERT_NO_FATAL_FAILURE(join(verifier, records::NodeRole::kVerifier));
    ASSERT_NO_FATAL_FAILURE(join(steady, records::NodeRole::kWorker));
    ASSERT_NO_FATAL_FAILURE(join(slow, records::NodeRole::kWorker));
    open_worker(steady, "steady", kSteps + 1);
    open_worker(slow, "slow", kSteps + 1, std::chrono::seconds(1));
    ASSERT_TRUE(work(steady).ok());
    const Status worked = work(slow);
    ASSERT_TRUE(worked.ok()) << "it is there for the next unit: " << worked.error().message;
    ASSERT_FALSE(slow.events.empty());
    const worker::WorkerEvent& last = slow.events.back();
    EXPECT_EQ(last.name, "stopped") << last.detail;
    EXPECT_FALSE(slow.worker->last_words().has_value());
    const Digest unit = protocol::unit_id(last.unit);
    ASSERT_TRUE(prefix(unit).has_value()) << last.detail;
    EXPECT_GE(prefix(unit)->steps, 5U) << last.detail;
    ASSERT_NO_FATAL_FAILURE(verify(verifier, unit));
    ASSERT_NO_FATAL_FAILURE(expect_paid(job, unit, slow));
    EXPECT_TRUE(process->stop().ok());
}

}  // namespace
}  // namespace gym::testing
