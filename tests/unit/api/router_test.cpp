#include "gym/api/router.hpp"

#include <gtest/gtest.h>

namespace gym::api {
namespace {

Router sample() {
    Router router;
    router.add({.method = "GET",
                .pattern = "/v1/jobs",
                .id = "list",
                .summary = "",
                .query = {{"limit", ""}, {"owner", ""}}});
    router.add({.method = "POST", .pattern = "/v1/jobs", .id = "submit", .summary = ""});
    router.add({.method = "GET", .pattern = "/v1/jobs/{id}", .id = "get", .summary = ""});
    router.add(
        {.method = "POST", .pattern = "/v1/jobs/{id}/cancel", .id = "cancel", .summary = ""});
    return router;
}

std::string matched(const Router& router, std::string_view method, std::string_view target) {
    const auto match = router.match(method, target);
    return match.ok() ? match->route->id : std::string(to_string(match.error().code));
}

TEST(Router, FindsRoutesByMethodAndPattern) {
    const Router router = sample();
    EXPECT_EQ(matched(router, "GET", "/v1/jobs"), "list");
    EXPECT_EQ(matched(router, "HEAD", "/v1/jobs"), "list");
    EXPECT_EQ(matched(router, "POST", "/v1/jobs"), "submit");
    EXPECT_EQ(matched(router, "GET", "/v1/jobs/0x12"), "get");
    EXPECT_EQ(matched(router, "POST", "/v1/jobs/0x12/cancel"), "cancel");
}

TEST(Router, RefusesUnknownPathsAndMethods) {
    const Router router = sample();
    EXPECT_EQ(matched(router, "GET", "/"), "not_found");
    EXPECT_EQ(matched(router, "GET", "/v1/jobs/"), "not_found");
    EXPECT_EQ(matched(router, "GET", "/v1/jobs/1/2"), "not_found");
    EXPECT_EQ(matched(router, "GET", "/v1//jobs"), "not_found");
    EXPECT_EQ(matched(router, "GET", "v1/jobs"), "malformed");
    EXPECT_EQ(matched(router, "GET", ""), "malformed");
    EXPECT_EQ(matched(router, "GET", "/" + std::string(5000, 'a')), "malformed");
    const auto wrong_method = router.match("DELETE", "/v1/jobs");
    ASSERT_FALSE(wrong_method.ok());
    EXPECT_EQ(wrong_method.error().message, "GET, POST");
}

TEST(Router, DecodesPathAndQuery) {
    const Router router = sample();
    const auto path = router.match("GET", "/v1/jobs/a%2Fb");
    ASSERT_TRUE(path.ok());
    EXPECT_EQ(path->path.at("id"), "a/b");
    const auto query = router.match("GET", "/v1/jobs?limit=7&owner=a+b%21");
    ASSERT_TRUE(query.ok());
    EXPECT_EQ(query->query.at("limit"), "7");
    EXPECT_EQ(query->query.at("owner"), "a b!");
}

TEST(Router, RefusesBadQueries) {
    const Router router = sample();
    EXPECT_EQ(matched(router, "GET", "/v1/jobs?lmit=7"), "malformed");
    EXPECT_EQ(matched(router, "GET", "/v1/jobs?limit=7&limit=8"), "malformed");
    EXPECT_EQ(matched(router, "GET", "/v1/jobs?limit=%zz"), "malformed");
    EXPECT_EQ(matched(router, "GET", "/v1/jobs?limit=%00"), "malformed");
    EXPECT_EQ(matched(router, "GET", "/v1/jobs/%4"), "not_found");
}

TEST(Call, ReadsParametersStrictly) {
    const Request request;
    Call call{request,
              {{"id", std::string(64, 'a')}, {"address", "0x" + std::string(40, 'b')}},
              {{"limit", "12"}, {"bad", "12x"}, {"negative", "-1"}},
              std::nullopt};
    EXPECT_TRUE(call.digest("id").ok());
    EXPECT_TRUE(call.address("address").ok());
    EXPECT_FALSE(call.address("id").ok());
    EXPECT_FALSE(call.digest("missing").ok());
    EXPECT_EQ(call.number("limit", 100, 5).value(), 12U);
    EXPECT_EQ(call.number("absent", 100, 5).value(), 5U);
    EXPECT_FALSE(call.number("limit", 11, 5).ok());
    EXPECT_FALSE(call.number("bad", 100, 5).ok());
    EXPECT_FALSE(call.number("negative", 100, 5).ok());
}

}  // namespace
}  // namespace gym::api
