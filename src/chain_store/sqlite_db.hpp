#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gym/chain/follower_store.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

// The thin layer between the stores and SQLite's C interface.

namespace gym::chain_store {

/// One statement parameter: NULL, integer, text or blob. Amounts are decimal text.
class SqlValue {
  public:
    SqlValue(std::nullopt_t) {}                                       // NOLINT: implicit by design
    SqlValue(std::int64_t value) : value_(value) {}                   // NOLINT
    SqlValue(int value) : value_(std::int64_t{value}) {}              // NOLINT
    SqlValue(bool value) : value_(std::int64_t{value}) {}             // NOLINT
    SqlValue(std::uint32_t value) : value_(std::int64_t{value}) {}    // NOLINT
    SqlValue(std::uint64_t value);                                    // NOLINT
    SqlValue(std::string value) : value_(std::move(value)) {}         // NOLINT
    SqlValue(std::string_view value) : value_(std::string(value)) {}  // NOLINT
    SqlValue(const char* value) : value_(std::string(value)) {}       // NOLINT
    SqlValue(const Amount& value) : value_(value.to_string()) {}      // NOLINT
    SqlValue(Bytes value) : value_(std::move(value)) {}               // NOLINT
    template <std::size_t N, class Tag>
    SqlValue(const FixedBytes<N, Tag>& value)
        : value_(Bytes(value.data.begin(), value.data.end())) {}  // NOLINT
    template <class T>
    SqlValue(const std::optional<T>& value) {  // NOLINT
        if (value) *this = SqlValue(*value);
    }

  private:
    friend class SqliteDb;
    std::variant<std::monostate, std::int64_t, std::string, Bytes> value_;
};

/// One row of an answer, copied out. Reading a missing column is a broken invariant: the schema is
/// ours.
class SqlRow {
  public:
    [[nodiscard]] bool is_null(std::size_t column) const;
    [[nodiscard]] std::int64_t integer(std::size_t column) const;
    [[nodiscard]] std::uint64_t u64(std::size_t column) const;
    [[nodiscard]] const std::string& text(std::size_t column) const;
    [[nodiscard]] const Bytes& blob(std::size_t column) const;
    [[nodiscard]] Amount amount(std::size_t column) const;
    template <class Fixed>
    [[nodiscard]] Fixed fixed(std::size_t column) const {
        return Fixed::from(blob(column)).value();
    }
    template <class Fixed>
    [[nodiscard]] std::optional<Fixed> optional_fixed(std::size_t column) const {
        if (is_null(column)) return std::nullopt;
        return fixed<Fixed>(column);
    }
    [[nodiscard]] std::optional<std::uint64_t> optional_u64(std::size_t column) const;

  private:
    friend class SqliteDb;
    std::vector<std::variant<std::monostate, std::int64_t, std::string, Bytes>> columns_;
};

/// One database file. Thread-safe: a transaction holds the connection.
class SqliteDb {
  public:
    static Result<std::unique_ptr<SqliteDb>> open(const std::filesystem::path& path);

    /// Runs `body` in a transaction that takes the write lock at once: commits if it returns a
    /// value. `body` uses exec() and nothing else of this object.
    template <class F>
    std::invoke_result_t<F&> transact(F&& body) {
        const std::lock_guard lock(mutex_);
        if (const auto begun = exec("BEGIN IMMEDIATE"); !begun.ok()) return begun.error();
        auto result = body();
        const auto ended = exec(result.ok() ? "COMMIT" : "ROLLBACK");
        if (result.ok() && !ended.ok()) {
            (void)exec("ROLLBACK");
            return ended.error();
        }
        return result;
    }

    /// One statement. @errors kAlreadyExists for a constraint, kUnavailable when another process
    /// holds the file, kIo for the rest.
    Result<std::vector<SqlRow>> exec(const std::string& sql,
                                     const std::vector<SqlValue>& values = {});
    /// Rows that the last INSERT or UPDATE changed.
    [[nodiscard]] int changes() const { return sqlite3_changes(connection_.get()); }

  private:
    struct Close {
        void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
    };
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    explicit SqliteDb(sqlite3* connection) : connection_(connection) {}
    [[nodiscard]] Error error(const std::string& doing) const;
    static int bind(sqlite3_stmt* statement, int index, const SqlValue& value);
    static SqlRow copy_row(sqlite3_stmt* statement);

    std::unique_ptr<sqlite3, Close> connection_;
    std::mutex mutex_;
};

std::unique_ptr<chain::IntentStore> make_sqlite_intents(SqliteDb& db, std::uint64_t chain_id,
                                                        const Address& sender);
Result<std::unique_ptr<chain::FollowerStore>> make_sqlite_follower(SqliteDb& db,
                                                                   const std::string& name,
                                                                   std::uint64_t chain_id);

}  // namespace gym::chain_store
