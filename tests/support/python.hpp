#pragma once

// Debian's Python with torch, as a peer to compare with.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gym/common/subprocess.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {

inline constexpr const char* kPython = "/usr/bin/python3";
/// The exit code of scripts where Python cannot import torch.
inline constexpr int kNoTorch = 77;
inline constexpr const char* kTorchRemedy =
    "/usr/bin/python3 has no torch: `make setup` installs Debian's python3-torch";

struct PythonRun {
    int exit_code = -1;
    std::string output;  ///< stdout and stderr
};

/// Runs `script` (relative to the source tree) to its end.
inline PythonRun run_python(const std::string& source_folder, const std::string& script,
                            std::vector<std::string> arguments) {
    const TemporaryFolder place;
    SubprocessOptions options;
    options.argv = {kPython, source_folder + "/" + script};
    options.argv.insert(options.argv.end(), std::make_move_iterator(arguments.begin()),
                        std::make_move_iterator(arguments.end()));
    options.env = {{"GYM_SOURCE_DIR", source_folder}, {"PYTHONDONTWRITEBYTECODE", "1"}};
    options.log_file = place / "output";
    PythonRun run;
    auto process = Subprocess::start(options);
    if (!process.ok()) {
        run.output = process.error().message;
        return run;
    }
    run.exit_code = process->wait(100'000).value_or(-1);
    std::ifstream file(options.log_file);
    std::stringstream content;
    content << file.rdbuf();
    run.output = content.str();
    return run;
}

}  // namespace gym::testing
