#pragma once

#include <string>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::app {

/// A file's bytes, or standard input's for "-".
[[nodiscard]] Result<Bytes> read_text(const std::string& path);

/// A dataset from a token file, or from a raw text (anything that does not begin like a token
/// file).
[[nodiscard]] Result<blob::Dataset> read_dataset(const std::string& path);

}  // namespace gym::app
