#include "gym/db/config.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "gym/common/file.hpp"

namespace gym::db {
namespace {

Result<ConnectionConfig> parse(const std::string& text) {
    GYM_TRY(YamlMap map, YamlMap::parse(text, "test.yaml"));
    return ConnectionConfig::from_yaml(std::move(map));
}

TEST(ConnectionConfig, TakesThePasswordFromAFileWithoutItsNewline) {
    const auto path =
        std::filesystem::temp_directory_path() / ("gym-db-config-" + std::to_string(::getpid()));
    ASSERT_TRUE(write_file_atomic(path, as_bytes("s3cret\n"), 0600).ok());
    const auto config = parse(
        "host: db.example\nport: 6000\ndatabase: d\nuser: u\npassword_file: " + path.string() +
        "\n");
    std::filesystem::remove(path);
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->password, "s3cret");
    EXPECT_EQ(config->describe(), "u@db.example:6000/d");
}

TEST(ConnectionConfig, TakesThePasswordFromTheEnvironment) {
    ::setenv("GYM_DB_PASSWORD", "from-environment", 1);
    const auto config = parse("user: u\n");
    ::unsetenv("GYM_DB_PASSWORD");
    ASSERT_TRUE(config.ok());
    EXPECT_EQ(config->password, "from-environment");
}

TEST(ConnectionConfig, RefusesAPasswordInTheFileItselfAndUnknownKeys) {
    EXPECT_EQ(parse("password: x\n").error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(parse("hots: x\n").error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(parse("port: 70000\n").error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(parse("password_file: /nonexistent/file\n").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace gym::db
