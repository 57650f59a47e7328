#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "gym/common/file.hpp"
#include "gym/dispute/round_roots.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/node/unit_inputs.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

// Base states that a node makes of one that it has and updates, instead of fetching them.
namespace gym::node {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A round of the job: its record, its inputs with all steps, and the outer state that it begins
/// from.
struct PlayedRound {
    protocol::RoundRecord record;
    records::UnitInputs inputs;
    engine::State base, outer;
};

class UpdatedBase : public ::testing::Test {
  protected:
    UpdatedBase() : before_(spdlog::default_logger()) {
        auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log_);
        spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", std::move(sink)));
        rounds_.push_back({job_.record, job_.inputs, job_.base, {}});
        while (rounds_.size() < 12)
            rounds_.push_back(next(rounds_.back()));
    }
    ~UpdatedBase() override { spdlog::set_default_logger(before_); }

    /// The round behind one, with the delta of its only worker.
    PlayedRound next(const PlayedRound& round) {
        const auto unit =
            engine::run_unit({job_.program, round.base, job_.dataset,
                              execution::unit_spec(round.record, round.record.slots.at(0))})
                .value();
        const std::vector deltas{engine::Delta::decode(job_.program, unit.delta).value()};
        auto made = engine::run_aggregate(job_.program, round.base, round.outer, deltas).value();
        PlayedRound out{round.record, round.inputs, made.base, made.momentum};
        out.record.round = round.record.round + 1;
        out.record.previous_record = protocol::hash(round.record);
        out.record.base_state_root = made.base_root;
        out.record.momentum_root = made.momentum_root;
        out.record.initial_state_root =
            dispute::round_roots(job_.program, made.base)->initial_state_root;
        out.inputs.base_state_blob = handler_.blobs.put(engine::encode_state(made.base)).value();
        const ByteView update = engine::update_of(made.momentum);
        out.inputs.base_steps.push_back(
            {round.inputs.base_state_blob,
             handler_.blobs.put(Bytes(update.begin(), update.end())).value()});
        if (out.inputs.base_steps.size() > records::kBaseStepsMax)
            out.inputs.base_steps.erase(out.inputs.base_steps.begin());
        return out;
    }
    /// @param round from 1.
    [[nodiscard]] const PlayedRound& round(std::size_t round) const { return rounds_[round - 1]; }
    /// Loads a round's inputs, checks its base state, and says how many bytes came for it.
    std::uint64_t load(std::size_t number, const records::UnitInputs& inputs) {
        log_.str("");
        const std::uint64_t before = coordinator_.bytes_sent;
        const auto loaded =
            loader_->load_train(round(number).record, round(number).record.slots.at(0), inputs);
        EXPECT_TRUE(loaded.ok()) << loaded.error().message;
        if (loaded.ok()) {
            EXPECT_EQ(loaded->base, round(number).base);
        }
        return coordinator_.bytes_sent - before;
    }
    std::uint64_t load(std::size_t number) { return load(number, round(number).inputs); }
    [[nodiscard]] bool has(const Digest& blob) { return cache_->store().has(blob).value(); }
    void restart() {
        loader_.reset();
        cache_.emplace(rpc::BlobCache::open(dir_.path(), coordinator_, key_).value());
        loader_.emplace(*cache_);
    }

    std::shared_ptr<spdlog::logger> before_;
    std::ostringstream log_;
    testing::MemoryHandler handler_;
    testing::TinyJob job_ = testing::make_tiny_job({testing::test_key(1).address()}, handler_.blobs,
                                                   2, program::UpdateCodec::kDense);
    std::vector<PlayedRound> rounds_;
    testing::LocalCoordinator coordinator_{handler_, testing::test_key(1).address()};
    testing::TemporaryFolder dir_;
    const vault::StoreKey key_ = vault::StoreKey::random();
    std::optional<rpc::BlobCache> cache_ =
        rpc::BlobCache::open(dir_.path(), coordinator_, key_).value();
    std::optional<InputLoader> loader_{std::in_place, *cache_};
    const std::uint64_t update_bytes_ = engine::delta_bytes(job_.program).value();
    const std::uint64_t base_bytes_ = engine::encode_state(job_.base).size();
};

TEST_F(UpdatedBase, EachRoundAfterTheFirstTakesOneUpdate) {
    EXPECT_GT(load(1), base_bytes_) << "program, text and base state";
    for (std::size_t number = 2; number <= 6; ++number) {
        EXPECT_EQ(load(number), update_bytes_);
        EXPECT_THAT(log_.str(), HasSubstr("the base state of round " + std::to_string(number) +
                                          " is made of an earlier one by 1 update"));
        EXPECT_FALSE(has(round(number).inputs.base_steps.back().update_blob))
            << "an update is of no use afterwards";
    }
    EXPECT_EQ(load(6), 0U) << "it is there";
}

TEST_F(UpdatedBase, ANodeThatMissedRoundsTakesTheirUpdates) {
    load(1);
    EXPECT_EQ(load(4), 3 * update_bytes_);
    restart();
    EXPECT_EQ(load(6), 2 * update_bytes_) << "program and text are on disk, too";
}

TEST_F(UpdatedBase, ManyUpdatesAreMoreThanTheBaseState) {
    load(1);
    // More steps than a task has: the tensors of a small model's base state mostly end in zeros.
    records::UnitInputs inputs = round(12).inputs;
    inputs.base_steps.clear();
    for (std::size_t number = 2; number <= 12; ++number)
        inputs.base_steps.push_back(round(number).inputs.base_steps.back());
    ASSERT_GE(inputs.base_steps.size() * update_bytes_, base_bytes_);
    EXPECT_EQ(load(12, inputs), base_bytes_);
    EXPECT_EQ(log_.str().find("[warning]"), std::string::npos);
}

TEST_F(UpdatedBase, WithoutAnEarlierBaseStateItIsFetchedWhole) {
    EXPECT_GT(load(5), base_bytes_) << "a node that joins";
    EXPECT_EQ(log_.str(), "");
    EXPECT_EQ(load(6), update_bytes_);
    EXPECT_EQ(load(3), base_bytes_) << "an older round: nothing before it is here";
}

TEST_F(UpdatedBase, ACorruptUpdateLeadsToTheWholeBaseState) {
    load(1);
    Bytes lie = handler_.blobs.get(round(2).inputs.base_steps.back().update_blob).value();
    lie[40] ^= 1;
    handler_.lies[round(2).inputs.base_steps.back().update_blob] = lie;
    EXPECT_EQ(load(2), update_bytes_ + base_bytes_);
    EXPECT_THAT(log_.str(), HasSubstr("the base state of round 2 is fetched whole: update 0x"));
}

TEST_F(UpdatedBase, AMissingUpdateLeadsToTheWholeBaseState) {
    load(1);
    ASSERT_TRUE(handler_.blobs.remove(round(3).inputs.base_steps.back().update_blob).ok());
    EXPECT_EQ(load(3), update_bytes_ + base_bytes_) << "the first of two updates is there";
    EXPECT_THAT(log_.str(), HasSubstr("the base state of round 3 is fetched whole: update " +
                                      round(3).inputs.base_steps.back().update_blob.hex()));
    EXPECT_FALSE(has(round(3).inputs.base_steps.front().update_blob));
    EXPECT_EQ(load(4), update_bytes_) << "the next one is made again";
}

TEST_F(UpdatedBase, AnUpdateOfAnotherRoundLeadsToTheWholeBaseState) {
    load(1);
    records::UnitInputs inputs = round(2).inputs;
    inputs.base_steps.back().update_blob = round(3).inputs.base_steps.back().update_blob;
    EXPECT_EQ(load(2, inputs), update_bytes_ + base_bytes_);
    EXPECT_THAT(log_.str(), HasSubstr("1 update behind base state 0x"));
    EXPECT_THAT(log_.str(), HasSubstr("and the task names " + inputs.base_state_blob.hex()));
    inputs = round(3).inputs;
    inputs.base_steps.back().update_blob = job_.inputs.program_blob;
    EXPECT_GE(load(3, inputs), base_bytes_);
    EXPECT_THAT(log_.str(), HasSubstr("not a delta"));
}

TEST_F(UpdatedBase, ACoordinatorThatDoesNotAnswerIsNoReasonToGiveUp) {
    load(1);
    handler_.silent.insert(round(2).inputs.base_steps.back().update_blob);
    EXPECT_EQ(load(2), base_bytes_);
    EXPECT_THAT(log_.str(), HasSubstr("is fetched whole"));
}

TEST_F(UpdatedBase, ADeltaWithTheSameBytesStays) {
    load(1);
    const Digest update = round(2).inputs.base_steps.back().update_blob;
    const Bytes delta = handler_.blobs.get(update).value();
    ASSERT_TRUE(cache_->store().put(blob::VerifiedBlob::hash(delta)).ok());
    EXPECT_EQ(load(2), 0U);
    EXPECT_TRUE(has(update)) << "a worker has to send it";
}

TEST_F(UpdatedBase, TheTwoNewestBaseStatesStayAndTheOthersAreReleased) {
    for (std::size_t number = 1; number <= 3; ++number)
        load(number);
    EXPECT_FALSE(loader_->keeps(round(1).inputs.base_state_blob));
    EXPECT_TRUE(loader_->keeps(round(2).inputs.base_state_blob));
    EXPECT_TRUE(loader_->keeps(round(3).inputs.base_state_blob));
    EXPECT_EQ(loader_->take_released(), std::vector<Digest>{round(1).inputs.base_state_blob});
    EXPECT_TRUE(loader_->take_released().empty());
    restart();
    EXPECT_TRUE(loader_->keeps(round(3).inputs.base_state_blob));
}

TEST_F(UpdatedBase, AFolderThatCannotBeWrittenStopsNoUnit) {
    ASSERT_TRUE(write_file_atomic(dir_.path() / "bases", as_bytes("in the way")).ok());
    load(1);
    EXPECT_THAT(log_.str(), HasSubstr("base states of this job are not kept: "));
    EXPECT_EQ(load(2), update_bytes_) << "it is still in the store";
}

TEST_F(UpdatedBase, AJobWithoutAnUpdateFetchesItsBaseStates) {
    const testing::TinyJob plain =
        testing::make_tiny_job({testing::test_key(1).address()}, handler_.blobs);
    records::UnitInputs inputs = plain.inputs;
    inputs.base_steps = round(2).inputs.base_steps;  // of a coordinator that lies
    ASSERT_TRUE(loader_->load_train(plain.record, plain.record.slots.at(0), inputs).ok());
    EXPECT_FALSE(loader_->keeps(inputs.base_state_blob));
}

}  // namespace
}  // namespace gym::node
