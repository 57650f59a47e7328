#include "connection.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace gym::db {
namespace {

constexpr std::size_t kPreparedMax = 512;

/// "cached plan must not change result type", among others.
constexpr std::string_view kFeatureNotSupported = "0A000";

std::string quoted(const std::string& value) {
    std::string out = "'";
    for (const char c : value) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

std::string connection_string(const ConnectionConfig& config) {
    // libpq counts connect_timeout in seconds and reads 1 as 2; 0 would wait for ever.
    const auto connect_s = std::max<std::int64_t>(2, (config.connect_timeout.count() + 999) / 1000);
    std::string out = "host=" + quoted(config.host) + " port=" + std::to_string(config.port) +
                      " dbname=" + quoted(config.database) + " user=" + quoted(config.user) +
                      " application_name=" + quoted(config.application_name) +
                      " connect_timeout=" + std::to_string(connect_s) +
                      " client_encoding=UTF8 keepalives_idle=30 options='" +
                      "-c statement_timeout=" + std::to_string(config.statement_timeout.count()) +
                      " -c lock_timeout=" + std::to_string(config.lock_timeout.count()) +
                      " -c TimeZone=UTC -c extra_float_digits=3 -c client_min_messages=warning'";
    if (!config.password.empty()) out += " password=" + quoted(config.password);
    return out;
}

struct StateRule {
    std::string_view prefix;
    ErrorCode code;
    bool retryable;
    bool connection_lost;
};

// The first rule whose prefix matches decides (PostgreSQL 15, appendix A).
constexpr std::array kStateRules = {
    StateRule{"23505", ErrorCode::kAlreadyExists, false, false},
    StateRule{"42P04", ErrorCode::kAlreadyExists, false, false},
    StateRule{"23503", ErrorCode::kConflict, false, false},
    StateRule{"23P01", ErrorCode::kConflict, false, false},
    StateRule{"P0001", ErrorCode::kConflict, false, false},
    StateRule{"23", ErrorCode::kInvalidArgument, false, false},
    StateRule{"22", ErrorCode::kInvalidArgument, false, false},
    StateRule{"28", ErrorCode::kUnauthenticated, false, false},
    StateRule{"3D000", ErrorCode::kNotFound, false, false},
    StateRule{"42501", ErrorCode::kPermissionDenied, false, false},
    StateRule{"25006", ErrorCode::kPermissionDenied, false, false},
    StateRule{"40", ErrorCode::kUnavailable, true, false},
    StateRule{"55P03", ErrorCode::kUnavailable, true, false},
    StateRule{"57014", ErrorCode::kTimeout, false, false},
    StateRule{"57P", ErrorCode::kUnavailable, true, true},
    StateRule{"08", ErrorCode::kUnavailable, true, true},
    StateRule{"53300", ErrorCode::kUnavailable, true, true},
};

void apply_state(Failure& failure) {
    for (const StateRule& rule : kStateRules) {
        if (!failure.sqlstate.starts_with(rule.prefix)) continue;
        failure.error.code = rule.code;
        failure.retryable = rule.retryable;
        failure.connection_lost = rule.connection_lost;
        return;
    }
}

std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.pop_back();
    return text;
}

/// A refused connection carries no SQLSTATE; only the server's words tell a wrong password from a
/// server that is starting.
void classify_connect_failure(Failure& failure) {
    const std::string& text = failure.error.message;
    const bool refused = text.find("authentication failed") != std::string::npos ||
                         text.find("does not exist") != std::string::npos ||
                         text.find("no password supplied") != std::string::npos ||
                         text.find("no pg_hba.conf entry") != std::string::npos ||
                         text.find("is not permitted to log in") != std::string::npos;
    if (!refused) return;
    failure.error.code = ErrorCode::kUnauthenticated;
    failure.retryable = false;
}

/// A driver that reconnects by itself would run the rest of a transaction outside of it.
void forbid_reconnecting(pqxx::connection& driver) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    driver.inhibit_reactivation(true);
#pragma GCC diagnostic pop
}

}  // namespace

Failure current_failure() {
    Failure failure;
    const auto text = [](const std::exception& e) { return trimmed(e.what()); };
    try {
        throw;
    } catch (const pqxx::broken_connection& e) {
        failure.error = fail(ErrorCode::kUnavailable, "database: " + text(e));
        failure.retryable = failure.connection_lost = true;
    } catch (const pqxx::deadlock_detected& e) {
        failure.error = fail(ErrorCode::kUnavailable, "database: " + text(e));
        failure.sqlstate = "40P01";
        failure.retryable = true;
    } catch (const pqxx::transaction_rollback& e) {
        failure.error = fail(ErrorCode::kUnavailable, "database: " + text(e));
        failure.sqlstate = "40001";
        failure.retryable = true;
    } catch (const pqxx::insufficient_privilege& e) {  // arrives without its state
        failure.error = fail(ErrorCode::kPermissionDenied, "database: " + text(e));
        failure.sqlstate = "42501";
    } catch (const pqxx::sql_error& e) {
        failure.error = fail(ErrorCode::kInternal, "database: " + text(e));
        failure.sqlstate = e.sqlstate();
        apply_state(failure);
    } catch (const std::exception& e) {
        failure.error = fail(ErrorCode::kInternal, "database: " + text(e));
        failure.connection_lost = true;
    }
    return failure;
}

Connection::Connection(std::unique_ptr<pqxx::connection> driver)
    : driver_(std::move(driver)), quiet_(*driver_) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const ConnectionConfig& config) {
    try {
        auto driver = std::make_unique<pqxx::connection>(connection_string(config));
        driver->set_verbosity(pqxx::connection_base::terse);
        forbid_reconnecting(*driver);
        return std::unique_ptr<Connection>(new Connection(std::move(driver)));
    } catch (...) {
        Failure failure = current_failure();
        classify_connect_failure(failure);
        return failure.error.in("connecting to " + config.describe());
    }
}

Connection::Prepared Connection::prepared(std::string_view sql) {
    std::string key(sql);
    if (const auto found = prepared_.find(key); found != prepared_.end())
        return {found->second, false};
    if (prepared_.size() >= kPreparedMax) {  // generated SQL: keep the server's memory bounded
        for (const auto& [text, name] : prepared_)
            driver_->unprepare(name);
        prepared_.clear();
    }
    std::string name = "s" + std::to_string(prepared_.size());
    driver_->prepare(name, key);
    prepared_.emplace(std::move(key), name);
    return {std::move(name), true};
}

Transaction::Impl::Impl(Connection& connection)
    : connection_(connection), driver_(connection.driver()) {}

Transaction::Impl::~Impl() {
    if (open_ && !failure.connection_lost) rollback();
}

void Transaction::Impl::rollback() noexcept {
    try {
        driver_.exec("ROLLBACK");
    } catch (...) {
        failure = current_failure();
        failure.connection_lost = true;  // in an unknown state: not to be used again
    }
    open_ = false;
}

Result<pqxx::result> Transaction::Impl::run(std::string_view sql, std::span<const Param> params) {
    if (failure.connection_lost) return failure.error;
    if (++statements_ > 1 && single_)
        return fail(ErrorCode::kInternal, "a second statement in a transaction of one");
    reuses_plan_ = false;
    try {
        if (params.empty()) return driver_.exec(std::string(sql));
        return run_prepared(sql, params);
    } catch (...) {
        note_failure();
        return failure.error;
    }
}

pqxx::result Transaction::Impl::run_prepared(std::string_view sql, std::span<const Param> params) {
    std::vector<const char*> values;
    values.reserve(params.size());
    for (const Param& param : params)
        values.push_back(param.text() ? param.text()->c_str() : nullptr);
    const Connection::Prepared statement = connection_.prepared(sql);
    reuses_plan_ = !statement.is_new;
    return driver_.exec_prepared(statement.name, pqxx::prepare::make_dynamic_params(values));
}

void Transaction::Impl::note_failure() {
    failure = current_failure();
    // A migration changed the columns of a statement that was prepared before it, and of others,
    // most likely: a new connection prepares them all anew. Nothing of this transaction was done.
    const bool outdated = reuses_plan_ && failure.sqlstate == kFeatureNotSupported;
    if ((outdated || !connection_.driver().is_open()) && !failure.connection_lost) {
        failure.connection_lost = failure.retryable = true;
        failure.error.code = ErrorCode::kUnavailable;
    }
    aborted_ = true;
}

Status Transaction::Impl::begin_single(const TransactOptions& options) {
    if (options.isolation != Isolation::kReadCommitted || options.read_only ||
        !options.idempotent || options.disk_wait != DiskWait::kInCommit)
        return fail(ErrorCode::kInternal,
                    "a transaction of one statement is read committed, idempotent and durable at "
                    "commit");
    single_ = true;
    return {};
}

Status Transaction::Impl::begin(const TransactOptions& options) {
    if (options.single_statement) return begin_single(options);
    flushes_ = options.disk_wait == DiskWait::kAfterCommit;
    if (flushes_ && !options.idempotent)
        return fail(ErrorCode::kInternal, "what is durable after COMMIT must be idempotent");
    std::string sql = "BEGIN ISOLATION LEVEL ";
    switch (options.isolation) {
        case Isolation::kReadCommitted:
            sql += "READ COMMITTED";
            break;
        case Isolation::kRepeatableRead:
            sql += "REPEATABLE READ";
            break;
        case Isolation::kSerializable:
            sql += "SERIALIZABLE";
            break;
    }
    sql += options.read_only ? " READ ONLY" : " READ WRITE";
    if (options.disk_wait != DiskWait::kInCommit) sql += "; SET LOCAL synchronous_commit = off";
    GYM_CHECK(run(sql, {}));
    open_ = true;
    return {};
}

Result<Rows> Transaction::Impl::exec(std::string_view sql, std::span<const Param> params) {
    GYM_TRY(const pqxx::result result, run(sql, params));
    return Rows(std::make_shared<detail::ResultData>(detail::ResultData{result}));
}

Status Transaction::Impl::savepoint(FunctionRef<Status()> body) {
    const std::string name = "gym_" + std::to_string(++savepoints_);
    GYM_CHECK(run("SAVEPOINT " + name, {}));
    Status status = body();
    if (status.ok()) {
        GYM_CHECK(run("RELEASE SAVEPOINT " + name, {}));
        return {};
    }
    GYM_CHECK(run("ROLLBACK TO SAVEPOINT " + name + "; RELEASE SAVEPOINT " + name, {}));
    aborted_ = false;
    return status;
}

Status Transaction::Impl::commit() {
    // PostgreSQL answers COMMIT of a failed transaction with success and rolls back.
    if (aborted_ || failure.connection_lost) return failure.error;
    if (single_) return {};
    auto result = run("COMMIT", {});
    open_ = false;
    std::string_view during = "COMMIT";
    if (result.ok() && flushes_) {
        // A transaction of its own, which waits for all of the log before it. Many share a write.
        during = "the wait for the disk after COMMIT";
        result = run("SELECT pg_logical_emit_message(true, 'gym', '')", {});
    }
    if (result.ok()) return {};
    if (failure.connection_lost) {
        failure.commit_unknown = true;
        failure.error = failure.error.in("the connection was lost during " + std::string(during) +
                                         ", outcome unknown");
    }
    return failure.error;
}

Result<Rows> Transaction::exec(std::string_view sql, Params params) {
    return impl_.exec(sql, {params.begin(), params.size()});
}

Result<Rows> Transaction::exec(std::string_view sql, std::span<const Param> params) {
    return impl_.exec(sql, params);
}

Result<std::optional<Row>> Transaction::exec_optional(std::string_view sql, Params params) {
    GYM_TRY(const Rows rows, exec(sql, params));
    if (rows.size() > 1)
        return fail(ErrorCode::kInternal, "expected at most one row, got " +
                                              std::to_string(rows.size()) + ": " +
                                              std::string(sql.substr(0, 120)));
    if (rows.empty()) return std::optional<Row>();
    return std::optional<Row>(rows[0]);
}

Result<Row> Transaction::exec_one(std::string_view sql, Params params) {
    GYM_TRY(const std::optional<Row> row, exec_optional(sql, params));
    if (!row) return fail(ErrorCode::kNotFound, "no row for: " + std::string(sql.substr(0, 120)));
    return *row;
}

Status Transaction::exec_script(std::string_view sql) {
    GYM_CHECK(impl_.exec(sql, {}));
    return {};
}

Status Transaction::savepoint(FunctionRef<Status()> body) {
    return impl_.savepoint(body);
}

std::string_view Transaction::sqlstate() const noexcept {
    return impl_.failure.sqlstate;
}

}  // namespace gym::db
