// gym-torrent: shares blobs with other nodes by BitTorrent for the node that started it
// (gym/torrent/helper_lines.hpp). It reads strangers' messages, so it has no key and no secret
// of the node, and the node believes nothing that it says.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include "gym/torrent/helper_lines.hpp"
#include "seed_folder.hpp"
#include "sharing.hpp"
#include "torrents.hpp"

namespace gym::app {
namespace {

// As the other programs' (cli/cli_context.hpp): usage, conflict, failure.
constexpr int kExitUsage = 2, kExitConflict = 5, kExitFailure = 1;
constexpr int kTickMs = 50;

bool stopped = false;  ///< the node does not listen any more

struct Flags {
    std::string folder;
    TorrentsOptions torrents;
    SharingBounds bounds;
};

/// @return false: nobody listens any more.
bool say(const std::string& line) {
    const std::string text = line + "\n";
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t put = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            stopped = true;
            return false;
        }
        done += static_cast<std::size_t>(put);
    }
    return true;
}

/// Lines from standard input.
class Input {
  public:
    /// Takes the bytes that are there. @return false at its end.
    bool read_some() {
        std::array<char, 16 << 10> part{};
        const ssize_t got = ::read(STDIN_FILENO, part.data(), part.size());
        if (got < 0 && errno == EINTR) return true;
        if (got <= 0 || text_.size() > torrent::kLineBytesMax) return false;
        text_.append(part.data(), static_cast<std::size_t>(got));
        return true;
    }
    std::optional<std::string> next() {
        const std::size_t end = text_.find('\n');
        if (end == std::string::npos) return std::nullopt;
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
    }

  private:
    std::string text_;
};

void serve(Sharing& sharing, const Torrents& torrents) {
    Input input;
    while (!stopped) {
        std::array<pollfd, 2> ready{pollfd{STDIN_FILENO, POLLIN, 0},
                                    pollfd{torrents.wake_descriptor(), POLLIN, 0}};
        if (::poll(ready.data(), ready.size(), kTickMs) > 0 && ready[0].revents != 0)
            if (!input.read_some()) break;
        while (const auto line = input.next())
            sharing.obey(*line);
        const auto now = std::chrono::steady_clock::now();
        sharing.pass_events(now);
        sharing.tick(now);
    }
    sharing.save();
}

int fail_with(const Error& error) {
    say("warn " + error.message);
    return error.code == ErrorCode::kConflict ? kExitConflict : kExitFailure;
}

int share(const Flags& flags) {
    const auto folder = SeedFolder::open(flags.folder);
    if (!folder.ok()) return fail_with(folder.error());
    TorrentsOptions options = flags.torrents;
    options.folder = flags.folder;
    const auto torrents = Torrents::start(options);
    if (!torrents.ok()) return fail_with(torrents.error());
    say("ready " + std::to_string((*torrents)->port()));
    Sharing sharing(
        *folder, **torrents, flags.bounds, [](const std::string& line) { say(line); },
        std::chrono::steady_clock::now());
    serve(sharing, **torrents);
    return 0;
}

int run(int argc, char** argv) {
    Flags flags;
    CLI::App app{
        "Share blobs with other nodes by BitTorrent; started by `gym node` and gym-verifier",
        "gym-torrent"};
    app.add_option("--folder", flags.folder, "Folder of the blobs that are shared")->required();
    app.add_option("--address", flags.torrents.address, "Listen on this address")->required();
    app.add_option("--port", flags.torrents.port, "Listen on this port; 0: any free one");
    app.add_option("--upload-bytes-per-s-max", flags.torrents.upload_bytes_per_s_max,
                   "Send at most so many bytes a second; 0: no bound");
    app.add_option("--connections-max", flags.torrents.connections_max,
                   "Have at most so many connections");
    app.add_option("--seed-bytes-max", flags.bounds.seed_bytes_max, "Of the folder");
    app.add_option("--seed-seconds-max", flags.bounds.seed_s_max, "Share a blob for so long");
    app.add_option("--seed-ratio-max", flags.bounds.seed_ratio_max, "Send a blob at most so often");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kExitUsage;
    }
    return share(flags);
}

}  // namespace
}  // namespace gym::app

int main(int argc, char** argv) {
    ::signal(SIGPIPE, SIG_IGN);
    // A terminal and systemd stop the node and this program with one signal each: this program ends
    // with its input, once the node does.
    ::signal(SIGTERM, SIG_IGN);
    ::signal(SIGINT, SIG_IGN);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    try {
        return gym::app::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gym-torrent: %s\n", error.what());
        return gym::app::kExitFailure;
    }
}
