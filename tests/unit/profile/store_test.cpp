// Networks on the disk of a user.

#include "gym/profile/store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "gym/common/file.hpp"
#include "sample_profile.hpp"
#include "temporary_folder.hpp"

namespace gym::profile {
namespace {

using testing::kNowMs;
using testing::operator_key;
using testing::sample_profile;

StoredNetwork sample(const std::string& name) {
    StoredNetwork out;
    out.name = name;
    out.url = "https://api.example.org";
    out.chain_rpc = "http://127.0.0.1:8545/key";
    out.updated_at_ms = kNowMs;
    out.signed_profile = sign(sample_profile(), operator_key());
    return out;
}

class StoreTest : public ::testing::Test {
  protected:
    std::filesystem::path file(const char* name) const {
        return place_ / "mine" / "networks" / name;
    }
    const gym::testing::TemporaryFolder place_;
    const Store store_{{place_ / "mine"}};
};

TEST_F(StoreTest, ANetworkIsFoundAsItWasSavedAndIsPrivate) {
    ASSERT_TRUE(store_.save(sample("main")).ok());
    const auto found = store_.find("main");
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->profile(), sample_profile());
    EXPECT_EQ(found->signed_profile.signer, operator_key().address());
    EXPECT_EQ(found->url, "https://api.example.org");
    EXPECT_EQ(found->chain_rpc, "http://127.0.0.1:8545/key");
    EXPECT_EQ(found->updated_at_ms, kNowMs);
    struct stat status {};
    ASSERT_EQ(::stat(file("main.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(StoreTest, NamesThatAreNoFileNamesAreRefusedAndNothingIsWritten) {
    for (const char* name :
         {"", ".", "..", "../x", "a/b", "/etc/x", ".hidden", "-rf", "a b", "a\n", "a\x1b", "ä"}) {
        EXPECT_EQ(store_.save(sample(name)).error().code, ErrorCode::kInvalidArgument) << name;
        EXPECT_EQ(store_.find(name).error().code, ErrorCode::kInvalidArgument) << name;
        EXPECT_EQ(store_.remove(name).error().code, ErrorCode::kInvalidArgument) << name;
    }
    EXPECT_FALSE(std::filesystem::exists(place_ / "mine"));
    for (const char* name : {"main", "a.b", "_x", "Test-1", "0"})
        EXPECT_TRUE(store_.save(sample(name)).ok()) << name;
}

TEST_F(StoreTest, AMissingNetworkIsToldWithThoseThatThereAre) {
    EXPECT_NE(store_.find("main").error().message.find("gym network add"), std::string::npos);
    ASSERT_TRUE(store_.save(sample("b")).ok());
    ASSERT_TRUE(store_.save(sample("a")).ok());
    const auto missing = store_.find("main");
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
    EXPECT_NE(missing.error().message.find("there are a, b"), std::string::npos);
    EXPECT_EQ(store_.names(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(StoreTest, TheDefaultIsOneThatThereIs) {
    EXPECT_FALSE(store_.find_default().value().has_value());
    EXPECT_EQ(store_.set_default("main").error().code, ErrorCode::kNotFound);
    ASSERT_TRUE(store_.save(sample("main")).ok());
    ASSERT_TRUE(store_.save(sample("other")).ok());
    ASSERT_TRUE(store_.set_default("main").ok());
    EXPECT_EQ(store_.find_default().value()->name, "main");
    ASSERT_TRUE(store_.remove("other").ok());
    EXPECT_EQ(store_.default_name().value(), "main");
    ASSERT_TRUE(store_.remove("main").ok());
    EXPECT_FALSE(store_.default_name().value().has_value());
    EXPECT_EQ(store_.remove("main").error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, ADamagedOrAlteredFileIsNamedWithItsRemedy) {
    ASSERT_TRUE(store_.save(sample("main")).ok());
    const Bytes whole = read_file(file("main.json")).value();
    const auto says = [&](const std::string& content) {
        EXPECT_TRUE(write_file_atomic(file("main.json"), as_bytes(content)).ok());
        const auto found = store_.find("main");
        EXPECT_FALSE(found.ok());
        return found.ok() ? std::string() : found.error().message;
    };
    const std::string text(whole.begin(), whole.end());
    for (const std::string& content :
         {std::string(), text.substr(0, text.size() / 2), std::string("[]"), std::string("{}")}) {
        const std::string message = says(content);
        EXPECT_NE(message.find("main.json"), std::string::npos) << message;
        EXPECT_NE(message.find("gym network remove main"), std::string::npos) << message;
    }
    std::string altered = text;
    altered.replace(altered.find("coordinator.example"), 11, "c0ordinator");
    EXPECT_NE(says(altered).find("not signed by the operator"), std::string::npos);
    altered = text;
    altered.replace(altered.find("http://127.0.0.1:8545/key"), 25, "http://127.0.0.1:8545/kex");
    EXPECT_NE(says(altered).find("chain_rpc is not one of its profile's"), std::string::npos);
}

TEST_F(StoreTest, FoldersAreSearchedInOrderAndTheFirstIsWrittenTo) {
    const Store both{{place_ / "node", place_ / "mine"}};
    ASSERT_TRUE(store_.save(sample("main")).ok());
    ASSERT_TRUE(store_.set_default("main").ok());
    EXPECT_EQ(both.find_default().value()->name, "main") << "of the second folder";
    StoredNetwork own = sample("main");
    own.url = "https://elsewhere.example.org";
    ASSERT_TRUE(both.save(own).ok());
    EXPECT_EQ(both.find("main").value().url, own.url);
    EXPECT_EQ(store_.find("main").value().url, sample("main").url);
    EXPECT_EQ(both.names(), std::vector<std::string>{"main"});
}

}  // namespace
}  // namespace gym::profile
