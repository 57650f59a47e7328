#include "cli/api_facts.hpp"

#include "gym/client/api_client.hpp"

namespace gym::app {
namespace {

using rewards::CreditState;
using rewards::JobFacts;
using rewards::UnitFacts;

UnitFacts facts_of(const registry::Unit& unit) {
    UnitFacts out;
    out.id = unit.id;
    out.is_train = unit.kind == protocol::UnitKind::kTrain;
    out.state = unit.status.state;
    out.worker = unit.worker;
    out.owner = unit.owner;
    out.flops = unit.flops;
    out.tokens = unit.tokens;
    out.reason_code = unit.reason_code;
    return out;
}

class ApiFacts final : public rewards::FactSource {
  public:
    explicit ApiFacts(client::ApiClient api) : api_(std::move(api)) {}

    Result<JobFacts> job(const Digest& id) override {
        GYM_TRY(const auto job, api_.job(id));
        JobFacts out;
        out.owner = job->owner;
        out.price_wei_per_pflop = job->price_wei_per_pflop;
        out.flops_per_step = job->flops_per_step.value_or(0);
        out.steps_per_unit = job->steps_per_round;
        out.data_owner = job->data_owner;
        // The job keeps the terms of its submission.
        out.data_price_wei_per_mtoken = job->data_price_wei_per_mtoken;
        out.data_quality_ppm = job->data_quality_ppm;
        out.data_parts.reserve(job->data_parts.size());
        for (const registry::JobDataPart& part : job->data_parts)
            out.data_parts.push_back({part.dataset, part.owner, part.part_tokens,
                                      part.price_wei_per_mtoken, part.quality_ppm});
        out.orders = job->orders;
        return out;
    }
    Result<std::vector<UnitFacts>> units(const Digest& job_id, std::uint64_t round) override {
        GYM_TRY(const auto units, api_.units(job_id, round));
        std::vector<UnitFacts> out;
        out.reserve(units.size());
        for (const registry::Unit& unit : units)
            out.push_back(facts_of(unit));
        return out;
    }
    Result<std::vector<Address>> accepted_reports(const Digest& unit) override {
        GYM_TRY(const auto reports, api_.unit_reports(unit));
        std::vector<Address> verifiers;
        for (const client::UnitReport& report : reports)
            if (report.accepted) verifiers.push_back(report.verifier);
        return verifiers;
    }
    Result<std::vector<registry::Prefix>> prefixes(const Digest& job_id,
                                                   std::uint64_t round) override {
        return api_.prefixes(job_id, round);
    }
    Result<std::optional<CreditState>> waiting_credit(const Digest& unit) override {
        const auto receipt = api_.receipt(unit.hex());
        if (!receipt.ok() && receipt.error().code == ErrorCode::kNotFound)
            return std::optional<CreditState>();
        if (!receipt.ok()) return receipt.error();
        // A posted one has to be in the file of its round.
        const rewards::Receipt& found = receipt->value;
        const bool waits = found.state == CreditState::kUnfunded ||
                           (found.state == CreditState::kPosted && !found.payout_epoch);
        return waits ? std::optional(found.state) : std::nullopt;
    }

  private:
    const client::ApiClient api_;
};

}  // namespace

std::unique_ptr<rewards::FactSource> make_api_facts(client::ApiClient api) {
    return std::make_unique<ApiFacts>(std::move(api));
}

}  // namespace gym::app
