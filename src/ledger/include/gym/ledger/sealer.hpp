#pragma once

#include <memory>
#include <optional>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/seal.hpp"

namespace gym::ledger {

/// The newest seal, if there is one.
[[nodiscard]] Result<std::optional<SealHead>> seal_head(db::Transaction& transaction);

struct SealerOptions {
    std::size_t transfers_max = kSealTransfersMax;  ///< of one seal
    std::size_t page = 8'192;                       ///< transfers of one read
};

/// Writes seals; needs a role that may (gym_rewards). Sealed transfers are settled: no running
/// transaction can add a transfer below them. Several sealers over one database are safe: one of
/// them wins. Not thread-safe.
class Sealer {
  public:
    /// References must outlive it.
    Sealer(db::Database& database, const Clock& clock, const crypto::PrivateKey& key,
           SealerOptions options = {});
    ~Sealer();

    /// Writes at most one seal, over the transfers that have settled since the last one. While
    /// others write, a transfer settles at the second call after its commit, else at the first.
    /// @errors kConflict if another sealer was faster or wrote something else: call again.
    /// kMismatch if an account that was sealed under one name has another now.
    Result<std::optional<Seal>> tick();

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::ledger
