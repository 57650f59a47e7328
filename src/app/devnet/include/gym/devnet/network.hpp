#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "gym/common/result.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/devnet/services.hpp"

namespace gym::devnet {

/// Reports the next step to a person, as one line.
using Announce = std::function<void(const std::string&)>;

struct NetworkOptions {
    std::filesystem::path root;
    std::optional<std::uint32_t> workers;  ///< of a new network: 3 unless said otherwise
    std::uint16_t api_port = 0;            ///< of a new network; 0: any free one
    Programs programs;
    std::filesystem::path migrations;
    /// Asked before each step; true ends the start with kCancelled. Empty: never.
    std::function<bool()> interrupted;
    /// If not empty: the last worker runs this program instead of `gym node start`.
    std::filesystem::path cheating_worker;
    /// Of each side in a dispute on chain; a stake is taken two clocks after the proof.
    std::uint32_t dispute_clock_s = 60;
    /// In which a verifier reports a wrong unit and opens a game about it: a job's draws have to
    /// end in it (docs/JOBS.md). Units are final after it at the earliest, so it is short.
    std::uint32_t dispute_window_s = 600;
    std::uint32_t fault_step = 7;
    std::uint32_t fault_op = 20;
    std::uint32_t fault_bit =
        23;  ///< of the first element's exponent: a low bit may vanish in rounding
};

/// Starts database, chain, services, verifier and workers. Idempotent: of a network that runs
/// nothing is touched, which it announces; of another what runs is left running, and a start that
/// was cut off anywhere continues. A command that calls this, network_down() or
/// run_demo() holds a RootLock.
/// @errors kConflict if `root` holds other files or a network with another number of workers or
/// another port than `options` ask for, kUnavailable if a process ended, kCancelled.
Result<Layout> network_up(const NetworkOptions& options, const Announce& announce);
/// Stops and removes the network in `root`. Success if there is none.
Status network_down(const std::filesystem::path& root);

}  // namespace gym::devnet
