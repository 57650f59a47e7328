#include "bench_support.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "provenance.hpp"

namespace gym::bench {
namespace {

constexpr double kSecondsPerTurn = 0.05;
/// Threads of OpenBLAS and OpenMP look for more work for some 30 ms after their last: on the core
/// that the next turn needs.
constexpr std::chrono::milliseconds kSettle{100};
constexpr int kRepeatsMin = 5;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::istringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');)
        parts.push_back(part);
    return parts;
}

bool parse_option(Options& options, const std::string& name, const std::string& value) {
    if (name == "--output") {
        options.output = value;
    } else if (name == "--threads") {
        options.threads.clear();
        for (const std::string& part : split(value))
            options.threads.push_back(std::atoi(part.c_str()));
        return !options.threads.empty() && std::ranges::min(options.threads) >= 1;
    } else if (name == "--isa") {
        const auto isa = kernels::parse_isa(value);
        if (!isa || *isa > kernels::detect_isa()) return false;
        options.isa = *isa;
    } else if (name == "--repeats") {
        options.repeats = std::atoi(value.c_str());
        return options.repeats >= kRepeatsMin;
    } else if (name == "--blas") {
        options.blas_as_installed = value == "installed";
        return value == "installed" || value == "best";
    } else if (name == "--only") {
        options.only = split(value);
    } else if (const auto own = options.own.find(name); own != options.own.end()) {
        own->second = value;
    } else {
        return false;
    }
    return true;
}

/// OpenBLAS chooses its kernels when it is loaded, and old versions take a new CPU for one of 2004.
/// So it is told which to take, by starting this process again. A choice that the environment made
/// (a preset OPENBLAS_CORETYPE=Haswell halves the peer on a CPU with AVX-512) never counts.
void choose_openblas_kernels(const Options& options, char** argv) {
    constexpr const char* kChosen = "GYM_BENCH_OPENBLAS_CHOSEN";
    if (std::getenv(kChosen) != nullptr) return;
    setenv(kChosen, "1", 1);
    for (const char* preset : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}) {
        if (const char* const value = std::getenv(preset)) {
            std::fprintf(stderr, "%s=%s is set; the benchmark ignores it\n", preset, value);
            unsetenv(preset);
        }
    }
    if (!options.blas_as_installed) {
        const char* core = options.isa >= kernels::Isa::kAvx512 ? "SkylakeX"
                           : options.isa == kernels::Isa::kAvx2 ? "Haswell"
                                                                : "Nehalem";
        setenv("OPENBLAS_CORETYPE", core, 1);
    }
    execv("/proc/self/exe", argv);
    std::perror("cannot restart the benchmark with OpenBLAS's kernels chosen");
    std::exit(1);
}

void call_if_linked(const char* function, int threads) {
    using SetThreads = void (*)(int);
    if (auto* const set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, function))) set(threads);
}

/// JSON has no NaN: what was not measured is null.
std::string figure(double value) {
    if (std::isnan(value)) return "null";
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

/// A figure in a printed row.
std::string cell(const char* format, double value) {
    if (std::isnan(value)) return "-";
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string to_json(const Options& options, const Row& row) {
    std::string json =
        "{\"name\": \"" + row.name + "\", \"ours\": " + figure(row.ours) +
        ", \"peer\": " + figure(row.peer) + ", \"ratio\": " + figure(row.ratio) + ", \"unit\": \"" +
        row.unit + "\", \"threads\": " + std::to_string(row.threads) + ", \"isa\": \"" + row.isa +
        "\", \"command\": \"" + options.command + "\", \"peer_name\": \"" + row.peer_name +
        "\", \"cpu\": \"" + cpu_model() + "\", \"libraries\": \"" + linked_libraries() + "\"";
    if (!row.note.empty()) json += ", \"note\": \"" + row.note + "\"";
    return json + "}";
}

}  // namespace

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

std::string Options::blas() const {
    using CoreName = const char* (*)();
    auto* const name = reinterpret_cast<CoreName>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
    return name == nullptr ? "its BLAS" : std::string("OpenBLAS ") + name();
}

bool Options::wants(const std::string& name) const {
    return only.empty() || std::ranges::find(only, name) != only.end();
}

Options parse_options(int argc, char** argv, const std::map<std::string, std::string>& own) {
    Options options;
    options.own = own;
    for (int i = 0; i < argc; ++i)
        options.command += (i > 0 ? " " : "") + std::string(argv[i]);
    bool valid = argc % 2 == 1;
    for (int i = 1; i + 1 < argc && valid; i += 2)
        valid = parse_option(options, argv[i], argv[i + 1]);
    if (!valid) {
        std::string more;
        for (const auto& [name, value] : own)
            more.append(" [").append(name).append(" VALUE]");
        std::fprintf(stderr,
                     "usage: %s [--output FILE] [--threads N,...] [--isa scalar|avx2|avx512|amx] "
                     "[--repeats N] [--only CASE,...] [--blas best|installed]%s\n",
                     argv[0], more.c_str());
        std::exit(2);
    }
    choose_openblas_kernels(options, argv);
    kernels::set_process_isa_max(options.isa);
    return options;
}

void set_peer_threads(int threads) {
    // Found at run time: which of them exist depends on what libtorch was built with.
    for (const char* function : {"omp_set_num_threads", "openblas_set_num_threads"})
        call_if_linked(function, threads);
}

std::vector<double> interleaved_seconds(std::span<const std::function<void()>> calls, int repeats) {
    std::vector<int> calls_per_turn;
    for (const auto& call : calls) {
        call();
        const double start = seconds_now();
        call();
        const double once = std::max(seconds_now() - start, 1e-7);
        calls_per_turn.push_back(std::max(1, static_cast<int>(kSecondsPerTurn / once)));
    }
    std::vector<std::vector<double>> timings(calls.size());
    for (int repeat = 0; repeat < repeats; ++repeat) {
        for (std::size_t i = 0; i < calls.size(); ++i) {
            std::this_thread::sleep_for(kSettle);
            if (calls_per_turn[i] > 1) calls[i]();  // back into caches and clocks
            const double start = seconds_now();
            for (int k = 0; k < calls_per_turn[i]; ++k)
                calls[i]();
            timings[i].push_back((seconds_now() - start) / calls_per_turn[i]);
        }
    }
    std::vector<double> medians;
    for (const auto& timing : timings)
        medians.push_back(median(timing));
    return medians;
}

void report(const Options& options, const Row& row) {
    const std::string line = to_json(options, row);
    if (std::isnan(row.ours)) {
        std::printf("%-44s %s\n", row.name.c_str(),
                    row.note.empty() ? "not measured" : row.note.c_str());
    } else {
        std::printf("%-44s %10s %10s %8s  %s, %d threads, %s%s%s\n", row.name.c_str(),
                    cell("%.4g", row.ours).c_str(), cell("%.4g", row.peer).c_str(),
                    cell("%.3fx", row.ratio).c_str(), row.unit.c_str(), row.threads,
                    row.isa.c_str(), row.note.empty() ? "" : "; ", row.note.c_str());
    }
    std::fflush(stdout);
    const std::filesystem::path path(options.output);
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
    std::string json;
    {
        std::ifstream old(path);
        json.assign(std::istreambuf_iterator<char>(old), {});
    }
    const std::size_t end = json.rfind("\n]");
    json = end == std::string::npos ? "[\n" : json.substr(0, end) + ",\n";
    std::ofstream(path) << json << line << "\n]\n";
}

}  // namespace gym::bench
