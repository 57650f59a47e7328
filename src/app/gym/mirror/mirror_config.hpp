#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/http_server/server.hpp"
#include "gym/mirror/pull_through.hpp"
#include "gym/torrent/tracker.hpp"

namespace gym::app {

/// Whose uploads a mirror takes.
struct MirrorUploads {
    crypto::Eip712Domain domain;
    std::set<Address> coordinators;
    std::uint32_t at_once_max = 16;
};

/// What `gym mirror` serves and from where; deploy/config/mirror.yaml documents every key.
struct MirrorConfig {
    http_server::ServerOptions listen;
    std::string port_file;  ///< empty: none
    mirror::PullOptions pull;
    std::optional<MirrorUploads> uploads;  ///< absent: none are taken
    /// Absent: no torrents are served, and nobody is told of others.
    std::optional<torrent::TrackerOptions> torrents = torrent::TrackerOptions();
    std::string log_level = "info";
};

/// The least that a mirror's folder may be given.
inline constexpr std::int64_t kMirrorBytesMin = 1 << 20;

/// The bounds of a mirror that a file need not name.
[[nodiscard]] MirrorConfig default_mirror_config();

/// @errors kIo, kNotFound, kInvalidArgument naming file, line and key.
[[nodiscard]] Result<MirrorConfig> load_mirror_config(const std::string& path);

}  // namespace gym::app
