// A coordinator that begins a round with a state of its own choice: the real program, whose
// database was changed behind its back, over the real contracts.
#include <functional>

#include "coordinator_process.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/registry/rounds.hpp"

namespace gym::testing {
namespace {

using registry::RoundState;

/// Nobody commits to the first round: no delta goes in, and no signature says what the second one
/// begins with.
class ForgedBase : public CoordinatorProcess {
  protected:
    void change(registry::JobTerms& terms) const override { terms.rounds = 2; }
    /// The registry keeps another root in the place of the next base state that the coordinator
    /// stores.
    void forge() {
        const auto forged = database_.owner().transact([](db::Transaction& tx) -> Status {
            GYM_CHECK(
                tx.exec("CREATE FUNCTION registry.forge() RETURNS trigger LANGUAGE plpgsql "
                        "AS $$ BEGIN NEW.next_base_root := NEW.job_id; RETURN NEW; END $$"));
            GYM_CHECK(
                tx.exec("CREATE TRIGGER forge BEFORE UPDATE ON registry.round FOR EACH ROW WHEN "
                        "(NEW.next_base_root IS NOT NULL) EXECUTE FUNCTION registry.forge()"));
            return {};
        });
        ASSERT_TRUE(forged.ok()) << forged.error().message;
    }
    std::vector<registry::Round> rounds(const Digest& job) {
        return database_.owner()
            .transact([&](db::Transaction& tx) { return registry::list_rounds(tx, job); })
            .value();
    }
    Digest on_chain(const Digest& job, std::uint64_t round) {
        const auto deployment = contracts::load_deployment(folder() / "deployment.json").value();
        return contracts::CommitmentLog(deployment.commitment_log)
            .round_of(anvil_.client(), job, round)
            .value()
            .round_record_hash;
    }
    /// Its only worker lets the unit of the first round expire, and stays there.
    void run_until(const std::function<bool()>& done) {
        const auto coordinator = dial(worker_);
        records::NodeProfile profile;
        profile.device = "cpu";
        ASSERT_TRUE(coordinator->register_node(profile).ok());
        ASSERT_TRUE(eventually([&] { return coordinator->heartbeat({}).ok() && done(); }))
            << text_of(folder() / "coordinator.log");
    }
    crypto::PrivateKey worker_ = crypto::PrivateKey::generate();
};

TEST_F(ForgedBase, ARoundThatBeginsWithAnotherStateIsNotTakenByTheChain) {
    forge();
    const Digest job = submit_job(1, 2'000);
    Subprocess process = start();
    run_until([&] {
        return text_of(folder() / "coordinator.log").find("WrongBase") != std::string::npos;
    });
    ASSERT_EQ(rounds(job).size(), 2U);
    EXPECT_EQ(rounds(job)[1].record.base_state_root, job) << "the forged one";
    EXPECT_EQ(rounds(job)[1].state, RoundState::kRecorded) << "nobody is given a unit";
    EXPECT_TRUE(on_chain(job, 2).is_zero());
    ASSERT_TRUE(process.stop(10'000).ok());
}

TEST_F(ForgedBase, OneThatBeginsWithTheSameStateIs) {
    const Digest job = submit_job(1, 2'000);
    Subprocess process = start();
    run_until([&] { return rounds(job).size() == 2 && rounds(job)[1].state == RoundState::kOpen; });
    EXPECT_EQ(rounds(job)[1].record.base_state_root, rounds(job)[0].record.base_state_root);
    EXPECT_EQ(on_chain(job, 2), rounds(job)[1].record_hash);
    ASSERT_TRUE(process.stop(10'000).ok());
}

}  // namespace
}  // namespace gym::testing
