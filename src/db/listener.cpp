#include "gym/db/listener.hpp"

#include <utility>

#include "connection.hpp"

namespace gym::db {
namespace {

/// Appends what arrives on one channel to a list.
class Receiver final : public pqxx::notification_receiver {
  public:
    Receiver(pqxx::connection_base& connection, const std::string& channel,
             std::vector<Notification>& out)
        : pqxx::notification_receiver(connection, channel), out_(out) {}
    void operator()(const std::string& payload, int) override {
        out_.push_back({channel(), payload});
    }

  private:
    std::vector<Notification>& out_;
};

}  // namespace

class Listener::Impl {
  public:
    Impl(std::unique_ptr<Connection> connection, const std::vector<std::string>& channels)
        : connection_(std::move(connection)) {
        for (const std::string& channel : channels)
            receivers_.push_back(
                std::make_unique<Receiver>(connection_->driver(), channel, arrived_));
    }

    std::vector<Notification> wait(std::chrono::milliseconds timeout) {
        const auto s = std::chrono::duration_cast<std::chrono::seconds>(timeout);
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(timeout - s);
        connection_->driver().await_notification(s.count(), us.count());
        if (!connection_->driver().is_open()) throw pqxx::broken_connection();
        return std::exchange(arrived_, {});
    }

  private:
    std::unique_ptr<Connection> connection_;
    std::vector<Notification> arrived_;
    std::vector<std::unique_ptr<Receiver>> receivers_;  // before the connection goes
};

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::open(const ConnectionConfig& config,
                                                 const std::vector<std::string>& channels) {
    GYM_TRY(auto connection, Connection::open(config));
    try {
        return std::unique_ptr<Listener>(
            new Listener(std::make_unique<Impl>(std::move(connection), channels)));
    } catch (...) {
        return current_failure().error;
    }
}

Result<std::vector<Notification>> Listener::wait(std::chrono::milliseconds timeout) {
    try {
        return impl_->wait(timeout);
    } catch (...) {
        Error error = current_failure().error;
        error.code = ErrorCode::kUnavailable;
        return error;
    }
}

}  // namespace gym::db
