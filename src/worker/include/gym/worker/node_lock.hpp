#pragma once

#include <filesystem>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/worker/node_config.hpp"

namespace gym::worker {

/// One node process per data directory and per key, so that no two can sign for one identity. The
/// kernel drops the locks with the process, however it ends. `register`, `status` and `doctor` do
/// not need them.
class NodeLock {
  public:
    /// @errors kConflict naming the process that holds one of them; kIo; kNotFound without a key.
    static Result<NodeLock> acquire(const NodeConfig& config);
    NodeLock(NodeLock&& other) noexcept : files_(std::move(other.files_)) { other.files_.clear(); }
    NodeLock& operator=(NodeLock&&) = delete;
    ~NodeLock();

  private:
    NodeLock() = default;
    std::vector<int> files_;
};

}  // namespace gym::worker
