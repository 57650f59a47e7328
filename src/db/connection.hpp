#pragma once

#include <memory>
#include <pqxx/pqxx>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gym/db/config.hpp"
#include "gym/db/database.hpp"

// The driver stays in this header and the sources that include it.
namespace gym::db {

namespace detail {
struct ResultData {
    pqxx::result result;
};
}  // namespace detail

/// A failure, and its consequences for the connection and for a retry.
struct Failure {
    Error error;
    std::string sqlstate;
    bool retryable = false;        ///< another attempt of the whole transaction may succeed
    bool connection_lost = false;  ///< the connection can no longer be used
    bool commit_unknown = false;   ///< lost while COMMIT was on its way
};

/// Translates the exception that is being handled.
Failure current_failure();

/// One session. Not thread-safe.
class Connection {
  public:
    static Result<std::unique_ptr<Connection>> open(const ConnectionConfig& config);
    ~Connection();

    [[nodiscard]] pqxx::connection& driver() { return *driver_; }
    struct Prepared {
        std::string name;
        bool is_new = false;  ///< by this call
    };
    /// The prepared form of `sql`; prepares it when it is new.
    Prepared prepared(std::string_view sql);

  private:
    explicit Connection(std::unique_ptr<pqxx::connection> driver);
    std::unique_ptr<pqxx::connection> driver_;
    pqxx::quiet_errorhandler quiet_;  // failures are returned, not printed
    std::unordered_map<std::string, std::string> prepared_;
};

/// BEGIN .. COMMIT on one connection. Once the connection is lost, or a statement failed outside a
/// savepoint, nothing but rolling back is possible.
class Transaction::Impl {
  public:
    explicit Impl(Connection& connection);
    ~Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    Status begin(const TransactOptions& options);
    Result<Rows> exec(std::string_view sql, std::span<const Param> params);
    Status savepoint(FunctionRef<Status()> body);
    Status commit();

    Failure failure;  ///< the last one

  private:
    [[nodiscard]] Status begin_single(const TransactOptions& options);
    Result<pqxx::result> run(std::string_view sql, std::span<const Param> params);
    pqxx::result run_prepared(std::string_view sql, std::span<const Param> params);
    void note_failure();
    void rollback() noexcept;
    Connection& connection_;
    pqxx::nontransaction driver_;
    bool open_ = false;
    bool single_ = false;   ///< see TransactOptions::single_statement
    bool flushes_ = false;  ///< see DiskWait::kAfterCommit
    bool aborted_ = false;
    bool reuses_plan_ = false;  ///< the statement that runs was prepared before
    unsigned statements_ = 0;
    unsigned savepoints_ = 0;
};

}  // namespace gym::db
