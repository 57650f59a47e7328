#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "gym/plan/cloud.hpp"
#include "gym/plan/estimate.hpp"
#include "gym/plan/plan.hpp"

/// Plans and estimates for people and as JSON.
namespace gym::app {

/// A job's estimate and what it is compared with.
struct JobOutlook {
    plan::Facts facts;
    plan::Estimate estimate;
    std::optional<std::uint64_t> machine_flops;  ///< of this machine; absent: not to be compared
    std::optional<double> cloud_usd_per_hour;    ///< in the place of the list price
};

/// The equation, each term with its rule, and notes.
void print_plan(const plan::Plan& plan);
[[nodiscard]] boost::json::object plan_json(const plan::Plan& plan);

/// Time, expected money, verification's share, this machine alone, a cloud.
void print_outlook(const JobOutlook& outlook);
/// Adds members to a quote.
void add_outlook(const JobOutlook& outlook, boost::json::object& quote);

}  // namespace gym::app
