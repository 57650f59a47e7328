#pragma once

#include <gtest/gtest.h>

#include "gym/commit/sha256.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"
#include "owner_orders.hpp"
#include "postgres.hpp"

namespace gym::registry::testing {

using gym::testing::TestDatabase;

inline constexpr UnixMs kNow = 1'700'000'000'000;

inline Digest digest(std::uint64_t n) {
    commit::Hasher hasher;
    return hasher.update(as_bytes("registry test")).update_u64(n).finish();
}

inline Address address(std::uint8_t n) {
    Address out;
    out.data[0] = n;
    out.data[19] = 7;
    return out;
}

/// A registry with eight workers, a verifier and a dataset.
class RegistryDatabase : public ::testing::Test {
  protected:
    RegistryDatabase()
        : coordinator(database.as("gym_coordinator", 16)), api(database.as("gym_api")) {
        run([&](db::Transaction& tx) -> Status {
            for (std::uint8_t i = 1; i <= 9; ++i) {
                NewNode node;
                node.address = address(i);
                node.owner = address(i);
                node.profile.role =
                    i < 9 ? records::NodeRole::kWorker : records::NodeRole::kVerifier;
                GYM_CHECK(register_node(tx, node, kNow));
            }
            return {};
        });
        const Status registered = api->transact([&](db::Transaction& tx) -> Status {
            Dataset dataset;
            dataset.root = digest(1);
            dataset.blob = digest(2);
            dataset.owner = address(1);
            dataset.name = "text";
            dataset.tokens = 100;
            dataset.vocabulary = 256;
            dataset.licence = "CC0-1.0";
            dataset.sample.emplace();
            GYM_CHECK(register_dataset(tx, dataset));
            return {};
        });
        EXPECT_TRUE(registered.ok()) << registered.error().message;
    }

    template <class F>
    void run(F&& body) {
        const Status done = coordinator->transact(body);
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    ErrorCode sql(db::Database& as, const std::string& text) {
        const auto rows = as.transact([&](db::Transaction& tx) { return tx.exec(text); });
        return rows.ok() ? ErrorCode::kCancelled
                         : rows.error().code;  // kCancelled: it went through
    }
    NewJob new_job() {
        NewJob job;
        job.id = make_job_id(address(1), "key");
        job.owner = address(1);
        job.name = "job";
        job.spec_yaml = "name: job";
        job.dataset_root = digest(1);
        job.terms.slots_max = 8;
        job.budget_wei = Amount(1'000);
        return job;
    }
    /// With an order that covers it.
    Result<Job> submit(const NewJob& job) {
        return database.owner().transact(
            [&](db::Transaction& tx) { return gym::testing::submit_job(tx, job, kNow); });
    }
    /// A running job with one open round in which workers 1 to 8 have a unit each.
    std::vector<Digest> open_round_with_units() {
        std::vector<Digest> units;
        const auto submitted = submit(new_job());
        EXPECT_TRUE(submitted.ok());
        run([&](db::Transaction& tx) -> Status {
            const Digest job = new_job().id;
            JobArtifacts artifacts;
            artifacts.seed = digest(3);
            artifacts.program_root = digest(4);
            GYM_CHECK(start_job(tx, job, artifacts, kNow));
            protocol::RoundRecord record;
            record.job_id = job;
            record.round = 1;
            record.checkpoint_every = 1;
            for (std::uint8_t i = 0; i < 8; ++i)
                record.slots.push_back({i, address(static_cast<std::uint8_t>(i + 1)), kPpm, 1});
            GYM_CHECK(
                record_round(tx, record, {digest(5), digest(6)}, {digest(7), digest(8)}, kNow));
            GYM_CHECK(open_round(tx, job, 1, kNow + 1'000, kNow));
            for (const protocol::SlotAssignment& slot : record.slots) {
                NewUnit unit;
                unit.key = {job, 1, slot.slot, 0};
                unit.worker = unit.owner = slot.worker;
                units.push_back(protocol::unit_id(unit.key));
                GYM_CHECK(assign_unit(tx, unit, params, kNow));
            }
            return {};
        });
        return units;
    }
    Status commit(db::Transaction& tx, const Digest& unit) {
        protocol::SignedCommitment commitment;
        commitment.commitment.records_root = unit;
        commitment.commitment.flops = 5;
        GYM_CHECK(store_commitment(tx, unit, commitment, as_bytes("records"), kNow));
        GYM_CHECK(advance(tx, unit, protocol::event::Committed{}, params, kNow));
        return {};
    }

    TestDatabase database;
    std::unique_ptr<db::Database> coordinator;
    std::unique_ptr<db::Database> api;
    protocol::LifecycleParams params;
};

}  // namespace gym::registry::testing
