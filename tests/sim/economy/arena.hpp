#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "network.hpp"

/// One kind of party that deviates, with all that it may do, against others that are honest.
namespace gym::sim::economy {

/// What is said of a deviation, compared with the same season played honestly.
enum class Claim : std::uint8_t {
    kHonest,        ///< no deviation
    kLoses,         ///< less on average
    kGainsNothing,  ///< no more in any season
    kAtMost,        ///< what docs/SECURITY.md says is left: no more than Arm::most in any season
};

struct Arm {
    std::string_view name;
    Claim claim = Claim::kLoses;
    Wei (*most)(const Network&) = nullptr;  ///< of kAtMost: the coalition's gain
    /// What each honest party may lose by it in a season, as the documents say; nullptr: nothing.
    Wei (*harm)(const Network&) = nullptr;
};

/// With what an honest party's end is compared.
enum class Baseline : std::uint8_t {
    kSameSeason,  ///< the same season without the deviation
    kNothing,     ///< staying away: nobody has a right to a job of this owner
};

struct Arena {
    std::string_view name;
    std::span<const Arm> arms;  ///< the first one is honest play
    std::span<const Account> coalition;
    std::span<const Account> honest;
    /// A whole season: the same seed gives the same network, draws and audits to every arm.
    Book (*play)(const Network& net, std::size_t arm, std::uint64_t seed);
    Baseline baseline = Baseline::kSameSeason;
    /// How often a history tries each arm: more often where chance decides.
    std::uint64_t tries = 6;
};

[[nodiscard]] Wei coalition_of(const Arena& arena, const Book& book);

[[nodiscard]] const Arena& worker_arena();
[[nodiscard]] const Arena& verifier_arena();
[[nodiscard]] const Arena& coordinator_arena();
[[nodiscard]] const Arena& settler_arena();
[[nodiscard]] const Arena& owner_arena();
[[nodiscard]] const Arena& thief_arena();
[[nodiscard]] std::span<const Arena* const> all_arenas();

}  // namespace gym::sim::economy
