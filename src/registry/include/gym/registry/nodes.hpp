#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/records/node.hpp"

/// The registry: nodes, jobs, rounds, units, datasets in PostgreSQL (schema registry, migration
/// 0020), and the only code that writes them. Functions run inside the caller's transaction, so
/// that several of them, and postings of other modules, can commit together. Times are Unix
/// milliseconds. Stateless, thread-safe.
namespace gym::registry {

struct NewNode {
    Address address;   ///< the key that signs commitments, reports and calls
    Address owner;     ///< whose account earns; the address itself by default
    std::string name;  ///< at most 64 characters, for people
    records::NodeProfile profile;
};

struct Node : NewNode {
    UnixMs registered_at_ms = 0;
    UnixMs last_seen_at_ms = 0;
    /// protocol::work_value() of the units that ended final since its last fault.
    Amount valid_value;
    bool excluded = false;
    std::optional<UnixMs> excluded_at_ms;
    std::string excluded_code;    ///< protocol::ReasonCode name
    std::string excluded_reason;  ///< one sentence
    bool left = false;            ///< signed off; comes back with its next heartbeat
};

/// Registers a node, or updates name, hardware, software, benchmark and owner of a known one. An
/// exclusion stays. @errors kConflict if the address has the other role, kInvalidArgument for
/// malformed fields.
Result<Node> register_node(db::Transaction& tx, const NewNode& node, UnixMs now_ms);
/// @errors kNotFound.
Result<Node> get_node(db::Transaction& tx, const Address& address);
Result<std::optional<Node>> find_node(db::Transaction& tx, const Address& address);

/// More than a network has.
inline constexpr std::uint32_t kNodesListMax = 100'000;

struct NodeFilter {
    std::optional<records::NodeRole> role;
    std::optional<UnixMs> seen_since_ms;
    bool eligible_only = false;  ///< neither excluded nor left
    std::optional<Address> owner;
    std::optional<Address> after;  ///< continue a listing behind this address
    std::uint32_t limit = 1000;    ///< at most kNodesListMax
};
/// Ascending by address.
Result<std::vector<Node>> list_nodes(db::Transaction& tx, const NodeFilter& filter);
/// The least benchmark of the `count` fastest eligible workers that were seen since then, or of all
/// if they are fewer; one whose speed is not known may be as fast as any. 0: none is known. Absent:
/// no worker is there.
Result<std::optional<std::uint64_t>> speed_of_fastest(db::Transaction& tx, std::uint32_t count,
                                                      UnixMs seen_since_ms);

/// The addresses of all nodes, of at most `limit`.
Result<std::vector<Address>> node_addresses(db::Transaction& tx, std::size_t limit);

/// The owner of each of these nodes. @errors kNotFound naming one that is not registered.
Result<std::map<Address, Address>> owners_of(db::Transaction& tx, std::span<const Address> nodes);

/// Those of these nodes that signed off and have not come back.
Result<std::set<Address>> signed_off(db::Transaction& tx, std::span<const Address> nodes);
/// These, and those of the nodes that were last seen before `seen_since_ms`.
Result<std::set<Address>> signed_off_or_silent(db::Transaction& tx, std::span<const Address> nodes,
                                               UnixMs seen_since_ms);

/// What decides whether a node is given work.
struct Standing {
    records::NodeRole role = records::NodeRole::kWorker;
    std::optional<std::string> excluded_because;
};
/// Of the nodes that are registered.
Result<std::map<Address, Standing>> standings_of(db::Transaction& tx,
                                                 std::span<const Address> nodes);

/// A node was there.
struct Sighting {
    Address node;
    UnixMs at_ms = 0;
};
/// Marks nodes as seen, each at most once in `sightings`, and waits for nobody: a node whose row
/// another transaction has locked is left out. A node that signed off after it was seen stays so.
/// @return the nodes that are marked.
Result<std::set<Address>> see_nodes(db::Transaction& tx, std::span<const Sighting> sightings);
/// The same for one node, but waits for its row. @errors kNotFound for an unknown node.
Status heartbeat(db::Transaction& tx, const Address& address, UnixMs now_ms);
/// The node signs off: it gets no unit until its next heartbeat.
Status leave(db::Transaction& tx, const Address& address, UnixMs now_ms);

/// Excludes a node for good: it gets no unit, its rate returns to 1, and both reason and cause stay
/// readable. Excluding it again keeps the first reason. @errors kNotFound.
Status exclude_node(db::Transaction& tx, const Address& address, const protocol::Reason& reason,
                    const std::optional<Digest>& unit, UnixMs now_ms);

}  // namespace gym::registry
