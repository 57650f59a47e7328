#pragma once

#include <boost/json/object.hpp>

#include "job/job_file.hpp"

/// Prints jobs for people.
namespace gym::app {

/// @param data, fee give the reasons for what the quote does not know.
[[nodiscard]] boost::json::object quote_json(const ResolvedJob& job, const JobQuote& quote,
                                             const DataPrice& data, const KnownFee& fee);
void print_quote(const ResolvedJob& job, const JobQuote& quote, const DataPrice& data,
                 const KnownFee& fee);
/// One line.
void print_fee(const KnownFee& fee);
/// Prints the price of a registered dataset's tokens in one line.
void print_data_price(const registry::Dataset& dataset);
/// Whether all rounds of the job are aggregated: its model is done, whatever is still to be paid.
[[nodiscard]] bool is_trained(const client::Job& job);
void print_job(const client::Job& job);
void print_job_line(const client::Job& job);
/// @param with_history rounds, faults and what the job waits for, which a watch has shown.
void print_job_detail(const client::JobDetail& job, bool with_history = true);
void print_bill(const client::JobBill& bill);
/// A line of a round that has a validation loss.
void print_round(const client::JobRound& round, const client::Job& job);
/// The line of what the job waits for, which must be there.
void print_waiting(const client::JobDetail& job);
void print_fault(const registry::Unit& unit);

}  // namespace gym::app
