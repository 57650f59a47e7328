#include "gym/contracts/account.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/devnet/infrastructure.hpp"

namespace gym::devnet {
namespace {

constexpr std::uint32_t kTransactionTimeoutMs = 60'000;

std::vector<std::string> key_holders(const Layout& layout) {
    std::vector<std::string> out{kDeployer, kCoordinator, kSettler,
                                 kJobOwner, kProvider,    kVerifier};
    for (std::string& name : layout.worker_names())
        out.push_back(std::move(name));
    return out;
}

}  // namespace

Status ensure_keys(const Layout& layout) {
    for (const std::string& holder : key_holders(layout)) {
        GYM_TRY(const std::string passphrase, ensure_secret(layout.passphrase(holder)));
        std::error_code error;
        if (std::filesystem::exists(layout.keystore(holder), error)) continue;
        // A throw-away network: the light cost keeps its start short.
        GYM_CHECK(crypto::save_keystore(layout.keystore(holder), crypto::PrivateKey::generate(),
                                        crypto::SecretBytes(passphrase),
                                        crypto::ScryptCost::light()));
    }
    return {};
}

Result<std::unique_ptr<contracts::Account>> open_account(const Layout& layout,
                                                         const std::string& holder) {
    GYM_TRY(const std::string passphrase, ensure_secret(layout.passphrase(holder)));
    GYM_TRY(crypto::PrivateKey key,
            crypto::load_keystore(layout.keystore(holder), crypto::SecretBytes(passphrase)));
    return contracts::Account::open({.url = layout.chain_url(),
                                     .store = layout.root / (holder + ".sqlite"),
                                     .timeout_ms = kTransactionTimeoutMs},
                                    std::move(key));
}

Result<Address> holder_address(const Layout& layout, const std::string& holder) {
    return crypto::keystore_address(layout.keystore(holder));
}

}  // namespace gym::devnet
