// docs/SECURITY.md names a test for every defence: each of them exists.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "gym/common/file.hpp"

namespace gym {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
    const auto bytes = read_file(path);
    EXPECT_TRUE(bytes.ok()) << path;
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
}

void collect(const std::string& text, const std::regex& form, std::set<std::string>& names) {
    for (std::sregex_iterator i(text.begin(), text.end(), form), end; i != end; ++i)
        names.insert((*i)[1].str() + "." + (*i)[2].str());
}

/// "Suite.test" of every GoogleTest and forge test of the repository.
std::set<std::string> all_tests(const fs::path& root) {
    static const std::regex google(R"(TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
    static const std::regex solidity(R"(contract (\w+) is|function ((?:test|invariant)_\w+)\()");
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(root / "tests"))
        if (entry.path().extension() == ".cpp") collect(text_of(entry.path()), google, names);
    for (const auto& entry : fs::directory_iterator(root / "contracts" / "test")) {
        if (entry.path().extension() != ".sol") continue;
        const std::string text = text_of(entry.path());
        std::string contract;
        for (std::sregex_iterator i(text.begin(), text.end(), solidity), end; i != end; ++i) {
            if ((*i)[1].matched) contract = (*i)[1].str();
            if ((*i)[2].matched) names.insert(contract + "." + (*i)[2].str());
        }
    }
    return names;
}

TEST(SecurityDocument, NamesOnlyTestsThatExist) {
    const fs::path root = std::getenv("GYM_SOURCE_DIR");
    const std::set<std::string> tests = all_tests(root);
    std::set<std::string> named;
    collect(text_of(root / "docs" / "SECURITY.md"), std::regex(R"(`([A-Z]\w+)\.(\w+)`)"), named);
    EXPECT_GT(named.size(), 30U);
    for (const std::string& name : named)
        EXPECT_TRUE(tests.contains(name)) << "docs/SECURITY.md names " << name;
}

}  // namespace
}  // namespace gym
