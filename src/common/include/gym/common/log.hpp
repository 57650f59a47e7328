#pragma once

#include <string>

#include "gym/common/result.hpp"

namespace gym {

struct LogOptions {
    std::string program;         ///< name printed in every line
    std::string level = "info";  ///< trace, debug, info, warn, error
    std::string file;            ///< empty: stderr
};

/// Sets up spdlog's default logger once per process. Callers then use spdlog:: directly. Never log
/// a key, a passphrase or an API key. @errors kInvalidArgument for an unknown level, kIo for the
/// file.
Status init_logging(const LogOptions& options);

}  // namespace gym
