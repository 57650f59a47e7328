#include "gym/http_server/party.hpp"

#include <gtest/gtest.h>

namespace gym::http_server {
namespace {

TEST(Party, AnIpv6AddressStandsForItsNetwork) {
    EXPECT_EQ(party_of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    EXPECT_EQ(party_of("2001:db8:1:2:ffff::1"), party_of("2001:db8:1:2::"));
    EXPECT_NE(party_of("2001:db8:1:3::1"), party_of("2001:db8:1:2::1"));
}

TEST(Party, AnIpv4AddressStandsForItself) {
    EXPECT_EQ(party_of("192.0.2.7"), "192.0.2.7");
    EXPECT_EQ(party_of("::ffff:192.0.2.7"), "192.0.2.7");
}

TEST(Party, WhatIsNoAddressIsItsOwnParty) {
    EXPECT_EQ(party_of(""), "");
    EXPECT_EQ(party_of("a peer"), "a peer");
}

}  // namespace
}  // namespace gym::http_server
