// Inputs that a coordinator does not give to its verifier.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fake_chain_view.hpp"
#include "gym/program/codec.hpp"
#include "gym/verifier/verifier.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"
#include "withheld_inputs.hpp"

namespace gym::verifier {
namespace {

using game::Wanted;

/// A unit of the tiny job, for a verifier that is drawn for it.
class WithheldInputsTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey worker_key_ = testing::test_key(1);
    const crypto::PrivateKey key_ = testing::test_key(7);
    testing::MemoryHandler handler_;
    testing::TinyJob job_ = testing::make_tiny_job({worker_key_.address()}, handler_.blobs);
    blob::MemoryStore store_;  ///< of the verifier
    WithheldInputs inputs_;

    records::VerifyTask task() const {
        records::VerifyTask out;
        out.unit = job_.unit(0);
        out.record = protocol::unit_record(job_.record, 0);
        out.inputs = job_.inputs;
        return out;
    }
    void give(const Digest& blob) {
        ASSERT_TRUE(store_.put(handler_.blobs.load(blob).value()).ok());
    }
    std::vector<game::WithheldData> after_five_tries() {
        for (unsigned i = 1; i < kInputTries; ++i)
            EXPECT_TRUE(inputs_.missed(task(), store_).empty()) << i;
        return inputs_.missed(task(), store_);
    }
};

TEST_F(WithheldInputsTest, AreAskedForOnChainAfterFiveTries) {
    give(job_.inputs.program_blob);
    const auto asked = after_five_tries();
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_EQ(asked[0].what, Wanted::kDataset);
    EXPECT_EQ(asked[1].what, Wanted::kBase);
    EXPECT_TRUE(inputs_.missed(task(), store_).empty()) << "once";
}

TEST_F(WithheldInputsTest, WhatIsThereIsNotAskedFor) {
    give(job_.inputs.program_blob);
    give(*job_.inputs.dataset_blob);
    const auto asked = after_five_tries();
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].what, Wanted::kBase);
}

TEST_F(WithheldInputsTest, TriesBeginAnewOnceAUnitCouldBeRun) {
    give(job_.inputs.program_blob);
    for (unsigned i = 1; i < kInputTries; ++i)
        EXPECT_TRUE(inputs_.missed(task(), store_).empty());
    inputs_.found(protocol::unit_id(task().unit));
    EXPECT_EQ(after_five_tries().size(), 2U);
}

TEST_F(WithheldInputsTest, EachChunkOfEachParameterCanBeChosen) {
    const auto train =
        program::decode(handler_.blobs.get(job_.inputs.program_blob).value()).value();
    std::vector<std::uint64_t> chunks;
    std::uint64_t all = 0;
    for (const program::Slot& slot : train.slots())
        if (slot.kind == program::SlotKind::kParam) {
            chunks.push_back((program::size_bytes(slot) + 1023) / 1024);
            all += chunks.back();
        }
    std::set<std::pair<std::uint32_t, std::uint64_t>> chosen;
    for (std::uint64_t random = 0; random < all; ++random) {
        const game::WithheldData data = chunk_of_base(train, random);
        ASSERT_LT(data.tensor, chunks.size());
        ASSERT_LT(data.chunk, chunks[data.tensor]);
        chosen.insert({data.tensor, data.chunk});
    }
    EXPECT_EQ(chosen.size(), all);
    EXPECT_EQ(chunk_of_base(train, all), chunk_of_base(train, 0));
}

}  // namespace
}  // namespace gym::verifier
