#pragma once

#include "gym/client/api_client.hpp"
#include "gym/common/result.hpp"
#include "gym/program/program.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/model_names.hpp"

/// Whether weights that a network has fit a model, without downloading them: a comparison with the
/// program that trained them. gym-api compares the weights themselves when a job is submitted.
namespace gym::owner {

/// @param api with the key of someone who may download the model. @param weights of a job.
/// @errors engine::check_layout()'s, naming every tensor; kNotFound for a round without weights;
/// kUnauthenticated; kMismatch for another program than the one that gym-api names.
[[nodiscard]] Status check_job_weights(const client::ApiClient& api,
                                       const registry::InitialWeights& weights,
                                       const program::Program& program);

/// The same of a registered model. @errors without kNotFound.
[[nodiscard]] Status check_named_weights(const client::ApiClient& api,
                                         const registry::ModelVersion& model,
                                         const program::Program& program);

}  // namespace gym::owner
