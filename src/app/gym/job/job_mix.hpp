#pragma once

#include "cli/network_options.hpp"
#include "gym/common/result.hpp"
#include "job/job_request.hpp"

namespace gym::app {

/// Puts a token file in the place of a job file's `data`, a list of datasets and weights: fetches
/// the registered ones, mixes all of them (data::mix) and names the file as `dataset`. Files that
/// were fetched or made before are used again. Does nothing to a job file without `data`. Says on
/// standard error what the mix is of, unless `quiet`.
/// @errors kInvalidArgument for the list, or for shares that cannot be met; kPermissionDenied for a
/// dataset with a price, which only its owner can download; those of pull_dataset() and mix().
Status resolve_mix(const ApiOptions& api, JobText& job, bool quiet);

}  // namespace gym::app
