#include "gym/registry/nodes.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "columns.hpp"

namespace gym::registry {
namespace {

constexpr std::string_view kNodeColumns =
    "SELECT address, role, owner, name, hardware->>'gpu_type' AS device, "
    "hardware->>'memory_bytes' AS memory_bytes, software, benchmark_flops, registered_at_ms, "
    "last_seen_at_ms, valid_value, has_left, excluded_at_ms, excluded_code, "
    "excluded_reason FROM registry.node ";

/// The column `hardware`. The device is text from a peer: only characters that need no escape in
/// JSON go in.
std::string hardware_json(const records::NodeProfile& profile) {
    if (profile.device.empty() && profile.memory_bytes == 0) return "{}";
    std::string device;
    for (const char c : profile.device)
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '-' || c == '_' || c == '.' || c == ' ')
            device.push_back(c);
    return R"({"gpu_type":")" + device + R"(","memory_bytes":)" +
           std::to_string(profile.memory_bytes) + "}";
}

Result<records::NodeProfile> to_profile(const db::Row& row) {
    records::NodeProfile profile;
    GYM_TRY(profile.role, records::parse_node_role(row.get<std::string>("role")));
    profile.device = row.get<std::optional<std::string>>("device").value_or("");
    const auto memory = row.get<std::optional<std::string>>("memory_bytes").value_or("0");
    std::from_chars(memory.data(), memory.data() + memory.size(), profile.memory_bytes);
    profile.flops_per_second = row.get<std::uint64_t>("benchmark_flops");
    profile.software_version = row.get<std::string>("software");
    return profile;
}

Result<Node> to_node(const db::Row& row) {
    Node node;
    node.address = row.get<Address>("address");
    node.owner = row.get<Address>("owner");
    node.name = row.get<std::string>("name");
    GYM_TRY(node.profile, to_profile(row));
    node.registered_at_ms = row.get<UnixMs>("registered_at_ms");
    node.last_seen_at_ms = row.get<UnixMs>("last_seen_at_ms");
    node.valid_value = row.get<Amount>("valid_value");
    node.left = row.get<bool>("has_left");
    node.excluded_at_ms = row.get<std::optional<UnixMs>>("excluded_at_ms");
    node.excluded = node.excluded_at_ms.has_value();
    node.excluded_code = row.get<std::optional<std::string>>("excluded_code").value_or("");
    node.excluded_reason = row.get<std::optional<std::string>>("excluded_reason").value_or("");
    return node;
}

Error unknown_node(const Address& address) {
    return fail(ErrorCode::kNotFound, "node " + address.hex() + " is not registered");
}

}  // namespace

Result<Node> register_node(db::Transaction& tx, const NewNode& node, UnixMs now_ms) {
    if (node.address.is_zero() || node.owner.is_zero())
        return fail(ErrorCode::kInvalidArgument, "a node needs an address and an owner");
    GYM_TRY(const auto stored,
            tx.exec_optional(
                "INSERT INTO registry.node (address, role, owner, name, hardware, software, "
                "benchmark_flops, registered_at_ms, last_seen_at_ms) "
                "VALUES ($1, $2, $3, $4, $5::jsonb, $6, $7, $8, $8) "
                "ON CONFLICT (address) DO UPDATE SET owner = excluded.owner, name = excluded.name, "
                "hardware = excluded.hardware, software = excluded.software, "
                "benchmark_flops = excluded.benchmark_flops, has_left = false, "
                "last_seen_at_ms = greatest(node.last_seen_at_ms, excluded.last_seen_at_ms) "
                "WHERE node.role = excluded.role RETURNING address",
                {node.address, records::to_string(node.profile.role), node.owner, node.name,
                 hardware_json(node.profile), node.profile.software_version,
                 node.profile.flops_per_second, now_ms}));
    if (!stored)
        return fail(ErrorCode::kConflict, "node " + node.address.hex() +
                                              " is registered already, and not as a " +
                                              std::string(records::to_string(node.profile.role)));
    return get_node(tx, node.address);
}

Result<std::optional<Node>> find_node(db::Transaction& tx, const Address& address) {
    GYM_TRY(const auto row,
            tx.exec_optional(std::string(kNodeColumns) + "WHERE address = $1", {address}));
    if (!row) return std::optional<Node>();
    GYM_TRY(Node node, to_node(*row));
    return std::optional<Node>(std::move(node));
}

Result<Node> get_node(db::Transaction& tx, const Address& address) {
    GYM_TRY(auto node, find_node(tx, address));
    if (!node) return unknown_node(address);
    return std::move(*node);
}

Result<std::vector<Node>> list_nodes(db::Transaction& tx, const NodeFilter& filter) {
    std::optional<std::string_view> role;
    if (filter.role) role = records::to_string(*filter.role);
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kNodeColumns) +
                        "WHERE ($1::text IS NULL OR role = $1) "
                        "AND ($2::bigint IS NULL OR last_seen_at_ms >= $2) "
                        "AND (NOT $3::boolean OR (excluded_at_ms IS NULL AND NOT has_left)) "
                        "AND ($4::bytea IS NULL OR owner = $4) "
                        "AND ($5::bytea IS NULL OR address > $5) ORDER BY address LIMIT $6",
                    {role, filter.seen_since_ms, filter.eligible_only, filter.owner, filter.after,
                     std::min(filter.limit, kNodesListMax)}));
    std::vector<Node> nodes;
    nodes.reserve(rows.size());
    for (const db::Row row : rows) {
        GYM_TRY(Node node, to_node(row));
        nodes.push_back(std::move(node));
    }
    return nodes;
}

Result<std::optional<std::uint64_t>> speed_of_fastest(db::Transaction& tx, std::uint32_t count,
                                                      UnixMs seen_since_ms) {
    // Nodes of unknown speed come first: they may be as fast as any.
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT benchmark_flops FROM (SELECT benchmark_flops FROM "
                             "registry.node WHERE role = 'worker' AND excluded_at_ms IS NULL AND "
                             "NOT has_left AND last_seen_at_ms >= $1 ORDER BY benchmark_flops > 0, "
                             "benchmark_flops DESC LIMIT $2) f ORDER BY benchmark_flops = 0, "
                             "benchmark_flops LIMIT 1",
                             {seen_since_ms, count}));
    if (!row) return std::optional<std::uint64_t>();
    return std::optional(row->get<std::uint64_t>(0));
}

Result<std::vector<Address>> node_addresses(db::Transaction& tx, std::size_t limit) {
    GYM_TRY(const db::Rows rows, tx.exec("SELECT address FROM registry.node LIMIT $1",
                                         {static_cast<std::uint64_t>(limit)}));
    std::vector<Address> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(row.get<Address>(0));
    return out;
}

Result<std::map<Address, Address>> owners_of(db::Transaction& tx, std::span<const Address> nodes) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT address, owner FROM registry.node WHERE address = ANY($1::bytea[])",
                    {db::Param::array(nodes)}));
    std::map<Address, Address> out;
    for (const db::Row row : rows)
        out.emplace(row.get<Address>(0), row.get<Address>(1));
    for (const Address& node : nodes)
        if (!out.contains(node)) return unknown_node(node);
    return out;
}

Result<std::set<Address>> signed_off(db::Transaction& tx, std::span<const Address> nodes) {
    return signed_off_or_silent(tx, nodes, std::numeric_limits<UnixMs>::min());
}

Result<std::set<Address>> signed_off_or_silent(db::Transaction& tx, std::span<const Address> nodes,
                                               UnixMs seen_since_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT address FROM registry.node WHERE address = ANY($1::bytea[]) AND "
                    "(has_left OR last_seen_at_ms < $2)",
                    {db::Param::array(nodes), seen_since_ms}));
    std::set<Address> out;
    for (const db::Row row : rows)
        out.insert(row.get<Address>(0));
    return out;
}

Result<std::map<Address, Standing>> standings_of(db::Transaction& tx,
                                                 std::span<const Address> nodes) {
    GYM_TRY(const db::Rows rows, tx.exec("SELECT address, role, excluded_reason FROM registry.node "
                                         "WHERE address = ANY($1::bytea[])",
                                         {db::Param::array(nodes)}));
    std::map<Address, Standing> out;
    for (const db::Row row : rows) {
        Standing& standing = out[row.get<Address>(0)];
        GYM_TRY(standing.role, records::parse_node_role(row.get<std::string>(1)));
        standing.excluded_because = row.get<std::optional<std::string>>(2);
    }
    return out;
}

Result<std::set<Address>> see_nodes(db::Transaction& tx, std::span<const Sighting> sightings) {
    const auto column = [&](const auto& value) { return column_of(sightings, value); };
    GYM_TRY(const db::Rows rows,
            tx.exec("WITH beat AS MATERIALIZED (SELECT * FROM unnest($1::bytea[], $2::bigint[]) AS "
                    "b(node, at_ms)), free AS MATERIALIZED (SELECT n.address FROM registry.node n "
                    "WHERE n.address IN (SELECT node FROM beat) FOR NO KEY UPDATE SKIP LOCKED) "
                    "UPDATE registry.node n SET last_seen_at_ms = greatest(n.last_seen_at_ms, "
                    "beat.at_ms), has_left = n.has_left AND beat.at_ms < n.last_seen_at_ms FROM "
                    "beat JOIN free ON free.address = beat.node "
                    "WHERE n.address = beat.node RETURNING n.address",
                    {column([](const Sighting& s) { return s.node; }),
                     column([](const Sighting& s) { return s.at_ms; })}));
    std::set<Address> out;
    for (const db::Row row : rows)
        out.insert(row.get<Address>(0));
    return out;
}

Status heartbeat(db::Transaction& tx, const Address& address, UnixMs now_ms) {
    GYM_TRY(const db::Rows seen,
            tx.exec("UPDATE registry.node SET last_seen_at_ms = greatest(last_seen_at_ms, $2), "
                    "has_left = has_left AND $2 < last_seen_at_ms WHERE address = $1",
                    {address, now_ms}));
    if (seen.affected() == 0) return unknown_node(address);
    return {};
}

Status leave(db::Transaction& tx, const Address& address, UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.node SET has_left = true, "
                    "last_seen_at_ms = greatest(last_seen_at_ms, $2) WHERE address = $1",
                    {address, now_ms}));
    if (rows.affected() == 0) return unknown_node(address);
    return {};
}

Status exclude_node(db::Transaction& tx, const Address& address, const protocol::Reason& reason,
                    const std::optional<Digest>& unit, UnixMs now_ms) {
    GYM_TRY([[maybe_unused]] const Node node, get_node(tx, address));
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("UPDATE registry.node SET excluded_at_ms = $2, excluded_code = $3, "
                    "excluded_reason = $4, excluded_unit = $5, valid_value = 0 "
                    "WHERE address = $1 AND excluded_at_ms IS NULL",
                    {address, now_ms, protocol::to_string(reason.code), reason.sentence, unit}));
    return {};
}

}  // namespace gym::registry
