#include "mirror/mirror_config.hpp"

#include <chrono>

#include "gym/common/yaml.hpp"
#include "gym/protocol/commitment.hpp"

namespace gym::app {
namespace {

constexpr std::int64_t kTimeoutMsMax = 3'600'000;
constexpr std::int64_t kBytesMax = std::int64_t{1} << 50;
constexpr std::uint64_t kUploadsKeptMs = 86'400'000;

Status read_listen(YamlMap& parent, MirrorConfig& config) {
    if (!parent.has("listen")) return {};
    GYM_TRY(YamlMap map, parent.map("listen"));
    http_server::ServerOptions& listen = config.listen;
    GYM_TRY(listen.address, map.string_or("address", listen.address));
    GYM_CHECK(map.read_integer("port", 0, 65'535, listen.port));
    GYM_CHECK(map.read_integer("threads", 1, 1'024, listen.threads));
    GYM_CHECK(map.read_integer("connections_max", 1, 65'536, listen.connections_max));
    GYM_CHECK(map.read_integer("peer_connections_max", 0, 65'536, listen.peer_connections_max));
    GYM_CHECK(map.read_integer("header_timeout_ms", 100, kTimeoutMsMax, listen.header_timeout_ms));
    GYM_CHECK(map.read_integer("write_timeout_ms", 100, kTimeoutMsMax, listen.write_timeout_ms));
    GYM_TRY(config.port_file, map.string_or("port_file", ""));
    listen.streams_max = listen.connections_max;
    return map.finish();
}

Status read_origins(YamlMap& map, mirror::PullOptions& pull) {
    if (!map.has("origins")) return {};
    GYM_TRY(pull.origins, map.list_of_strings("origins"));
    const auto checked = mirror::Fetcher::create(pull.origins);
    return checked.ok() ? Status() : Status(map.error_at("origins", checked.error().message));
}

Status read_peers(YamlMap& map, mirror::PullOptions& pull) {
    GYM_TRY(pull.self, map.string_or("self", ""));
    if (!map.has("peers")) return {};
    GYM_TRY(pull.peers, map.list_of_strings("peers"));
    if (pull.peers.empty()) return {};
    const auto checked = mirror::Fetcher::create(pull.peers);
    if (!checked.ok()) return map.error_at("peers", checked.error().message);
    if (pull.self.empty())
        return map.error_at("self", "must be this mirror's own address, as `peers` lists it");
    return {};
}

Result<Address> read_address(YamlMap& map, const char* key, const std::string& text) {
    auto address = Address::parse(text);
    if (address.ok()) return address;
    return map.error_at(
        key, "must be an address of 0x and 40 hexadecimal digits, '" + text + "' is none");
}

Status read_uploads(YamlMap& parent, MirrorConfig& config) {
    if (!parent.has("uploads")) return {};
    GYM_TRY(YamlMap map, parent.map("uploads"));
    MirrorUploads uploads;
    std::uint64_t chain_id = 1;
    GYM_CHECK(map.read_integer("chain_id", 1, INT64_MAX, chain_id));
    GYM_TRY(const std::string log, map.string_or("commitment_log", Address().hex()));
    GYM_TRY(const Address commitment_log, read_address(map, "commitment_log", log));
    uploads.domain = protocol::signing_domain(chain_id, commitment_log);
    if (map.has("coordinators")) {
        GYM_TRY(const auto coordinators, map.list_of_strings("coordinators"));
        for (const std::string& text : coordinators) {
            GYM_TRY(const Address coordinator, read_address(map, "coordinators", text));
            uploads.coordinators.insert(coordinator);
        }
    }
    mirror::PullOptions& pull = config.pull;
    pull.uploads_bytes_max = pull.bytes_max / 2;
    GYM_CHECK(map.read_integer("bytes_max", kMirrorBytesMin,
                               static_cast<std::int64_t>(pull.bytes_max), pull.uploads_bytes_max));
    std::uint64_t kept_ms = kUploadsKeptMs;
    GYM_CHECK(map.read_integer("kept_ms", 60'000, std::int64_t{366} * 86'400'000, kept_ms));
    pull.uploads_kept = std::chrono::seconds(kept_ms / 1'000);
    GYM_CHECK(map.read_integer("at_once_max", 1, 1'024, uploads.at_once_max));
    if (!uploads.coordinators.empty() && commitment_log == Address())
        return map.error_at("commitment_log",
                            "must be the network's contract, as deployment.json has it: tickets "
                            "are signed for it");
    // Without a coordinator nobody has a ticket.
    if (!uploads.coordinators.empty()) config.uploads = std::move(uploads);
    return map.finish();
}

Status read_torrents(YamlMap& parent, MirrorConfig& config) {
    if (!parent.has("torrents")) return {};
    GYM_TRY(YamlMap map, parent.map("torrents"));
    GYM_TRY(const bool enabled, map.boolean_or("enabled", true));
    torrent::TrackerOptions tracker;
    GYM_CHECK(map.read_integer("torrents_max", 1, 1'000'000, tracker.torrents_max));
    GYM_CHECK(map.read_integer("peers_max", 1, 10'000'000, tracker.peers_max));
    GYM_CHECK(map.read_integer("peers_of_address_max", 1, 65'536, tracker.peers_of_address_max));
    GYM_CHECK(map.read_integer("interval_seconds", 30, 86'400, tracker.interval_s));
    GYM_TRY(tracker.announces_per_s_of_address, map.real_or("announces_per_s_of_address", 0.01, 1e6,
                                                            tracker.announces_per_s_of_address));
    GYM_CHECK(map.read_integer("announces_per_s_max", 1, 1'000'000, tracker.announces_per_s_max));
    GYM_CHECK(map.finish());
    config.torrents = enabled ? std::optional(tracker) : std::nullopt;
    return {};
}

}  // namespace

MirrorConfig default_mirror_config() {
    MirrorConfig config;
    config.listen.name = "gym-mirror";
    config.listen.address = "0.0.0.0";
    config.listen.port = 7690;
    // A thread waits while its piece comes from an origin.
    config.listen.threads = 64;
    config.listen.connections_max = 512;
    config.listen.peer_connections_max = 128;
    config.listen.streams_max = config.listen.connections_max;
    config.pull.folder = "mirror";
    // A worker that is slower has no time to train either.
    config.listen.body_silence_ms = 20'000;
    config.listen.body_bytes_per_s_min = 256 << 10;
    return config;
}

Result<MirrorConfig> load_mirror_config(const std::string& path) {
    GYM_TRY(YamlMap map, YamlMap::load_file(path));
    MirrorConfig config = default_mirror_config();
    mirror::PullOptions& pull = config.pull;
    GYM_CHECK(read_listen(map, config));
    GYM_CHECK(read_origins(map, pull));
    GYM_TRY(const std::string folder, map.string_or("folder", pull.folder.string()));
    pull.folder = folder;
    GYM_CHECK(map.read_integer("bytes_max", kMirrorBytesMin, kBytesMax, pull.bytes_max));
    GYM_CHECK(map.read_integer("blob_bytes_max", 1, kBytesMax, pull.fetch.blob_bytes_max));
    GYM_TRY(pull.lookups_per_s, map.real_or("lookups_per_s", 0.1, 1e6, pull.lookups_per_s));
    GYM_TRY(pull.lookups_per_s_of_peer,
            map.real_or("lookups_per_s_of_peer", 0.1, 1e6, pull.lookups_per_s_of_peer));
    GYM_CHECK(map.read_integer("absent_ms", 0, kTimeoutMsMax, pull.absent_ms));
    GYM_CHECK(map.read_integer("origin_bytes_per_s", 0, kBytesMax, pull.origin_bytes_per_s));
    GYM_CHECK(read_peers(map, pull));
    GYM_CHECK(read_uploads(map, config));
    GYM_CHECK(read_torrents(map, config));
    GYM_TRY(config.log_level, map.string_or("log_level", config.log_level));
    GYM_CHECK(map.finish());
    return config;
}

}  // namespace gym::app
