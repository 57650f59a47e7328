#include "gym/db/database.hpp"

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "connection.hpp"

namespace gym::db {

namespace detail {

std::chrono::milliseconds backoff(int attempt) {
    constexpr int kFirstMs = 5;
    constexpr int kLastMs = 500;
    const int ceiling = std::min(kLastMs, kFirstMs << std::min(attempt - 1, 10));
    thread_local std::minstd_rand random(std::random_device{}());
    // Jitter of half the pause keeps transactions that collided from colliding again.
    return std::chrono::milliseconds(ceiling / 2 + static_cast<int>(random() % (ceiling / 2 + 1)));
}

}  // namespace detail

/// Idle connections and the right to open more.
class Database::Pool {
  public:
    Pool(ConnectionConfig config, int connections_max)
        : config_(std::move(config)), connections_max_(connections_max) {}

    /// Waits for a free place, at most the configured connect timeout.
    Result<std::unique_ptr<Connection>> take() {
        std::unique_lock lock(mutex_);
        if (!freed_.wait_for(lock, config_.connect_timeout,
                             [&] { return !idle_.empty() || in_use_ < connections_max_; }))
            return fail(ErrorCode::kUnavailable, "all " + std::to_string(connections_max_) +
                                                     " database connections are in use");
        ++in_use_;
        if (!idle_.empty()) {
            auto connection = std::move(idle_.back());
            idle_.pop_back();
            return connection;
        }
        lock.unlock();
        auto opened = Connection::open(config_);
        if (!opened.ok()) give_back(nullptr);
        return opened;
    }

    void give_back(std::unique_ptr<Connection> connection) {
        const std::scoped_lock lock(mutex_);
        --in_use_;
        if (connection) idle_.push_back(std::move(connection));
        freed_.notify_one();
    }

    void close_idle() {
        std::vector<std::unique_ptr<Connection>> closing;
        const std::scoped_lock lock(mutex_);
        closing.swap(idle_);
    }

    [[nodiscard]] const ConnectionConfig& config() const { return config_; }

  private:
    const ConnectionConfig config_;
    const int connections_max_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<Connection>> idle_;  // guarded by mutex_
    int in_use_ = 0;                                 // guarded by mutex_
};

Database::Database(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::open(ConnectionConfig config, int connections_max) {
    if (connections_max < 1)
        return fail(ErrorCode::kInvalidArgument, "a pool needs at least one connection");
    auto database = std::unique_ptr<Database>(
        new Database(std::make_unique<Pool>(std::move(config), connections_max)));
    GYM_TRY(auto first, database->pool_->take());
    database->pool_->give_back(std::move(first));
    return database;
}

const ConnectionConfig& Database::config() const noexcept {
    return pool_->config();
}

void Database::close_idle() {
    pool_->close_idle();
}

namespace {

/// One attempt. Leaves what went wrong in `failure`; failure.retryable says whether another may
/// help.
Status attempt(Connection& connection, FunctionRef<Status(Transaction&)> body,
               const TransactOptions& options, Failure& failure) {
    try {
        Transaction::Impl impl(connection);
        Transaction transaction(impl);
        Status status = impl.begin(options);
        if (status.ok()) status = body(transaction);
        // The body may have turned an error of the database into one of its own; the connection's
        // fate and the right to retry follow from what the database said last.
        if (status.ok()) status = impl.commit();
        failure = impl.failure;
        return status;
    } catch (...) {  // not from a statement: the driver itself, or the body
        failure = current_failure();
        return failure.error;
    }
}

}  // namespace

Status Database::run(FunctionRef<Status(Transaction&)> body, const TransactOptions& options) {
    const auto deadline = std::chrono::steady_clock::now() + options.give_up_after;
    for (int count = 1;; ++count) {
        Failure failure;
        Status status;
        auto taken = pool_->take();
        if (!taken.ok()) {
            status = taken.error();
            failure.retryable = taken.error().code == ErrorCode::kUnavailable;
        } else {
            auto connection = std::move(taken).value();
            status = attempt(*connection, body, options, failure);
            if (failure.connection_lost) {
                connection.reset();
                pool_->close_idle();  // they were opened to the same server: most likely lost as
                                      // well
            }
            pool_->give_back(std::move(connection));
        }
        if (status.ok()) return status;
        const bool again = failure.commit_unknown ? options.idempotent : failure.retryable;
        const auto pause = detail::backoff(count);
        if (!again || count >= options.attempts_max ||
            std::chrono::steady_clock::now() + pause > deadline)
            return status;
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace gym::db
