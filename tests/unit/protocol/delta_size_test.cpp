// Which models a network has room for.
#include "gym/protocol/delta_size.hpp"

#include <gtest/gtest.h>

namespace gym::protocol {
namespace {

constexpr std::uint64_t kParameters = 10;
constexpr std::uint64_t kDelta = 64 + 4 * kParameters;

TEST(DeltaSize, ANetworkHasRoomForExactlyAsMuch) {
    EXPECT_EQ(plain_delta_bytes(kParameters), kDelta);
    EXPECT_EQ(too_large({kDelta}, 3, {kDelta, 3 * kDelta}), "");
    EXPECT_EQ(too_large({kDelta, kDelta}, 3, {kDelta, 3 * kDelta}), "");
    EXPECT_EQ(too_large({kDelta}, 1, {kDelta, 0}), "") << "there is room for one delta";
}

TEST(DeltaSize, ARefusalNamesTheSetting) {
    const std::string blob = too_large({kDelta}, 3, {kDelta - 1, 3 * kDelta});
    EXPECT_NE(blob.find("raise blob_bytes_max"), std::string::npos) << blob;
    const std::string deltas = too_large({kDelta}, 3, {kDelta, 3 * kDelta - 1});
    EXPECT_NE(deltas.find("no more than 2 of them in a round, where the job demands 3"),
              std::string::npos)
        << deltas;
    EXPECT_NE(deltas.find("raise deltas_bytes_max"), std::string::npos) << deltas;
    const std::string state = too_large({kDelta, 2 * kDelta}, 3, {2 * kDelta - 1, 3 * kDelta});
    EXPECT_NE(state.find("a state of this job has"), std::string::npos) << state;
    EXPECT_NE(state.find("raise blob_bytes_max"), std::string::npos) << state;
}

}  // namespace
}  // namespace gym::protocol
