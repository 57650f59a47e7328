#pragma once

#include <memory>
#include <optional>

#include "coordinator_config.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/db/database.hpp"
#include "gym/player/player.hpp"
#include "gym/player/player_thread.hpp"

namespace gym::app {

/// The coordinator's two sides of disputes: it defends its aggregates, shows the data that it
/// stands for, and challenges workers that signed two commitments for one unit. It runs in its own
/// thread, so that a move does not wait for an audit or an aggregation. Both sides send with one
/// key, and one transaction manager assigns its nonces.
class CoordinatorPlayer {
  public:
    /// Starts to play. References must outlive the player. @errors kIo, kMalformed: the folder of
    /// claims.
    static Result<std::unique_ptr<CoordinatorPlayer>> open(const CoordinatorFile& file,
                                                           const contracts::Deployment& deployment,
                                                           chain::ChainClient& client,
                                                           chain::TxManager& transactions,
                                                           const blob::BlobStore& blobs,
                                                           db::Database& database);

    [[nodiscard]] player::ClaimStore& claims() { return *claims_; }

  private:
    CoordinatorPlayer() = default;

    std::unique_ptr<player::ClaimStore> claims_;
    std::unique_ptr<player::UnitSource> units_;
    std::unique_ptr<player::DataSource> data_;
    std::optional<player::PlayerThread> thread_;  ///< the first to end
};

/// Says at the start what the coordinator could not do when it matters: it plays no games, has
/// nothing at stake, or no bond for the games that it opens.
void warn_about_disputes(const CoordinatorFile& file, const contracts::Deployment& deployment,
                         chain::ChainClient& client, const Address& self);

}  // namespace gym::app
