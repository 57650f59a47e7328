#pragma once

#include <boost/json/object.hpp>

#include "gym/blob/dataset_writer.hpp"
#include "gym/data/build.hpp"

namespace gym::app {

struct CliContext;

/// Root, size and vocabulary of a token file: the members and rows that all commands share.
[[nodiscard]] boost::json::object to_json(const blob::DatasetSummary& dataset,
                                          const std::string& path);
void print_summary(const CliContext& context, const blob::DatasetSummary& dataset,
                   const std::string& path);

/// What every step removed, then the output and the licences of its documents. @errors those of
/// document_licences().
Status print_build(const CliContext& context, const data::BuildOptions& options,
                   const data::BuildReport& report);

}  // namespace gym::app
