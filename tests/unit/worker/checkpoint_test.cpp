#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gym/common/file.hpp"
#include "gym/execution/run.hpp"
#include "gym/node/unit_inputs.hpp"
#include "gym/vault/sealed_file.hpp"
#include "gym/worker/unit_checkpoint.hpp"
#include "random_seed.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::worker {
namespace {

class CheckpointTest : public ::testing::Test {
  protected:
    blob::MemoryStore blobs_;
    const testing::TinyJob job_ = testing::make_tiny_job({testing::test_key(1).address()}, blobs_);
    const CheckpointKey key_{protocol::unit_id(job_.unit(0)),
                             execution::unit_spec(job_.record, job_.record.slots.at(0))};
    testing::TemporaryFolder dir_;
    const vault::StoreKey at_rest_ = vault::StoreKey::random();
    CheckpointStore store_ = CheckpointStore::open(dir_.path(), &at_rest_).value();

    /// Runs the unit with `plan` looking on.
    Result<engine::UnitResult> run(CheckpointPlan& plan, engine::UnitPosition* resume = nullptr,
                                   std::stop_token stop = {}) const {
        engine::RunOptions options;
        options.resume = resume;
        options.cancel = std::move(stop);
        options.after_step = [&](const engine::Trainer& trainer,
                                 std::span<const engine::StepRecord> records) {
            plan.after_step(trainer, records);
        };
        return engine::run_unit({job_.program, job_.base, job_.dataset, key_.spec}, options);
    }
    CheckpointPlan every_step(std::stop_token stop = {}) {
        return {store_, key_, std::chrono::milliseconds(0), std::move(stop)};
    }
    static Result<engine::UnitPosition> decode(const CheckpointKey& key, ByteView content) {
        blob::MemoryStore file;
        const Digest root = file.put(content).value();
        return decode_checkpoint(key, *file.open_reader(root).value(), 1);
    }
    /// What the file holds.
    Bytes saved() {
        CheckpointPlan plan = every_step();
        EXPECT_TRUE(run(plan).ok());
        const auto file =
            vault::open_sealed(store_.path_of(key_.unit), at_rest_, key_.unit).value();
        Bytes out(file->size());
        EXPECT_TRUE(file->read(0, out).ok());
        return out;
    }
};

TEST_F(CheckpointTest, TheUnitGoesOnFromTheFileWithTheSameBits) {
    saved();
    CheckpointStore again = CheckpointStore::open(dir_.path(), &at_rest_).value();
    auto position = again.load(key_, 2);
    ASSERT_TRUE(position.has_value());
    EXPECT_EQ(position->records.size(), job_.record.slots.at(0).steps - 1)
        << "the last step is not saved";
    CheckpointPlan plan = every_step();
    const auto rest = run(plan, &*position);
    ASSERT_TRUE(rest.ok()) << rest.error().message;
    const engine::UnitResult whole = job_.run(0);
    EXPECT_EQ(rest->records_root, whole.records_root);
    EXPECT_EQ(rest->final_state_root, whole.final_state_root);
    EXPECT_EQ(rest->delta, whole.delta);
}

TEST_F(CheckpointTest, WithoutAKeyTheFileIsAsItsContent) {
    auto plain = CheckpointStore::open(dir_.path(), nullptr).value();
    ASSERT_TRUE(plain.save(key_, job_.base, engine::state_root(job_.base), {}).ok());
    EXPECT_TRUE(decode(key_, read_file(plain.path_of(key_.unit)).value()).ok());
    EXPECT_TRUE(plain.load(key_, 1).has_value());
}

TEST_F(CheckpointTest, NoFileIsNoPosition) {
    EXPECT_FALSE(store_.load(key_, 1).has_value());
}

TEST_F(CheckpointTest, TheDiskShowsNothingOfTheWeightsAndAnotherKeyOpensNothing) {
    const Bytes content = saved();
    const Bytes file = read_file(store_.path_of(key_.unit)).value();
    for (const auto& tensor : job_.base.tensors)
        EXPECT_TRUE(std::ranges::search(file, as_bytes(tensor.name)).empty()) << tensor.name;
    EXPECT_TRUE(std::ranges::search(file, ByteView(content).last(64)).empty());
    EXPECT_FALSE(std::ranges::search(content, as_bytes(job_.base.tensors[0].name)).empty())
        << "or the search would prove nothing";
    const vault::StoreKey key = vault::StoreKey::random();
    auto other = CheckpointStore::open(dir_.path(), &key).value();
    EXPECT_FALSE(other.load(key_, 1).has_value());
}

TEST_F(CheckpointTest, AnyTruncationIsRefused) {
    const Bytes file = saved();
    for (std::size_t size = 0; size < file.size(); size += size < 400 ? 1 : 997)
        EXPECT_FALSE(decode(key_, ByteView(file).first(size)).ok()) << size;
}

TEST_F(CheckpointTest, AnyFlippedBitIsRefused) {
    const Bytes file = saved();
    std::mt19937_64 random(testing::random_seed());
    for (int i = 0; i < 200; ++i) {
        Bytes altered = file;
        altered[random() % altered.size()] ^= static_cast<std::uint8_t>(1U << (random() % 8));
        EXPECT_FALSE(decode(key_, altered).ok()) << i;
    }
    Bytes longer = file;
    longer.push_back(0);
    EXPECT_FALSE(decode(key_, longer).ok());
}

/// What is saved is what was trained: its root comes from the device, the bytes from the host.
TEST_F(CheckpointTest, AStateThatTheHostsMemoryAlteredIsRefused) {
    const Digest trained = engine::state_root(job_.base);
    engine::State state = job_.base;
    state.tensors.back().bytes.back() ^= 1;
    ASSERT_TRUE(store_.save(key_, state, trained, {}).ok());
    EXPECT_FALSE(store_.load(key_, 1).has_value());
    ASSERT_TRUE(store_.save(key_, job_.base, trained, {}).ok());
    const auto position = store_.load(key_, 1);
    ASSERT_TRUE(position.has_value());
    EXPECT_EQ(position->state, job_.base);
}

TEST_F(CheckpointTest, TheFileHasTheCanonicalBytesOfTheState) {
    auto plain = CheckpointStore::open(dir_.path(), nullptr).value();
    ASSERT_TRUE(plain.save(key_, job_.base, engine::state_root(job_.base), {}).ok());
    const Bytes file = read_file(plain.path_of(key_.unit)).value();
    const Bytes state = engine::encode_state(job_.base);
    ASSERT_GT(file.size(), state.size());
    EXPECT_TRUE(std::ranges::equal(ByteView(file).last(state.size()), state));
}

TEST_F(CheckpointTest, AnotherUnitsFileIsRefused) {
    const Bytes file = saved();
    for (int field = 0; field < 6; ++field) {
        CheckpointKey other = key_;
        if (field == 0) other.unit.data[0] ^= 1;
        if (field == 1) other.spec.program_root.data[0] ^= 1;
        if (field == 2) other.spec.base_state_root.data[0] ^= 1;
        if (field == 3) other.spec.dataset_root.data[0] ^= 1;
        if (field == 4) ++other.spec.steps;
        if (field == 5) other.spec.job_seed.data[0] ^= 1;
        EXPECT_EQ(decode(other, file).error().code, ErrorCode::kMismatch) << field;
    }
}

TEST_F(CheckpointTest, ADamagedFileIsRemovedAndTheUnitBeginsAgain) {
    saved();
    Bytes file = read_file(store_.path_of(key_.unit)).value();
    file[file.size() / 2] ^= 1;
    ASSERT_TRUE(write_file_atomic(store_.path_of(key_.unit), file).ok());
    EXPECT_FALSE(store_.load(key_, 1).has_value());
    EXPECT_FALSE(std::filesystem::exists(store_.path_of(key_.unit)));
}

TEST_F(CheckpointTest, AStoppedUnitIsSavedWhateverTheInterval) {
    std::stop_source stop;
    CheckpointPlan plan(store_, key_, std::chrono::hours(1), stop.get_token());
    engine::RunOptions options;
    options.cancel = stop.get_token();
    options.progress = [&](const engine::UnitProgress& progress) {
        if (progress.step == 2) stop.request_stop();
    };
    options.after_step = [&](const engine::Trainer& trainer,
                             std::span<const engine::StepRecord> records) {
        plan.after_step(trainer, records);
    };
    EXPECT_EQ(
        engine::run_unit({job_.program, job_.base, job_.dataset, key_.spec}, options).error().code,
        ErrorCode::kCancelled);
    const auto position = store_.load(key_, 1);
    ASSERT_TRUE(position.has_value());
    EXPECT_EQ(position->records.size(), 2u);
}

TEST_F(CheckpointTest, NothingIsSavedBeforeItsTime) {
    CheckpointPlan plan(store_, key_, std::chrono::hours(1), {});
    ASSERT_TRUE(run(plan).ok());
    EXPECT_FALSE(std::filesystem::exists(store_.path_of(key_.unit)));
}

TEST_F(CheckpointTest, ADiskThatRefusesDoesNotEndTheUnit) {
    CheckpointPlan plan = every_step();
    std::filesystem::remove_all(dir_.path());
    EXPECT_EQ(run(plan)->records_root, job_.run(0).records_root);
}

TEST_F(CheckpointTest, HalfWrittenFilesGoAndOldUnitsToo) {
    ASSERT_TRUE(write_file_atomic(dir_.path() / ".half.checkpoint.Ab12Cd", Bytes(10)).ok());
    CheckpointStore store = CheckpointStore::open(dir_.path(), &at_rest_).value();
    for (std::uint8_t unit = 0; unit < 5; ++unit) {
        CheckpointKey key = key_;
        key.unit.data[0] = unit;
        ASSERT_TRUE(store.save(key, job_.base, engine::state_root(job_.base), {}).ok());
    }
    const auto files = std::distance(std::filesystem::directory_iterator(dir_.path()), {});
    EXPECT_EQ(static_cast<std::size_t>(files), CheckpointStore::kFilesMax);
    CheckpointKey newest = key_;
    newest.unit.data[0] = 4;
    EXPECT_TRUE(store.load(newest, 1).has_value());
}

}  // namespace
}  // namespace gym::worker
