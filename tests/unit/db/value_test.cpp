#include "gym/db/value.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "gym/db/database.hpp"
#include "postgres.hpp"

namespace gym::db {
namespace {

using Strings = std::vector<std::optional<std::string>>;

TEST(ParseArray, ReadsWhatPostgresWrites) {
    EXPECT_EQ(*parse_array("{}"), Strings{});
    EXPECT_EQ(*parse_array("{1,2}"), (Strings{"1", "2"}));
    EXPECT_EQ(*parse_array("{NULL,\"NULL\",\"\"}"), (Strings{std::nullopt, "NULL", ""}));
    EXPECT_EQ(*parse_array(R"({"a,b","q\"q","b\\s"})"), (Strings{"a,b", "q\"q", "b\\s"}));
}

TEST(ParseArray, RefusesEverythingElse) {
    for (const char* text :
         {"", "{", "}", "1,2", "{1,}", "{{1},{2}}", "{\"a}", "{\"a\"b}", "{a\"b}", "{\"a\\"})
        EXPECT_EQ(parse_array(text).error().code, ErrorCode::kMalformed) << text;
}

TEST(Value, EveryTypeComesBackAsItWent) {
    testing::TestDatabase database;
    const Digest digest = *Digest::parse("0x" + std::string(62, 'a') + "00");
    const Amount big = *Amount::parse(
        "115792089237316195423570985008687907853269984665640564039457584007913129639935");
    const std::string awkward = "it's \\ \"quoted\"\n\tÄ {}";
    const auto status = database.owner().transact([&](Transaction& transaction) -> Status {
        GYM_TRY(const Row row,
                transaction.exec_one(
                    "SELECT $1::text, $2::bigint, $3::boolean, $4::numeric(78,0), $5::bytea, "
                    "$6::double precision, $7::text, $8::bytea, $9::bigint",
                    {awkward, std::numeric_limits<std::int64_t>::min(), true, big, digest, 0.1,
                     std::nullopt, Bytes{}, std::optional<int>(7)}));
        EXPECT_EQ(row.get<std::string>(0), awkward);
        EXPECT_EQ(row.get<std::int64_t>(1), std::numeric_limits<std::int64_t>::min());
        EXPECT_TRUE(row.get<bool>(2));
        EXPECT_EQ(row.get<Amount>(3), big);
        EXPECT_EQ(row.get<Digest>(4), digest);
        EXPECT_EQ(row.get<double>(5), 0.1);
        EXPECT_EQ(row.get<std::optional<std::string>>(6), std::nullopt);
        EXPECT_EQ(row.get<Bytes>(7), Bytes{});
        EXPECT_EQ(row.get<std::optional<int>>(8), 7);
        return {};
    });
    EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(Value, ArraysReachTheServerElementByElement) {
    testing::TestDatabase database;
    const std::vector<std::string> texts = {"a,b", "", "NULL", "x\"y\\z", "{1}"};
    const std::vector<Bytes> blobs = {{}, {0, 255}, {1, 2, 3}};
    const auto status = database.owner().transact([&](Transaction& transaction) -> Status {
        GYM_TRY(const Rows rows,
                transaction.exec("SELECT unnest($1::text[])", {Param::array(texts)}));
        EXPECT_EQ(rows.size(), texts.size());
        for (std::size_t i = 0; i < rows.size(); ++i)
            EXPECT_EQ(rows[i].get<std::string>(0), texts[i]);
        GYM_TRY(const Rows bytes,
                transaction.exec("SELECT unnest($1::bytea[])", {Param::array(blobs)}));
        EXPECT_EQ(bytes.size(), blobs.size());
        for (std::size_t i = 0; i < bytes.size(); ++i)
            EXPECT_EQ(bytes[i].get<Bytes>(0), blobs[i]);
        return {};
    });
    EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(ValueDeathTest, ReadingAColumnThatIsNotThereIsABug) {
    testing::TestDatabase database;
    const auto row = database.owner().transact([](Transaction& transaction) {
        return transaction.exec_one("SELECT 'x' AS name, NULL AS nothing");
    });
    ASSERT_TRUE(row.ok());
    EXPECT_EQ(row->get<std::string>("name"), "x");
    EXPECT_DEATH((void)row->get<std::string>("other"), "other");
    EXPECT_DEATH((void)row->get<int>("name"), "name");
    EXPECT_DEATH((void)row->get<std::string>("nothing"), "NULL");
}

}  // namespace
}  // namespace gym::db
