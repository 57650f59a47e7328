#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "gym/common/descriptor.hpp"

namespace gym::testing {

/// A line to a server on this machine: all connections through it together bring at most so many
/// bytes a second. The other direction is not held up.
class SlowLine {
  public:
    /// @param source the IPv4 address that the server sees; empty: any of this machine.
    SlowLine(std::uint16_t target, std::uint64_t bytes_per_s, std::string source = {})
        : target_(target),
          bytes_per_s_(bytes_per_s),
          source_(std::move(source)),
          listener_(listen()) {
        acceptor_ = std::jthread([this](const std::stop_token& stop) { accept(stop); });
    }
    ~SlowLine() {
        acceptor_.request_stop();
        acceptor_.join();
        connections_.clear();  // each asks its own to stop
    }
    SlowLine(const SlowLine&) = delete;
    SlowLine& operator=(const SlowLine&) = delete;

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// From the server.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr int kLookMs = 20;

    static sockaddr_in at(std::uint16_t port) {
        sockaddr_in out{};
        out.sin_family = AF_INET;
        out.sin_port = htons(port);
        out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return out;
    }
    Descriptor listen() {
        Descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address = at(0);
        socklen_t size = sizeof address;
        if (::bind(out.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::listen(out.get(), 64) != 0 ||
            ::getsockname(out.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("a slow line cannot listen");
        port_ = ntohs(address.sin_port);
        return out;
    }
    static bool readable(int socket) {
        pollfd ready{socket, POLLIN, 0};
        return ::poll(&ready, 1, kLookMs) > 0;
    }
    void accept(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            if (!readable(listener_.get())) continue;
            const int peer = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
            if (peer >= 0)
                connections_.emplace_back(
                    [this, peer](const std::stop_token& end) { carry(Descriptor(peer), end); });
        }
    }
    void carry(const Descriptor& peer, const std::stop_token& stop) {
        const Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (!source_.empty()) {
            sockaddr_in source = at(0);
            ::inet_pton(AF_INET, source_.c_str(), &source.sin_addr);
            if (::bind(server.get(), reinterpret_cast<const sockaddr*>(&source), sizeof source) !=
                0)
                return;
        }
        const sockaddr_in address = at(target_);
        if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
            0)
            return;
        const std::jthread up([&](const std::stop_token& end) {
            while (!end.stop_requested() && !stop.stop_requested())
                if (readable(peer.get()) && !pass(peer.get(), server.get(), 16 << 10)) break;
            ::shutdown(server.get(), SHUT_WR);
        });
        while (!stop.stop_requested()) {
            if (!readable(server.get())) continue;
            const std::int64_t passed = pass(server.get(), peer.get(), 16 << 10);
            if (passed <= 0) break;
            bytes_ += static_cast<std::uint64_t>(passed);
            hold(static_cast<std::uint64_t>(passed));
        }
        ::shutdown(peer.get(), SHUT_RDWR);
    }
    static std::int64_t pass(int from, int to, std::size_t most) {
        std::array<char, 16 << 10> part{};
        const ssize_t got = ::recv(from, part.data(), std::min(most, part.size()), 0);
        for (ssize_t sent = 0; sent < got;) {
            const ssize_t put =
                ::send(to, part.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
            if (put <= 0) return -1;
            sent += put;
        }
        return got;
    }
    /// Waits until the line has carried so many bytes more.
    void hold(std::uint64_t bytes) {
        const auto takes = std::chrono::nanoseconds(bytes * 1'000'000'000 / bytes_per_s_);
        Clock::time_point until;
        {
            const std::scoped_lock lock(mutex_);
            free_at_ = std::max(free_at_, Clock::now()) + takes;
            until = free_at_;
        }
        std::this_thread::sleep_until(until);
    }

    const std::uint16_t target_;
    const std::uint64_t bytes_per_s_;
    const std::string source_;
    std::uint16_t port_ = 0;
    const Descriptor listener_;
    std::atomic<std::uint64_t> bytes_{0};
    std::mutex mutex_;
    Clock::time_point free_at_{};
    std::list<std::jthread> connections_;
    std::jthread acceptor_;
};

}  // namespace gym::testing
