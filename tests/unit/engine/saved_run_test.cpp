#include "gym/engine/saved_run.hpp"

#include <gtest/gtest.h>

#include "gym/commit/sha256.hpp"
#include "random_tensors.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

using testing::Rng;

Digest digest(const char* text) {
    return commit::sha256(as_bytes(std::string_view(text)));
}

SavedRun sample_run() {
    SavedRun run;
    run.origin = {digest("program"), digest("dataset"), digest("seed"), digest("start"), 5};
    run.steps_wanted = 9;
    run.checkpoint_every = 2;
    for (std::uint64_t step = 5; step < 8; ++step) {
        StepRecord record;
        record.step = step;
        record.batch_root = digest("batch");
        record.loss_bits = static_cast<std::uint32_t>(step);
        if (step == 7) record.state_root = digest("state");
        run.records.push_back(record);
    }
    run.validation = {{7, 0x40000000}};
    run.state.tensors.push_back({"x", commit::DType::kF32, {3}, Bytes(12, 7)});
    return run;
}

Bytes file_of(const SavedRun& run) {
    SavedRunParts parts = encode_saved_run(run, run.state);
    parts.header.insert(parts.header.end(), parts.state.begin(), parts.state.end());
    return parts.header;
}

TEST(SavedRun, ComesBackAsItWasSaved) {
    const SavedRun run = sample_run();
    const Bytes file = file_of(run);
    ASSERT_TRUE(is_saved_run(file));
    const auto read = decode_saved_run(file);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->origin, run.origin);
    EXPECT_EQ(read->steps_wanted, 9U);
    EXPECT_EQ(read->checkpoint_every, 2U);
    EXPECT_EQ(read->records, run.records);
    EXPECT_EQ(read->validation, run.validation);
    EXPECT_EQ(read->state, run.state);
    EXPECT_EQ(read->steps_done(), 8U);
    EXPECT_FALSE(read->complete());
}

TEST(SavedRun, APlainStateIsNone) {
    const Bytes state = encode_state(sample_run().state);
    EXPECT_FALSE(is_saved_run(state));
    EXPECT_EQ(decode_saved_run(state).error().code, ErrorCode::kMalformed);
}

TEST(SavedRun, AFlippedBitAnywhereIsAnError) {
    const Bytes file = file_of(sample_run());
    for (std::size_t at = 0; at < file.size(); ++at) {
        Bytes altered = file;
        altered[at] ^= static_cast<std::uint8_t>(1U << at % 8);
        EXPECT_FALSE(decode_saved_run(altered).ok()) << "byte " << at;
    }
}

TEST(SavedRun, ATornFileIsAnError) {
    const Bytes file = file_of(sample_run());
    for (std::size_t size = 0; size < file.size(); ++size)
        EXPECT_FALSE(decode_saved_run({file.data(), size}).ok()) << size << " bytes";
}

TEST(SavedRun, MoreStepsThanWereWantedAreRefused) {
    SavedRun run = sample_run();
    run.steps_wanted = 7;
    EXPECT_EQ(decode_saved_run(file_of(run)).error().code, ErrorCode::kMalformed);
    run.steps_wanted = 4;  // before the first
    EXPECT_EQ(decode_saved_run(file_of(run)).error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::engine
