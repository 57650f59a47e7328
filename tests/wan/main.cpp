// wan_link PLAN.yaml: carries packets between network namespaces as the plan says (plan.hpp), until
// its standard input ends. Prints {"ready":true}, then one line of JSON for each line of its input
// (commands.hpp).
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "commands.hpp"
#include "gym/common/file.hpp"
#include "network.hpp"
#include "tun.hpp"

namespace gym::wan {
namespace {

constexpr std::size_t kLineBytesMax = 4'096;
constexpr std::uint64_t kPlanBytesMax = 1 << 20;
/// So many packets of one host at a time, so that none keeps the others waiting.
constexpr int kPacketsAtOnce = 64;

std::uint64_t now_us() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    (void)std::fflush(stdout);
}

class Link {
  public:
    Link(Plan plan, std::vector<Tun> tuns) : network_(std::move(plan)), tuns_(std::move(tuns)) {
        for (const Tun& tun : tuns_)
            polled_.push_back({tun.descriptor(), POLLIN, 0});
        polled_.push_back({STDIN_FILENO, POLLIN, 0});
    }

    /// @return when the input has ended.
    Status run() {
        for (;;) {
            wait();
            for (std::size_t i = 0; i < tuns_.size(); ++i)
                if (polled_[i].revents != 0) GYM_CHECK(take_packets(i));
            network_.advance(now_us(), [&](std::size_t to, const Bytes& packet) {
                (void)tuns_[to].write(packet);  // a full interface drops, as a card does
            });
            if (polled_.back().revents != 0 && !read_commands()) return {};
        }
    }

  private:
    void wait() {
        timespec limit{}, *until = nullptr;
        if (const auto next = network_.next_us()) {
            const std::uint64_t now = now_us();
            const std::uint64_t us = *next > now ? *next - now : 0;
            limit.tv_sec = static_cast<time_t>(us / 1'000'000);
            limit.tv_nsec = static_cast<long>(us % 1'000'000 * 1'000);
            until = &limit;
        }
        if (::ppoll(polled_.data(), polled_.size(), until, nullptr) < 0)
            for (pollfd& one : polled_)
                one.revents = 0;
    }
    Status take_packets(std::size_t from) {
        for (int i = 0; i < kPacketsAtOnce; ++i) {
            GYM_TRY(Bytes packet, tuns_[from].read());
            if (packet.empty()) return {};
            const auto to = network_.find(destination_of(packet));
            if (to) network_.send(now_us(), from, *to, std::move(packet));
        }
        return {};
    }
    bool read_commands() {
        std::array<char, kLineBytesMax> buffer{};
        const ssize_t size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (size <= 0) return false;
        input_.append(buffer.data(), static_cast<std::size_t>(size));
        for (std::size_t end = 0; (end = input_.find('\n')) != std::string::npos;) {
            say(carry_out(input_.substr(0, end), network_));
            input_.erase(0, end + 1);
        }
        return input_.size() < kLineBytesMax;
    }

    Network network_;
    std::vector<Tun> tuns_;
    std::vector<pollfd> polled_;
    std::string input_;
};

Status run(const std::string& path) {
    GYM_TRY(const Bytes text, read_file(path, kPlanBytesMax));
    GYM_TRY(Plan plan, parse_plan(std::string(text.begin(), text.end()), path));
    std::vector<Tun> tuns;
    for (const Host& host : plan.hosts) {
        GYM_TRY(Tun tun, Tun::make(host.netns, host.address));
        tuns.push_back(std::move(tun));
    }
    // Ahead of the programs whose packets these are; without the right to it, late_us_max tells.
    sched_param priority{};
    priority.sched_priority = 1;
    (void)::sched_setscheduler(0, SCHED_RR, &priority);
    Link link(std::move(plan), std::move(tuns));
    say(R"({"ready":true})");
    return link.run();
}

}  // namespace
}  // namespace gym::wan

int main(int argc, char** argv) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (argc != 2) {
        (void)std::fprintf(stderr, "usage: wan_link PLAN.yaml\n");
        return 2;
    }
    const gym::Status done = gym::wan::run(argv[1]);
    if (done.ok()) return 0;
    (void)std::fprintf(stderr, "wan_link: %s\n", done.error().message.c_str());
    return 1;
}
