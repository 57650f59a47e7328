#pragma once

#include "gym/common/result.hpp"
#include "gym/program/program.hpp"
#include "gym/records/task.hpp"
#include "gym/rpc/blob_cache.hpp"

namespace gym::node {

/// Makes the blob of a unit's base state out of an earlier one in the store and the updates since
/// (UnitInputs::base_steps), which are fetched. Nothing is trusted: what comes out has the blob's
/// root or is not kept. Of the updates none stays that was not there before.
/// @param train the job's program, which has an update.
/// @return how many updates it took; 0: the base state is there already, or no earlier one is, or
/// the updates since are more bytes than the base state.
/// @errors kMismatch: the updates do not make this base state; those of BlobCache::fetch() and
/// engine::Delta::decode().
[[nodiscard]] Result<std::size_t> updated_base(rpc::BlobCache& cache, const program::Program& train,
                                               const records::UnitInputs& inputs,
                                               const rpc::BlobCache::Progress& progress);

}  // namespace gym::node
