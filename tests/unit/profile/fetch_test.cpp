// Profiles over a socket, from servers that serve them and from others.

#include "gym/profile/fetch.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "gym/http_server/server.hpp"
#include "sample_profile.hpp"

namespace gym::profile {
namespace {

using testing::kNowMs;
using testing::operator_key;
using testing::sample_profile;

class ScriptedServer final : public http_server::Handler {
  public:
    std::function<http_server::Response(const http_server::Request&)> answer;

    Admission admit(const http_server::Request&) override { return {.body_bytes_max = 1 << 20}; }
    http_server::Response handle(const http_server::Request& request) override {
        return answer(request);
    }
    http_server::Response refuse(unsigned status, std::string_view, std::string_view) override {
        return {.status = status, .headers = {}, .body = {}};
    }
    void connections(std::int64_t) override {}
};

class FetchTest : public ::testing::Test {
  protected:
    void serve(std::string body, unsigned status = 200) {
        handler_.answer = [=, this](const http_server::Request& request) {
            target_ = request.target;
            return http_server::Response{.status = status, .headers = {}, .body = body};
        };
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
    void TearDown() override { server_->stop(1'000); }

    ScriptedServer handler_;
    std::string target_;
    std::unique_ptr<http_server::Server> server_ = http_server::Server::start({}, handler_).value();
};

TEST_F(FetchTest, AGymApiServesItBelowItsOwnPathAndOthersWhereTheUrlSays) {
    serve(to_json(sign(sample_profile(), operator_key())));
    const auto found = fetch_profile(url(), kNowMs);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->profile, sample_profile());
    EXPECT_EQ(target_, kProfilePath);
    ASSERT_TRUE(fetch_profile(url() + "/gym/profile.json?v=1", kNowMs).ok());
    EXPECT_EQ(target_, "/gym/profile.json?v=1");
}

TEST_F(FetchTest, WhatIsNoProfileIsToldWithItsAddress) {
    const auto error = [&](const std::string& of) {
        const auto found = fetch_profile(of, kNowMs);
        EXPECT_FALSE(found.ok());
        return found.ok() ? Error{} : found.error();
    };
    serve("<html>welcome</html>");
    EXPECT_EQ(error(url()).code, ErrorCode::kMalformed);
    EXPECT_NE(error(url()).message.find(url() + ": this is a web page"), std::string::npos);
    serve("{}", 404);
    EXPECT_EQ(error(url()).code, ErrorCode::kNotFound);
    serve("{}", 500);
    EXPECT_NE(error(url()).message.find("status 500"), std::string::npos);
    serve(std::string(kProfileBytesMax + 1, ' '));
    EXPECT_EQ(error(url()).code, ErrorCode::kMalformed);
    EXPECT_NE(error(url()).message.find("exceeds 262144 bytes"), std::string::npos);
    for (const char* no_url : {"api.example.org", "127.0.0.1:1", "ftp://a", "", "http://"}) {
        EXPECT_EQ(error(no_url).code, ErrorCode::kInvalidArgument) << no_url;
        EXPECT_NE(error(no_url).message.find("http(s)://host:port"), std::string::npos);
    }
    EXPECT_EQ(error("http://127.0.0.1:1").code, ErrorCode::kUnavailable);
}

TEST_F(FetchTest, AProfileOfTheFutureOrBeyondItsBoundsIsRefused) {
    NetworkProfile profile = sample_profile();
    profile.issued_at_ms = kNowMs + 2 * 3'600'000;
    serve(to_json(sign(profile, operator_key())));
    EXPECT_NE(fetch_profile(url(), kNowMs).error().message.find("in the future"),
              std::string::npos);
    profile = sample_profile();
    profile.api = "nowhere";
    serve(to_json(sign(profile, operator_key())));
    EXPECT_EQ(fetch_profile(url(), kNowMs).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(FetchTest, TheFirstEndpointOfTheRightChainIsUsed) {
    handler_.answer = [&](const http_server::Request& request) {
        const bool other = request.target == "/other";
        return http_server::Response{.status = 200,
                                     .headers = {},
                                     .body = std::string(R"({"jsonrpc":"2.0","id":1,"result":")") +
                                             (other ? "0x6" : "0x5") + "\"}"};
    };
    NetworkProfile profile = sample_profile();
    profile.chain_rpc = {"http://127.0.0.1:1", url() + "/right"};
    EXPECT_EQ(find_chain_rpc(profile).value(), url() + "/right");
    profile.chain_rpc.push_back(url() + "/other");
    const auto mixed = find_chain_rpc(profile);
    ASSERT_FALSE(mixed.ok());
    EXPECT_EQ(mixed.error().code, ErrorCode::kMismatch);
    EXPECT_NE(mixed.error().message.find("serves chain 6"), std::string::npos);
    profile.chain_rpc = {"http://127.0.0.1:1"};
    EXPECT_EQ(find_chain_rpc(profile).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace gym::profile
