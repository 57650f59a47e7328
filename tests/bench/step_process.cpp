#include "step_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bench_support.hpp"

namespace gym::bench {
namespace {

constexpr char kStep = 's', kPeak = 'p', kEnd = 'e';

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::exit(1);
}

/// A field of /proc/self/status in bytes.
double status_bytes(const std::string& field) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(field + ":"))
            return std::strtod(line.c_str() + field.size() + 1, nullptr) * 1024;
    }
    return 0;
}

}  // namespace

StepProcess::StepProcess(const std::function<Step()>& make) {
    if (pipe(requests_) != 0 || pipe(answers_) != 0) give_up("pipe");
    std::fflush(nullptr);
    child_ = fork();
    if (child_ < 0) give_up("fork");
    if (child_ != 0) return;
    serve(make);
    _exit(0);
}

StepProcess::~StepProcess() {
    (void)!write(requests_[1], &kEnd, 1);
    waitpid(child_, nullptr, 0);
    for (const int fd : {requests_[0], requests_[1], answers_[0], answers_[1]})
        close(fd);
}

void StepProcess::serve(const std::function<Step()>& make) const {
    const double born_with = status_bytes("VmRSS");
    const Step step = make();
    for (char question = 0; read(requests_[0], &question, 1) == 1 && question != kEnd;) {
        double answer = status_bytes("VmHWM") - born_with;
        if (question == kStep) {
            const double start = seconds_now();
            step();
            answer = seconds_now() - start;
        }
        if (write(answers_[1], &answer, sizeof answer) != sizeof answer) return;
    }
}

double StepProcess::ask(char question) {
    double answer = 0;
    if (write(requests_[1], &question, 1) != 1 ||
        read(answers_[0], &answer, sizeof answer) != sizeof answer)
        give_up("the training process is gone");
    return answer;
}

double StepProcess::step() {
    return ask(kStep);
}

std::uint64_t StepProcess::peak_bytes() {
    return static_cast<std::uint64_t>(ask(kPeak));
}

}  // namespace gym::bench
