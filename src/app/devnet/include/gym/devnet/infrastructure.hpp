#pragma once

#include <memory>
#include <string>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/account.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/devnet/process_table.hpp"

namespace gym::devnet {

/// Database users; each has secrets/db-NAME and the rights of group gym_NAME.
inline constexpr const char* kDatabase = "gym";
inline constexpr const char* kDbCoordinator = "coordinator";
inline constexpr const char* kDbRewards = "rewards";
inline constexpr const char* kDbApi = "api";
inline constexpr const char* kDbEvaluator = "evaluator";  ///< no service: the operator's commands
inline constexpr const char* kDbAuditor = "auditor";      ///< no service: whoever checks the books

/// Stake of each worker and of the coordinator, which is also the minimum.
inline constexpr const char* kStakeTokens = "100";

inline constexpr std::uint32_t kBlockTimeMs = 500;

struct ChainOptions {
    std::uint32_t block_time_ms = kBlockTimeMs;
    std::uint32_t dispute_clock_s = 60;
    std::uint32_t dispute_window_s = 600;  ///< in which a game about a unit can be opened
    Amount token_supply;                   ///< all of it goes to the job owner
};

/// Starts a private PostgreSQL cluster, creates the database, applies the migrations and makes one
/// login user per service. Idempotent. @errors as db::PrivateCluster and db::migrate.
Status start_database(const Layout& layout, const std::filesystem::path& migrations);
Status stop_database(const Layout& layout);
/// The superuser's access to the database. @errors as db::PrivateCluster::prepare.
[[nodiscard]] Result<db::ConnectionConfig> database_access(const Layout& layout);
/// Opens the database as the superuser. @errors also as db::Database::open.
[[nodiscard]] Result<std::unique_ptr<db::Database>> open_database(const Layout& layout);
/// How the network's database is reached with the rights of gym_auditor, as a line for a shell:
/// "PGHOST=... PGUSER=auditor PGPASSWORD=$(cat ...)". @errors as db::PrivateCluster::prepare.
[[nodiscard]] Result<std::string> auditor_access(const Layout& layout);

/// Starts anvil and records it in `processes`, funds every key holder, deploys the contracts, gives
/// nodes tokens and stakes for workers and coordinator, and saves layout.deployment(). Idempotent.
/// @errors as chain::PrivateAnvil and contracts::deploy.
Result<contracts::Deployment> start_chain(const Layout& layout, ProcessTable& processes,
                                          const ChainOptions& options);

/// Makes the missing keystores and passphrase files of all key holders.
Status ensure_keys(const Layout& layout);
/// The address of a key holder. @errors as crypto::keystore_address.
[[nodiscard]] Result<Address> holder_address(const Layout& layout, const std::string& holder);
/// A key holder's key. @errors as crypto::load_keystore.
[[nodiscard]] Result<crypto::PrivateKey> holder_key(const Layout& layout,
                                                    const std::string& holder);
/// A key holder's access to the chain, with a transaction store of its own below layout.root.
/// @errors as crypto::load_keystore and contracts::Account::open.
[[nodiscard]] Result<std::unique_ptr<contracts::Account>> open_account(const Layout& layout,
                                                                       const std::string& holder);

}  // namespace gym::devnet
