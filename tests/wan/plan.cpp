#include "plan.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "gym/common/yaml.hpp"
#include "gym/common/yaml_list.hpp"

namespace gym::wan {
namespace {

constexpr std::int64_t kDelayUsMax = 10'000'000;
constexpr std::int64_t kQueueBytesMin = 16 << 10, kQueueBytesMax = 64 << 20;
constexpr std::int64_t kKbitMax = 100'000'000;

Result<Host> read_host(YamlMap& map) {
    Host host;
    GYM_TRY(host.name, map.string("name"));
    GYM_TRY(host.region, map.string("region"));
    GYM_TRY(host.netns, map.string("netns"));
    GYM_TRY(const std::string address, map.string("address"));
    const auto parsed = parse_address(address);
    if (!parsed.ok()) return map.error_at("address", parsed.error().message);
    host.address = *parsed;
    GYM_TRY(const std::int64_t up, map.integer("up_kbit_per_s", 1, kKbitMax));
    GYM_TRY(const std::int64_t down, map.integer("down_kbit_per_s", 1, kKbitMax));
    host.up_bits_per_s = static_cast<std::uint64_t>(up) * 1'000;
    host.down_bits_per_s = static_cast<std::uint64_t>(down) * 1'000;
    GYM_CHECK(map.finish());
    return host;
}

Status check_unlike(const std::vector<Host>& hosts) {
    for (std::size_t i = 0; i < hosts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (hosts[i].name == hosts[j].name || hosts[i].address == hosts[j].address ||
                hosts[i].netns == hosts[j].netns)
                return fail(ErrorCode::kInvalidArgument,
                            "hosts " + hosts[j].name + " and " + hosts[i].name +
                                " share a name, an address or a namespace");
    return {};
}

}  // namespace

Result<std::uint32_t> parse_address(const std::string& text) {
    in_addr address{};
    if (::inet_pton(AF_INET, text.c_str(), &address) != 1)
        return fail(ErrorCode::kInvalidArgument, "'" + text + "' is no IPv4 address");
    return ntohl(address.s_addr);
}

Result<Plan> parse_plan(const std::string& text, const std::string& origin) {
    GYM_TRY(YamlMap map, YamlMap::parse(text, origin));
    Plan plan;
    GYM_TRY(const std::int64_t inside, map.integer("inside_delay_us", 0, kDelayUsMax));
    GYM_TRY(const std::int64_t between, map.integer("between_delay_us", 0, kDelayUsMax));
    plan.inside_delay_us = static_cast<std::uint64_t>(inside);
    plan.between_delay_us = static_cast<std::uint64_t>(between);
    GYM_CHECK(map.read_integer("inside_loss_ppm", 0, kPpm, plan.loss.inside_ppm));
    GYM_CHECK(map.read_integer("between_loss_ppm", 0, kPpm, plan.loss.between_ppm));
    GYM_TRY(const std::int64_t queue, map.integer("queue_bytes", kQueueBytesMin, kQueueBytesMax));
    plan.queue_bytes = static_cast<std::uint64_t>(queue);
    GYM_CHECK(map.read_integer("seed", 0, INT64_MAX, plan.seed));
    (void)map.string_or("hosts", "");  // known here, and read below
    GYM_CHECK(map.finish());
    GYM_TRY(auto entries, list_of_maps(text, origin, "hosts"));
    if (entries.empty() || entries.size() > kHostsMax)
        return map.error_at("hosts", "1 to " + std::to_string(kHostsMax) + " are possible");
    for (YamlMap& entry : entries) {
        GYM_TRY(Host host, read_host(entry));
        plan.hosts.push_back(std::move(host));
    }
    GYM_CHECK(check_unlike(plan.hosts));
    return plan;
}

}  // namespace gym::wan
