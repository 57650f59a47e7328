#pragma once

#include <span>

#include "context.hpp"
#include "gym/records/node.hpp"

namespace gym::coordinator {

/// The answers to heartbeats, in their order, and the nodes that are still to be marked as seen.
struct BeatAnswers {
    std::vector<Result<records::HeartbeatAnswer>> answers;
    std::vector<registry::Sighting> unmarked;
};
/// Takes heartbeats that arrived together, in one transaction of a fixed number of statements.
/// @param unmarked what earlier calls returned.
BeatAnswers heartbeats(const Context& context, std::span<const Beat> beats,
                       std::vector<registry::Sighting> unmarked);
/// Takes one, and waits until its node is marked.
Result<records::HeartbeatAnswer> heartbeat(const Context& context, const Beat& beat);

}  // namespace gym::coordinator
