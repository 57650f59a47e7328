#pragma once

#include "bench_support.hpp"

namespace gym::bench {

/// A round's blobs through three mirrors that take uploads and know each other, over real sockets:
/// how much of it passes the process that aggregates. Row: mirror/round.
void report_mirrored_round(const Options& options);

}  // namespace gym::bench
