#pragma once

#include <string>

#include "gym/common/result.hpp"

namespace gym::app {

struct CliContext;

/// Root, size and vocabulary of the token file at `path`. @errors of blob::Dataset::load().
[[nodiscard]] Status show_dataset_file(const CliContext& context, const std::string& path);

}  // namespace gym::app
