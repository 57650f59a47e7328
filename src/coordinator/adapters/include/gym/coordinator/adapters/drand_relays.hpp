#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::coordinator {

inline constexpr std::size_t kDrandRelaysMax = 16;

/// Servers of a drand chain's beacons by HTTP: GET <url>/public/<round>. None is believed: a round
/// has one signature, so a relay can be silent or wrong, and can choose nothing. Not thread-safe.
class DrandRelays {
  public:
    /// Checks a signature; its error says what is wrong with it.
    using Accept = std::function<Status(ByteView signature)>;

    virtual ~DrandRelays() = default;
    /// The signature of a round from the first relay that gives one which `accept` takes: the one
    /// that did so last is asked first. While all fail, they are asked every few seconds only.
    /// @errors kUnavailable naming each relay with what it answered; of `accept`, kUnavailable and
    /// kTimeout at once: then nobody could check.
    virtual Result<Bytes> signature(std::uint64_t round, const Accept& accept) = 0;
};

/// @param urls http(s)://host[:port][/path], 1 to kDrandRelaysMax. Does not connect.
/// @errors kInvalidArgument naming the text that is not a URL.
[[nodiscard]] Result<std::unique_ptr<DrandRelays>> make_drand_relays(
    const std::vector<std::string>& urls);

}  // namespace gym::coordinator
