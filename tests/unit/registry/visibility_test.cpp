// Who may see a dataset or a model: names, lists, the rule, defaults.
#include <gtest/gtest.h>

#include "gym/registry/job_spec.hpp"
#include "gym/registry/visibility.hpp"

namespace gym::registry {
namespace {

Address account(std::uint8_t last) {
    Address out;
    out.data.back() = last;
    return out;
}

TEST(Visibility, HasThreeNames) {
    for (const Visibility one : {Visibility::kPublic, Visibility::kAllowList, Visibility::kPrivate})
        EXPECT_EQ(parse_visibility(to_string(one)).value(), one);
    for (const char* bad : {"", "Public", "secret", "allowlist", "private "})
        EXPECT_EQ(parse_visibility(bad).error().code, ErrorCode::kInvalidArgument) << bad;
}

TEST(Visibility, AListIsSortedWithoutRepetitionsAndGoesWithAllowListAlone) {
    const std::vector<std::string> given{account(2).hex(), account(1).hex(), account(2).hex()};
    const auto list = make_access("allow-list", given);
    ASSERT_TRUE(list.ok()) << list.error().message;
    EXPECT_EQ(list->allowed, (std::vector<Address>{account(1), account(2)}));
    EXPECT_TRUE(make_access("allow-list", {}).ok()) << "the owner alone, until accounts follow";
    EXPECT_FALSE(make_access("private", given).ok());
    EXPECT_FALSE(make_access("public", given).ok());
    const std::vector<std::string> wrong{"0x12"};
    EXPECT_NE(make_access("allow-list", wrong).error().message.find("0x12"), std::string::npos);
    const std::vector<std::string> many(kAllowedMax + 1, account(1).hex());
    EXPECT_FALSE(make_access("allow-list", many).ok());
}

TEST(Visibility, WhoSeesWhat) {
    const Address owner = account(1), listed = account(2), other = account(3);
    const Access open{Visibility::kPublic, {}}, list{Visibility::kAllowList, {listed}},
        closed{Visibility::kPrivate, {}};
    const auto sees = [&](const std::optional<Address>& who, const Access& access) {
        return Viewer::account(who).may_see(access, owner);
    };
    for (const auto& who : {std::optional(owner), std::optional(listed), std::optional(other),
                            std::optional<Address>()})
        EXPECT_TRUE(sees(who, open));
    EXPECT_TRUE(sees(owner, list) && sees(listed, list) && sees(owner, closed));
    EXPECT_FALSE(sees(other, list) || sees({}, list));
    EXPECT_FALSE(sees(listed, closed) || sees(other, closed) || sees({}, closed));
    EXPECT_TRUE(Viewer::service().may_see(closed, owner));
}

TEST(Visibility, ALicenceThatSaysPrivateIsNotPublished) {
    for (const char* licence : {"private", "Private", "LicenseRef-private", "LicenseRef-Private",
                                "(CC0-1.0 OR LicenseRef-private)"})
        EXPECT_EQ(default_visibility(licence), Visibility::kPrivate) << licence;
    for (const char* licence : {"CC0-1.0", "LicenseRef-private-beta", "CC-BY-4.0 OR MIT", ""})
        EXPECT_EQ(default_visibility(licence), Visibility::kPublic) << licence;
    for (const char* licence : {"private", "LicenseRef-private AND CC0-1.0"})
        EXPECT_EQ(check_visibility(licence, Visibility::kPublic).error().code,
                  ErrorCode::kInvalidArgument)
            << licence;
    for (const char* licence : {"CC0-1.0", "LicenseRef-private OR CC0-1.0", "no-training"})
        EXPECT_TRUE(check_visibility(licence, Visibility::kPublic).ok()) << licence;
    EXPECT_TRUE(check_visibility("private", Visibility::kAllowList).ok());
}

std::string job_file(const std::string& lines) {
    return "name: n\nmodel: m.yaml\ndataset: d\nrounds: 1\nslots: 1\nsteps_per_round: 1\n"
           "price_per_pflop: 1\nbudget: 1\n" +
           lines;
}

TEST(Visibility, AModelIsPrivateUnlessTheJobFileSaysAnother) {
    EXPECT_EQ(parse_job_spec(job_file(""), "job.yaml")->access, (Access{Visibility::kPrivate, {}}));
    EXPECT_EQ(parse_job_spec(job_file("visibility: public\n"), "job.yaml")->access,
              (Access{Visibility::kPublic, {}}));
    const std::string list = "visibility: allow-list\nallowed:\n  - \"" + account(5).hex() + "\"\n";
    EXPECT_EQ(parse_job_spec(job_file(list), "job.yaml")->access,
              (Access{Visibility::kAllowList, {account(5)}}));
    const auto wrong = parse_job_spec(job_file("visibility: secret\n"), "job.yaml");
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().message.find("job.yaml:9"), std::string::npos) << wrong.error().message;
    EXPECT_FALSE(parse_job_spec(job_file("allowed: [\"" + account(5).hex() + "\"]\n"), "j").ok());
}

}  // namespace
}  // namespace gym::registry
