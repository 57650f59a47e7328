// Visibility of datasets and models from the command line.
#include "job_commands_fixture.hpp"

namespace gym::api::testing {
namespace {

namespace json = boost::json;

class PrivateCommands : public JobCommandsTest {
  protected:
    /// Runs with another account's key, or without one.
    gym::testing::Outcome as(const std::string& key, std::vector<std::string> arguments) {
        const std::string own = std::getenv("GYM_API_KEY");
        ::setenv("GYM_API_KEY", key.c_str(), 1);
        auto out = gym(std::move(arguments));
        ::setenv("GYM_API_KEY", own.c_str(), 1);
        return out;
    }
    std::string other_key() { return create_key(*api_db_, address_of(2), "other", 1).value(); }
};

TEST_F(PrivateCommands, ADatasetIsForThoseWhomItsOwnerNames) {
    const auto text = (place_ / "text.txt").string();
    const auto registered = gym({"data", "register", text, "--name", "zzz", "--licence", "CC0-1.0",
                                 "--visibility", "private", "--as", "zoo", "--json"});
    ASSERT_EQ(registered.exit_code, 0) << registered.err << registered.out;
    const json::object record = parse_line(registered.out);
    const std::string root(record.at("root").as_string());
    EXPECT_EQ(record.at("visibility").as_string(), "private");
    const std::string told(record.at("visible_to").as_string());
    EXPECT_NE(told.find("any of the 0 registered nodes may hold a task"), std::string::npos)
        << told;
    EXPECT_NE(told.find("in the clear"), std::string::npos) << told;

    const std::string other = other_key();
    for (const std::string& key : {other, std::string()}) {
        EXPECT_EQ(as(key, {"data", "list"}).out.find(root), std::string::npos);
        EXPECT_EQ(as(key, {"data", "show", root}).exit_code, 1);
        EXPECT_NE(as(key, {"data", "show", "zoo"}).exit_code, 0);
    }
    EXPECT_NE(gym({"data", "list"}).out.find(root), std::string::npos);
    EXPECT_NE(gym({"data", "show", root}).out.find("visibility         private"),
              std::string::npos);

    const auto listed = gym({"data", "visibility", root, "--allow", address_of(2).hex()});
    ASSERT_EQ(listed.exit_code, 0) << listed.err;
    EXPECT_NE(listed.out.find("you and 1 account"), std::string::npos) << listed.out;
    EXPECT_EQ(as(other, {"data", "show", "zoo"}).exit_code, 0);
    const auto hidden = as("", {"data", "show", root});
    EXPECT_EQ(hidden.exit_code, 1);
    EXPECT_NE(hidden.err.find("or not for you to see: --api-key-file"), std::string::npos)
        << hidden.err;
    const auto nobody = gym({"data", "visibility", root, "allow-list"});
    EXPECT_EQ(nobody.exit_code, 2) << "an empty list, in the place of the one account";
    EXPECT_NE(nobody.err.find("--allow 0xACCOUNT"), std::string::npos) << nobody.err;
    EXPECT_NE(as(other, {"data", "visibility", root, "public"}).exit_code, 0) << "it is not theirs";
    EXPECT_EQ(
        gym({"data", "visibility", root, "private", "--allow", address_of(2).hex()}).exit_code, 2);
    ASSERT_EQ(gym({"data", "visibility", "zoo", "public"}).exit_code, 0);
    EXPECT_EQ(as("", {"data", "show", root}).exit_code, 0);
}

TEST_F(PrivateCommands, AJobKeepsItsTextAndItsModelUnlessItsFileSaysAnother) {
    deposit(owner_, "100", "d1");
    const auto quoted = parse_line(gym({"job", "quote", job_file(), "--json"}).out);
    EXPECT_EQ(quoted.at("visibility").as_string(), "private");
    EXPECT_NE(quoted.at("visible_to").as_string().find("in the clear"), json::string::npos);
    const auto submitted = gym({"job", "submit", job_file(), "--licence", "CC-BY-4.0", "--json"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    const json::object job = parse_line(submitted.out);
    const std::string id(job.at("id").as_string()), root(job.at("dataset_root").as_string());
    EXPECT_EQ(job.at("visibility").as_string(), "private");
    EXPECT_EQ(parse_line(gym({"data", "show", root, "--json"}).out).at("visibility").as_string(),
              "private")
        << "nobody offered the text";
    const auto listed = as("", {"job", "list"});
    EXPECT_EQ(listed.out, "no jobs\n");
    EXPECT_NE(listed.err.find("--api-key-file"), std::string::npos) << listed.err;
    EXPECT_EQ(gym({"job", "list"}).err.find("--api-key-file"), std::string::npos);
    EXPECT_NE(gym({"job", "list"}).out.find(id.substr(0, 10)), std::string::npos);
    EXPECT_EQ(as("", {"job", "status", id, "--json"}).exit_code, 0) << "payments are audited";

    const auto opened = gym({"job", "visibility", id, "public", "--json"});
    ASSERT_EQ(opened.exit_code, 0) << opened.err;
    EXPECT_EQ(parse_line(opened.out).at("visibility").as_string(), "public");
    EXPECT_NE(as("", {"job", "list"}).out, "no jobs\n");
}

}  // namespace
}  // namespace gym::api::testing
