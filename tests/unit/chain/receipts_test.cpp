#include <gtest/gtest.h>

#include "gym/chain/client.hpp"

namespace gym::chain {
namespace {

// Roots of receipts of real nodes are checked on anvil (tests/integration/chain); here are the
// properties.

TEST(ReceiptsRoot, OfNoReceiptIsTheEmptyTreesRoot) {
    EXPECT_EQ(receipts_root({}).hex(),
              "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");
}

std::vector<ConsensusReceipt> some_receipts(std::size_t count) {
    std::vector<ConsensusReceipt> out(count);
    for (std::size_t i = 0; i < count; ++i) {
        out[i].type = 2;
        out[i].success = true;
        out[i].cumulative_gas = 21'000 * (i + 1);
    }
    return out;
}

TEST(ReceiptsRoot, ChangesWithEveryOmissionAtEverySize) {
    // 1, 16, 17, 128, 129 and 256 are where the shape of the key tree changes.
    for (const std::size_t count : {1U, 2U, 16U, 17U, 127U, 128U, 129U, 255U, 257U}) {
        const auto whole = some_receipts(count);
        const Digest root = receipts_root(whole);
        for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
            auto fewer = whole;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
            EXPECT_NE(receipts_root(fewer), root) << count << " without " << at;
            auto altered = whole;
            altered[at].success = false;
            EXPECT_NE(receipts_root(altered), root) << count << " altered at " << at;
        }
    }
}

TEST(ReceiptsRoot, CommitsToLogsInOrder) {
    auto receipts = some_receipts(1);
    Log a;
    a.data = {1};
    Log b;
    b.data = {2};
    receipts[0].logs = {a, b};
    const Digest root = receipts_root(receipts);
    receipts[0].logs = {b, a};
    EXPECT_NE(receipts_root(receipts), root);
    receipts[0].logs = {a};
    EXPECT_NE(receipts_root(receipts), root);
}

TEST(Bloom, AbsenceIsCertain) {
    Bloom empty;
    EXPECT_FALSE(bloom_may_contain(empty, Bytes{1, 2, 3}));
    Bloom full;
    full.data.fill(0xff);
    EXPECT_TRUE(bloom_may_contain(full, Bytes{1, 2, 3}));
}

}  // namespace
}  // namespace gym::chain
