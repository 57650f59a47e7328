#pragma once

#include <boost/json/object.hpp>

#include "gym/client/records.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/registry/dataset_names.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/evaluations.hpp"
#include "gym/registry/model_names.hpp"
#include "gym/registry/prefixes.hpp"
#include "gym/registry/published.hpp"
#include "gym/registry/service_health.hpp"

/// From the JSON of answers to records. Each throws as gym::json_fields does.
namespace gym::client {

[[nodiscard]] Account read_account(const boost::json::object& object);
[[nodiscard]] Transfer read_transfer(const boost::json::object& object);
[[nodiscard]] rewards::Receipt read_receipt(const boost::json::object& object);
[[nodiscard]] ClaimProof read_claim_proof(const boost::json::object& object);
[[nodiscard]] Job read_job(const boost::json::object& object);
[[nodiscard]] JobDetail read_job_detail(const boost::json::object& object);
[[nodiscard]] JobBill read_bill(const boost::json::object& object);
[[nodiscard]] JobModel read_model(const boost::json::object& object);
[[nodiscard]] Upload read_upload(const boost::json::object& object);
/// Of a service that works.
[[nodiscard]] registry::ServiceHealth read_service_health(const boost::json::object& object);
[[nodiscard]] Market read_market(const boost::json::object& object);
[[nodiscard]] NetworkFee read_fee(const boost::json::object& object);
[[nodiscard]] Node read_node(const boost::json::object& object);
[[nodiscard]] Network read_network(const boost::json::object& object);
[[nodiscard]] Mix read_mix(const boost::json::object& object);
[[nodiscard]] registry::Dataset read_dataset(const boost::json::object& object);
[[nodiscard]] registry::DatasetVersion read_dataset_version(const boost::json::object& object);
[[nodiscard]] registry::ModelVersion read_model_version(const boost::json::object& object);
[[nodiscard]] registry::Evaluation read_evaluation(const boost::json::object& object);
[[nodiscard]] registry::Unit read_unit(const boost::json::object& object);
[[nodiscard]] UnitReport read_unit_report(const boost::json::object& object);
[[nodiscard]] PublishedRound read_round(const boost::json::object& object);
[[nodiscard]] registry::PublishedReport read_published_report(const boost::json::object& object);
[[nodiscard]] registry::Prefix read_prefix(const boost::json::object& object);
[[nodiscard]] protocol::PublishedChallenge read_challenge(const boost::json::object& object);
[[nodiscard]] Bytes read_bytes(const boost::json::object& object, std::string_view key);

/// A reader of answers that keeps what was sent.
template <class Read>
auto with_json(Read read) {
    return [read](const boost::json::object& object) {
        return Answer<decltype(read(object))>{read(object), object};
    };
}

}  // namespace gym::client
