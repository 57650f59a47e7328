#include "gym/crypto/keccak.hpp"
#include "stores.hpp"

namespace gym::testing {
namespace {

using chain::BlockWithLogs;
using chain::FollowedBlock;
using chain::LogKey;

template <class Maker>
class FollowerStoreTest : public ::testing::Test {
  protected:
    /// Block `number` of the branch `branch`; branches part from 'a' after block `fork`.
    static FollowedBlock block(std::uint64_t number, char branch = 'a', std::uint64_t fork = 0) {
        const auto hash = [&](std::uint64_t n) {
            return crypto::keccak256_text((n > fork ? branch : 'a') + std::to_string(n));
        };
        return {number, hash(number), hash(number - 1), 1'700'000'000 + number};
    }
    static BlockWithLogs with_logs(const FollowedBlock& block, std::uint32_t logs) {
        BlockWithLogs out{block, {}};
        for (std::uint32_t i = 0; i < logs; ++i) {
            chain::Log log;
            log.address = chain::private_chain_key(3).address();
            log.topics = {crypto::keccak256_text("t"), block.hash};
            log.data = {1, static_cast<std::uint8_t>(i)};
            log.block_number = block.number;
            log.block_hash = block.hash;
            log.transaction_hash = crypto::keccak256_text("tx");
            log.log_index = i;
            out.logs.push_back(log);
        }
        return out;
    }
    void append(std::uint64_t first, std::uint64_t last) {
        std::vector<BlockWithLogs> blocks;
        for (std::uint64_t n = first; n <= last; ++n)
            blocks.push_back(with_logs(block(n), 2));
        const Status appended = store_->append(blocks);
        ASSERT_TRUE(appended.ok()) << appended.error().message;
    }
    static LogKey key(const chain::Log& log) {
        return {kStoreChain, log.block_hash, log.log_index};
    }

    Maker maker_;
    std::unique_ptr<chain::FollowerStore> store_ = maker_.follower("deposits");
};

using Makers = ::testing::Types<PostgresMaker, SqliteMaker>;
TYPED_TEST_SUITE(FollowerStoreTest, Makers);

TYPED_TEST(FollowerStoreTest, StartsEmptyAndKeepsWhatIsAppended) {
    EXPECT_FALSE(this->store_->tip().value().has_value());
    EXPECT_FALSE(this->store_->finalized().value().has_value());
    EXPECT_TRUE(this->store_->undelivered(10).value().empty());
    this->append(5, 8);
    const auto reopened = this->maker_.follower("deposits");
    EXPECT_EQ(reopened->tip().value(), this->block(8));
    EXPECT_EQ(reopened->canonical(6).value(), this->block(6));
    EXPECT_FALSE(reopened->canonical(4).value().has_value());
    const auto logs = reopened->unfinalized(100).value();
    ASSERT_EQ(logs.size(), 8U);
    EXPECT_EQ(logs[3], this->with_logs(this->block(6), 2).logs[1]);
    EXPECT_EQ(reopened->unfinalized(3).value().size(), 3U);
    EXPECT_FALSE(this->maker_.follower("other")->tip().value().has_value());
}

TYPED_TEST(FollowerStoreTest, RefusesBlocksThatDoNotFollow) {
    this->append(5, 6);
    using Base = FollowerStoreTest<TypeParam>;
    const std::vector<BlockWithLogs> gap{Base::with_logs(Base::block(8), 1)};
    EXPECT_EQ(this->store_->append(gap).error().code, ErrorCode::kConflict);
    const std::vector<BlockWithLogs> foreign{Base::with_logs(Base::block(7, 'b'), 1)};
    EXPECT_EQ(this->store_->append(foreign).error().code, ErrorCode::kConflict);
    const std::vector<BlockWithLogs> broken{Base::with_logs(Base::block(7), 1),
                                            Base::with_logs(Base::block(8, 'b'), 1)};
    EXPECT_EQ(this->store_->append(broken).error().code, ErrorCode::kConflict);
    EXPECT_EQ(this->store_->tip().value()->number, 6U) << "all or nothing";
}

TYPED_TEST(FollowerStoreTest, OrphansKeepTheirPlaceAndCanComeBack) {
    using Base = FollowerStoreTest<TypeParam>;
    this->append(5, 8);
    ASSERT_TRUE(this->store_->orphan_from(7).ok());
    EXPECT_EQ(this->store_->tip().value(), Base::block(6));
    EXPECT_EQ(this->store_->unfinalized(100).value().size(), 4U);
    ASSERT_TRUE(this->store_->append({Base::with_logs(Base::block(7, 'b', 6), 1)}).ok());
    EXPECT_EQ(this->store_->unfinalized(100).value().size(), 5U);
    ASSERT_TRUE(this->store_->orphan_from(7).ok());
    this->append(7, 8);  // the first branch again
    EXPECT_EQ(this->store_->tip().value(), Base::block(8));
    EXPECT_EQ(this->store_->unfinalized(100).value().size(), 8U) << "each log once";
}

TYPED_TEST(FollowerStoreTest, DeliversFinalizedLogsInOrderOnce) {
    using Base = FollowerStoreTest<TypeParam>;
    this->append(5, 8);
    ASSERT_TRUE(this->store_->finalize(Base::block(6)).ok());
    EXPECT_EQ(this->store_->finalized().value(), Base::block(6));
    const auto logs = this->store_->undelivered(100).value();
    ASSERT_EQ(logs.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(logs[i].block_number, 5 + i / 2);
        EXPECT_EQ(logs[i].log_index, i % 2);
    }
    ASSERT_TRUE(this->store_->mark_delivered({Base::key(logs[0]), Base::key(logs[1])}).ok());
    ASSERT_TRUE(this->store_->mark_delivered({Base::key(logs[0])}).ok()) << "a repeat is nothing";
    EXPECT_EQ(this->store_->undelivered(100).value().size(), 2U);
    EXPECT_EQ(this->store_->unfinalized(100).value().size(), 4U);
}

TYPED_TEST(FollowerStoreTest, FinalityNeverGoesBack) {
    using Base = FollowerStoreTest<TypeParam>;
    this->append(5, 8);
    ASSERT_TRUE(this->store_->finalize(Base::block(7)).ok());
    ASSERT_TRUE(this->store_->finalize(Base::block(7)).ok());
    EXPECT_EQ(this->store_->finalize(Base::block(6)).error().code, ErrorCode::kConflict);
    EXPECT_EQ(this->store_->finalize(Base::block(8, 'b', 7)).error().code, ErrorCode::kConflict);
    EXPECT_EQ(this->store_->orphan_from(7).error().code, ErrorCode::kConflict);
    EXPECT_EQ(this->store_->tip().value(), Base::block(8));
    EXPECT_TRUE(this->store_->orphan_from(8).ok());
}

}  // namespace
}  // namespace gym::testing
