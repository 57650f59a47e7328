#include "gym/node/unit_inputs.hpp"

#include <gtest/gtest.h>

#include "gym/dispute/round_roots.hpp"
#include "gym/engine/state.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::node {
namespace {

class UnitInputsTest : public ::testing::Test {
  protected:
    testing::MemoryHandler handler_;
    testing::TinyJob job_ =
        testing::make_tiny_job({testing::test_key(1).address()}, handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, testing::test_key(1).address()};
    testing::TemporaryFolder dir_;
    rpc::BlobCache cache_ =
        rpc::BlobCache::open(dir_.path(), coordinator_, vault::StoreKey::random()).value();
    InputLoader loader_{cache_};

    ErrorCode refusal(const protocol::RoundRecord& record) {
        return loader_.load_train(record, record.slots.at(0), job_.inputs).error().code;
    }
};

TEST_F(UnitInputsTest, LoadsWhatTheRecordFixes) {
    const auto inputs = loader_.load_train(job_.record, job_.record.slots.at(0), job_.inputs);
    ASSERT_TRUE(inputs.ok()) << inputs.error().message;
    EXPECT_EQ(*inputs->program, job_.program);
    EXPECT_EQ(inputs->base, job_.base);
    EXPECT_EQ(inputs->dataset->root(), job_.dataset.root());
}

TEST_F(UnitInputsTest, ProgramAndDatasetStayDecodedForTheNextUnit) {
    const auto first = loader_.load_train(job_.record, job_.record.slots.at(0), job_.inputs);
    const auto second = loader_.load_train(job_.record, job_.record.slots.at(0), job_.inputs);
    EXPECT_EQ(first->program.get(), second->program.get());
    EXPECT_EQ(first->dataset.get(), second->dataset.get());
}

TEST_F(UnitInputsTest, EveryRootOfTheRecordIsChecked) {
    protocol::RoundRecord record = job_.record;
    record.program_root.data[0] ^= 1;
    EXPECT_EQ(refusal(record), ErrorCode::kMismatch);
    record = job_.record;
    record.dataset_root.data[0] ^= 1;
    EXPECT_EQ(refusal(record), ErrorCode::kMismatch);
    record = job_.record;
    record.base_state_root.data[0] ^= 1;
    EXPECT_EQ(refusal(record), ErrorCode::kMismatch);
    record = job_.record;
    record.trace_root.data[0] ^= 1;
    EXPECT_EQ(refusal(record), ErrorCode::kMismatch);
    record = job_.record;
    record.initial_state_root.data[0] ^= 1;
    EXPECT_EQ(refusal(record), ErrorCode::kMismatch);
}

TEST_F(UnitInputsTest, FiguresThatContradictTheProgramAreRefused) {
    protocol::RoundRecord record = job_.record;
    record.flops_per_step += 1;
    EXPECT_EQ(refusal(record), ErrorCode::kMismatch);
    record = job_.record;
    record.tokens_per_step *= 2;
    EXPECT_EQ(refusal(record), ErrorCode::kMismatch);
    record = job_.record;
    record.delta_codec = 9;
    EXPECT_EQ(refusal(record), ErrorCode::kMismatch);
    record = job_.record;
    record.slots[0].steps = engine::kUnitStepsMax + 1;
    EXPECT_EQ(refusal(record), ErrorCode::kOutOfRange);
}

TEST_F(UnitInputsTest, ABlobOfAnotherKindIsMalformed) {
    records::UnitInputs swapped = job_.inputs;
    swapped.program_blob = *job_.inputs.dataset_blob;
    EXPECT_FALSE(loader_.load_train(job_.record, job_.record.slots.at(0), swapped).ok());
    swapped = job_.inputs;
    swapped.dataset_blob = job_.inputs.program_blob;
    EXPECT_EQ(loader_.load_train(job_.record, job_.record.slots.at(0), swapped).error().code,
              ErrorCode::kMalformed);
    swapped.dataset_blob.reset();
    EXPECT_EQ(loader_.load_train(job_.record, job_.record.slots.at(0), swapped).error().code,
              ErrorCode::kMalformed);
}

TEST_F(UnitInputsTest, AlteredAndTruncatedDatasetsAreRefused) {
    Bytes dataset = handler_.blobs.get(*job_.inputs.dataset_blob).value();
    dataset[100] ^= 1;
    handler_.lies[*job_.inputs.dataset_blob] = dataset;
    EXPECT_EQ(refusal(job_.record), ErrorCode::kMismatch);
    dataset[100] ^= 1;
    dataset.pop_back();
    handler_.lies[*job_.inputs.dataset_blob] = dataset;
    EXPECT_EQ(refusal(job_.record), ErrorCode::kMismatch);
}

/// A round of the job that begins from another base state. @return its blob.
Digest next_round(testing::TinyJob& job, blob::BlobStore& blobs) {
    job.base.tensors[0].bytes[0] += 1;
    job.inputs.base_state_blob = blobs.put(engine::encode_state(job.base)).value();
    const dispute::RoundRoots roots = dispute::round_roots(job.program, job.base).value();
    ++job.record.round;
    job.record.base_state_root = engine::state_root(job.base);
    job.record.trace_root = roots.trace_root;
    job.record.initial_state_root = roots.initial_state_root;
    return job.inputs.base_state_blob;
}

TEST_F(UnitInputsTest, AVerifierKeepsTheBaseStatesOfTwoRoundsAndNoMore) {
    InputLoader keeps(cache_, InputLoader::Keep::kAllJobs);
    std::vector<Digest> bases{job_.inputs.base_state_blob};
    for (int round = 0; round < 4; ++round) {
        const auto loaded = keeps.load_train(job_.record, job_.record.slots.at(0), job_.inputs);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message;
        for (const Digest& released : keeps.take_released())
            ASSERT_TRUE(cache_.store().remove(released).ok());
        bases.push_back(next_round(job_, handler_.blobs));
    }
    EXPECT_FALSE(cache_.store().has(bases[0]).value());
    EXPECT_FALSE(cache_.store().has(bases[1]).value());
    EXPECT_TRUE(keeps.keeps(bases[2]));
    EXPECT_TRUE(cache_.store().has(bases[3]).value());
    ASSERT_TRUE(loader_.load_train(job_.record, job_.record.slots.at(0), job_.inputs).ok());
    EXPECT_FALSE(loader_.keeps(job_.inputs.base_state_blob))
        << "a worker's goes with its unit, unless the next one is made of it";
}

}  // namespace
}  // namespace gym::node
