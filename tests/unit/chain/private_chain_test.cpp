// Where the program of a private chain is found, and what is said without it.
#include "gym/chain/private_chain.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "gym/common/file.hpp"
#include "must.hpp"
#include "temporary_folder.hpp"

namespace gym::chain {
namespace {

namespace fs = std::filesystem;
using testing::must;

/// A machine on which `make setup` never ran, with folders of its own.
class FindAnvil : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const char* name : {"GYM_ANVIL", "GYM_SOURCE_DIR", "PATH", "HOME"}) {
            const char* const value = std::getenv(name);
            before_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
        }
        ::unsetenv("GYM_ANVIL");
        for (const char* name : {"GYM_SOURCE_DIR", "PATH", "HOME"})
            ::setenv(name, (place_ / name).c_str(), 1);
    }
    void TearDown() override {
        for (const auto& [name, value] : before_) {
            if (value)
                ::setenv(name.c_str(), value->c_str(), 1);
            else
                ::unsetenv(name.c_str());
        }
    }
    fs::path put(const fs::path& file) const {
        fs::create_directories(file.parent_path());
        must(write_file_atomic(file, {}));
        fs::permissions(file, fs::perms::owner_all);
        return file;
    }
    const gym::testing::TemporaryFolder place_;

  private:
    std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(FindAnvil, SaysWhatToInstallWhereThereIsNone) {
    const auto none = find_anvil();
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
    for (const char* part : {"https://getfoundry.sh", "npm install", "GYM_ANVIL"})
        EXPECT_NE(none.error().message.find(part), std::string::npos) << none.error().message;
    must(write_file_atomic(place_ / "text", {}));
    ::setenv("GYM_ANVIL", (place_ / "text").c_str(), 1);
    const auto text = find_anvil();
    ASSERT_FALSE(text.ok());
    EXPECT_NE(text.error().message.find("is no program"), std::string::npos);
}

TEST_F(FindAnvil, TakesTheNamedOneThenThatOfTheSetupThenOneThatIsInstalled) {
    const fs::path foundry = put(place_ / "HOME" / ".foundry" / "bin" / "anvil");
    EXPECT_EQ(must(find_anvil()), foundry);
    const fs::path in_path = put(place_ / "PATH" / "anvil");
    EXPECT_EQ(must(find_anvil()), in_path);
    const fs::path of_setup = put(place_ / "GYM_SOURCE_DIR" / "contracts" / "node_modules" /
                                  "@foundry-rs" / "anvil-linux-amd64" / "bin" / "anvil");
    EXPECT_EQ(must(find_anvil()), of_setup);
    const fs::path named = put(place_ / "mine");
    ::setenv("GYM_ANVIL", named.c_str(), 1);
    EXPECT_EQ(must(find_anvil()), named);
}

}  // namespace
}  // namespace gym::chain
