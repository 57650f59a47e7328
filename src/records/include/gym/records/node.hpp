#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/records/unit.hpp"

namespace gym::records {

enum class NodeRole : std::uint8_t { kWorker = 1, kVerifier = 2 };
/// "worker", "verifier".
[[nodiscard]] std::string_view to_string(NodeRole role) noexcept;
/// @errors kMalformed for another name.
[[nodiscard]] Result<NodeRole> parse_node_role(std::string_view name);

/// How a node describes itself when it registers.
struct NodeProfile {
    NodeRole role = NodeRole::kWorker;
    std::string device;  ///< "cpu", "rtx4090"; at most kDeviceCharactersMax characters
    std::uint64_t memory_bytes = 0;
    std::uint64_t flops_per_second = 0;  ///< measured by the registration benchmark
    std::string software_version;

    friend bool operator==(const NodeProfile&, const NodeProfile&) = default;
};
inline constexpr std::size_t kDeviceCharactersMax = 64;

/// What a node is doing right now.
struct Activity {
    std::optional<protocol::UnitKey> unit;
    std::uint64_t step = 0;
    std::uint64_t steps = 0;
    std::string phase = "idle";  ///< "idle", "download", "run", "upload", "verify"
};

/// A sign of life, which may answer an uptime challenge.
struct Heartbeat {
    Activity activity;
    std::optional<protocol::UptimeAnswer> answer;
};

struct HeartbeatAnswer {
    UnixMs server_ms = 0;
    std::string excluded_because;  ///< one sentence; empty for a node in good standing
    /// The oldest challenge that waits for an answer; the node answers it at once.
    std::optional<protocol::UptimeChallenge> challenge;
    std::string answer_refused;  ///< why the heartbeat's answer does not count; empty if it does
};

struct NodeStatus {
    Address address;
    NodeRole role = NodeRole::kWorker;
    std::string excluded_because;  ///< one sentence; empty for a node in good standing
    std::string idle_because;      ///< one sentence; empty while there is work
    std::uint64_t units_final = 0;
    std::uint64_t units_rejected = 0;
    std::uint64_t units_open = 0;   ///< committed and not decided
    std::uint64_t units_other = 0;  ///< expired, unpaid, void
    std::uint32_t challenges = 0;   ///< of the last hour, whose deadlines have passed
    std::uint32_t uptime_ppm = 0;   ///< share of those challenges that was answered in time
    UnixMs last_seen_ms = 0;
    std::vector<UnitReceipt> open_units;    ///< at most kStatusUnitsMax
    std::vector<UnitReceipt> recent_units;  ///< decided, newest first; at most kStatusUnitsMax
    std::string stake_because;  ///< why its stake is not enough for a unit; empty if it is

    friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};
inline constexpr std::size_t kStatusUnitsMax = 100;

}  // namespace gym::records
