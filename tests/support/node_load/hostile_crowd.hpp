#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/descriptor.hpp"

namespace gym::testing {

/// Connections of strangers to a coordinator on this machine, in one thread. A quarter each says
/// nothing; greets as HTTP/2 does and then says nothing; opens PutBlob calls without a signature;
/// opens PutBlob calls in the name of `victim`, with a wrong signature. The callers send nothing
/// after a call's head and open another call every `again`. A connection that the coordinator
/// closes is opened again after as long; the first ones come spread over twice that. Their sources
/// are 127.0.0.2 to 127.0.0.251.
class HostileCrowd {
  public:
    HostileCrowd(std::uint16_t port, std::size_t count, const Address& victim,
                 std::chrono::milliseconds again);
    ~HostileCrowd() = default;
    HostileCrowd(const HostileCrowd&) = delete;
    HostileCrowd& operator=(const HostileCrowd&) = delete;

    /// Connections that are open now, as the last round over all of them saw it.
    [[nodiscard]] std::size_t open() const { return open_; }
    [[nodiscard]] std::uint64_t calls() const { return calls_; }
    [[nodiscard]] std::uint64_t closed_by_server() const { return closed_; }

  private:
    enum class Kind : std::uint8_t { kSilent, kGreeting, kUnsigned, kStolen };
    struct Connection {
        std::optional<Descriptor> socket;
        std::uint32_t stream = 1;
        std::chrono::steady_clock::time_point next;
    };

    void run(const std::stop_token& stop);
    void tend(std::size_t index);
    void dial(std::size_t index);
    void call(std::size_t index);
    /// @return false: the server closed it.
    bool drain(const Connection& connection);

    const std::uint16_t port_;
    const Address victim_;
    const std::chrono::milliseconds again_;
    std::vector<Connection> connections_;
    std::atomic<std::size_t> open_{0};
    std::atomic<std::uint64_t> calls_{0}, closed_{0};
    std::jthread thread_;
};

}  // namespace gym::testing
