#include "places.hpp"

#include <gtest/gtest.h>

#include "admission.hpp"
#include "tiny_job.hpp"

namespace gym::rpc {
namespace {

class PlacesTest : public ::testing::Test {
  protected:
    const Address first_ = testing::test_key(1).address(), second_ = testing::test_key(2).address();
    Places places_{{LaneBounds{3, 2, 0}, LaneBounds{9, 0, 2}, LaneBounds{1, 0, 0}, LaneBounds{}}};

    bool enter(Lane lane, const Address& caller, const std::string& address = "a") {
        const Status status = places_.enter(lane, caller, address);
        if (!status.ok()) {
            EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
            why_ = status.error().message;
        }
        return status.ok();
    }
    std::string why_;
};

TEST_F(PlacesTest, AreBoundedInAllAndOfACaller) {
    EXPECT_TRUE(enter(Lane::kControl, first_));
    EXPECT_TRUE(enter(Lane::kControl, first_));
    EXPECT_FALSE(enter(Lane::kControl, first_));
    EXPECT_EQ(why_, first_.hex() + " has 2 calls in flight already");
    EXPECT_TRUE(enter(Lane::kControl, second_));
    EXPECT_FALSE(enter(Lane::kControl, second_));
    EXPECT_EQ(why_, "the coordinator is busy: it has 3 calls in flight already");
    places_.leave(Lane::kControl, first_, "a");
    EXPECT_TRUE(enter(Lane::kControl, second_)) << "the place that became free";
}

TEST_F(PlacesTest, AreBoundedOfAnAddressWhoeverCallsFromIt) {
    EXPECT_TRUE(enter(Lane::kTransfer, first_));
    EXPECT_TRUE(enter(Lane::kTransfer, second_));
    EXPECT_FALSE(enter(Lane::kTransfer, first_));
    EXPECT_EQ(why_, "your IP address, a, has 2 transfers of blobs in flight already");
    EXPECT_TRUE(enter(Lane::kTransfer, first_, "b"));
    places_.leave(Lane::kTransfer, second_, "a");
    EXPECT_TRUE(enter(Lane::kTransfer, first_));
}

TEST_F(PlacesTest, OfOneLaneAreNotThoseOfAnother) {
    EXPECT_TRUE(enter(Lane::kUrgent, first_));
    EXPECT_FALSE(enter(Lane::kUrgent, second_));
    EXPECT_TRUE(enter(Lane::kControl, first_));
    for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(enter(Lane::kStranger, first_)) << "without bounds";
}

TEST(AddressOfPeer, IsWithoutThePort) {
    EXPECT_EQ(address_of_peer("ipv4:192.0.2.1:50000"), "192.0.2.1");
    EXPECT_EQ(address_of_peer("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:50000"),
              address_of_peer("ipv6:[2001:db8:1:2::9]:1"))
        << "one /64";
    EXPECT_NE(address_of_peer("ipv6:[2001:db8:1:2::9]:1"),
              address_of_peer("ipv6:[2001:db8:1:3::9]:1"));
    EXPECT_EQ(address_of_peer("unix"), "unix");
    EXPECT_EQ(address_of_peer(""), "");
}

}  // namespace
}  // namespace gym::rpc
