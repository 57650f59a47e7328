#pragma once

#include <cstdint>
#include <string>

#include "gym/protocol/lifecycle.hpp"

/// Whether what checks a unit ends before the window on chain in which a game about it is opened:
/// one rule for the coordinator, which starts no other job, and for those who refuse it before. A
/// fault that is found later costs its worker no stake.
namespace gym::protocol {

/// The longest that the checks of a drawn unit take from its draw on: every draw is missed but the
/// last one, whose report comes at its deadline, and who disputes the unit runs it once more, for
/// which a job's `report_ms` is the time. Saturates.
[[nodiscard]] std::int64_t checks_ms(const LifecycleParams& params) noexcept;

/// The largest `report_ms` with which the checks take no longer than `window_ms`; 0 or less if
/// there is none.
[[nodiscard]] std::int64_t report_ms_max(std::uint32_t draws_max, std::int64_t reveal_ms,
                                         std::int64_t window_ms) noexcept;

/// Why the checks of a job's units do not fit into a network's window: one sentence that names the
/// numbers and what to change. Empty if they fit.
/// @param window_ms from a draw until the last game can be opened.
[[nodiscard]] std::string outlasts_window(const LifecycleParams& params, std::int64_t window_ms);

}  // namespace gym::protocol
