#include "program/run_log.hpp"

#include <unistd.h>

#include <bit>
#include <boost/json/object.hpp>
#include <cstdio>

#include "cli/cli_context.hpp"
#include "cli/record_json.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::seconds kTerminalInterval{1};

void print(const engine::StepRecord& record) {
    std::printf("step %5llu  loss %.6f  grad norm %.6f  batch %s",
                static_cast<unsigned long long>(record.step),
                static_cast<double>(std::bit_cast<float>(record.loss_bits)),
                static_cast<double>(std::bit_cast<float>(record.grad_norm_bits)),
                record.batch_root.hex().substr(0, 18).c_str());
    if (record.skipped) std::printf("  skipped");
    if (record.state_root) std::printf("  state %s", record.state_root->hex().c_str());
    std::printf("\n");
}

}  // namespace

RunLog::RunLog(const CliContext& context, std::uint32_t every)
    : context_(context), every_(every), terminal_(::isatty(STDOUT_FILENO) == 1) {}

bool RunLog::wants(std::uint64_t step, bool last) {
    if (last) return true;
    if (every_ != 0) return step % every_ == 0;
    if (!terminal_) return true;
    const auto now = Clock::now();
    if (now - last_line_ < kTerminalInterval) return false;
    last_line_ = now;
    return true;
}

void RunLog::step(const engine::StepRecord& record, const engine::UnitProgress& progress,
                  bool last) {
    if (wants(record.step, last)) {
        progress_.clear();
        if (context_.json)
            context_.print_json(to_json(record));
        else
            print(record);
    }
    progress_.show(progress);
}

void RunLog::validation(const engine::ValidationLoss& loss) {
    progress_.clear();
    if (context_.json) {
        context_.print_json(
            {{"steps_done", loss.steps_done}, {"validation_loss", number_of_bits(loss.loss_bits)}});
        return;
    }
    std::printf("after %5llu steps  validation loss %s\n",
                static_cast<unsigned long long>(loss.steps_done),
                loss_text(loss.loss_bits).c_str());
}

}  // namespace gym::app
