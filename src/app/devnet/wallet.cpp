#include "gym/devnet/wallet.hpp"

#include "gym/chain/contracts.hpp"
#include "gym/crypto/keystore.hpp"

namespace gym::devnet {
namespace {

constexpr std::uint32_t kTimeoutMs = 60'000;
constexpr std::uint64_t kPermitLifeS = 3'600;

}  // namespace

Result<std::unique_ptr<Wallet>> Wallet::open(const Layout& layout, const std::string& holder) {
    std::unique_ptr<Wallet> wallet(new Wallet());
    GYM_TRY(const std::string passphrase, ensure_secret(layout.passphrase(holder)));
    GYM_TRY(crypto::PrivateKey key,
            crypto::load_keystore(layout.keystore(holder), crypto::SecretBytes(passphrase)));
    GYM_TRY(wallet->client_, chain::make_http_client(layout.chain_url()));
    GYM_TRY(wallet->chain_id_, wallet->client_->chain_id());
    GYM_TRY(wallet->store_,
            chain_store::SqliteChainStore::open(layout.root / (holder + ".sqlite")));
    wallet->address_ = key.address();
    wallet->intents_ = wallet->store_->intents(wallet->chain_id_, wallet->address_);
    wallet->key_ = std::make_unique<crypto::PrivateKey>(key.clone());
    wallet->manager_ = std::make_unique<chain::TxManager>(
        *wallet->client_, *wallet->intents_, std::move(key), wallet->clock_,
        chain::TxPolicy{.chain_id = wallet->chain_id_}, chain::describe_revert);
    return wallet;
}

Status Wallet::deposit(const chain::Deployment& deployment, const std::string& id,
                       const Amount& amount) {
    const chain::GymToken token(chain_id_, deployment.token);
    const chain::JobEscrow escrow(deployment.escrow);
    GYM_TRY(const Amount nonce, token.permit_nonce(*client_, address_));
    GYM_TRY(const auto head, client_->block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    const std::uint64_t deadline_s = head->timestamp_s + kPermitLifeS;
    const auto permit = token.sign_permit(*key_, deployment.escrow, amount, nonce, deadline_s);
    const auto call = escrow.deposit_with_permit(address_, amount, deadline_s, permit);
    GYM_CHECK(manager_->execute(call.intent(id), kTimeoutMs));
    return {};
}

Status Wallet::claim(const chain::Deployment& deployment, const std::string& id,
                     const chain::Claim& claim) {
    const chain::RewardsDistributor distributor(deployment.distributor);
    GYM_TRY(const Amount claimed, distributor.claimed(*client_, claim.earner));
    if (claimed >= claim.cumulative) return {};
    GYM_CHECK(manager_->execute(distributor.claim(claim).intent(id), kTimeoutMs));
    return {};
}

}  // namespace gym::devnet
