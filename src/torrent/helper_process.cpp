#include "helper_process.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "gym/torrent/helper_lines.hpp"

namespace gym::torrent {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kStartMax{20};
constexpr int kStopMs = 5'000;
constexpr int kExitConflict = 5;  // app::ExitCode

Error os_error(const char* what) {
    return fail(ErrorCode::kIo, std::string(what) + ": " + std::strerror(errno));
}

std::vector<std::string> command_of(const SwarmOptions& options) {
    const auto number = [](auto value) { return std::to_string(value); };
    return {options.program.string(),
            "--folder",
            options.folder.string(),
            "--address",
            options.address,
            "--port",
            number(options.port),
            "--upload-bytes-per-s-max",
            number(options.upload_bytes_per_s_max),
            "--connections-max",
            number(options.connections_max),
            "--seed-bytes-max",
            number(options.seed_bytes_max),
            "--seed-seconds-max",
            number(options.seed_s_max),
            "--seed-ratio-max",
            number(options.seed_ratio_max)};
}

Result<Subprocess> start_child(const SwarmOptions& options, const Descriptor& socket) {
    SubprocessOptions child;
    child.argv = command_of(options);
    child.input = socket.get();
    child.output = socket.get();
    child.die_with_parent = false;  // it ends with the socket, and the thread may end before
    child.with_secrets = false;
    return Subprocess::start(child);
}

}  // namespace

Result<HelperProcess> HelperProcess::start(const SwarmOptions& options) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
        return os_error("socketpair");
    Descriptor ours(pair[0]);
    timeval patience{.tv_sec = 2, .tv_usec = 0};
    ::setsockopt(ours.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    // Its end is the end of the socket: nobody else may have that open.
    auto started = start_child(options, Descriptor(pair[1]));
    if (!started.ok()) return started.error().in("torrents need " + options.program.string());
    HelperProcess out(std::move(ours), std::move(started).value());
    GYM_CHECK(out.wait_until_ready());
    return out;
}

HelperProcess::~HelperProcess() {
    if (socket_.get() < 0) return;
    ::shutdown(socket_.get(), SHUT_RDWR);
    if (!child_.wait(kStopMs).ok()) static_cast<void>(child_.stop(kStopMs));
}

Status HelperProcess::wait_until_ready() {
    const auto until = steady_clock::now() + kStartMax;
    std::string said = "it said nothing";
    while (steady_clock::now() < until) {
        auto line = next(milliseconds(200));
        if (!line.ok() && line.error().code == ErrorCode::kTimeout) continue;
        if (!line.ok()) {
            const auto code = child_.wait(kStopMs);
            const bool taken = code.ok() && *code == kExitConflict;
            return fail(taken ? ErrorCode::kConflict : ErrorCode::kUnavailable,
                        "gym-torrent does not start: " + said);
        }
        const auto parts = words(*line, 2);
        const auto port = parts.size() == 2 ? whole_number(parts[1]) : std::nullopt;
        if (parts[0] == "ready" && port && *port <= UINT16_MAX) {
            port_ = static_cast<std::uint16_t>(*port);
            return {};
        }
        if (parts.size() == 2) said = std::string(parts[1]);
    }
    return fail(ErrorCode::kUnavailable, "gym-torrent does not start: " + said);
}

bool HelperProcess::send(const std::string& line) {
    const std::string text = line + "\n";
    const std::scoped_lock lock(mutex_);
    std::size_t sent = 0;
    while (sent < text.size()) {
        const ssize_t put =
            ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            // Half a line would be read together with the next one.
            ::shutdown(socket_.get(), SHUT_RDWR);
            return false;
        }
        sent += static_cast<std::size_t>(put);
    }
    return true;
}

Result<std::string> HelperProcess::next(milliseconds wait) {
    const auto until = steady_clock::now() + wait;
    for (;;) {
        if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
            std::string line = received_.substr(0, end);
            received_.erase(0, end + 1);
            return line;
        }
        if (received_.size() > kLineBytesMax)
            return fail(ErrorCode::kMalformed, "gym-torrent sends a line without an end");
        const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
        if (left.count() <= 0) return fail(ErrorCode::kTimeout, "gym-torrent says nothing");
        pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
        std::array<char, 16 << 10> part{};
        const ssize_t got = ::recv(socket_.get(), part.data(), part.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return fail(ErrorCode::kUnavailable, "gym-torrent has ended");
        received_.append(part.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace gym::torrent
