#include "gym/coordinator/turns.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gym::coordinator {
namespace {

/// How many of all workers, free or not, may take a unit of the job: at most its slots.
std::uint64_t most_workers(const Turn& turn, std::span<const Candidate> workers) {
    const auto able = std::ranges::count_if(
        workers, [&](const Candidate& worker) { return is_able(worker.node, turn); });
    return std::min<std::uint64_t>(turn.slots, static_cast<std::uint64_t>(able));
}

/// Takes the job's share out of the free workers, first those with the least memory that is enough.
void leave_to(const Turn& turn, std::uint64_t count, std::vector<registry::Node>& free) {
    std::erase_if(free, [&](const registry::Node& node) {
        if (count == 0 || !is_able(node, turn)) return false;
        --count;
        return true;
    });
}

std::uint64_t memory_order(const registry::Node& node) {
    const std::uint64_t lent = node.profile.memory_bytes;
    return lent == 0 ? std::numeric_limits<std::uint64_t>::max() : lent;
}

}  // namespace

bool is_able(const registry::Node& node, const Turn& turn) {
    const std::uint64_t lent = node.profile.memory_bytes;
    // Of a CPU 0 is "not said"; of a GPU it is all that a driver in trouble shows.
    const bool said = lent != 0 || !registry::WorkerMemory::is_cpu(node.profile.device);
    return (!said || (lent != 0 && lent >= turn.memory.on(node.profile.device))) &&
           !turn.barred.contains(node.address) &&
           protocol::is_in_time(turn.least, node.profile.flops_per_second);
}

std::vector<registry::Node> workers_of_turn(const Turn& turn, std::span<const Turn> others,
                                            std::vector<Candidate> workers, UnixMs now_ms) {
    std::vector<registry::Node> free;
    for (const Candidate& worker : workers)
        if (worker.free) free.push_back(worker.node);
    std::ranges::stable_sort(free, {}, memory_order);
    for (const Turn& other : others) {
        if (other.job == turn.job || !other.is_patient(now_ms) || !other.is_before(turn)) continue;
        const std::uint64_t most = most_workers(other, workers);
        if (most >= other.workers_min) leave_to(other, most, free);
    }
    std::erase_if(free, [&](const registry::Node& node) { return !is_able(node, turn); });
    if (turn.is_patient(now_ms) && free.size() < most_workers(turn, workers)) return {};
    return free;
}

}  // namespace gym::coordinator
