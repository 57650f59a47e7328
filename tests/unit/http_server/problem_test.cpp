#include "gym/http_server/problem.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace gym::http_server {
namespace {

TEST(Problem, IsRfc9457Json) {
    const Response response = problem(fail(ErrorCode::kNotFound, "no job \"7\""), "req-1");
    EXPECT_EQ(response.status, 404U);
    EXPECT_EQ(response.content_type, "application/problem+json");
    const auto body = boost::json::parse(response.body).as_object();
    EXPECT_EQ(body.at("type").as_string(), "urn:gym:problem:not_found");
    EXPECT_EQ(body.at("title").as_string(), "Not Found");
    EXPECT_EQ(body.at("status").to_number<int>(), 404);
    EXPECT_EQ(body.at("detail").as_string(), "no job \"7\"");
    EXPECT_EQ(body.at("request_id").as_string(), "req-1");
}

TEST(Problem, KeepsInternalsToItself) {
    for (const ErrorCode code :
         {ErrorCode::kInternal, ErrorCode::kIo, ErrorCode::kUnavailable, ErrorCode::kTimeout}) {
        const Response response = problem(fail(code, "db at 10.0.0.7 said secret"), "r");
        EXPECT_GE(response.status, 500U);
        EXPECT_EQ(response.body.find("10.0.0.7"), std::string::npos);
    }
}

TEST(Problem, MapsEveryCodeToAnHttpError) {
    for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
        const unsigned status = http_status(static_cast<ErrorCode>(code));
        EXPECT_GE(status, 400U);
        EXPECT_LT(status, 600U);
        EXPECT_EQ(phrase(status) == "Internal Server Error", status == 500) << status;
    }
}

}  // namespace
}  // namespace gym::http_server
