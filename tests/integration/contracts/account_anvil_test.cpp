// One key on one chain, used by two programs at once.

#include <chrono>
#include <thread>

#include "deployed.hpp"
#include "gym/contracts/account.hpp"

namespace gym::testing {
namespace {

class AccountOnAnvil : public DeployedTest {
  protected:
    /// A program of the owner's key, with transactions remembered in a file of its own.
    std::unique_ptr<contracts::Account> program(const char* name) {
        return contracts::Account::open({.url = anvil_.url(),
                                         .store = anvil_.folder() / name,
                                         .timeout_ms = kWaitMs,
                                         .on_sent = {},
                                         .supersede_after_ms = 500},
                                        owner_.clone())
            .value();
    }
    Amount balance(const Address& who) { return token().balance_of(anvil_.client(), who).value(); }

    static constexpr std::uint32_t kWaitMs = 60'000;
};

TEST_F(AccountOnAnvil, TwoProgramsOfOneKeyEachSendAllOfTheirCalls) {
    constexpr int kCalls = 6;
    const Address receivers[] = {chain::private_chain_key(7).address(),
                                 chain::private_chain_key(8).address()};
    const auto send_all = [&](const char* name, const Address& to) {
        const auto account = program(name);
        for (int i = 0; i < kCalls; ++i) {
            const auto done = account->execute(token().transfer(to, tokens("1")));
            EXPECT_TRUE(done.ok()) << name << " " << i << ": " << done.error().message;
        }
    };
    std::thread first(send_all, "first.sqlite", receivers[0]);
    send_all("second.sqlite", receivers[1]);
    first.join();
    for (const Address& receiver : receivers)
        EXPECT_EQ(balance(receiver), tokens("6"));
}

TEST_F(AccountOnAnvil, ARefusalByTheContractIsNotTriedAgain) {
    const auto account = program("refused.sqlite");
    const auto begin = std::chrono::steady_clock::now();
    const auto refused = account->execute(token().transfer(deployment_.token, tokens("1000001")));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("ERC20InsufficientBalance"), std::string::npos)
        << refused.error().message;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(kWaitMs / 2));
}

}  // namespace
}  // namespace gym::testing
