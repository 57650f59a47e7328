#pragma once

#include <utility>

#include "gym/common/file_lock.hpp"
#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"

namespace gym::node {

/// One node process per data directory and per key, so that no two can sign for one identity. The
/// kernel drops the locks with the process, however it ends. `register` for a CPU,
/// `status` and `doctor` do not need them.
class NodeLock {
  public:
    /// @errors kConflict naming the process that holds one of them; kIo, also without a key.
    static Result<NodeLock> acquire(const NodeConfig& config);
    /// Whether a node works in the data directory at this moment.
    [[nodiscard]] static bool held(const NodeConfig& config);

  private:
    NodeLock(FileLock folder, FileLock key) : folder_(std::move(folder)), key_(std::move(key)) {}
    FileLock folder_;
    FileLock key_;
};

}  // namespace gym::node
