#pragma once

#include <filesystem>
#include <memory>

#include "gym/data/input.hpp"

namespace gym::data {

/// The rows of a Parquet file as lines of JSON, by a Node.js child process (tools/parquet), which
/// reads one row group at a time. @errors kNotFound, with what to install; next(): kMalformed with
/// what the child says about the file.
[[nodiscard]] Result<std::unique_ptr<RecordReader>> open_parquet(const std::filesystem::path& path);

}  // namespace gym::data
