#pragma once

#include <span>

#include "context.hpp"
#include "gym/records/task.hpp"

namespace gym::coordinator {

/// What each of these nodes is to do now, read together. @param computed units of theirs that they
/// are done with, though not committed yet. @errors of a node: kNotFound (not registered),
/// kPermissionDenied (excluded, with the reason).
std::vector<Result<std::optional<records::Task>>> next_tasks(const Context& context,
                                                             std::span<const Address> nodes,
                                                             std::span<const Digest> computed = {});
/// The same for one node of this role. @errors kPermissionDenied for another role, too.
Result<std::optional<records::Task>> next_task(const Context& context, const Address& node,
                                               records::NodeRole role);

}  // namespace gym::coordinator
