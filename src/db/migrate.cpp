#include "gym/db/migrate.hpp"

#include <algorithm>
#include <map>
#include <regex>

#include "gym/common/file.hpp"

namespace gym::db {
namespace {

constexpr std::uint64_t kMigrationBytesMax = 1 << 20;
constexpr std::int64_t kAdvisoryLock = 0x67796d'6d696772;  // "gym migr"

struct MigrationFile {
    std::string name;
    std::string sql;
};

Result<std::map<int, MigrationFile>> read_folder(const std::filesystem::path& folder) {
    std::error_code error;
    std::map<int, MigrationFile> files;
    static const std::regex form("([0-9]{4})_[a-z0-9_]+\\.sql");
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        std::smatch match;
        if (!std::regex_match(name, match, form))
            return fail(ErrorCode::kInvalidArgument,
                        entry.path().string() + ": expected a name like 0010_ledger.sql");
        const int number = std::stoi(match[1].str());
        GYM_TRY(const Bytes bytes, read_file(entry.path(), kMigrationBytesMax));
        if (!files.emplace(number, MigrationFile{name, {bytes.begin(), bytes.end()}}).second)
            return fail(ErrorCode::kInvalidArgument,
                        "two migrations with number " + match[1].str() + " in " + folder.string());
    }
    if (error)
        return fail(ErrorCode::kIo,
                    "cannot list migrations in " + folder.string() + ": " + error.message());
    return files;
}

constexpr const char* kCreateTable = R"(
    CREATE SCHEMA IF NOT EXISTS migration;
    CREATE TABLE IF NOT EXISTS migration.applied (
        number integer PRIMARY KEY,
        name text NOT NULL,
        sha256 bytea NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()))";

/// Compares what was applied with the files; removes the applied ones from `files`.
Result<std::size_t> check_applied(Transaction& transaction, std::map<int, MigrationFile>& files) {
    GYM_TRY(const Rows rows,
            transaction.exec("SELECT number, name, sha256 FROM migration.applied ORDER BY number"));
    for (const Row row : rows) {
        const int number = row.get<int>("number");
        const auto name = row.get<std::string>("name");
        const auto file = files.find(number);
        if (file == files.end())
            return fail(ErrorCode::kNotFound,
                        "migration " + name + " was applied but its file is gone");
        GYM_TRY(const Row sum, transaction.exec_one("SELECT sha256(convert_to($1::text, 'UTF8'))",
                                                    {file->second.sql}));
        if (sum.get<Bytes>(0) != row.get<Bytes>("sha256"))
            return fail(
                ErrorCode::kMismatch,
                "migration " + name + " was altered after it was applied; add a new one instead");
        files.erase(file);
    }
    return rows.size();
}

}  // namespace

Result<MigrationReport> migrate(Database& database, const std::filesystem::path& folder) {
    GYM_TRY(const auto all_files, read_folder(folder));
    TransactOptions options;
    options.idempotent = true;
    return database.transact(
        [&](Transaction& transaction) -> Result<MigrationReport> {
            auto files = all_files;
            GYM_CHECK(transaction.exec("SET LOCAL lock_timeout = 0"));
            GYM_CHECK(transaction.exec("SELECT pg_advisory_xact_lock($1)", {kAdvisoryLock}));
            GYM_CHECK(transaction.exec_script(kCreateTable));
            MigrationReport report;
            GYM_TRY(report.already_applied, check_applied(transaction, files));
            for (const auto& [number, file] : files) {
                if (const Status status = transaction.exec_script(file.sql); !status.ok())
                    return status.error().in("migration " + file.name);
                GYM_CHECK(
                    transaction.exec("INSERT INTO migration.applied (number, name, sha256) "
                                     "VALUES ($1, $2, sha256(convert_to($3::text, 'UTF8')))",
                                     {number, file.name, file.sql}));
                report.applied.push_back(file.name);
            }
            return report;
        },
        options);
}

namespace {

std::string quoted_name(const std::string& name) {
    std::string out = "\"";
    for (const char c : name)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

}  // namespace

Status ensure_login_role(Database& database, const std::string& user, const std::string& password,
                         const std::string& group) {
    TransactOptions options;
    options.idempotent = true;
    return database.transact(
        [&](Transaction& transaction) -> Status {
            GYM_TRY(const Row literal,
                    transaction.exec_one("SELECT quote_literal($1::text)", {password}));
            GYM_TRY(const auto found,
                    transaction.exec_optional("SELECT 1 FROM pg_roles WHERE rolname = $1", {user}));
            const std::string verb = found ? "ALTER" : "CREATE";
            GYM_CHECK(transaction.exec_script(verb + " ROLE " + quoted_name(user) +
                                              " LOGIN PASSWORD " + literal.get<std::string>(0)));
            return transaction.exec_script("GRANT " + quoted_name(group) + " TO " +
                                           quoted_name(user));
        },
        options);
}

}  // namespace gym::db
