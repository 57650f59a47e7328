#pragma once

#include <filesystem>

namespace gym {

/// The folder of the running program; the other programs of the same build stand beside it.
[[nodiscard]] std::filesystem::path program_folder();

/// Where the files are that belong to the programs, laid out as in the source tree: sql/migrations,
/// contracts/out, examples. $GYM_SOURCE_DIR if set; else share/gym of the prefix that the running
/// program was installed into; else the source tree it was built from.
[[nodiscard]] std::filesystem::path data_folder();

}  // namespace gym
