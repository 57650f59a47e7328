#pragma once

#include <set>
#include <string>

#include "cli/network_options.hpp"
#include "gym/common/result.hpp"
#include "job/job_request.hpp"

namespace gym::app {

/// What a mix is made of.
struct MixedFrom {
    std::set<std::string> licences;  ///< of its registered parts; empty: there is no mix
    bool has_files = false;          ///< some parts are the owner's own files
};

/// Puts a token file in the place of a job file's `data`, a list of datasets and weights: fetches
/// the registered ones, mixes all of them (data::mix) and names the file as `dataset`. Files that
/// were fetched or made before are used again. Does nothing to a job file without `data`. Says on
/// standard error what the mix is of, unless `quiet`.
/// @errors kConflict for a registered dataset whose licence forbids the job's use (the owner of one
/// names its file instead); kInvalidArgument for the list, or for shares that cannot be met;
/// kPermissionDenied for a dataset with a price, which only its owner can download; those of
/// pull_dataset() and mix().
Result<MixedFrom> resolve_mix(const ApiOptions& api, JobText& job, bool quiet);

}  // namespace gym::app
