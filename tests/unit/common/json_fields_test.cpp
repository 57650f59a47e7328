#include "gym/common/json_fields.hpp"

#include <gtest/gtest.h>

#include "gym/common/bytes.hpp"

namespace gym {
namespace {

namespace json = boost::json;

json::object sample() {
    return {
        {"name", "a text"},
        {"count", 7},
        {"negative", -1},
        {"half", 0.5},
        {"large", 4'294'967'296},
        {"wei", "115792089237316195423570985008687907853269984665640564039457584007913129639935"},
        {"owner", "0x00000000000000000000000000000000000000ff"},
        {"nothing", nullptr}};
}

TEST(JsonFields, ReadWhatIsThere) {
    const json::object object = sample();
    EXPECT_EQ(json_fields::text_of(object, "name"), "a text");
    EXPECT_EQ(json_fields::view_of(object, "name"), "a text");
    EXPECT_EQ(json_fields::number_of(object, "count"), 7U);
    EXPECT_EQ(json_fields::number_of<std::int64_t>(object, "negative"), -1);
    EXPECT_EQ(json_fields::amount_of(object, "wei").to_string(), object.at("wei").as_string());
    EXPECT_EQ(json_fields::fixed_of<Address>(object, "owner").data.back(), 0xff);
}

TEST(JsonFields, ThrowForWhatIsMissingOrHasAnotherForm) {
    const json::object object = sample();
    EXPECT_THROW(json_fields::text_of(object, "missing"), std::exception);
    EXPECT_THROW(json_fields::text_of(object, "count"), std::exception);
    EXPECT_THROW(json_fields::text_of(object, "nothing"), std::exception);
    EXPECT_THROW(json_fields::number_of(object, "name"), std::exception);
    EXPECT_THROW(json_fields::number_of(object, "negative"), std::exception);
    EXPECT_THROW(json_fields::number_of(object, "half"), std::exception);
    EXPECT_THROW(json_fields::number_of<std::uint32_t>(object, "large"), std::exception);
    EXPECT_THROW(json_fields::amount_of(object, "name"), std::exception);
    EXPECT_THROW(json_fields::fixed_of<Digest>(object, "owner"), std::exception);
}

TEST(JsonFields, AResultsErrorIsThrownWithItsMessage) {
    EXPECT_EQ(json_fields::take(Result<int>(3)), 3);
    try {
        (void)json_fields::take(Result<int>(fail(ErrorCode::kMalformed, "why it is none")));
        FAIL();
    } catch (const std::exception& error) {
        EXPECT_STREQ(error.what(), "why it is none");
    }
}

}  // namespace
}  // namespace gym
