#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "gym/common/descriptor.hpp"
#include "gym/common/result.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/torrent/swarm.hpp"

namespace gym::torrent {

/// A running gym-torrent. send() is thread-safe; the rest is for one thread.
class HelperProcess {
  public:
    /// Starts it and waits for its `ready`. @errors kNotFound: there is no such
    /// program; kConflict: another process has the folder; kUnavailable, with its last words; kIo.
    [[nodiscard]] static Result<HelperProcess> start(const SwarmOptions& options);
    HelperProcess(HelperProcess&& other) noexcept
        : socket_(std::move(other.socket_)),
          child_(std::move(other.child_)),
          port_(other.port_),
          received_(std::move(other.received_)) {}
    ~HelperProcess();

    /// @return false: it does not take the line in time, or has ended.
    bool send(const std::string& line);
    /// The next line. @errors kTimeout: none came within `wait`; kUnavailable: it has ended;
    /// kMalformed: a line without an end.
    [[nodiscard]] Result<std::string> next(std::chrono::milliseconds wait);
    [[nodiscard]] std::uint16_t port() const { return port_; }

  private:
    HelperProcess(Descriptor socket, Subprocess child)
        : socket_(std::move(socket)), child_(std::move(child)) {}
    Status wait_until_ready();

    std::mutex mutex_;  // of send()
    Descriptor socket_;
    Subprocess child_;
    std::uint16_t port_ = 0;
    std::string received_;
};

}  // namespace gym::torrent
