#include "gym/registry/licence.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "random_seed.hpp"

namespace gym::registry {
namespace {

TEST(Licence, ExpressionsOfTheSpecificationAreTaken) {
    for (const char* text :
         {"MIT", "CC0-1.0", "GPL-2.0+", "LGPL-2.1-only OR MIT", "0BSD", "LicenseRef-public-domain",
          "DocumentRef-spdx-tool-1.2:LicenseRef-MIT-Style-2",
          "LGPL-2.1-only OR BSD-3-Clause AND MIT", "(MIT)", "((MIT OR ISC) AND (CC-BY-4.0))",
          "GPL-2.0-or-later WITH Bison-exception-2.2", " MIT ", "(LGPL-2.1-only OR MIT) AND X",
          "( MIT )", "ORDER"})
        EXPECT_TRUE(check_licence(text).ok())
            << text << ": " << check_licence(text).error().message;
}

TEST(Licence, WhatIsNoExpressionIsRefusedAndNamed) {
    const auto refused = [](const std::string& text) {
        const Status status = check_licence(text);
        if (status.ok()) return std::string("accepted");
        EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
        return status.error().message;
    };
    const auto expect = [&](const std::string& text, const std::string& part) {
        EXPECT_NE(refused(text).find(part), std::string::npos) << text << " -> " << refused(text);
    };
    expect("", "no licence is given");
    expect("   ", "no licence identifier: the end");
    expect("NONE", "names no licence");
    expect("NOASSERTION", "names no licence");
    expect("MIT OR", "no licence identifier: the end");
    expect("OR MIT", "no licence identifier: 'OR' at 1");
    expect("MIT ISC", "AND, OR or WITH is missing before 'ISC' at 5");
    expect("MIT and ISC", "AND, OR or WITH is missing before 'and' at 5");
    expect("(MIT", "a ) is missing before the end");
    expect("MIT)", "this ) closes nothing ')' at 4");
    expect("()", "no licence identifier: ')' at 2");
    expect("MIT WITH", "no exception identifier: the end");
    expect("(MIT OR ISC) WITH x", "AND, OR or WITH is missing before 'WITH'");
    expect("MIT++", "no licence identifier: 'MIT++'");
    expect("MIT/ISC", "no licence identifier: 'MIT/ISC'");
    expect("-MIT", "no licence identifier");
    expect("LicenseRef-", "no licence identifier");
    expect("DocumentRef-x", "no licence identifier");
    expect("DocumentRef-:LicenseRef-y", "no licence identifier");
    expect("LicenseRef-x+", "no licence identifier");
    expect("M\xc3\xbcller", "not printable ASCII");
    expect("MIT\n", "not printable ASCII");
    expect(std::string(257, 'a'), "257 bytes, at most 256");
    expect(std::string(100, '(') + "MIT" + std::string(100, ')'), "too many parentheses");
    EXPECT_NE(refused("bad one").find("CC-BY-4.0"), std::string::npos) << "what to write instead";
}

TEST(Licence, NothingThatIsTakenBreaksTheColumnsPattern) {
    std::mt19937_64 random(testing::random_seed());
    const std::string letters = "MITA N()+:-. 09OR\"';\\%_\n\t";
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < 200'000; ++i) {
        std::string text(1 + random() % 6, ' ');
        for (char& c : text)
            c = letters[random() % letters.size()];
        if (!check_licence(text).ok()) continue;
        ++taken;
        EXPECT_EQ(text.find_first_not_of(
                      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+:() -"),
                  std::string::npos)
            << text;
    }
    EXPECT_GT(taken, 1'000U);
}

}  // namespace
}  // namespace gym::registry
