#include "cli/byte_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "gym/common/memory.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::milliseconds kRedraw{200}, kLine{5'000};

bool is_terminal() {
    static const bool terminal = ::isatty(STDERR_FILENO) == 1;
    return terminal;
}

}  // namespace

void ByteProgress::show(std::uint64_t done, std::uint64_t total) {
    const auto now = Clock::now();
    if (first_ == 0) first_ = done;
    if (done < total && now - last_ < (is_terminal() ? kRedraw : kLine)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(done - first_) / std::max(seconds, 1e-3);
    std::string line = fmt::format(
        "{}  {} of {}  {:.0f} %", verb_, memory_text(done), memory_text(total),
        100.0 * static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total, 1)));
    // What came with the first call has no speed.
    if (done > first_) line += "  " + memory_text(static_cast<std::uint64_t>(rate)) + "/s";
    std::fprintf(stderr, is_terminal() ? "\r%s\033[K" : "%s\n", line.c_str());
    open_line_ = is_terminal();
}

void ByteProgress::finish() {
    if (std::exchange(open_line_, false)) std::fputc('\n', stderr);
}

}  // namespace gym::app
