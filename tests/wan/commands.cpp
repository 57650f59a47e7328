#include "commands.hpp"

#include <boost/json.hpp>
#include <sstream>

namespace gym::wan {
namespace {

namespace json = boost::json;

std::string ok() {
    return json::serialize(json::object{{"ok", true}});
}

std::string error(const std::string& why) {
    return json::serialize(json::object{{"error", why}});
}

std::string set_loss(std::istringstream& words, Network& network) {
    std::int64_t inside = -1, between = -1;
    words >> inside >> between;
    const auto is_share = [](std::int64_t ppm) { return ppm >= 0 && ppm <= kPpm; };
    if (!words || !is_share(inside) || !is_share(between))
        return error("loss takes two numbers of 0 to 1000000");
    network.set_loss({static_cast<std::uint32_t>(inside), static_cast<std::uint32_t>(between)});
    return ok();
}

}  // namespace

std::string statistics(const Network& network) {
    json::array pairs;
    const auto& hosts = network.plan().hosts;
    for (std::size_t from = 0; from < hosts.size(); ++from)
        for (std::size_t to = 0; to < hosts.size(); ++to) {
            const PairCount& count = network.count(from, to);
            if (count == PairCount()) continue;
            pairs.push_back({{"from", hosts[from].name},
                             {"to", hosts[to].name},
                             {"packets", count.packets},
                             {"bytes", count.bytes},
                             {"lost", count.lost},
                             {"full", count.full},
                             {"cut", count.cut}});
        }
    return json::serialize(
        json::object{{"late_us_max", network.late_us_max()}, {"pairs", std::move(pairs)}});
}

std::string carry_out(const std::string& line, Network& network) {
    std::istringstream words(line);
    std::string command, region;
    words >> command;
    if (command == "stats") return statistics(network);
    if (command == "loss") return set_loss(words, network);
    if (command == "reset") {
        network.reset_counts();
        return ok();
    }
    words >> region;
    if (command == "cut") return network.cut(region) ? ok() : error("no host is in " + region);
    if (command == "heal") return network.heal(region) ? ok() : error(region + " was not cut off");
    return error("'" + command + "' is none of cut, heal, loss, stats, reset");
}

}  // namespace gym::wan
