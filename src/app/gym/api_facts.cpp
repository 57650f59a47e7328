#include "api_facts.hpp"

#include <boost/json.hpp>

#include "api_request.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;
using rewards::JobFacts;
using rewards::UnitFacts;

constexpr int kUnitsOfARoundMax = 1000;  // the API's largest page; a round has fewer slots

// Reading: every accessor throws std::exception, which read() catches.
template <class T>
T take(Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.error().message);
    return std::move(result).value();
}
std::string text_of(const json::object& object, std::string_view key) {
    return std::string(object.at(key).as_string());
}
std::uint64_t number_of(const json::object& object, std::string_view key) {
    return object.at(key).to_number<std::uint64_t>();
}
Address address_of(const json::object& object, std::string_view key) {
    return take(Address::parse(text_of(object, key)));
}

UnitFacts unit_of(const json::object& object) {
    UnitFacts unit;
    unit.id = take(Digest::parse(text_of(object, "id")));
    unit.is_train = text_of(object, "kind") == "train";
    unit.state = text_of(object, "state");
    unit.worker = address_of(object, "worker");
    unit.owner = address_of(object, "owner");
    unit.flops = number_of(object, "flops");
    unit.tokens = number_of(object, "tokens");
    return unit;
}

JobFacts job_of(const json::object& object) {
    JobFacts job;
    job.owner = address_of(object, "owner");
    job.price_wei_per_pflop = take(Amount::parse(text_of(object, "price_wei_per_pflop")));
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
        GYM_TRY(const json::value datasets, api_get(url_, "/v1/datasets"));
        return read("job", [&] {
            JobFacts job = job_of(answer.as_object());
            const std::string root = text_of(answer.as_object(), "dataset_root");
            for (const json::value& value : datasets.as_object().at("datasets").as_array())
                if (text_of(value.as_object(), "root") == root) read_data(value.as_object(), job);
            // The terms of the job, where it keeps those of its submission.
            read_terms(answer.as_object(), job);
            return job;
        });
    }
    Result<std::vector<UnitFacts>> units(const Digest& job_id, std::uint64_t round) override {
        GYM_TRY(const json::value answer,
                api_get(url_, "/v1/units?job=" + job_id.hex() + "&round=" + std::to_string(round) +
                                  "&limit=" + std::to_string(kUnitsOfARoundMax)));
        return read("units", [&] {
            std::vector<UnitFacts> units;
            for (const json::value& value : answer.as_object().at("units").as_array())
                units.push_back(unit_of(value.as_object()));
            return units;
        });
    }
    Result<std::vector<Address>> accepted_reports(const Digest& unit) override {
        GYM_TRY(const json::value answer, api_get(url_, "/v1/units/" + unit.hex()));
        return read("unit", [&] {
            std::vector<Address> verifiers;
            for (const json::value& value : answer.as_object().at("reports").as_array())
                if (value.as_object().at("accepted").as_bool())
                    verifiers.push_back(address_of(value.as_object(), "verifier"));
            return verifiers;
        });
    }
    Result<std::optional<std::string>> unpaid_because(const Digest& unit) override {
        const auto answer = api_get(url_, "/v1/receipts/" + unit.hex());
        if (!answer.ok() && answer.error().code == ErrorCode::kNotFound)
            return std::optional<std::string>();
        GYM_CHECK(answer);
        return read("receipt", [&] {
            // One that is posted has to be in the file of its round.
            const json::object& receipt = answer->as_object();
            const bool waits =
                text_of(receipt, "state") == "unfunded" ||
                (text_of(receipt, "state") == "posted" && receipt.at("payout_epoch").is_null());
            return waits ? std::optional(text_of(receipt, "state")) : std::nullopt;
        });
    }

  private:
    template <class F>
    static auto read(const char* what, F&& body) -> Result<decltype(body())> {
        try {
            return body();
        } catch (const std::exception& error) {
            return fail(ErrorCode::kMalformed, std::string("gym-api's answer about a ") + what +
                                                   " has another form: " + error.what());
        }
    }
    static void read_data(const json::object& dataset, JobFacts& job) {
        job.data_owner = address_of(dataset, "owner");
        job.data_price_wei_per_mtoken =
            take(Amount::parse(text_of(dataset, "price_wei_per_mtoken")));
        job.data_quality_ppm = static_cast<std::uint32_t>(number_of(dataset, "quality_ppm"));
    }
    static void read_terms(const json::object& object, JobFacts& job) {
        if (!object.contains("data_price_wei_per_mtoken")) return;
        job.data_price_wei_per_mtoken =
            take(Amount::parse(text_of(object, "data_price_wei_per_mtoken")));
        job.data_quality_ppm = static_cast<std::uint32_t>(number_of(object, "data_quality_ppm"));
    }

    const std::string url_;
};

}  // namespace

std::unique_ptr<rewards::FactSource> make_api_facts(std::string api_url) {
    return std::make_unique<ApiFacts>(std::move(api_url));
}

}  // namespace gym::app
