#include "gym/node/idle_blobs.hpp"

#include <spdlog/spdlog.h>

namespace gym::node {

void remove_idle(rpc::BlobCache& cache, FunctionRef<bool(const Digest&)> needs) {
    const auto removed = cache.remove_idle(kIdleBlobs, needs);
    if (!removed.ok())
        spdlog::warn("what earlier jobs left is not removed: {}", removed.error().message);
    else if (*removed > 0)
        spdlog::info("{} bytes of blobs were removed, which no unit needed for {} days", *removed,
                     kIdleBlobs.count() / 24);
}

}  // namespace gym::node
