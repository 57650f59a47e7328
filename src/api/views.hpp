#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <string>

#include "gym/api/backend.hpp"

/// The JSON of the answers. Amounts are decimal strings of base units, hashes and addresses 0x...
/// strings, times Unix milliseconds; what is not known yet is null. openapi_schemas.cpp describes
/// the same.
namespace gym::api {

[[nodiscard]] boost::json::object to_json(const AccountView& view);
[[nodiscard]] boost::json::object to_json(const registry::Node& node, bool live);
// Of a job, its name is for those who may see its model; lists of allowed accounts are for owners.
[[nodiscard]] boost::json::object to_json(const registry::Job& job, const registry::Viewer& viewer);
[[nodiscard]] boost::json::object to_json(const JobView& view, const registry::Viewer& viewer);
[[nodiscard]] boost::json::object to_json(const JobBill& bill);
[[nodiscard]] boost::json::object to_json(const registry::Unit& unit);
[[nodiscard]] boost::json::object to_json(const UnitView& view);
[[nodiscard]] boost::json::object to_json(const registry::Dataset& dataset,
                                          const registry::Viewer& viewer);
[[nodiscard]] boost::json::object to_json(const MixProgress& mix, const registry::Viewer& viewer);
[[nodiscard]] boost::json::object to_json(const registry::DatasetTokenizer& tokenizer);
[[nodiscard]] boost::json::object to_json(const registry::DatasetManifest& manifest);
[[nodiscard]] boost::json::object to_json(const registry::DatasetVersion& version);
[[nodiscard]] boost::json::object to_json(const registry::ModelVersion& version,
                                          const registry::Viewer& viewer);
[[nodiscard]] boost::json::object to_json(const registry::Evaluation& evaluation);
[[nodiscard]] boost::json::object to_json(const rewards::Receipt& receipt);
[[nodiscard]] boost::json::object to_json(const rewards::PayoutEpoch& epoch);
[[nodiscard]] boost::json::object to_json(const Address& earner, const rewards::ClaimProof& proof,
                                          const Network& network);
[[nodiscard]] boost::json::object to_json(const Network& network);
[[nodiscard]] boost::json::object to_json(const RoundView& view);
[[nodiscard]] boost::json::object to_json(const registry::PublishedCommitment& published);
[[nodiscard]] boost::json::object to_json(const registry::PublishedReport& published);
[[nodiscard]] boost::json::object to_json(const registry::Prefix& prefix);
[[nodiscard]] boost::json::object to_json(const protocol::PublishedChallenge& published);
[[nodiscard]] boost::json::object to_json(const NetworkTerms& terms);
[[nodiscard]] boost::json::object to_json(const Market& market);
[[nodiscard]] boost::json::object to_json(const StatementLine& line);
[[nodiscard]] boost::json::object to_json(const Upload& upload);

/// Explains in one sentence why a job waits. An ended job waits until the rest of its budget has
/// returned. Empty when status_reason says it.
[[nodiscard]] std::string waiting_for(const JobView& view);

template <class T, class... Viewer>
[[nodiscard]] boost::json::array to_json_list(const std::vector<T>& items,
                                              const Viewer&... viewer) {
    boost::json::array out;
    for (const T& item : items)
        out.push_back(to_json(item, viewer...));
    return out;
}

}  // namespace gym::api
