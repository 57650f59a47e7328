#pragma once

#include "cli/cli_context.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/result.hpp"
#include "job/job_file.hpp"

namespace gym::app {

/// Puts the root of its weights in the place of a registered model's name: its next version changes
/// nothing in the job. What is on disk comes first. Warns where only an API key can tell whether
/// the weights fit the model. @errors kNotFound for a name without a model that the owner may see;
/// those of ApiClient::model_version() and owner::check_named_weights().
Status resolve_named_init(const client::ApiClient& api, ResolvedJob& job);

/// That weights on disk can be read and fit the model, and those of a job, too, as resolve_init()
/// will find. Warns of a job's weights without an API key or without an answer. @errors those of
/// interchange::load_weights(), find_init_job() and owner::check_job_weights().
Status check_init(const client::ApiClient& api, bool has_key, ResolvedJob& job);

/// That a folder of weights and the job's dataset have one tokenizer, where both name theirs.
/// @errors kMismatch naming both; those of data_price().
Status check_init_tokenizer(const client::ApiClient& api, const ResolvedJob& job);

/// Puts weights that the network has in the place of the job file's `init`: completes a job's id,
/// looks up a model's name (what is on disk comes first), or reads weights from disk
/// (interchange::load_weights) and uploads them as a state, with progress on standard error. A call
/// after an interruption continues the upload.
/// @errors those of load_weights(), ApiClient::upload_blob() and owner::check_job_weights();
/// kNotFound for a job or a model that does not exist.
Status resolve_init(const client::ApiClient& api, ResolvedJob& job);

}  // namespace gym::app
