#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/unit.hpp"
#include "gym/node/delta_loader.hpp"
#include "gym/node/unit_inputs.hpp"
#include "gym/protocol/report.hpp"
#include "gym/records/task.hpp"

namespace gym::verifier {

/// Result of running a unit again.
struct Reexecution {
    protocol::UnitRoots roots;
    std::vector<engine::StepRecord> records;
    Digest trace;  ///< protocol::trace_at() at this verifier's own positions
};

struct ReexecutionOptions {
    engine::EngineOptions engine;
    std::function<void(const engine::UnitProgress&)> progress;
    std::stop_token stop;
};

/// Whether the task is what it says: record, commitment, its signature and its committer belong
/// together; that of an aggregate names the dataset, and its deltas are of workers' slots, each
/// once and ascending; that of an evaluation is of the state that its round ended in. A fault here
/// is the coordinator's. @errors kMismatch, kUnauthenticated, and
/// those of the protocol.
Status check_task(const crypto::Eip712Domain& domain, const records::VerifyTask& task);

/// Computes the unit of `task` from its public inputs alone. `challenge` is this verifier's
/// signature on the beacon, which decides the traced positions.
/// @param deltas of aggregates; afterwards it names those that their units do not give.
/// @errors kMismatch when an input is not what the round record fixes; kCancelled; those of the
/// engine and of DeltaLoader.
[[nodiscard]] Result<Reexecution> reexecute(node::InputLoader& loader, node::DeltaLoader& deltas,
                                            const records::VerifyTask& task,
                                            const crypto::Signature& challenge,
                                            const ReexecutionOptions& options);

}  // namespace gym::verifier
