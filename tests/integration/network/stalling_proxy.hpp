#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "gym/common/assert.hpp"

namespace gym::testing {

/// A wire to a loopback port that can go dead: it stays open and carries nothing, as after a cable
/// is pulled. Bytes to the client are counted, bytes to the server too.
class StallingProxy {
  public:
    static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

    explicit StallingProxy(int server_port) : server_port_(server_port) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        auto* const view = reinterpret_cast<sockaddr*>(&address);
        GYM_ASSERT(::bind(listener_, view, size) == 0 && ::listen(listener_, 16) == 0 &&
                       ::getsockname(listener_, view, &size) == 0,
                   "the proxy cannot listen");
        port_ = ntohs(address.sin_port);
        acceptor_ = std::jthread([this](const std::stop_token& stop) { accept(stop); });
    }
    StallingProxy(const StallingProxy&) = delete;
    StallingProxy& operator=(const StallingProxy&) = delete;
    ~StallingProxy() {
        acceptor_ = {};
        connections_.clear();
        ::close(listener_);
    }

    [[nodiscard]] int port() const { return port_; }
    /// Connections made so far.
    [[nodiscard]] std::uint32_t connections() const { return count_; }
    /// Bytes to the client so far.
    [[nodiscard]] std::uint64_t bytes_down() const { return down_; }
    /// Goes dead once this many more bytes went to the client (the server).
    void stall_after_down(std::uint64_t bytes) { down_left_ = bytes; }
    void stall_after_up(std::uint64_t bytes) { up_left_ = bytes; }
    /// Carries again, on new connections and on those that are still open.
    void heal() {
        down_left_ = kNever;
        up_left_ = kNever;
    }

  private:
    static sockaddr_in loopback(int port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }
    void accept(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            pollfd waited{listener_, POLLIN, 0};
            if (::poll(&waited, 1, 20) <= 0) continue;
            const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            sockaddr_in address = loopback(server_port_);
            if (::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
                ::close(client);
                ::close(server);
                continue;
            }
            ++count_;
            connections_.emplace_back(
                [this, client, server](const std::stop_token& end) { carry(client, server, end); });
        }
    }
    void carry(int client, int server, const std::stop_token& stop) {
        bool open = true;
        while (open && !stop.stop_requested()) {
            std::array<pollfd, 2> waited{
                pollfd{client, static_cast<short>(up_left_ > 0 ? POLLIN : 0), 0},
                pollfd{server, static_cast<short>(down_left_ > 0 ? POLLIN : 0), 0}};
            if (::poll(waited.data(), waited.size(), 20) <= 0) continue;
            if ((waited[0].revents & POLLIN) != 0) open = forward(client, server, up_left_, up_);
            if (open && (waited[1].revents & POLLIN) != 0)
                open = forward(server, client, down_left_, down_);
            // Hung up with nothing left to read: while dead, nobody hears of it.
            if (((waited[0].revents | waited[1].revents) & (POLLHUP | POLLERR)) != 0 &&
                ((waited[0].revents | waited[1].revents) & POLLIN) == 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        ::close(client);
        ::close(server);
    }
    static bool forward(int from, int to, std::atomic<std::uint64_t>& left,
                        std::atomic<std::uint64_t>& all) {
        std::array<char, 4'096> buffer{};
        const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
        if (got <= 0) return false;
        for (ssize_t at = 0; at < got;) {
            const ssize_t sent =
                ::send(to, buffer.data() + at, static_cast<std::size_t>(got - at), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            at += sent;
        }
        const std::uint64_t before = left;
        const auto moved = static_cast<std::uint64_t>(got);
        all += moved;
        if (before != kNever) left = before > moved ? before - moved : 0;
        return true;
    }

    const int server_port_;
    int listener_ = -1;
    int port_ = 0;
    std::atomic<std::uint64_t> down_left_{kNever};
    std::atomic<std::uint64_t> up_left_{kNever};
    std::atomic<std::uint64_t> down_{0}, up_{0};
    std::atomic<std::uint32_t> count_{0};
    std::vector<std::jthread> connections_;
    std::jthread acceptor_;
};

}  // namespace gym::testing
