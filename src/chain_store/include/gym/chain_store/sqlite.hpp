#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "gym/chain/follower_store.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/common/result.hpp"

namespace gym::chain_store {

/// The chain memory of a node or of the command line: one SQLite file, mode 0600, durable
/// (write-ahead log, synchronous). Several processes may open it. Thread-safe.
class SqliteChainStore {
  public:
    /// Opens or creates the file; ":memory:" for tests. @errors kIo, kMalformed when it is another
    /// database, kConflict when a newer program wrote it.
    static Result<std::unique_ptr<SqliteChainStore>> open(const std::filesystem::path& path);
    ~SqliteChainStore();
    SqliteChainStore(const SqliteChainStore&) = delete;
    SqliteChainStore& operator=(const SqliteChainStore&) = delete;

    /// The intents of `sender` on `chain_id`. Must not outlive this object.
    [[nodiscard]] std::unique_ptr<chain::IntentStore> intents(std::uint64_t chain_id,
                                                              const Address& sender);
    /// The memory of the follower `name` on `chain_id`. Must not outlive this object. @errors kIo.
    [[nodiscard]] Result<std::unique_ptr<chain::FollowerStore>> follower(const std::string& name,
                                                                         std::uint64_t chain_id);

  private:
    class Impl;
    explicit SqliteChainStore(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::chain_store
