#pragma once

#include <boost/json/object.hpp>

#include "job/job_file.hpp"

/// What the job commands print for people. The objects are gym-api's answers (its openapi.json).
namespace gym::app {

/// @param data, fee say why what is not in the quote is not known.
[[nodiscard]] boost::json::object quote_json(const ResolvedJob& job, const JobQuote& quote,
                                             const DataPrice& data, const NetworkFee& fee);
void print_quote(const ResolvedJob& job, const JobQuote& quote, const DataPrice& data,
                 const NetworkFee& fee);
/// One line.
void print_fee(const NetworkFee& fee);
/// What the tokens of a registered dataset cost, in one line.
void print_data_price(const boost::json::object& dataset);
void print_job(const boost::json::object& job);
void print_job_line(const boost::json::object& job);
void print_job_detail(const boost::json::object& job);
void print_bill(const boost::json::object& bill);
void print_round(const boost::json::object& round, const boost::json::object& job);
/// The line of what the job waits for, which must be there.
void print_waiting(const boost::json::object& job);
void print_fault(const boost::json::object& unit);

}  // namespace gym::app
