#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/db/config.hpp"

namespace gym::db {

struct Notification {
    std::string channel;
    std::string payload;
};

/// A connection of its own that receives what transactions announce when they commit (NOTIFY).
/// Notifications that are sent while no listener is connected are lost. Not thread-safe.
class Listener {
  public:
    /// @errors as Database::open().
    static Result<std::unique_ptr<Listener>> open(const ConnectionConfig& config,
                                                  const std::vector<std::string>& channels);
    ~Listener();

    /// What arrived, in order; waits for the first at most `timeout`. Asks the server nothing.
    /// @errors kUnavailable when the connection is lost: open another.
    Result<std::vector<Notification>> wait(std::chrono::milliseconds timeout);

  private:
    class Impl;
    explicit Listener(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::db
