#include "gym/protocol/delta_size.hpp"

#include <algorithm>

#include "gym/common/memory.hpp"

namespace gym::protocol {

std::string too_large(const JobBytes& job, std::uint64_t workers_min, const SizeLimits& limits) {
    const std::string begin = "a delta of this job has " + memory_text(job.delta);
    const std::string limit = ", and this network takes blobs of at most " +
                              memory_text(limits.blob_bytes) +
                              ": ask its operator to raise blob_bytes_max";
    if (job.delta > limits.blob_bytes) return begin + limit;
    if (job.state > limits.blob_bytes)
        return "a state of this job has " + memory_text(job.state) + limit;
    const std::uint64_t fit = std::max<std::uint64_t>(limits.deltas_bytes / job.delta, 1);
    if (fit >= workers_min) return {};
    return begin + ", and this network keeps no more than " + std::to_string(fit) +
           " of them in a round, where the job demands " + std::to_string(workers_min) +
           " (workers_min): ask its operator to raise deltas_bytes_max";
}

}  // namespace gym::protocol
