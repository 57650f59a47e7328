#pragma once

#include <cstdint>

#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"
#include "gym/crypto/key.hpp"

namespace gym::contracts {

/// GymToken: ERC-20 with EIP-2612 permits.
class GymToken {
  public:
    GymToken(std::uint64_t chain_id, Address address) : chain_id_(chain_id), address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    [[nodiscard]] ContractCall approve(const Address& spender, const Amount& amount) const;
    [[nodiscard]] ContractCall transfer(const Address& to, const Amount& amount) const;
    [[nodiscard]] Result<Amount> balance_of(
        chain::ChainClient& client, const Address& owner,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> allowance(chain::ChainClient& client, const Address& owner,
                                           const Address& spender) const;
    /// The number of permits that `owner` used.
    [[nodiscard]] Result<Amount> permit_nonce(chain::ChainClient& client,
                                              const Address& owner) const;
    /// The owner's signature that lets `spender` take `amount` until `deadline_s` (Unix seconds).
    /// The domain is computed here, never taken from a node, which could have another contract's
    /// message signed.
    [[nodiscard]] crypto::Signature sign_permit(const crypto::PrivateKey& owner,
                                                const Address& spender, const Amount& amount,
                                                const Amount& nonce,
                                                std::uint64_t deadline_s) const;

  private:
    std::uint64_t chain_id_;
    Address address_;
};

}  // namespace gym::contracts
