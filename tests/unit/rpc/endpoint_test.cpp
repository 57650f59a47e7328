#include "endpoint.hpp"

#include <gtest/gtest.h>

#include "status_map.hpp"

namespace gym::rpc {
namespace {

TEST(Endpoint, OnlyThisMachineIsLoopback) {
    for (const char* own : {"127.0.0.1:80", "127.1.2.3:0", "localhost:5", "[::1]:7"})
        EXPECT_TRUE(is_loopback(own)) << own;
    for (const char* other :
         {"0.0.0.0:80", "10.0.0.1:80", "127.evil.example:80", "127.0.0.1",
          "127.0.0.1.evil.example:80", "localhost.example:80", "[::]:7", "127.0.0:1", ""})
        EXPECT_FALSE(is_loopback(other)) << other;
}

TEST(Endpoint, WithoutTlsOnlyLoopbackIsServedAndDialled) {
    EXPECT_TRUE(server_credentials("127.0.0.1:0", "", "").ok());
    EXPECT_EQ(server_credentials("0.0.0.0:0", "", "").error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(server_credentials("127.0.0.1:0", "cert.pem", "").error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(server_credentials("0.0.0.0:0", "/no/cert", "/no/key").error().code,
              ErrorCode::kNotFound);
    EXPECT_TRUE(channel_credentials("127.0.0.1:1", "", false).ok());
    const auto refused = channel_credentials("gym.example:1", "", false);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("--insecure"), std::string::npos);
    EXPECT_TRUE(channel_credentials("gym.example:1", "", true).ok());
    EXPECT_TRUE(channel_credentials("gym.example:1", "system", false).ok());
    EXPECT_EQ(channel_credentials("gym.example:1", "/no/ca", false).error().code,
              ErrorCode::kNotFound);
    EXPECT_EQ(channel_credentials("gym.example:1", "/etc/hostname", false).error().code,
              ErrorCode::kInvalidArgument)
        << "a file without a certificate must not mean the system's roots";
}

TEST(Endpoint, ATargetIsHostAndPort) {
    for (const char* target : {"localhost:1", "[::1]:65535", "127.0.0.1:7600"})
        EXPECT_TRUE(channel_credentials(target, "", false).ok()) << target;
    for (const char* target :
         {"", "localhost", ":1", "localhost:", "localhost:0", "localhost:65536", "localhost:1a",
          "http://localhost:1", "::1:1", "a b:1"})
        EXPECT_EQ(channel_credentials(target, "", true).error().code, ErrorCode::kInvalidArgument)
            << target;
}

TEST(StatusMap, EveryErrorComesBackAsItWas) {
    for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
        const Error error{static_cast<ErrorCode>(code), "why"};
        const Error back = from_grpc(to_grpc(error), "Call");
        EXPECT_EQ(back.code, error.code) << to_string(error.code);
        EXPECT_EQ(back.message, "Call: why");
    }
}

TEST(StatusMap, WhatGrpcItselfSaysHasAMeaning) {
    const auto code = [](grpc::StatusCode status) {
        return from_grpc(grpc::Status(status, "x"), "Call").code;
    };
    EXPECT_EQ(code(grpc::StatusCode::UNAVAILABLE), ErrorCode::kUnavailable);
    EXPECT_EQ(code(grpc::StatusCode::DEADLINE_EXCEEDED), ErrorCode::kUnavailable);
    EXPECT_EQ(code(grpc::StatusCode::RESOURCE_EXHAUSTED), ErrorCode::kOutOfRange);
    EXPECT_EQ(code(grpc::StatusCode::UNKNOWN), ErrorCode::kInternal);
}

}  // namespace
}  // namespace gym::rpc
