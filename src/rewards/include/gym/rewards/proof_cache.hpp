#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "gym/rewards/payout_tree.hpp"
#include "gym/rewards/queries.hpp"

namespace gym::rewards {

/// The payout tree of the root that pays now, made once: a tree of a million earners takes a
/// second, a proof from it microseconds. Holds one tree (about 120 bytes an earner), and the one
/// before while somebody still reads it. Thread-safe: who asks while it is made waits for it.
class PayoutTreeCache {
  public:
    /// Reads the epoch's file (epoch_file()); called only if the tree is not there.
    using LoadFile = std::function<Result<std::string>(std::uint64_t epoch)>;

    /// @errors as `load` and parse_epoch_file; kMismatch if the file does not give the root.
    [[nodiscard]] Result<std::shared_ptr<const PayoutTree>> tree(const ActiveRoot& root,
                                                                 const LoadFile& load);

  private:
    std::mutex mutex_;
    std::uint64_t epoch_ = 0;
    std::shared_ptr<const PayoutTree> tree_;
};

}  // namespace gym::rewards
