#include "cli/contracts_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "temporary_folder.hpp"

namespace gym::app {
namespace {

/// deploy/config/contracts.yaml with the lines from `randomness:` to `dispute:` replaced.
class ContractsFileTest : public ::testing::Test {
  protected:
    Result<ContractsFile> load(const std::string& lines) {
        std::stringstream text;
        text << std::ifstream(std::string(std::getenv("GYM_SOURCE_DIR")) +
                              "/deploy/config/contracts.yaml")
                    .rdbuf();
        std::string content = text.str();
        const std::size_t from = content.find("\nrandomness:");
        const std::size_t to = content.find("\ndispute:");
        GYM_ASSERT(from < to && to != std::string::npos, "the shipped file has both");
        content.replace(from, to - from, "\n" + lines);
        std::ofstream(place_ / "contracts.yaml") << content;
        return load_contracts_file((place_ / "contracts.yaml").string());
    }
    std::string error_of(const std::string& lines) {
        const auto loaded = load(lines);
        return loaded.ok() ? "accepted" : loaded.error().message;
    }
    static std::string hex(std::size_t bytes) { return to_hex0x(Bytes(bytes, 0x11)); }

    testing::TemporaryFolder place_;
};

TEST_F(ContractsFileTest, TheSourceIsPrevrandaoOrQuicknetOrAChainWithAllThatItNeeds) {
    EXPECT_FALSE(load("")->params.drand);
    EXPECT_FALSE(load("randomness: prevrandao\n")->params.drand);
    const auto quicknet = load("randomness: drand\n");
    ASSERT_TRUE(quicknet.ok()) << quicknet.error().message;
    ASSERT_TRUE(quicknet->params.drand);
    EXPECT_EQ(quicknet->params.drand->public_key, contracts::drand_quicknet().public_key);
    EXPECT_EQ(quicknet->params.drand->delay_s, contracts::kDrandDelayS);
    EXPECT_EQ(load("randomness: drand\ndrand: {delay_s: 900}\n")->params.drand->delay_s, 900U);
    const auto own = load("randomness: drand\ndrand: {public_key: \"" + hex(192) +
                          "\", genesis_s: 7, period_s: 5, known_round: 3, known_signature: \"" +
                          hex(48) + "\"}\n");
    ASSERT_TRUE(own.ok()) << own.error().message;
    EXPECT_EQ(own->params.drand->public_key, Bytes(192, 0x11));
    EXPECT_EQ(own->params.drand->genesis_s, 7U);
    EXPECT_EQ(own->params.drand->period_s, 5U);
    EXPECT_EQ(own->params.drand->known_round, 3U);
    EXPECT_EQ(own->params.drand->known_signature, Bytes(48, 0x11));
}

TEST_F(ContractsFileTest, ErrorsNameTheKeyOfTheRandomness) {
    const auto expect = [&](const std::string& lines, const char* words) {
        EXPECT_NE(error_of(lines).find(words), std::string::npos) << error_of(lines);
    };
    expect("randomness: dice\n", "must be prevrandao or drand");
    expect("drand: {delay_s: 1}\n", "needs `randomness: drand`");
    const std::string drand = "randomness: drand\ndrand: {";
    expect(drand + "delay_s: -1}\n", "delay_s");
    expect(drand + "public_key: \"" + hex(96) + "\"}\n", "must be 192 bytes");
    expect(drand + "public_key: \"" + hex(192) + "\", known_signature: \"" + hex(47) + "\"}\n",
           "must be 48 bytes");
    expect(drand + "public_key: \"" + hex(192) + "\", known_signature: \"" + hex(48) + "\"}\n",
           "genesis_s");
    expect(drand + "public_key: \"" + hex(192) + "\", known_signature: \"" + hex(48) +
               "\", genesis_s: 1, period_s: 0, known_round: 1}\n",
           "must be at least 1");
}

}  // namespace
}  // namespace gym::app
