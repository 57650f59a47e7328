#pragma once

#include <memory>
#include <set>
#include <string>

#include "cli/network_options.hpp"
#include "gym/common/result.hpp"
#include "gym/common/temporary_folder.hpp"
#include "job/job_request.hpp"

namespace gym::app {

/// What a mix is made of.
struct MixedFrom {
    std::set<std::string> licences;  ///< of its registered parts; empty: there is no mix
    bool has_files = false;          ///< some parts are the owner's own files
    /// Where parts lie that are not public, and what was mixed of them: goes away with the job.
    std::shared_ptr<const TemporaryFolder> hidden = {};
};

struct MixRules {
    bool quiet = false;    ///< says nothing on standard error
    bool submits = false;  ///< may register the owner's files
    std::string licence;   ///< of these
};

/// Puts one dataset in the place of a job file's `data`, a list of datasets and weights. Does
/// nothing to a job file without `data`. Says on standard error what the mix is of.
/// - With registered datasets in the list, gym-api makes the mix and its parts' providers are paid
///   (ApiClient::make_mix). Files beside them are registered first, privately and for nothing,
///   if the job is submitted. A quote does not register them: it mixes here, with what may be
///   downloaded.
/// - Of files alone the mix is made here (data::mix) and its token file named; files that were made
///   before are used again. Parts that are not public, and their mix, are kept in a temporary
///   folder.
/// @errors kConflict for a registered dataset whose licence forbids the job's use;
/// kInvalidArgument for the list, for shares that cannot be met, or for a file to register without
/// a licence; kPermissionDenied for a quote of a file beside a dataset with a price; those of
/// make_mix(), register_dataset(), pull_dataset() and mix().
Result<MixedFrom> resolve_mix(const ApiOptions& api, JobText& job, const MixRules& rules);

}  // namespace gym::app
