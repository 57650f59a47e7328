#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/client/api_client.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::python {
namespace {

namespace py = pybind11;

/// The most that a job can cost, by the rule by which a coordinator begins a round.
struct Quote {
    std::uint64_t rounds = 0, slots = 0, steps = 0;
    std::uint64_t flops_per_step = 0, tokens_per_step = 0;
    std::optional<Amount> most;        ///< absent: the network has not published its rates
    std::optional<Amount> data_price;  ///< of a million tokens; absent: not registered
};

Result<Quote> quote(const client::ApiClient& api, const std::string& yaml) {
    GYM_TRY(auto submitted, registry::parse_submitted_spec(yaml, "job"));
    GYM_TRY(const auto config, program::read_train_config(*submitted.spec.model));
    GYM_CHECK(submitted.spec.model->finish());
    GYM_TRY(const auto program, program::train_program(config));
    GYM_TRY(const auto aggregate,
            program::aggregate_program(program, submitted.spec.terms.slots_max));
    GYM_TRY(const auto dataset, api.dataset(submitted.dataset_root));
    GYM_TRY(const auto fee, api.fee());
    const registry::JobTerms& terms = submitted.spec.terms;
    Quote out{terms.rounds,
              terms.slots_max,
              terms.steps,
              program::flops_per_step(program),
              std::uint64_t{config.batch} * config.model.context,
              std::nullopt,
              std::nullopt};
    if (dataset) out.data_price = (*dataset)->price_wei_per_mtoken;
    if (!fee.bound) return out;
    const protocol::WorkPrice price{terms.price_wei_per_pflop, out.flops_per_step,
                                    out.tokens_per_step, out.data_price.value_or(Amount()),
                                    dataset ? (*dataset)->quality_ppm : 0};
    const protocol::RoundShape shape{terms.slots_max, terms.steps,
                                     program::flops_per_step(aggregate)};
    GYM_TRY(out.most, protocol::rounds_bound(price, *fee.bound, shape, terms.rounds));
    return out;
}

py::object or_none(const std::optional<Amount>& amount) {
    return amount ? to_decimal(*amount) : py::object(py::none());
}

}  // namespace

void bind_plan(py::module_& module) {
    py::class_<Quote>(module, "Quote")
        .def_readonly("rounds", &Quote::rounds)
        .def_readonly("slots", &Quote::slots)
        .def_readonly("steps", &Quote::steps)
        .def_readonly("flops_per_step", &Quote::flops_per_step)
        .def_readonly("tokens_per_step", &Quote::tokens_per_step)
        .def_property_readonly("most", [](const Quote& self) { return or_none(self.most); })
        .def_property_readonly("data_price",
                               [](const Quote& self) { return or_none(self.data_price); });
    module.def("quote_job",
               [](const std::shared_ptr<client::ApiClient>& api, const std::string& yaml) {
                   return unlocked([&] { return quote(*api, yaml); });
               });
}

}  // namespace gym::python
