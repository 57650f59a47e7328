// Rounds larger than today's record allows: what the database takes for them.
#pragma once

#include <cstdint>

#include "gym/db/database.hpp"

namespace gym::bench {

/// Seconds of the coordinator's statements for one round, in its order and its transactions.
struct RoundTimes {
    std::uint32_t units = 0;
    double chosen = 0;    ///< live and free workers read, and chosen from
    double assigned = 0;  ///< one unit each
    double sealed = 0;    ///< into the epoch's tree, once all are committed
    double drawn = 0;     ///< every unit, without verifiers
    double ended = 0;     ///< final, when their time has passed
};

/// A round of all workers that are registered and were seen in the last half minute, at most
/// `units_max`. Its record names one slot: larger ones do not exist yet. Ends the program on
/// failure.
RoundTimes time_round(db::Database& database, std::uint32_t units_max);

}  // namespace gym::bench
