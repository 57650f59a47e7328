#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/yaml_text.hpp"
#include "gym/plan/draft.hpp"
#include "gym/plan/estimate.hpp"
#include "gym/plan/facts.hpp"
#include "gym/plan/plan.hpp"
#include "gym/program/train_config_yaml.hpp"

namespace gym::python {
namespace {

namespace py = pybind11;

/// A job with every term, ready to be submitted.
struct PlannedJob {
    std::string yaml;
    std::uint64_t parameters = 0;
    plan::Plan plan;
};

/// What the network knows, and the price of the job's data.
Result<plan::Facts> facts_of(const client::ApiClient& api, const Digest& dataset) {
    GYM_TRY(plan::Facts facts, plan::network_facts(api));
    GYM_TRY(const auto record, api.dataset(dataset));
    if (!record)
        return fail(ErrorCode::kNotFound, "dataset " + dataset.hex() + " is not registered");
    facts.data_price_wei_per_mtoken = (*record)->price_wei_per_mtoken;
    facts.data_quality_ppm = (*record)->quality_ppm;
    return facts;
}

/// @param text a job file with wishes (tokens, nodes, max_cost), its model inlined and its dataset
/// a root. @param is_preset whether the model's schedule and outer step follow the job's length.
Result<PlannedJob> plan_job(const client::ApiClient& api, YamlText text, bool is_preset) {
    GYM_TRY(plan::Draft draft, plan::read_draft(std::move(text)));
    if (!draft.spec.model)
        return fail(ErrorCode::kInvalidArgument, "the job's model must be inlined");
    GYM_TRY(auto config, program::read_train_config(*draft.spec.model));
    GYM_CHECK(draft.spec.model->finish());
    GYM_CHECK(plan::compress_deltas(draft, config));
    GYM_TRY(const Digest dataset, Digest::parse(draft.spec.dataset));
    GYM_TRY(const plan::Facts facts, facts_of(api, dataset));
    GYM_TRY(auto work, plan::model_work(config));
    GYM_TRY(const bool outer, plan::leaves_outer_open(draft));
    plan::leave_open({.schedule = is_preset, .outer = is_preset || outer}, config.optimizer, draft,
                     work);
    PlannedJob out;
    out.parameters = work.parameters;
    GYM_TRY(out.plan, plan::make_plan(draft.wishes, draft.fixed, work, facts));
    GYM_TRY(out.yaml, plan::complete(draft, out.plan));
    return out;
}

using SecondsPair = std::optional<std::pair<double, double>>;

SecondsPair pair_of(const std::optional<plan::SecondsRange>& seconds) {
    return seconds ? SecondsPair(std::pair(seconds->low, seconds->high)) : std::nullopt;
}

std::vector<std::tuple<std::string, std::string, std::string>> reasons_of(const PlannedJob& job) {
    std::vector<std::tuple<std::string, std::string, std::string>> out;
    out.reserve(job.plan.reasons.size());
    for (const plan::Reason& reason : job.plan.reasons)
        out.emplace_back(reason.term, reason.value, reason.why);
    return out;
}

}  // namespace

void bind_plan(py::module_& module) {
    py::class_<PlannedJob>(module, "PlannedJob")
        .def_readonly("yaml", &PlannedJob::yaml)
        .def_readonly("parameters", &PlannedJob::parameters)
        .def_property_readonly("rounds",
                               [](const PlannedJob& self) { return self.plan.terms.rounds; })
        .def_property_readonly("slots",
                               [](const PlannedJob& self) { return self.plan.terms.slots_max; })
        .def_property_readonly("steps",
                               [](const PlannedJob& self) { return self.plan.terms.steps; })
        .def_property_readonly("tokens",
                               [](const PlannedJob& self) { return self.plan.estimate.tokens; })
        .def_property_readonly("flops",
                               [](const PlannedJob& self) { return self.plan.estimate.flops; })
        .def_property_readonly(
            "budget", [](const PlannedJob& self) { return to_decimal(self.plan.budget_wei); })
        .def_property_readonly(
            "expected",
            [](const PlannedJob& self) { return to_decimal(self.plan.estimate.expected_wei); })
        .def_property_readonly("most",
                               [](const PlannedJob& self) -> py::object {
                                   const auto& most = self.plan.estimate.most_wei;
                                   return most ? to_decimal(*most) : py::object(py::none());
                               })
        .def_property_readonly(
            "seconds", [](const PlannedJob& self) { return pair_of(self.plan.estimate.seconds); })
        .def_property_readonly("nodes_wanted",
                               [](const PlannedJob& self) -> std::optional<std::uint32_t> {
                                   if (!self.plan.shortage) return std::nullopt;
                                   return self.plan.shortage->wanted;
                               })
        .def_property_readonly("seconds_with_all",
                               [](const PlannedJob& self) {
                                   return self.plan.shortage ? pair_of(self.plan.shortage->seconds)
                                                             : std::nullopt;
                               })
        .def_property_readonly("reasons", &reasons_of)
        .def_property_readonly(
            "tokens_today", [](const PlannedJob& self) { return self.plan.estimate.tokens_today; })
        .def_property_readonly("warnings",
                               [](const PlannedJob& self) { return self.plan.warnings; })
        .def_property_readonly("notes", [](const PlannedJob& self) { return self.plan.notes; });
    module.def(
        "plan_job",
        [](const std::shared_ptr<client::ApiClient>& api, const std::string& text, bool is_preset) {
            return unlocked([&] { return plan_job(*api, YamlText(text, "the job"), is_preset); });
        },
        py::arg("api"), py::arg("text"), py::arg("is_preset"));
}

}  // namespace gym::python
