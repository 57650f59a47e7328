#include "gym/common/process_view.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <sstream>

#include "gym/common/file.hpp"

namespace gym {

Result<ProcessView> view_process(pid_t pid) {
    GYM_TRY(const Bytes bytes, read_file("/proc/" + std::to_string(pid) + "/stat"));
    std::string text(bytes.begin(), bytes.end());
    // The command name in parentheses may hold blanks; fields count from after it.
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    ProcessView out;
    std::string field;
    constexpr int kState = 3, kStartTime = 22;
    for (int number = kState; number <= kStartTime && fields >> field; ++number) {
        if (number == kState) out.ended = field == "Z" || field == "X";
        if (number == kStartTime) out.start_ticks = field;
    }
    return out;
}

bool has_ended(pid_t pid) {
    if (const pid_t reaped = ::waitpid(pid, nullptr, WNOHANG); reaped >= 0) return reaped == pid;
    if (::kill(pid, 0) != 0 && errno != EPERM) return true;
    const auto view = view_process(pid);
    return view.ok() && view->ended;
}

}  // namespace gym
