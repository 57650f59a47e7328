#pragma once

#include <cstddef>
#include <cstdint>

#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"

namespace gym::contracts {

inline constexpr std::size_t kDrandKeyBytes = 192;       ///< a point of G2, uncompressed
inline constexpr std::size_t kDrandSignatureBytes = 48;  ///< a point of G1, compressed

/// A drand chain of the scheme bls-unchained-g1-rfc9380, and the delay of a network's draws.
struct DrandChain {
    Bytes public_key;             ///< of kDrandKeyBytes
    std::uint64_t genesis_s = 0;  ///< when round 1 began, Unix seconds
    std::uint64_t period_s = 0;   ///< between two rounds
    /// From the timestamp of an epoch's block to the earliest beginning of the round that draws it.
    std::uint64_t delay_s = 0;
    /// Some round and its signature, with which the deployment shows that the key is right.
    std::uint64_t known_round = 0;
    Bytes known_signature;  ///< of kDrandSignatureBytes
};

/// Behind 12 blocks of Ethereum, which no reorganisation has removed since it has validators.
inline constexpr std::uint64_t kDrandDelayS = 180;

/// The League of Entropy's chain of that scheme, a round every 3 seconds.
[[nodiscard]] DrandChain drand_quicknet();
/// Where relays serve quicknet, each with its chain's hash.
inline constexpr const char* kQuicknetRelays[] = {
    "https://api.drand.sh/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
    "https://api2.drand.sh/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
    "https://drand.cloudflare.com/"
    "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
};

class DrandBeacon {
  public:
    explicit DrandBeacon(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    /// Anybody may. The contract refuses all but the one signature of the round.
    [[nodiscard]] ContractCall prove(std::uint64_t round, ByteView signature) const;

    /// The randomness of a round. @errors also kConflict: this is not its signature.
    [[nodiscard]] Result<Digest> verify(chain::ChainClient& client, std::uint64_t round,
                                        ByteView signature) const;
    /// Zero until somebody has proven the round.
    [[nodiscard]] Result<Digest> randomness_of(
        chain::ChainClient& client, std::uint64_t round,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;

    struct Schedule {
        std::uint64_t genesis_s = 0;
        std::uint64_t period_s = 0;
        std::uint64_t delay_s = 0;
        /// When a round begins, Unix seconds. @pre round >= 1, period_s >= 1.
        [[nodiscard]] std::uint64_t begins_s(std::uint64_t round) const;
    };
    /// @errors also kMalformed: a period of zero.
    [[nodiscard]] Result<Schedule> schedule(chain::ChainClient& client) const;

  private:
    Address address_;
};

}  // namespace gym::contracts
