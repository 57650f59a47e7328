#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "gym/common/amount.hpp"
#include "gym/common/assert.hpp"

/// Money of the simulated economy: integers in base units, moved from one account to another.
namespace gym::sim::economy {

/// A signed count of base units. Amounts of a season are far below 2^100.
__extension__ using Wei = __int128;

inline constexpr std::uint64_t kGwei = 1'000'000'000;
inline constexpr Wei kToken = static_cast<Wei>(kGwei) * kGwei;

[[nodiscard]] inline Wei wei_of(const Amount& amount) {
    Wei out = 0;
    const auto bytes = amount.to_be32();
    for (std::size_t i = 0; i < 17; ++i)
        GYM_ASSERT(bytes[i] == 0, "amounts of a season are below 2^120");
    for (std::size_t i = 17; i < bytes.size(); ++i)
        out = out * 256 + bytes[i];
    return out;
}
[[nodiscard]] inline Amount amount_of(Wei wei) {
    GYM_ASSERT(wei >= 0, "an amount is not negative");
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = bytes.size(); i-- > 0; wei /= 256)
        bytes[i] = static_cast<std::uint8_t>(wei % 256);
    return Amount::from_be32(bytes);
}
[[nodiscard]] inline double tokens_of(Wei wei) {
    return static_cast<double>(wei) / static_cast<double>(kToken);
}
/// floor(amount * ppm / 10^6), as the contracts round.
[[nodiscard]] inline Wei share_of(Wei amount, std::uint64_t ppm) {
    return amount * static_cast<Wei>(ppm) / 1'000'000;
}

/// The holders of money. Contracts hold other people's; kOutside is where costs of work and gas go.
enum class Account : std::uint8_t {
    kOwner,       ///< a job owner
    kVictim,      ///< another one
    kWorker,      ///< the worker that is under test, or its accomplice's
    kAccomplice,  ///< helps the deviating party
    kPeerA,       ///< honest workers
    kPeerB,
    kVerifier,     ///< the verifier that is under test
    kVerifiers,    ///< all honest verifiers together
    kCoordinator,  ///< its operator has the kept part of fees
    kSettler,
    kThief,  ///< has an API key of kVictim
    kEmission,
    kEscrow,       ///< JobEscrow
    kDistributor,  ///< RewardsDistributor
    kStakes,       ///< Stake
    kGame,         ///< DisputeGame: bonds
    kBurned,
    kOutside,
};
inline constexpr std::size_t kAccounts = 18;
inline constexpr std::array kContracts = {Account::kEscrow, Account::kDistributor, Account::kStakes,
                                          Account::kGame};

/// Balances relative to the beginning. They add up to zero by construction, since money only moves;
/// no contract ever pays what it does not have.
class Book {
  public:
    void move(Account from, Account to, Wei amount) {
        GYM_ASSERT(amount >= 0, "money moves forward");
        balance(from) -= amount;
        balance(to) += amount;
        for (const Account contract : kContracts)
            GYM_ASSERT(of(contract) >= 0, "a contract paid what it does not have");
    }
    [[nodiscard]] Wei of(Account account) const {
        return balances_[static_cast<std::size_t>(account)];
    }
    [[nodiscard]] Wei total() const {
        Wei sum = 0;
        for (const Wei balance : balances_)
            sum += balance;
        return sum;
    }

  private:
    Wei& balance(Account account) { return balances_[static_cast<std::size_t>(account)]; }
    std::array<Wei, kAccounts> balances_{};
};

/// Chance from a seed. Small, because a history throws many.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : state_(seed) {}
    /// SplitMix64 (Steele, Lea and Flood, 2014).
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
        return z ^ (z >> 31U);
    }
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    std::uint64_t between(std::uint64_t low, std::uint64_t high) {
        return low + below(high - low + 1);
    }
    bool ppm(std::uint64_t of_million) { return below(1'000'000) < of_million; }

  private:
    std::uint64_t state_;
};

}  // namespace gym::sim::economy
