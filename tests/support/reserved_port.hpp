#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "gym/common/descriptor.hpp"

namespace gym::testing {

/// A TCP port of the loopback for a server that is told its port, for as long as this lives. The
/// socket that holds it never listens: a server with SO_REUSEADDR can take the port, again and
/// again, while the kernel gives it to nobody who asks for any port, nor to a connection.
class ReservedPort {
  public:
    ReservedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int yes = 1;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        if (::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
            ::bind(socket_.get(), any, size) != 0 || ::getsockname(socket_.get(), any, &size) != 0)
            throw std::runtime_error("no port is free on the loopback");
        number_ = ntohs(address.sin_port);
    }
    [[nodiscard]] std::uint16_t number() const { return number_; }
    [[nodiscard]] std::string text() const { return std::to_string(number_); }

  private:
    Descriptor socket_;
    std::uint16_t number_ = 0;
};

}  // namespace gym::testing
