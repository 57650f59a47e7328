#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/cli_context.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/stop.hpp"
#include "gym/http_server/server.hpp"
#include "gym/mirror/blob_handler.hpp"
#include "gym/mirror/copy.hpp"
#include "gym/rpc/upload_ticket.hpp"
#include "gym/torrent/site.hpp"
#include "mirror/mirror_config.hpp"
#include "service_main.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::seconds kReportEvery{60};

struct MirrorFlags {
    std::string config_file;
    std::string listen;
    std::string folder;
    std::vector<std::string> origins;
    std::optional<std::uint64_t> bytes_max;
    std::string port_file;
    std::string log_level;
};

/// ADDRESS:PORT, [ADDRESS]:PORT or PORT.
Status read_listen(const std::string& text, http_server::ServerOptions& listen) {
    const std::size_t colon = text.rfind(':');
    std::string address = colon == std::string::npos ? "" : text.substr(0, colon);
    const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
    if (address.starts_with('[') && address.ends_with(']'))
        address = address.substr(1, address.size() - 2);
    int value = -1;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
    if (error != std::errc() || end != port.data() + port.size() || value < 0 || value > 65'535)
        return fail(ErrorCode::kInvalidArgument,
                    "--listen '" + text + "' must have the form ADDRESS:PORT");
    if (!address.empty()) listen.address = address;
    listen.port = static_cast<std::uint16_t>(value);
    return {};
}

Result<MirrorConfig> resolve(const MirrorFlags& flags) {
    MirrorConfig config = default_mirror_config();
    if (!flags.config_file.empty()) {
        GYM_TRY(config, load_mirror_config(flags.config_file));
    }
    if (!flags.listen.empty()) GYM_CHECK(read_listen(flags.listen, config.listen));
    if (!flags.folder.empty()) config.pull.folder = flags.folder;
    if (!flags.origins.empty()) config.pull.origins = flags.origins;
    if (flags.bytes_max) config.pull.bytes_max = *flags.bytes_max;
    if (config.pull.bytes_max < static_cast<std::uint64_t>(kMirrorBytesMin))
        return fail(ErrorCode::kInvalidArgument,
                    "--bytes-max must be at least 1 MiB, the size of a piece");
    if (!flags.port_file.empty()) config.port_file = flags.port_file;
    if (!flags.log_level.empty()) config.log_level = flags.log_level;
    return config;
}

/// What happened since the last report; nothing is said of a time in which nothing did.
class Reporter {
  public:
    Reporter(const CliContext& context, const mirror::PullThrough& pull,
             const mirror::BlobHandler& handler)
        : context_(context), pull_(pull), handler_(handler) {}

    void report() {
        const std::uint64_t sent = handler_.bytes_sent();
        const std::uint64_t received = handler_.bytes_received();
        const mirror::PullCounters now = pull_.counters();
        if (sent == sent_ && received == received_ && now.lookups == last_.lookups &&
            now.refused == last_.refused)
            return;
        spdlog::info(
            "sent {} MiB, received {} MiB, fetched {} MiB from origins and {} MiB from other "
            "mirrors, {} MiB are kept",
            (sent - sent_) >> 20, (received - received_) >> 20,
            (now.origin_bytes - last_.origin_bytes) >> 20,
            (now.peer_bytes - last_.peer_bytes) >> 20, pull_.bytes_kept() >> 20);
        if (context_.json)
            context_.print_json({{"event", "progress"},
                                 {"sent_bytes", sent},
                                 {"received_bytes", received},
                                 {"origin_bytes", now.origin_bytes},
                                 {"peer_bytes", now.peer_bytes},
                                 {"pieces_hit", now.pieces_hit},
                                 {"pieces_fetched", now.pieces_fetched},
                                 {"refused", now.refused},
                                 {"kept_bytes", pull_.bytes_kept()}});
        sent_ = sent;
        received_ = received;
        last_ = now;
    }

  private:
    const CliContext& context_;
    const mirror::PullThrough& pull_;
    const mirror::BlobHandler& handler_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    mirror::PullCounters last_;
};

Status serve(const CliContext& context, const MirrorConfig& config, const std::stop_token& stop) {
    GYM_TRY(const auto pull, mirror::PullThrough::open(config.pull, stop));
    const SystemClock clock;
    std::optional<rpc::TicketGate> gate;
    mirror::Uploads uploads;
    if (config.uploads) {
        gate.emplace(config.uploads->domain, config.uploads->coordinators,
                     config.pull.fetch.blob_bytes_max, clock);
        uploads = {&*gate, pull.get(), config.uploads->at_once_max};
    }
    std::optional<torrent::Site> torrents;
    if (config.torrents)
        torrents.emplace(*pull,
                         torrent::SiteOptions{.tracker = *config.torrents,
                                              .self = mirror::trimmed_url(config.pull.self)});
    mirror::BlobHandler handler(
        *pull, [&] { return pull->metrics() + (torrents ? torrents->metrics() : std::string()); },
        uploads, torrents ? &*torrents : nullptr);
    GYM_TRY(const auto server, http_server::Server::start(config.listen, handler));
    GYM_CHECK(write_port_file(config.port_file, server->port()));
    log_ready(fmt::format("mirroring on {}:{}, at most {} MiB in {}", config.listen.address,
                          server->port(), config.pull.bytes_max >> 20,
                          config.pull.folder.string()));
    if (context.json)
        context.print_json({{"event", "ready"},
                            {"address", config.listen.address},
                            {"port", server->port()},
                            {"kept_bytes", pull->bytes_kept()}});
    Reporter reporter(context, *pull, handler);
    while (!wait_for_stop(stop, kReportEvery))
        reporter.report();
    server->stop();
    reporter.report();
    return {};
}

Status run_mirror(const CliContext& context, const MirrorFlags& flags) {
    GYM_TRY(const MirrorConfig config, resolve(flags));
    return run_service({.name = "gym-mirror", .log_level = config.log_level},
                       [&](const std::stop_token& stop) { return serve(context, config, stop); });
}

}  // namespace

void add_mirror_command(CLI::App& app, CliContext& context) {
    CLI::App* command = app.add_subcommand(
        "mirror", "Serve a network's public blobs by HTTP: fetch them once, check them, keep them");
    auto flags = std::make_shared<MirrorFlags>();
    command->add_option("--config", flags->config_file,
                        "Read this file (share/gym/config/mirror.yaml documents its keys)");
    command->add_option("--origin", flags->origins,
                        "Fetch from this address: the network's blob port, another mirror, or a "
                        "server of static files (http(s)://host[:port][/path]); repeat for more");
    command->add_option("--listen", flags->listen,
                        "Listen on ADDRESS:PORT (default: 0.0.0.0:7690)");
    command->add_option("--folder", flags->folder, "Keep blobs in this folder (default: mirror)");
    command
        ->add_option("--bytes-max", flags->bytes_max,
                     "Keep at most so many bytes; what was used least recently goes first "
                     "(default: 100 GiB)")
        ->transform(CLI::AsSizeValue(false));
    command->add_option("--port-file", flags->port_file, "Write the port to this file");
    command->add_option("--log-level", flags->log_level,
                        "Log trace, debug, info, warn, error or off (default: info)");
    command->callback([&context, flags] { context.finish(run_mirror(context, *flags)); });
}

}  // namespace gym::app
