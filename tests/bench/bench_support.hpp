// Shared by the engine's benchmarks: timing, rows, options.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gym/kernels/dispatch.hpp"

namespace gym::bench {

[[nodiscard]] double seconds_now();
[[nodiscard]] double median(std::vector<double> values);

/// One figure and its peer's, both from the same run; NaN: not measured.
struct Row {
    std::string name;
    double ours = 0;
    double peer = 0;
    double ratio = 0;  ///< above 1: ours is better
    std::string unit;
    int threads = 1;
    std::string isa;
    std::string peer_name;
    std::string note;  ///< may be empty
};

struct Options {
    std::string output = "build/bench/engine.json";
    std::vector<int> threads{1, 2};
    kernels::Isa isa = kernels::detect_isa();
    int repeats = 7;
    std::vector<std::string> only;  ///< names of cases; empty: all
    bool blas_as_installed = false;
    std::string command;
    std::map<std::string, std::string> own;  ///< what parse_options() was told to take besides

    /// "OpenBLAS SkylakeX": what libtorch's products run on.
    [[nodiscard]] std::string blas() const;
    [[nodiscard]] bool wants(const std::string& name) const;
};

/// --output FILE, --threads N[,N...], --isa LEVEL, --repeats N (>= 5), --only NAME[,NAME...],
/// --blas best|installed. Ends the process with a usage message if they are malformed.
/// The peers get the same instruction set: oneDNN by its own setting, OpenBLAS by starting this
/// process again with its environment variable, unless `--blas installed` leaves it its own choice.
/// OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE of the environment are ignored either way.
/// @param own the program's own options ("--model") with their defaults.
[[nodiscard]] Options parse_options(int argc, char** argv,
                                    const std::map<std::string, std::string>& own = {});

/// Threads of oneDNN, libtorch's loops and OpenBLAS.
void set_peer_threads(int threads);

/// Seconds of one call of each, medians over `repeats` rounds in which every one gets its turn; a
/// turn repeats its call for at least 30 ms.
[[nodiscard]] std::vector<double> interleaved_seconds(std::span<const std::function<void()>> calls,
                                                      int repeats);

/// Prints the row and appends it to the JSON array in options.output, with the CPU and the
/// libraries that it was measured on (provenance.hpp).
void report(const Options& options, const Row& row);

}  // namespace gym::bench
