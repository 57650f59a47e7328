#include "sqlite_db.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace gym::chain_store {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

}  // namespace

SqlValue::SqlValue(std::uint64_t value) {
    // Nonces, blocks and gas stay far below; an id of a chain is refused above 63 bits when it is
    // parsed.
    GYM_ASSERT(value <= INT64_MAX, "SQLite's integers have 63 bits");
    value_ = static_cast<std::int64_t>(value);
}

bool SqlRow::is_null(std::size_t column) const {
    return std::holds_alternative<std::monostate>(columns_.at(column));
}
std::int64_t SqlRow::integer(std::size_t column) const {
    return std::get<std::int64_t>(columns_.at(column));
}
std::uint64_t SqlRow::u64(std::size_t column) const {
    const std::int64_t value = integer(column);
    GYM_ASSERT(value >= 0, "counters are not negative");
    return static_cast<std::uint64_t>(value);
}
const std::string& SqlRow::text(std::size_t column) const {
    return std::get<std::string>(columns_.at(column));
}
const Bytes& SqlRow::blob(std::size_t column) const {
    return std::get<Bytes>(columns_.at(column));
}
Amount SqlRow::amount(std::size_t column) const {
    return Amount::parse(text(column)).value();
}
std::optional<std::uint64_t> SqlRow::optional_u64(std::size_t column) const {
    if (is_null(column)) return std::nullopt;
    return u64(column);
}

Result<std::unique_ptr<SqliteDb>> SqliteDb::open(const std::filesystem::path& path) {
    if (path != ":memory:") {
        // Made here and not by SQLite, so that it is never open to others.
        const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0) return fail(ErrorCode::kIo, "cannot open " + path.string());
        ::close(file);
    }
    sqlite3* raw = nullptr;
    const int opened =
        sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    std::unique_ptr<SqliteDb> db(new SqliteDb(raw));
    if (opened != SQLITE_OK) return fail(ErrorCode::kIo, "cannot open " + path.string());
    sqlite3_busy_timeout(raw, kBusyTimeoutMs);
    for (const char* pragma :
         {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"}) {
        if (const auto set = db->exec(pragma); !set.ok()) return set.error().in(path.string());
    }
    return db;
}

Error SqliteDb::error(const std::string& doing) const {
    const int code = sqlite3_errcode(connection_.get());
    const std::string message = doing + ": " + sqlite3_errmsg(connection_.get());
    switch (code) {
        case SQLITE_CONSTRAINT:
            return fail(ErrorCode::kAlreadyExists, message);
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return fail(ErrorCode::kUnavailable, message);
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
            return fail(ErrorCode::kMalformed, message);
        default:
            return fail(ErrorCode::kIo, message);
    }
}

int SqliteDb::bind(sqlite3_stmt* statement, int index, const SqlValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value.value_))
        return sqlite3_bind_int64(statement, index, *integer);
    if (const auto* text = std::get_if<std::string>(&value.value_))
        return sqlite3_bind_text(statement, index, text->data(), static_cast<int>(text->size()),
                                 SQLITE_TRANSIENT);
    if (const auto* blob = std::get_if<Bytes>(&value.value_)) {
        if (blob->empty()) return sqlite3_bind_zeroblob(statement, index, 0);  // not NULL
        return sqlite3_bind_blob(statement, index, blob->data(), static_cast<int>(blob->size()),
                                 SQLITE_TRANSIENT);
    }
    return sqlite3_bind_null(statement, index);
}

SqlRow SqliteDb::copy_row(sqlite3_stmt* statement) {
    SqlRow out;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
        switch (sqlite3_column_type(statement, i)) {
            case SQLITE_INTEGER:
                out.columns_.emplace_back(std::int64_t{sqlite3_column_int64(statement, i)});
                break;
            case SQLITE_TEXT:
                out.columns_.emplace_back(std::string(
                    reinterpret_cast<const char*>(sqlite3_column_text(statement, i)), size));
                break;
            case SQLITE_BLOB: {
                const auto* data =
                    static_cast<const std::uint8_t*>(sqlite3_column_blob(statement, i));
                out.columns_.emplace_back(Bytes(data, data + size));
                break;
            }
            default:
                out.columns_.emplace_back(std::monostate{});
        }
    }
    return out;
}

Result<std::vector<SqlRow>> SqliteDb::exec(const std::string& sql,
                                           const std::vector<SqlValue>& values) {
    sqlite3_stmt* raw = nullptr;
    const int prepared = sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &raw, nullptr);
    const std::unique_ptr<sqlite3_stmt, Finalize> statement(raw);
    if (prepared != SQLITE_OK) return error("preparing");
    for (std::size_t i = 0; i < values.size(); ++i)
        if (bind(raw, static_cast<int>(i) + 1, values[i]) != SQLITE_OK) return error("binding");
    std::vector<SqlRow> rows;
    for (;;) {
        const int step = sqlite3_step(raw);
        if (step == SQLITE_DONE) return rows;
        if (step != SQLITE_ROW) return error("running");
        rows.push_back(copy_row(raw));
    }
}

}  // namespace gym::chain_store
