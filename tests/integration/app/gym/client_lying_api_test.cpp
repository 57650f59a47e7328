// What `gym` makes of a gym-api that does not keep to its own description.
#include <array>
#include <atomic>
#include <functional>
#include <utility>

#include "gym/contracts/job_escrow.hpp"
#include "money_fixture.hpp"

namespace gym::api::testing {
namespace {

class LyingApi final : public Handler {
  public:
    std::function<Response(const Request&)> answer;

    Admission admit(const Request&) override { return {}; }
    Response handle(const Request& request) override { return answer(request); }
    Response refuse(unsigned status, std::string_view, std::string_view) override {
        return {.status = status, .headers = {}, .body = {}};
    }
    void connections(std::int64_t) override {}
};

Response with_body(std::string body, unsigned status = 200) {
    return {.status = status, .headers = {}, .body = std::move(body)};
}

json::object transfer() {
    const json::object side{{"owner", "system"}, {"kind", "available"}, {"own", false}};
    return {{"id", "0b7e2b3c-0000-4000-8000-000000000001"},
            {"at_ms", 1},
            {"reason", "deposit"},
            {"state", "posted"},
            {"direction", "in"},
            {"sealed", true},
            {"amount_wei", "1"},
            {"from", side},
            {"to", side}};
}

/// `count` lines and the number before which older ones stand.
Response page_of(std::size_t count, std::uint64_t next_before) {
    return with_body(json::serialize(
        json::object{{"transfers", json::array(count, transfer())}, {"next_before", next_before}}));
}

class LyingApiTest : public MoneyCommandsTest {
  protected:
    void SetUp() override {
        MoneyCommandsTest::SetUp();
        liar_server_ = http_server::Server::start({}, liar_).value();
        const std::string url = "http://127.0.0.1:" + std::to_string(liar_server_->port());
        ::setenv("GYM_API", url.c_str(), 1);
        ::setenv("GYM_API_KEY", "gym_any", 1);
    }
    void TearDown() override {
        liar_server_->stop(1'000);
        ::unsetenv("GYM_API_KEY");
        MoneyCommandsTest::TearDown();
    }
    gym::testing::Outcome statement() {
        return gym({"wallet", "statement", "--limit", "100000", "--json"}, false);
    }

    LyingApi liar_;
    std::unique_ptr<http_server::Server> liar_server_;
};

TEST_F(LyingApiTest, AStatementWithoutAnEndIsLeft) {
    std::atomic<int> pages = 0;  // the server counts in a thread of its own
    liar_.answer = [&](const Request&) {
        ++pages;
        return page_of(1, 7);
    };
    const auto same_page = statement();
    EXPECT_EQ(same_page.exit_code, 1) << same_page.out;
    EXPECT_NE(same_page.out.find("has no end"), std::string::npos) << same_page.out;
    EXPECT_EQ(pages, 2);

    liar_.answer = [&](const Request&) { return page_of(0, 1'000'000'000 - ++pages); };
    EXPECT_EQ(statement().exit_code, 1) << "pages get older, but nothing stands on them";
    EXPECT_EQ(pages, 3);

    liar_.answer = [&](const Request&) {
        ++pages;
        return page_of(1'001, 7);
    };
    EXPECT_EQ(statement().exit_code, 1) << "more lines than requested";
    EXPECT_EQ(pages, 4);
    liar_.answer = [](const Request&) { return with_body(R"({"transfers":[]})"); };
    EXPECT_EQ(statement().exit_code, 1) << "another form";

    liar_.answer = [](const Request&) {
        json::object line = transfer();
        line["amount_wei"] = nullptr;
        return with_body(json::serialize(
            json::object{{"transfers", json::array{line}}, {"next_before", nullptr}}));
    };
    const auto unknown = statement();
    EXPECT_EQ(unknown.exit_code, 1) << "an amount that is not known is not 0";
    EXPECT_NE(unknown.out.find("transfers[0].amount_wei"), std::string::npos) << unknown.out;
}

TEST_F(LyingApiTest, ANetworkThatItDoesNotDescribeKeepsNobodyFromItsMoney) {
    const std::array<Response, 4> answers{with_body("{}", 500), with_body("[]"),
                                          with_body(R"({"chain_id":null})"), with_body("no JSON")};
    for (const Response& answer : answers) {
        liar_.answer = [&](const Request&) { return answer; };
        const auto deposit = gym({"wallet", "deposit", "1"}, true);
        EXPECT_EQ(deposit.exit_code, 0) << answer.body << '\n' << deposit.err << deposit.out;
        EXPECT_NE(deposit.err.find("not compared"), std::string::npos) << deposit.err;
    }
    const contracts::JobEscrow escrow(deployment_.escrow);
    EXPECT_EQ(escrow.balance_of(anvil_.client(), owner_.address()).value(), tokens("4"));
}

TEST_F(LyingApiTest, ANetworkOfAnotherChainIsRefusedBeforeAnythingIsSent) {
    for (const char* chain_id : {"1", "1.5", "-1", "99999999999999999999999"}) {
        liar_.answer = [&](const Request&) {
            return with_body(std::string(R"({"chain_id":)") + chain_id + "}");
        };
        const auto deposit = gym({"wallet", "deposit", "1"}, true);
        EXPECT_EQ(deposit.exit_code, 3) << chain_id << deposit.err << deposit.out;
    }
    EXPECT_EQ(balance_of(owner_.address()), tokens("1000"));
}

}  // namespace
}  // namespace gym::api::testing
