#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "coordinator_config.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/deploy.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/player/player.hpp"

namespace gym::app {

/// The coordinator's two sides of disputes: it stands by its aggregates, and has the stake of
/// workers taken that signed two commitments for one unit. Runs in the thread of the jobs, because
/// both send with one key: one transaction manager gives out its nonces.
class CoordinatorPlayer {
  public:
    /// References must outlive the player. @errors kIo, kMalformed: the folder of claims.
    static Result<std::unique_ptr<CoordinatorPlayer>> open(const CoordinatorFile& file,
                                                           const chain::Deployment& deployment,
                                                           chain::ChainClient& client,
                                                           chain::TxManager& transactions,
                                                           const blob::BlobStore& blobs);

    [[nodiscard]] player::ClaimStore& claims() { return *claims_; }
    /// Does what is due, at most twice a second. What fails is logged once and tried again.
    void tick();

  private:
    CoordinatorPlayer() = default;
    void say(const Status& done);

    std::unique_ptr<player::ClaimStore> claims_;
    std::unique_ptr<player::UnitSource> units_;
    std::unique_ptr<player::Player> defender_, challenger_;
    std::chrono::steady_clock::time_point next_;
    std::string failing_;
};

/// Says at the start what the coordinator could not do when it matters: it plays no games, has
/// nothing at stake, or no bond for the games that it opens.
void warn_about_disputes(const CoordinatorFile& file, const chain::Deployment& deployment,
                         chain::ChainClient& client, const Address& self);

}  // namespace gym::app
