#include <gtest/gtest.h>

#include "gym/common/file.hpp"
#include "gym/worker/unit_journal.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::worker {
namespace {

class JournalTest : public ::testing::Test {
  protected:
    blob::MemoryStore blobs_;
    const crypto::PrivateKey key_ = testing::test_key(1);
    const testing::TinyJob job_ = testing::make_tiny_job({key_.address()}, blobs_);
    testing::TemporaryFolder dir_;

    JournalEntry entry(std::uint8_t records_root) const {
        JournalEntry out;
        out.unit = job_.unit(0);
        out.record = job_.task(0).record;
        out.inputs = job_.inputs;
        protocol::UnitCommitment commitment;
        commitment.records_root.data.fill(records_root);
        out.commitment = protocol::sign(protocol::signing_domain(1, {}), commitment, key_);
        out.records = {1, 2, 3};
        return out;
    }
};

TEST_F(JournalTest, EntriesRoundTripWithAndWithoutReceipt) {
    JournalEntry written = entry(1);
    EXPECT_EQ(decode_journal_entry(encode(written)).value(), written);
    written.leaf = Digest{};
    written.receipt = records::InclusionReceipt{9, {}, 1, 2, {Digest{}}};
    written.state = protocol::UnitState::kDisputed;
    written.defended = true;
    written.reason = "why";
    EXPECT_EQ(decode_journal_entry(encode(written)).value(), written);
}

TEST_F(JournalTest, EveryTruncationIsMalformed) {
    const Bytes whole = encode(entry(1));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(decode_journal_entry(ByteView(whole).first(size)).ok()) << size;
}

/// A worker that is updated still delivers what it signed before.
TEST_F(JournalTest, AnEntryWithTheWholeRecordIsReadAsOneWithTheUnits) {
    const JournalEntry written = entry(1);
    Bytes old = encode(written);
    old[1] = 1;
    const auto at = static_cast<std::ptrdiff_t>(2 + 48);
    const auto length = static_cast<std::ptrdiff_t>(4 + protocol::encode(written.record).size());
    commit::Encoder whole;
    whole.bytes(protocol::encode(job_.record));
    const Bytes bytes = whole.take();
    old.erase(old.begin() + at, old.begin() + at + length);
    old.insert(old.begin() + at, bytes.begin(), bytes.end());
    const auto read = decode_journal_entry(old);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, written);
}

TEST_F(JournalTest, SurvivesReopeningAndForgetsWhatIsRemoved) {
    {
        UnitJournal journal = UnitJournal::open(dir_.path()).value();
        ASSERT_TRUE(journal.save(entry(1)).ok());
    }
    {
        UnitJournal journal = UnitJournal::open(dir_.path()).value();
        ASSERT_NE(journal.find(entry(1).unit_id()), nullptr);
        EXPECT_EQ(*journal.find(entry(1).unit_id()), entry(1));
        ASSERT_TRUE(journal.remove(entry(1).unit_id()).ok());
    }
    EXPECT_TRUE(UnitJournal::open(dir_.path())->entries().empty());
}

TEST_F(JournalTest, RefusesASecondDifferentCommitmentToOneUnit) {
    UnitJournal journal = UnitJournal::open(dir_.path()).value();
    ASSERT_TRUE(journal.save(entry(1)).ok());
    EXPECT_EQ(journal.save(entry(2)).error().code, ErrorCode::kConflict);
    EXPECT_EQ(*journal.find(entry(1).unit_id()), entry(1));
    JournalEntry same = entry(1);
    same.state = protocol::UnitState::kVerified;
    EXPECT_TRUE(journal.save(same).ok());
}

TEST_F(JournalTest, OneProcessADirectory) {
    const UnitJournal journal = UnitJournal::open(dir_.path()).value();
    EXPECT_EQ(UnitJournal::open(dir_.path()).error().code, ErrorCode::kConflict);
}

TEST_F(JournalTest, ADamagedFileIsNamed) {
    ASSERT_TRUE(write_file_atomic(dir_.path() / "ab.unit", Bytes{1, 2, 3}).ok());
    const auto journal = UnitJournal::open(dir_.path());
    ASSERT_FALSE(journal.ok());
    EXPECT_EQ(journal.error().code, ErrorCode::kMalformed);
    EXPECT_NE(journal.error().message.find("ab.unit"), std::string::npos);
}

}  // namespace
}  // namespace gym::worker
