#include <chrono>

#include "api_fixture.hpp"
#include "gym/api/api.hpp"

namespace gym::api {
namespace {

class OutageTest : public testing::ApiDatabaseTest {};

TEST_F(OutageTest, ADatabaseThatIsGoneIs503UntilItIsBack) {
    PostgresBackend storage = backend();
    Api api({storage, storage, storage, clock_}, {});
    const Request request{"GET", "/v1/jobs", {}, "", "r"};
    ASSERT_EQ(api.handle(request).status, 200U);

    ASSERT_TRUE(gym::testing::postgres().stop(db::StopMode::kImmediate).ok());
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(api.handle(request).status, 503U);
    EXPECT_EQ(api.handle({"GET", "/healthz", {}, "", "r"}).status, 503U);
    EXPECT_EQ(api.handle({"GET", "/metrics", {}, "", "r"}).status, 200U);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15))
        << "a person waits for the answer";

    ASSERT_TRUE(gym::testing::postgres().start().ok());
    EXPECT_EQ(api.handle(request).status, 200U);
    EXPECT_EQ(api.handle({"GET", "/healthz", {}, "", "r"}).status, 200U);
}

}  // namespace
}  // namespace gym::api
