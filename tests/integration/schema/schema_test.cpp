#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "postgres.hpp"

namespace gym::testing {
namespace {

namespace fs = std::filesystem;

std::string pg_dump() {
    std::vector<fs::path> found;
    std::error_code error;
    for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error))
        if (fs::exists(version.path() / "bin" / "pg_dump"))
            found.push_back(version.path() / "bin/pg_dump");
    std::sort(found.rbegin(), found.rend());
    return found.empty() ? "pg_dump" : found.front().string();
}

/// Without what differs from run to run: versions, the restriction token, blank lines in a row.
std::string normalised(const std::string& dump) {
    std::istringstream lines(dump);
    std::string out =
        "-- Generated from sql/migrations by scripts/dump_schema.sh. Read it; change the "
        "migrations.\n";
    bool blank = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("-- Dumped") || line.starts_with("\\restrict") ||
            line.starts_with("\\unrestrict") || line == "--")
            continue;
        if (line.empty() && blank) continue;
        blank = line.empty();
        out += line + "\n";
    }
    while (out.ends_with("\n\n"))
        out.pop_back();
    return out;
}

TEST(Schema, IsWhatTheMigrationsMake) {
    TestDatabase database;
    const auto version = database.owner().transact([](db::Transaction& tx) {
        return tx.exec_one("SELECT current_setting('server_version_num')::int");
    });
    ASSERT_TRUE(version.ok());
    ASSERT_EQ(version->get<int>(0) / 10'000, 15) << "the stored schema is the text of PostgreSQL "
                                                    "15, which `make setup` installs on Debian 12";
    const db::ConnectionConfig config = database.owner_config();
    SubprocessOptions command;
    command.argv = {pg_dump(),
                    "--schema-only",
                    "--no-owner",
                    "-h",
                    config.host,
                    "-p",
                    std::to_string(config.port),
                    "-U",
                    config.user,
                    config.database};
    command.env = {{"PGPASSWORD", config.password}};
    const auto dump = run_command(command, 60'000);
    ASSERT_TRUE(dump.ok()) << dump.error().message;
    const std::string schema = normalised(*dump);
    const fs::path file = fs::path(migrations_folder()).parent_path() / "schema.sql";
    if (std::getenv("GYM_UPDATE_SCHEMA") != nullptr) {
        ASSERT_TRUE(write_file_atomic(file, as_bytes(schema)).ok());
    }
    const auto stored = read_file(file);
    ASSERT_TRUE(stored.ok()) << stored.error().message;
    EXPECT_EQ(std::string(stored->begin(), stored->end()), schema)
        << "run scripts/dump_schema.sh after changing sql/migrations";
}

}  // namespace
}  // namespace gym::testing
