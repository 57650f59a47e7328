#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>

#include "gym/common/function_ref.hpp"
#include "gym/common/result.hpp"
#include "gym/common/stop.hpp"
#include "gym/db/config.hpp"
#include "gym/db/value.hpp"

namespace gym::db {

/// An open transaction. Belongs to the callback of Database::transact(): never keep a reference to
/// it. Errors: kAlreadyExists unique violation; kConflict foreign key, exclusion or a raise with
/// SQLSTATE P0001; kInvalidArgument check violation or data that does not convert;
/// kPermissionDenied; kTimeout statement timeout or cancel; kUnavailable lost connection,
/// serialization failure, deadlock, lock timeout; kInternal. After an error the transaction can
/// only be rolled back (or its enclosing savepoint): return the error.
class Transaction {
  public:
    class Impl;
    explicit Transaction(Impl& impl) : impl_(impl) {}
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    /// Runs one statement. With parameters it is prepared once per connection.
    Result<Rows> exec(std::string_view sql, Params params = {});
    Result<Rows> exec(std::string_view sql, std::span<const Param> params);
    /// Exactly one row. @errors kNotFound for none, kInternal for more.
    Result<Row> exec_one(std::string_view sql, Params params = {});
    /// One row or none. @errors kInternal for more.
    Result<std::optional<Row>> exec_optional(std::string_view sql, Params params = {});
    /// Several statements without parameters (migrations).
    Status exec_script(std::string_view sql);

    /// Runs `body` under a savepoint: its error undoes only what it wrote and is returned.
    Status savepoint(FunctionRef<Status()> body);

    /// SQLSTATE of the last failed statement ("23505"); empty if the connection was lost.
    [[nodiscard]] std::string_view sqlstate() const noexcept;

  private:
    Impl& impl_;
};

enum class Isolation { kReadCommitted, kRepeatableRead, kSerializable };

/// When transact() waits until the server's log is on disk. A transaction is never on disk before
/// one that it could see: they are written to one log.
enum class DiskWait {
    kInCommit,     ///< in COMMIT; whoever waits for the locks waits, too
    kAfterCommit,  ///< after COMMIT, which frees the locks. Idempotent only
    kNone,         ///< never: a crash may lose the transaction as a whole, not a part of it
};

struct TransactOptions {
    Isolation isolation = Isolation::kReadCommitted;
    bool read_only = false;
    /// A serialization failure, a deadlock or a connection lost before COMMIT was sent is retried
    /// with exponential back-off, at most so often and so long.
    int attempts_max = 64;
    std::chrono::milliseconds give_up_after{15'000};
    /// A connection lost during COMMIT leaves the outcome unknown. True: the callback is idempotent
    /// (it finds its own work by an id), run it again. False: kUnavailable, saying that the outcome
    /// is unknown.
    bool idempotent = false;
    DiskWait disk_wait = DiskWait::kInCommit;
    /// The body runs one statement, which is a transaction by itself: BEGIN and COMMIT are not
    /// sent, which saves two round trips. Read committed and idempotent only. An error that the
    /// body returns after its statement undoes nothing; another statement is kInternal.
    bool single_statement = false;
};

/// A bounded pool of connections to one database; opens them on demand, drops broken ones.
/// Thread-safe.
class Database {
  public:
    /// Connects once to prove that the configuration works.
    /// @errors kUnavailable, kUnauthenticated (wrong user, password or database).
    static Result<std::unique_ptr<Database>> open(ConnectionConfig config, int connections_max = 8);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Runs `body(Transaction&) -> Result<T>` in a transaction: commits if it returns a value,
    /// rolls back if it returns an error. `body` may run several times (see TransactOptions) and
    /// therefore must have no effect outside the transaction. A pooled connection found dead at
    /// BEGIN is replaced.
    template <class F>
    std::invoke_result_t<F&, Transaction&> transact(F&& body, const TransactOptions& options = {}) {
        using Return = std::invoke_result_t<F&, Transaction&>;
        std::optional<Return> result;
        const Status status = run(
            [&](Transaction& transaction) -> Status {
                result.emplace(body(transaction));
                if (!result->ok()) return result->error();
                return {};
            },
            options);
        if (!status.ok()) return status.error();
        return std::move(*result);
    }

    [[nodiscard]] const ConnectionConfig& config() const noexcept;
    /// Closes idle connections (before DROP DATABASE, or after a restart).
    void close_idle();

  private:
    class Pool;
    explicit Database(std::unique_ptr<Pool> pool);
    Status run(FunctionRef<Status(Transaction&)> body, const TransactOptions& options);
    std::unique_ptr<Pool> pool_;
};

namespace detail {
/// The pause before attempt `attempt` (1, 2, ...): doubling from 5 ms to 500 ms, with jitter.
std::chrono::milliseconds backoff(int attempt);
}  // namespace detail

/// Calls `body() -> Result<T>` until it returns a value or an error other than kUnavailable, with
/// exponential back-off: for whole operations that are idempotent. @errors those of `body`;
/// kCancelled once `stop` is requested.
template <class F>
std::invoke_result_t<F&> with_retry(F&& body, std::chrono::milliseconds give_up_after,
                                    const std::stop_token& stop = {}) {
    const auto deadline = std::chrono::steady_clock::now() + give_up_after;
    for (int attempt = 1;; ++attempt) {
        auto result = body();
        if (result.ok() || result.error().code != ErrorCode::kUnavailable) return result;
        const auto pause = detail::backoff(attempt);
        if (std::chrono::steady_clock::now() + pause > deadline) return result;
        if (wait_for_stop(stop, pause))
            return fail(ErrorCode::kCancelled, "stopped while waiting: " + result.error().message);
    }
}

}  // namespace gym::db
