#pragma once

#include "bench_support.hpp"

namespace gym::bench {

/// The outer step of 12 million parameters over many deltas of 4 bits in a sealed store. Rows:
/// memory/N, the peak memory of the process in MiB; stored/N, nanoseconds of CPU time a parameter
/// and delta; opened/N, the same of the first pass over the deltas, which hashes and checks them
/// and takes their norms. Peer: the same with all deltas in memory. Every figure is of a process of
/// its own, so one run each.
/// @pre This process is small: a child's memory begins with its parent's.
void measure_memory(const Options& options);

}  // namespace gym::bench
