#include "gym/contracts/gym_token.hpp"

#include "bindings.hpp"
#include "gym/crypto/eip712.hpp"

namespace gym::contracts {

ContractCall GymToken::approve(const Address& spender, const Amount& amount) const {
    return make_call(address_, "approve(address,uint256)", {spender, amount},
                     "approve " + amount.to_string() + " for " + spender.hex());
}

ContractCall GymToken::transfer(const Address& to, const Amount& amount) const {
    return make_call(address_, "transfer(address,uint256)", {to, amount},
                     "transfer " + amount.to_string() + " to " + to.hex());
}

Result<Amount> GymToken::balance_of(chain::ChainClient& client, const Address& owner,
                                    const chain::BlockId& at) const {
    return view_amount(client, address_, at, "balanceOf(address)", {owner});
}

Result<Amount> GymToken::allowance(chain::ChainClient& client, const Address& owner,
                                   const Address& spender) const {
    return view_amount(client, address_, chain::BlockTag::kLatest, "allowance(address,address)",
                       {owner, spender});
}

Result<Amount> GymToken::permit_nonce(chain::ChainClient& client, const Address& owner) const {
    return view_amount(client, address_, chain::BlockTag::kLatest, "nonces(address)", {owner});
}

crypto::Signature GymToken::sign_permit(const crypto::PrivateKey& owner, const Address& spender,
                                        const Amount& amount, const Amount& nonce,
                                        std::uint64_t deadline_s) const {
    const crypto::Eip712Domain domain{"Gym", "1", chain_id_, address_};
    crypto::StructHasher permit(
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    permit.address(owner.address())
        .address(spender)
        .uint256(amount)
        .uint256(nonce)
        .uint(deadline_s);
    return owner.sign_digest(crypto::typed_data_digest(domain, permit.finish()));
}

}  // namespace gym::contracts
