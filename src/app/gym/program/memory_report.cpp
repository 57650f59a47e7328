#include "program/memory_report.hpp"
#include "cli/rows.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "gym/common/plural.hpp"

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

std::string text_of(const BatchSplit& split) {
    return "`batch: " + std::to_string(split.batch) +
           "` with `micro_batches: " + std::to_string(split.micro_batches) + "`";
}

/// The longest context of which one window is legal and fits; 0: none.
std::uint32_t longest_context(program::TrainConfig config, std::uint64_t bytes) {
    config.micro_batches = 1;
    std::uint32_t fits = 0, fits_not = config.model.context;
    while (fits + 1 < fits_not) {
        config.model.context = fits + (fits_not - fits) / 2;
        (need_of(config, 1) <= bytes ? fits : fits_not) = config.model.context;
    }
    return fits;
}

/// Advice on a config whose program is not legal or does not fit into `bytes`.
std::string size_advice(const program::TrainConfig& config, std::uint64_t bytes) {
    const std::string here = " on this machine";
    const BatchSplit largest = largest_split(config, bytes);
    if (largest.batch == 0) {
        const std::uint32_t context = longest_context(config, bytes);
        if (context == 0)
            return "not even one window of one token fits" + here + ": lower `width` or `layers`";
        return "not even one window of " + std::to_string(config.model.context) + " tokens fits" +
               here + ": lower `context`, to at most " + std::to_string(context) +
               ", or `width` or `layers`";
    }
    const BatchSplit same = split_that_fits(config, bytes);
    const std::string change = same.batch != 0
                                   ? "set `micro_batches: " + std::to_string(same.micro_batches) +
                                         "`, which keeps the batch, or lower `batch` or `context`"
                                   : std::string("lower `batch` or `context`");
    return change + "; the largest batch that is legal and fits" + here + ": " + text_of(largest);
}

}  // namespace

BatchSplit split_that_fits(program::TrainConfig config, std::uint64_t bytes) {
    const std::uint32_t batch = config.batch;
    for (std::uint32_t parts = 1; parts <= std::min(batch, program::kMicroBatchesMax); ++parts) {
        config.micro_batches = parts;
        if (batch % parts == 0 && need_of(config, batch / parts) <= bytes) return {batch, parts};
    }
    return {};
}

BatchSplit largest_split(program::TrainConfig config, std::uint64_t bytes) {
    BatchSplit best;
    for (std::uint32_t parts = 1; parts <= program::kMicroBatchesMax; ++parts) {
        config.micro_batches = parts;
        const std::uint32_t batch = largest_batch(config, bytes);
        if (batch > best.batch) best = {batch, parts};
    }
    return best;
}

Error with_size_advice(Error error, const program::TrainConfig& config) {
    const bool imported = config.model.architecture == program::Architecture::kImported;
    const auto available = engine::available_memory_bytes();
    if (error.code != ErrorCode::kOutOfRange || imported || !available.ok()) return error;
    error.message += ": " + std::to_string(config.batch / config.micro_batches) + " windows of " +
                     std::to_string(config.model.context) +
                     " tokens at once are more than a program can hold; " +
                     size_advice(config, *available) + " (" + engine::memory_text(*available) +
                     " of memory available)";
    return error;
}

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
    GYM_TRY(const engine::DeviceNeeds needs, engine::device_needs(program));
    report.need = needs.cpu;
    report.on_gpu = needs.gpu;
    GYM_TRY(report.available, engine::available_memory_bytes());
    if (config != nullptr && config->model.architecture != program::Architecture::kImported) {
        report.largest_batch = largest_batch(*config, report.available);
        if (report.need.total() > report.available)
            report.advice = size_advice(*config, report.available);
    }
    return report;
}

void print_memory(const MemoryReport& report) {
    const auto print_need = [](const char* name, const engine::MemoryNeed& need) {
        print_row(name, "{}: state {}, activations and gradients {}, workspace {}",
                  engine::memory_text(need.total()), engine::memory_text(need.state),
                  engine::memory_text(need.temps), engine::memory_text(need.workspace));
    };
    print_need("memory", report.need);
    print_need("memory on a GPU", report.on_gpu);
    const bool fits = report.need.total() <= report.available;
    std::string room;
    if (!fits)
        room = ", too little: " + (report.advice.empty()
                                       ? std::string("lower `batch`, or raise `micro_batches`")
                                       : report.advice);
    else if (report.largest_batch && *report.largest_batch > 0)
        room = ", enough for batches of up to " + counted(*report.largest_batch, "window");
    print_row("memory available", "{}{}", engine::memory_text(report.available), room);
}

boost::json::object memory_json(const MemoryReport& report) {
    boost::json::object json{{"memory_bytes", report.need.total()},
                             {"gpu_memory_bytes", report.on_gpu.total()},
                             {"memory_available_bytes", report.available}};
    json["largest_batch"] = nullptr;
    if (report.largest_batch) json["largest_batch"] = *report.largest_batch;
    if (!report.advice.empty()) json["advice"] = report.advice;
    return json;
}

}  // namespace gym::app
