#pragma once

#include <string>

#include "gym/chain/client.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/deployment.hpp"

namespace gym::owner {

/// Roots that were computed from downloaded bytes.
struct ModelRoots {
    Digest program;
    Digest state;  ///< of the parameters after the round
};

/// Compares a job's model after `round` with the chain, which knows the hash of each round's
/// record. The record of the next round names the state that it begins from; before there is one,
/// the coordinator's signed result of the round itself names it, and a round without any result
/// leaves its own base. Records and signatures come from gym-api, hashes and roles from the chain.
/// @return a sentence: what was compared, and with what.
/// @errors kMismatch, with both sides: the model, a record or a signature is another one; kNotFound
/// if nothing on chain names the state; those of gym-api and of the chain.
[[nodiscard]] Result<std::string> check_on_chain(const client::ApiClient& api,
                                                 chain::ChainClient& chain,
                                                 const contracts::Deployment& deployment,
                                                 const client::JobModel& model,
                                                 const ModelRoots& roots);

}  // namespace gym::owner
