#pragma once

#include <cstdint>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/descriptor.hpp"
#include "gym/common/result.hpp"

namespace gym::wan {

inline constexpr std::size_t kMtu = 1'500;

/// The only interface of a namespace besides its loopback: what its programs send anywhere comes
/// out of read(). Not thread-safe.
class Tun {
  public:
    /// Makes the interface in the namespace with `address` and the default route, and puts the
    /// loopback up. The calling thread is in its own namespace again afterwards.
    /// @errors kNotFound: no such namespace; kPermissionDenied, kIo naming what was refused.
    static Result<Tun> make(const std::string& netns, std::uint32_t address);

    /// The next packet; empty: none waits now. @errors kIo.
    [[nodiscard]] Result<Bytes> read();
    /// @return false: the namespace takes no more packets now.
    [[nodiscard]] bool write(const Bytes& packet);
    [[nodiscard]] int descriptor() const { return file_.get(); }

  private:
    explicit Tun(Descriptor file) : file_(std::move(file)) {}
    Descriptor file_;
};

/// Where an IPv4 packet goes to; 0 for anything else.
[[nodiscard]] std::uint32_t destination_of(const Bytes& packet);

}  // namespace gym::wan
