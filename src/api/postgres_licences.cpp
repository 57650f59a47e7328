// What licences let others do with data.
#include <string>

#include "postgres_calls.hpp"

namespace gym::api::calls {
namespace {

/// Others than its owner may train on a dataset as far as its licence permits the job's use.
/// @param dataset a registry::Dataset without parts, or a part of a mix.
template <class Text>
Status check_licence(const Text& dataset, const Address& submitter, licence::Use use) {
    if (dataset.owner == submitter) return {};
    const std::string why = licence::forbidden(dataset.licence, use);
    if (why.empty()) return {};
    const bool other_use =
        use == licence::Use::kCommercial &&
        licence::forbidden(dataset.licence, licence::Use::kNonCommercial).empty();
    return fail(ErrorCode::kPermissionDenied,
                "dataset " + dataset.root.hex() + " (" + dataset.name + ") is under " +
                    dataset.licence + ", and " + why + ": only its owner, " + dataset.owner.hex() +
                    ", can submit this job" +
                    (other_use ? "; for a job that is not commercial, write 'use: non-commercial' "
                                 "in the job file or pass --use non-commercial"
                               : "; choose other data (`gym data list`)"));
}

}  // namespace

Status check_data_licence(const registry::Dataset& dataset, const Address& submitter,
                          licence::Use use) {
    if (dataset.parts.empty()) return check_licence(dataset, submitter, use);
    for (const registry::DatasetPart& part : dataset.parts)
        GYM_CHECK(check_licence(part, submitter, use));
    return {};
}

}  // namespace gym::api::calls
