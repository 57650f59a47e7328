#include "job/licence_check.hpp"

#include <gtest/gtest.h>

namespace gym::app {
namespace {

TEST(LicenceCheck, CommonLicencesAndOwnOnesAreKnown) {
    for (const char* expression :
         {"MIT", "CC0-1.0 OR MIT", "(CC-BY-4.0 AND Apache-2.0) OR LicenseRef-mine",
          "GPL-2.0-or-later WITH Bison-exception-2.2", "DocumentRef-a:LicenseRef-b", "EUPL-1.2+",
          ""})
        EXPECT_EQ(uncommon_licence(expression), "") << expression;
}

TEST(LicenceCheck, TheFirstUncommonIdIsNamed) {
    EXPECT_EQ(uncommon_licence("WTFNOTALICENCE-9"), "WTFNOTALICENCE-9");
    EXPECT_EQ(uncommon_licence("MIT AND (cc0-1.0 OR X)"), "cc0-1.0");
    EXPECT_EQ(uncommon_licence("GPL-2.0-only WITH Some-exception OR MTI"), "MTI");
}

}  // namespace
}  // namespace gym::app
