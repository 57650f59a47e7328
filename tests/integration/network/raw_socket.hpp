#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string_view>

#include "gym/common/assert.hpp"

namespace gym::testing {

/// A TCP connection to a loopback port, for peers that do not speak the protocol.
class RawSocket {
  public:
    explicit RawSocket(int port) : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        GYM_ASSERT(::connect(file_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
                   "cannot connect");
    }
    RawSocket(const RawSocket&) = delete;
    RawSocket& operator=(const RawSocket&) = delete;
    ~RawSocket() { ::close(file_); }

    bool send(std::string_view bytes) const {
        return ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(bytes.size());
    }
    /// Whether the peer closes the connection within `timeout`; what it sends until then is
    /// ignored.
    [[nodiscard]] bool closed_within(std::chrono::milliseconds timeout) const {
        const auto deadline = std::chrono::steady_clock::now() + timeout;
        char buffer[4096];
        for (;;) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                deadline - std::chrono::steady_clock::now());
            pollfd waited{file_, POLLIN, 0};
            if (left.count() <= 0 || ::poll(&waited, 1, static_cast<int>(left.count())) <= 0)
                return false;
            if (::recv(file_, buffer, sizeof buffer, 0) <= 0) return true;
        }
    }

  private:
    int file_;
};

/// A loopback port that takes connections and says nothing, unless a test says it.
class StallingPort {
  public:
    StallingPort() : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const view = reinterpret_cast<sockaddr*>(&address);
        GYM_ASSERT(::bind(file_, view, size) == 0 && ::listen(file_, 8) == 0 &&
                       ::getsockname(file_, view, &size) == 0,
                   "cannot listen");
        port_ = ntohs(address.sin_port);
    }
    StallingPort(const StallingPort&) = delete;
    StallingPort& operator=(const StallingPort&) = delete;
    ~StallingPort() { ::close(file_); }

    [[nodiscard]] int port() const { return port_; }
    /// Whether somebody dials within `timeout`.
    [[nodiscard]] bool dialled_within(std::chrono::milliseconds timeout) const {
        pollfd waited{file_, POLLIN, 0};
        return ::poll(&waited, 1, static_cast<int>(timeout.count())) > 0;
    }
    /// Takes the next connection, says `text` and hangs up.
    void answer_with(std::string_view text) const {
        const int peer = ::accept4(file_, nullptr, nullptr, SOCK_CLOEXEC);
        [[maybe_unused]] const auto sent = ::send(peer, text.data(), text.size(), MSG_NOSIGNAL);
        ::close(peer);
    }

  private:
    int file_;
    int port_ = 0;
};

}  // namespace gym::testing
