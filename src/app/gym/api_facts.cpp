#include "api_facts.hpp"

#include <boost/json.hpp>

#include "api_json.hpp"
#include "api_request.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;
using namespace api_json;
using rewards::CreditState;
using rewards::JobFacts;
using rewards::UnitFacts;

constexpr int kUnitsOfARoundMax = 1000;  // the API's largest page; a round has fewer slots

UnitFacts unit_of(const json::object& object) {
    UnitFacts unit;
    unit.id = fixed_of<Digest>(object, "id");
    unit.is_train = text_of(object, "kind") == "train";
    unit.state = take(protocol::parse_unit_state(text_of(object, "state")));
    unit.worker = fixed_of<Address>(object, "worker");
    unit.owner = fixed_of<Address>(object, "owner");
    unit.flops = number_of(object, "flops");
    unit.tokens = number_of(object, "tokens");
    if (object.at("reason_code").is_string()) unit.reason_code = text_of(object, "reason_code");
    return unit;
}

JobFacts job_of(const json::object& object) {
    JobFacts job;
    job.owner = fixed_of<Address>(object, "owner");
    job.price_wei_per_pflop = amount_of(object, "price_wei_per_pflop");
    if (object.at("artifacts").is_object())
        job.flops_per_unit = number_of(object.at("artifacts").as_object(), "flops_per_step") *
                             number_of(object, "steps_per_round");
    return job;
}

class ApiFacts final : public rewards::FactSource {
  public:
    explicit ApiFacts(std::string url) : url_(std::move(url)) {}

    Result<JobFacts> job(const Digest& id) override {
        GYM_TRY(const json::value answer, api_get(url_, "/v1/jobs/" + id.hex()));
        GYM_TRY(const std::string root,
                read_answer("job", [&] { return text_of(answer.as_object(), "dataset_root"); }));
        const auto dataset = api_get(url_, "/v1/datasets/" + root);
        if (!dataset.ok() && dataset.error().code != ErrorCode::kNotFound) return dataset.error();
        return read_answer("job", [&] {
            JobFacts job = job_of(answer.as_object());
            if (dataset.ok()) read_data(dataset->as_object(), job);
            // The terms of the job, where it keeps those of its submission.
            read_terms(answer.as_object(), job);
            return job;
        });
    }
    Result<std::vector<UnitFacts>> units(const Digest& job_id, std::uint64_t round) override {
        GYM_TRY(const json::value answer,
                api_get(url_, "/v1/units?job=" + job_id.hex() + "&round=" + std::to_string(round) +
                                  "&limit=" + std::to_string(kUnitsOfARoundMax)));
        return read_answer("units", [&] {
            std::vector<UnitFacts> units;
            for (const json::value& value : answer.as_object().at("units").as_array())
                units.push_back(unit_of(value.as_object()));
            return units;
        });
    }
    Result<std::vector<Address>> accepted_reports(const Digest& unit) override {
        GYM_TRY(const json::value answer, api_get(url_, "/v1/units/" + unit.hex()));
        return read_answer("unit", [&] {
            std::vector<Address> verifiers;
            for (const json::value& value : answer.as_object().at("reports").as_array())
                if (value.as_object().at("accepted").as_bool())
                    verifiers.push_back(fixed_of<Address>(value.as_object(), "verifier"));
            return verifiers;
        });
    }
    Result<std::optional<CreditState>> waiting_credit(const Digest& unit) override {
        const auto answer = api_get(url_, "/v1/receipts/" + unit.hex());
        if (!answer.ok() && answer.error().code == ErrorCode::kNotFound)
            return std::optional<CreditState>();
        GYM_CHECK(answer);
        return read_answer("receipt", [&] {
            // One that is posted has to be in the file of its round.
            const json::object& receipt = answer->as_object();
            const auto state = take(rewards::parse_credit_state(text_of(receipt, "state")));
            const bool waits =
                state == CreditState::kUnfunded ||
                (state == CreditState::kPosted && receipt.at("payout_epoch").is_null());
            return waits ? std::optional(state) : std::nullopt;
        });
    }

  private:
    static void read_data(const json::object& dataset, JobFacts& job) {
        job.data_owner = fixed_of<Address>(dataset, "owner");
        job.data_price_wei_per_mtoken = amount_of(dataset, "price_wei_per_mtoken");
        job.data_quality_ppm = static_cast<std::uint32_t>(number_of(dataset, "quality_ppm"));
    }
    static void read_terms(const json::object& object, JobFacts& job) {
        if (!object.contains("data_price_wei_per_mtoken")) return;
        job.data_price_wei_per_mtoken = amount_of(object, "data_price_wei_per_mtoken");
        job.data_quality_ppm = static_cast<std::uint32_t>(number_of(object, "data_quality_ppm"));
    }

    const std::string url_;
};

}  // namespace

std::unique_ptr<rewards::FactSource> make_api_facts(std::string api_url) {
    return std::make_unique<ApiFacts>(std::move(api_url));
}

}  // namespace gym::app
