#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/protocol/unit_fit.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/registry/worker_memory.hpp"

/// How jobs share the network's workers: pure functions. A round of fewer workers than slots trains
/// fewer tokens than its owner asked for, so it waits until the workers that are busy are free,
/// jobs taking turns in the order in which they began to wait. No wait outlasts `patience_ms`.
namespace gym::coordinator {

/// A job whose next round could begin.
struct Turn {
    Digest job;
    UnixMs since_ms = 0;           ///< that it waits
    std::int64_t patience_ms = 0;  ///< afterwards its round begins with the workers that are free
    std::uint64_t slots = 1;
    std::uint64_t workers_min = 1;
    registry::WorkerMemory memory;  ///< that a unit takes
    protocol::UnitLength least;     ///< the shortest unit that it gives
    std::set<Address> barred;       ///< workers that get no unit of it now

    [[nodiscard]] bool is_patient(UnixMs now_ms) const { return now_ms < since_ms + patience_ms; }
    [[nodiscard]] bool is_before(const Turn& other) const {
        return since_ms != other.since_ms ? since_ms < other.since_ms : job < other.job;
    }
};

/// A live worker that may get units, now or once the one that it works on is done.
struct Candidate {
    registry::Node node;
    bool free = true;
};

/// Whether the job gives the node units at all, and one of them fits into the memory that the node
/// lends and is done before its deadline by the node's own benchmark, where these are known.
[[nodiscard]] bool is_able(const registry::Node& node, const Turn& turn);

/// The free workers of which the job's round may take its slots; empty while it waits. Left to the
/// jobs of `others` that came before it, as long as these are patient, are as many as they have
/// slots, if there are enough for their `workers_min`. More than `turn.slots` may be returned.
/// @param others may name the job itself, which is ignored.
[[nodiscard]] std::vector<registry::Node> workers_of_turn(const Turn& turn,
                                                          std::span<const Turn> others,
                                                          std::vector<Candidate> workers,
                                                          UnixMs now_ms);

}  // namespace gym::coordinator
