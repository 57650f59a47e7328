// gym-torrent-peer TORRENT FOLDER [--tracker URL] [--lie]: downloads and seeds as any program does
// that a .torrent is given to, with its own trackers and web seeds, until its input ends. --lie: it
// says that it has everything, and sends other bytes. Prints "ready PORT", and "done" once all is
// there.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <libtorrent/add_torrent_params.hpp>
#include <libtorrent/alert_types.hpp>
#include <libtorrent/disabled_disk_io.hpp>
#include <libtorrent/posix_disk_io.hpp>
#include <libtorrent/session.hpp>
#include <libtorrent/session_params.hpp>
#include <libtorrent/torrent_handle.hpp>
#include <libtorrent/torrent_info.hpp>
#include <libtorrent/torrent_status.hpp>
#include <string>

namespace {

namespace lt = libtorrent;

struct Wishes {
    std::string torrent, folder, tracker;
    bool lie = false;
};

lt::session make_session(const Wishes& wishes) {
    using Pack = lt::settings_pack;
    Pack settings;
    settings.set_str(Pack::listen_interfaces, "127.0.0.1:0");
    for (const int off :
         {Pack::enable_dht, Pack::enable_lsd, Pack::enable_upnp, Pack::enable_natpmp,
          Pack::enable_outgoing_utp, Pack::enable_incoming_utp})
        settings.set_bool(off, false);
    settings.set_bool(Pack::allow_multiple_connections_per_ip, true);
    settings.set_bool(Pack::disable_hash_checks, wishes.lie);
    settings.set_int(Pack::alert_mask, lt::alert_category::status | lt::alert_category::error);
    lt::session_params params(settings);
    if (wishes.lie)
        params.disk_io_constructor = lt::disabled_disk_io_constructor;
    else
        params.disk_io_constructor = lt::posix_disk_io_constructor;
    return lt::session(std::move(params));
}

lt::torrent_handle add(lt::session& session, const Wishes& wishes) {
    lt::add_torrent_params params;
    params.ti = std::make_shared<lt::torrent_info>(wishes.torrent);
    params.save_path = wishes.folder;
    if (!wishes.tracker.empty()) params.trackers = {wishes.tracker};
    params.flags &= ~(lt::torrent_flags::auto_managed | lt::torrent_flags::paused);
    if (wishes.lie) params.flags |= lt::torrent_flags::seed_mode;
    return session.add_torrent(params);
}

bool input_ended(int wait_ms) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char byte = 0;
    return ::poll(&input, 1, wait_ms) > 0 && ::read(STDIN_FILENO, &byte, 1) <= 0;
}

void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

void serve(const Wishes& wishes) {
    lt::session session = make_session(wishes);
    const lt::torrent_handle torrent = add(session, wishes);
    say("ready " + std::to_string(session.listen_port()));
    bool done = false;
    while (!input_ended(20)) {
        if (done || !torrent.status().is_seeding) continue;
        done = true;
        say("done");
    }
}

}  // namespace

int main(int argc, char** argv) {
    Wishes wishes;
    if (argc < 3) return 2;
    wishes.torrent = argv[1];
    wishes.folder = argv[2];
    for (int i = 3; i < argc; ++i) {
        if (std::strcmp(argv[i], "--lie") == 0) wishes.lie = true;
        if (std::strcmp(argv[i], "--tracker") == 0 && i + 1 < argc) wishes.tracker = argv[++i];
    }
    try {
        serve(wishes);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gym-torrent-peer: %s\n", error.what());
        return 1;
    }
    return 0;
}
