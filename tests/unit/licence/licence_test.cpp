#include "gym/licence/licence.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "random_seed.hpp"

namespace gym::licence {
namespace {

std::string refusal(const std::string& text) {
    const auto taken = canonical(text);
    if (taken.ok()) return "accepted as " + *taken;
    EXPECT_EQ(taken.error().code, ErrorCode::kInvalidArgument);
    return taken.error().message;
}

void expect_refused(const std::string& text, const std::string& part) {
    EXPECT_NE(refusal(text).find(part), std::string::npos) << text << " -> " << refusal(text);
}

TEST(Licence, ExpressionsOfTheSpecificationAreTakenAsTheyAre) {
    for (const char* text :
         {"MIT", "CC0-1.0", "GPL-2.0+", "LGPL-2.1-only OR MIT", "0BSD", "LicenseRef-public-domain",
          "DocumentRef-spdx-tool-1.2:LicenseRef-MIT-Style-2", "zlib-acknowledgement", "EUPL-1.2+",
          "LGPL-2.1-only OR BSD-3-Clause AND MIT", "(MIT)", "((MIT OR ISC) AND (CC-BY-4.0))",
          "GPL-2.0-or-later WITH Bison-exception-2.2", "(LGPL-2.1-only OR MIT) AND X11"})
        EXPECT_EQ(canonical(text).value_or(refusal(text)), text);
}

TEST(Licence, IdentifiersInAnyCaseAndWordsOfOursAreStoredAsOneSpelling) {
    EXPECT_EQ(canonical("cc-by-4.0").value(), "CC-BY-4.0");
    EXPECT_EQ(canonical(" mit  OR  (cc0-1.0 )").value(), "MIT OR (CC0-1.0)");
    EXPECT_EQ(canonical("gpl-2.0+").value(), "GPL-2.0+");
    EXPECT_EQ(canonical("private").value(), kPrivate);
    EXPECT_EQ(canonical("Proprietary").value(), "LicenseRef-proprietary");
    EXPECT_EQ(canonical("no-training").value(), "LicenseRef-no-training");
    EXPECT_EQ(canonical("public-domain").value(), "LicenseRef-public-domain");
}

TEST(Licence, UnknownIdentifiersAreRefusedWithNearOnes) {
    expect_refused("banana", "'banana' is not an SPDX identifier; for example CC-BY-4.0");
    EXPECT_TRUE(refusal("banana").starts_with("'banana' is not")) << "said once";
    expect_refused("banana", "LicenseRef-banana stands for a licence of your own");
    expect_refused("CC-BY-4", "near ones are CC-BY-4.0");
    expect_refused("CC0-1.0 OR MTI", "'MTI' is not an SPDX identifier; near ones are MIT");
    expect_refused("Apache2.0", "Apache-2.0");
    expect_refused("cc-by", "near ones are CC-BY-4.0, CC-BY-SA-4.0, CC-BY-NC-4.0;");
    expect_refused("privat", "near ones are private");
}

TEST(Licence, WhatIsNoExpressionIsRefusedAndNamed) {
    expect_refused("", "no licence is given");
    expect_refused("   ", "no licence identifier: the end");
    expect_refused("NONE", "names no licence");
    expect_refused("NOASSERTION", "names no licence");
    expect_refused("MIT OR", "no licence identifier: the end");
    expect_refused("OR MIT", "no licence identifier: 'OR' at 1");
    expect_refused("MIT ISC", "AND, OR or WITH is missing before 'ISC' at 5");
    expect_refused("MIT and ISC", "AND, OR or WITH is missing before 'and' at 5");
    expect_refused("(MIT", "a ) is missing before the end");
    expect_refused("MIT)", "this ) closes nothing ')' at 4");
    expect_refused("()", "no licence identifier: ')' at 2");
    expect_refused("MIT WITH", "no exception identifier: the end");
    expect_refused("(MIT OR ISC) WITH x", "AND, OR or WITH is missing before 'WITH'");
    expect_refused("MIT++", "no licence identifier: 'MIT++'");
    expect_refused("MIT/ISC", "no licence identifier: 'MIT/ISC'");
    expect_refused("-MIT", "no licence identifier");
    expect_refused("LicenseRef-", "no licence identifier");
    expect_refused("DocumentRef-x", "no licence identifier");
    expect_refused("DocumentRef-:LicenseRef-y", "no licence identifier");
    expect_refused("LicenseRef-x+", "no licence identifier");
    expect_refused("M\xc3\xbcller", "not printable ASCII");
    expect_refused("MIT\n", "not printable ASCII");
    expect_refused(std::string(257, 'a'), "257 bytes, at most 256");
    expect_refused(std::string(100, '(') + "MIT" + std::string(100, ')'), "too many parentheses");
    std::string words = "private";
    for (int i = 0; i < 22; ++i)
        words += " OR private";
    expect_refused(words, "stored as more than 256 bytes");
}

TEST(Licence, ForbidsWhatItsNameSays) {
    const auto commercial = [](const char* text) { return forbidden(text, Use::kCommercial); };
    const auto other = [](const char* text) { return forbidden(text, Use::kNonCommercial); };
    for (const char* text : {"MIT", "CC-BY-4.0", "CC-BY-SA-4.0", "public-domain", "LicenseRef-mine",
                             "CC0-1.0+", "GPL-3.0-only WITH x"}) {
        EXPECT_EQ(commercial(text), "") << text;
        EXPECT_EQ(other(text), "") << text;
    }
    for (const char* text :
         {"CC-BY-NC-4.0", "CC-BY-NC-SA-3.0-DE", "PolyForm-Noncommercial-1.0.0"}) {
        EXPECT_EQ(commercial(text), std::string(text) + " forbids commercial use");
        EXPECT_EQ(other(text), "") << text;
    }
    for (const char* text : {"CC-BY-ND-4.0", "CC-BY-NC-ND-4.0"}) {
        EXPECT_EQ(other(text),
                  std::string(text) + " forbids derivatives, and the weights of a job are one");
        EXPECT_EQ(commercial(text), other(text));
    }
    EXPECT_EQ(other("private"), "LicenseRef-private lets only its owner train");
    EXPECT_EQ(other("LicenseRef-proprietary"), "LicenseRef-proprietary lets only its owner train");
    EXPECT_EQ(other("no-training"), "LicenseRef-no-training reserves training to its owner");
    EXPECT_EQ(other("NOASSERTION"), "NOASSERTION grants nothing");
    EXPECT_EQ(other("banana"), "banana grants nothing") << "registered before it was checked";
    EXPECT_EQ(commercial("NCSA"), "") << "a name is not read letter by letter";
    EXPECT_TRUE(opts_out("no-training"));
    EXPECT_FALSE(opts_out("private"));
    EXPECT_FALSE(opts_out("some text"));
}

TEST(Licence, OfAlternativesOneMustPermitAndOfOthersEveryOne) {
    const auto commercial = [](const char* text) { return forbidden(text, Use::kCommercial); };
    EXPECT_EQ(commercial("CC-BY-NC-4.0 OR MIT"), "");
    EXPECT_EQ(commercial("MIT OR CC-BY-NC-4.0"), "");
    EXPECT_EQ(commercial("MIT AND CC-BY-NC-4.0"), "CC-BY-NC-4.0 forbids commercial use");
    EXPECT_EQ(commercial("private OR CC-BY-NC-4.0"),
              "LicenseRef-private lets only its owner train");
    EXPECT_EQ(commercial("MIT OR ISC AND private"), "") << "AND binds tighter";
    EXPECT_NE(commercial("(MIT OR ISC) AND private"), "");
    EXPECT_EQ(commercial("private AND MIT OR CC0-1.0"), "");
}

TEST(Licence, DutiesOfAPartStayWithTheWhole) {
    struct Case {
        const char* part;
        const char* whole;
    };
    const std::string by = "CC-BY-4.0 asks for attribution";
    const std::string alike =
        "CC-BY-SA-4.0 asks that copies stay under such a licence (share-alike)";
    for (const char* free : {"CC0-1.0", "public-domain", "MIT-0", "Unlicense", "SAX-PD"}) {
        EXPECT_EQ(dropped_duty("CC-BY-4.0", free), by) << free;
        EXPECT_EQ(dropped_duty(free, "CC0-1.0"), "") << free;
    }
    EXPECT_EQ(dropped_duty("CC-BY-SA-4.0", "CC-BY-4.0"), alike);
    EXPECT_EQ(dropped_duty("GPL-3.0-only", "MIT").find("GPL-3.0-only asks"), 0U);
    EXPECT_EQ(dropped_duty("MIT", "CC0-1.0"), "MIT asks for attribution");
    for (const Case& kept :
         {Case{"CC-BY-4.0", "CC-BY-SA-4.0"}, Case{"CC-BY-4.0", "MIT"},
          Case{"CC-BY-SA-3.0", "CC-BY-SA-4.0"}, Case{"CC-BY-SA-4.0", "LicenseRef-mine"},
          Case{"LicenseRef-mine", "CC0-1.0"}, Case{"CC-BY-SA-4.0", "CC-BY-SA-4.0 AND CC0-1.0"},
          Case{"CC-BY-4.0 OR CC0-1.0", "CC0-1.0"}, Case{"banana", "CC0-1.0"}})
        EXPECT_EQ(dropped_duty(kept.part, kept.whole), "") << kept.part;
    EXPECT_NE(dropped_duty("CC-BY-4.0", "CC-BY-4.0 OR CC0-1.0"), "");
    EXPECT_NE(dropped_duty("CC-BY-4.0 AND CC0-1.0", "CC0-1.0"), "");
}

TEST(Licence, AUseIsOneOfTwoWords) {
    for (const Use use : {Use::kCommercial, Use::kNonCommercial})
        EXPECT_EQ(parse_use(to_string(use)).value(), use);
    EXPECT_NE(parse_use("research").error().message.find("commercial or non-commercial"),
              std::string::npos);
}

TEST(Licence, NothingThatIsTakenBreaksTheColumnsPattern) {
    std::mt19937_64 random(testing::random_seed());
    const std::string letters = "MITmit N()+:-. 09OR\"';\\%_\n\t";
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < 200'000; ++i) {
        std::string text = i % 2 == 0 ? "MIT" : "";
        for (std::uint64_t left = random() % 5; left > 0; --left)
            text.push_back(letters[random() % letters.size()]);
        const auto stored = canonical(text);
        if (!stored.ok()) continue;
        ++taken;
        EXPECT_EQ(stored->find_first_not_of(
                      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+:() -"),
                  std::string::npos)
            << text;
        EXPECT_EQ(canonical(*stored).value(), *stored) << "what is stored is taken again";
    }
    EXPECT_GT(taken, 1'000U);
}

}  // namespace
}  // namespace gym::licence
