// Which game an id, or its beginning, means.
#include "dispute/dispute_log.hpp"

#include <gtest/gtest.h>

#include "dispute/dispute_print.hpp"
#include "gym/game/state.hpp"

namespace gym::app {
namespace {

Digest digest(std::uint8_t first, std::uint8_t last) {
    Digest out;
    out.data.front() = first;
    out.data.back() = last;
    return out;
}

/// A game about slot 4 of a round, whose unit has one name on chain and another in the registry.
GameLog game(const Digest& id, const Digest& chain_unit, std::uint64_t round) {
    GameLog out;
    out.opened.game = id;
    out.opened.unit = chain_unit;
    out.key = protocol::UnitKey{digest(9, 9), round, 4, 0};
    return out;
}

class FindGame : public ::testing::Test {
  protected:
    FindGame() {
        log_.games = {game(digest(0x11, 1), digest(0xaa, 1), 1),
                      game(digest(0x11, 2), digest(0xab, 1), 2),
                      game(digest(0x13, 3), digest(0xab, 1), 2)};
    }
    Error refusal(const std::string& wanted) {
        const auto found = find_game(log_, wanted);
        EXPECT_FALSE(found.ok()) << wanted;
        return found.ok() ? Error{} : found.error();
    }
    DisputeLog log_;
};

TEST_F(FindGame, ByTheGamesIdOrEitherIdOfItsUnit) {
    const GameLog& first = log_.games[0];
    for (const Digest& id : {first.id(), first.chain_unit(), *first.registry_unit()}) {
        const auto found = find_game(log_, id.hex());
        ASSERT_TRUE(found.ok()) << found.error().message;
        EXPECT_EQ(*found, &log_.games[0]);
    }
    EXPECT_EQ(*find_game(log_, "0x1300"), &log_.games[2]);
    EXPECT_EQ(*find_game(log_, "0xAA00"), &log_.games[0]) << "capital letters are letters";
}

TEST_F(FindGame, AnIdThatMeansSeveralIsRefusedWithTheirIds) {
    const std::string registry = log_.games[1].registry_unit()->hex();
    for (const std::string& unit : {std::string("0xab00"), registry, registry.substr(0, 20)}) {
        const Error error = refusal(unit);
        EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
        EXPECT_NE(error.message.find(log_.games[1].id().hex() + ", " + log_.games[2].id().hex()),
                  std::string::npos)
            << error.message;
    }
    EXPECT_EQ(refusal("0x1100").code, ErrorCode::kInvalidArgument);
}

TEST_F(FindGame, WhatIsNoIdAndWhatIsUnknownAreToldApart) {
    for (const char* wrong : {"", "0x", "0x11", "1100", "0xgggg", "-"})
        EXPECT_EQ(refusal(wrong).code, ErrorCode::kInvalidArgument) << wrong;
    const Error unknown = refusal("0x5555");
    EXPECT_EQ(unknown.code, ErrorCode::kNotFound);
    EXPECT_NE(unknown.message.find("gym dispute list"), std::string::npos);
}

/// A game in which these transactions took part.
GameLog course_of(std::initializer_list<std::uint8_t> transactions) {
    GameLog out = game(digest(0x11, 1), digest(0xaa, 1), 1);
    for (const std::uint8_t one : transactions)
        out.course.push_back({.event = {}, .transaction = digest(one, 0), .block_number = 7});
    return out;
}

TEST(ShownEvents, AreToldOnceAndAgainFromWhereTheChainChanged) {
    ShownEvents news;
    EXPECT_EQ(news.take(course_of({1, 2})), 0U);
    EXPECT_EQ(news.take(course_of({1, 2})), 2U);
    EXPECT_EQ(news.take(course_of({1, 2, 3, 3})), 2U);
    EXPECT_EQ(news.take(course_of({1, 2, 4, 4, 5})), 2U) << "as many came instead, and one more";
    EXPECT_EQ(news.take(course_of({1})), 1U) << "taken back";
    EXPECT_EQ(news.take(course_of({1, 2})), 1U) << "and there again";
    EXPECT_EQ(news.take(course_of({6, 2})), 0U);
}

TEST(DisputeTable, HasAHeaderOverEachColumn) {
    DisputeReport report;
    report.log = game(digest(0x11, 1), digest(0xaa, 1), 12);
    report.now.game.status = game::GameStatus::kFaultProven;
    report.cost = {16, 1'330'016, 1'132'046};
    const std::string header = summary_header(), line = summary_line(report);
    const auto ends_alike = [&](const std::string& title, const std::string& figure) {
        const std::size_t a = header.find(title), b = line.find("  " + figure + "  ");
        ASSERT_TRUE(a != std::string::npos && b != std::string::npos) << header << "\n" << line;
        EXPECT_EQ(a + title.size(), b + 2 + figure.size()) << title;
    };
    ends_alike("round", "12");
    ends_alike("slot", "4");
    ends_alike("moves", "16");
    ends_alike("gas asserter", "1132046");
    ends_alike("gas challenger", "1330016");
    EXPECT_EQ(line.find("fault_proven"), header.find("status"));
}

}  // namespace
}  // namespace gym::app
