// `gym data pull` against a real gym-api.
#include <algorithm>
#include <filesystem>

#include "job_commands_fixture.hpp"

namespace gym::api {
namespace {

namespace fs = std::filesystem;
using gym::testing::slurp;
using gym::testing::spill;
using testing::address_of;

class PullTest : public testing::JobCommandsTest {
  protected:
    struct Registered {
        fs::path file;
        std::string root;
    };
    /// A token file of a text of its own, registered under the given options.
    Registered enter(char letter, std::vector<std::string> options) {
        const fs::path text = place_ / (std::string(1, letter) + ".txt");
        const fs::path file = place_ / (std::string(1, letter) + ".tokens");
        std::string content;
        for (int i = 0; i < 400; ++i)
            content += std::string(1, letter) + " line " + std::to_string(i) + "\n";
        spill(text, content);
        succeed({"data", "build", "--text", text.string(), "-o", file.string()});
        options.insert(options.begin(), {"data", "register", file.string(), "--yes", "--json"});
        const auto root = parse_line(succeed(options)).at("root").as_string();
        return {file, std::string(root)};
    }
    std::string succeed(const std::vector<std::string>& arguments) {
        const auto done = gym(arguments);
        EXPECT_EQ(done.exit_code, 0) << done.err << done.out;
        return done.out;
    }
    gym::testing::Outcome pull(const std::string& dataset) {
        return gym({"data", "pull", dataset, "-o", pulled().string(), "--json"});
    }
    fs::path pulled() const { return place_ / "pulled"; }
    /// Files in the folder whose names begin like the output's.
    std::ptrdiff_t outputs() const {
        return std::ranges::count_if(fs::directory_iterator(place_ / ""), [](const auto& entry) {
            return entry.path().filename().string().starts_with("pulled");
        });
    }
};

TEST_F(PullTest, ADatasetIsFetchedByRootByNameAndByVersion) {
    const Registered first = enter('a', {"--licence", "MIT", "--as", "corpus"});
    const Registered second = enter('b', {"--licence", "MIT", "--as", "corpus"});
    ASSERT_NE(slurp(first.file), slurp(second.file));
    const std::vector<std::pair<std::string, const Registered*>> names{
        {"corpus", &second},
        {"corpus@1", &first},
        {"corpus@2", &second},
        {first.root, &first},
        {second.root.substr(0, 12), &second}};
    for (const auto& [name, expected] : names) {
        const auto done = pull(name);
        ASSERT_EQ(done.exit_code, 0) << name << ": " << done.err;
        EXPECT_EQ(parse_line(done.out).at("dataset_root").as_string(), expected->root) << name;
        EXPECT_EQ(slurp(pulled()), slurp(expected->file)) << name;
        EXPECT_EQ(outputs(), 1) << name;
    }
    // What was fetched is what a job can train on.
    succeed({"data", "verify", pulled().string(), "--root", second.root});
}

TEST_F(PullTest, WhatCannotBeFetchedIsToldWhyAndLeavesNothing) {
    const Registered kept = enter('a', {"--licence", "LicenseRef-private", "--as", "kept"});
    const Registered sold = enter('b', {"--licence", "MIT", "--price", "1", "--as", "sold"});
    ASSERT_EQ(pull("kept").exit_code, 0) << "its owner may";
    fs::remove(pulled());
    ::setenv("GYM_API_KEY", create_key(*api_db_, address_of(2), "other", 1).value().c_str(), 1);
    const std::vector<std::pair<std::string, std::string>> refusals{{"kept", "is private"},
                                                                    {sold.root, "has a price"},
                                                                    {"nothing", "nothing"},
                                                                    {"kept@9", "kept"},
                                                                    {"0x1234", "0x1234"}};
    for (const auto& [name, words] : refusals) {
        const auto done = pull(name);
        EXPECT_NE(done.exit_code, 0) << name;
        EXPECT_NE((done.err + done.out).find(words), std::string::npos) << done.err << done.out;
        EXPECT_EQ(outputs(), 0) << name;
    }
    ::unsetenv("GYM_API_KEY");
    const auto done = pull("sold");
    EXPECT_NE(done.exit_code, 0);
    EXPECT_NE((done.err + done.out).find("key"), std::string::npos) << done.err << done.out;
}

}  // namespace
}  // namespace gym::api
