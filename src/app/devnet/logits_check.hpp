#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/devnet/report.hpp"

namespace gym::devnet {

/// The JSON line of an output in which notices may stand, too. @errors kMalformed.
[[nodiscard]] Result<boost::json::object> object_in(const std::string& output,
                                                    const std::string& what);

/// Computes the logits of `folder` again, in libtorch by the first of `pythons` that has PyTorch,
/// else in plain Python, with the scripts in `examples`; `logits` is the line of `gym generate
/// --logits --json`. Without any Python `out` has the reason instead.
/// @errors kInternal with the script's output, if the logits differ; kMalformed.
[[nodiscard]] Status compare_logits(const std::filesystem::path& examples,
                                    const std::filesystem::path& folder,
                                    const std::filesystem::path& logits,
                                    const std::vector<std::string>& pythons, ExportedModel& out);

}  // namespace gym::devnet
