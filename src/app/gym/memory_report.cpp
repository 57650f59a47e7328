#include "memory_report.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace gym::app {
namespace {

/// Memory of the program with so many windows in each micro-batch; all there is for one that would
/// not be legal (its products too long, its tensors too large).
std::uint64_t need_of(program::TrainConfig& config, std::uint32_t windows) {
    config.batch = windows * config.micro_batches;
    const auto program = program::train_program(config);
    if (!program.ok()) return std::numeric_limits<std::uint64_t>::max();
    const auto need = engine::memory_need(*program);
    return need.ok() ? need->total() : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::uint32_t largest_batch(program::TrainConfig config, std::uint64_t bytes) {
    const std::uint64_t one = need_of(config, 1), two = need_of(config, 2);
    if (one > bytes) return 0;
    std::uint32_t fits = 1, fits_not = program::kBatchMax / config.micro_batches + 1;
    // Memory grows all but linearly with the batch: a guess along the line, then halving, in turns.
    const std::uint64_t slope = std::max<std::uint64_t>(two - std::min(one, two), 1);
    std::uint64_t guess = 1 + (bytes - one) / slope;
    for (bool halve = true; fits + 1 < fits_not; halve = !halve) {
        const auto windows =
            static_cast<std::uint32_t>(std::clamp<std::uint64_t>(guess, fits + 1, fits_not - 1));
        const std::uint64_t need = need_of(config, windows);
        (need <= bytes ? fits : fits_not) = windows;
        if (halve)
            guess = fits + (fits_not - fits) / 2;
        else if (need <= bytes)
            guess = windows + (bytes - need) / slope;
        else
            guess = windows - std::min<std::uint64_t>((need - bytes) / slope, windows);
    }
    return fits * config.micro_batches;
}

Result<MemoryReport> memory_report(const program::Program& program,
                                   const program::TrainConfig* config) {
    MemoryReport report;
    GYM_TRY(report.need, engine::memory_need(program));
    GYM_TRY(report.available, engine::available_memory_bytes());
    if (config != nullptr && config->model.architecture != program::Architecture::imported) {
        report.largest_batch = largest_batch(*config, report.available);
    }
    return report;
}

void print_memory(const MemoryReport& report) {
    const auto text = [](std::uint64_t bytes) { return engine::memory_text(bytes); };
    std::printf("memory             %s: state %s, activations and gradients %s, workspace %s\n",
                text(report.need.total()).c_str(), text(report.need.state).c_str(),
                text(report.need.temps).c_str(), text(report.need.workspace).c_str());
    std::printf("memory available   %s", text(report.available).c_str());
    if (report.largest_batch)
        std::printf(", enough for batches of up to %u windows", *report.largest_batch);
    std::printf("\n");
    if (report.need.total() > report.available)
        std::printf(
            "                   too little for this program on this machine: lower `batch`, "
            "or raise `micro_batches`\n");
}

boost::json::object memory_json(const MemoryReport& report) {
    boost::json::object json{{"memory_bytes", report.need.total()},
                             {"memory_available_bytes", report.available}};
    json["largest_batch"] = nullptr;
    if (report.largest_batch) json["largest_batch"] = *report.largest_batch;
    return json;
}

}  // namespace gym::app
