#pragma once

// Runs the built `gym` in a process of its own.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "temporary_folder.hpp"

namespace gym::testing {

inline std::string slurp(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
}

inline void spill(const std::filesystem::path& path, std::string_view content) {
    std::ofstream(path, std::ios::binary) << content;
}

/// Apart from every exit code: `gym` itself returns 130 when it was asked to stop.
inline constexpr int kSignal = 1000;

struct Outcome {
    int exit_code = -1;  ///< kSignal + signal for a process that a signal ended
    std::string out;
    std::string err;
};

/// A process with its output in files, so that no pipe can fill up.
class Command {
  public:
    Command(const TemporaryFolder& place, std::vector<std::string> arguments)
        : out_(place / "stdout"), err_(place / "stderr") {
        arguments.insert(arguments.begin(), GYM_PROGRAM);
        // Or a test that waits for output would see that of the command before.
        std::filesystem::remove(out_);
        std::filesystem::remove(err_);
        std::vector<char*> argv;
        for (std::string& argument : arguments)
            argv.push_back(argument.data());
        argv.push_back(nullptr);
        process_ = ::fork();
        if (process_ == 0) {
            const bool ready = std::freopen(out_.c_str(), "w", stdout) != nullptr &&
                               std::freopen(err_.c_str(), "w", stderr) != nullptr;
            if (ready) ::execv(argv[0], argv.data());
            ::_exit(127);
        }
    }
    void send(int signal) const { ::kill(process_, signal); }
    [[nodiscard]] std::string output_so_far() const { return slurp(out_); }
    [[nodiscard]] std::string errors_so_far() const { return slurp(err_); }
    Outcome wait() const {
        int status = 0;
        ::waitpid(process_, &status, 0);
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignal + WTERMSIG(status);
        return {code, slurp(out_), slurp(err_)};
    }

  private:
    std::filesystem::path out_, err_;
    pid_t process_ = -1;
};

inline Outcome run(const TemporaryFolder& place, std::vector<std::string> arguments) {
    return Command(place, std::move(arguments)).wait();
}

}  // namespace gym::testing
