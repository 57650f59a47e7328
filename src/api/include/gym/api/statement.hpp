#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/ledger/types.hpp"

namespace gym::api {

/// The effect of a transfer so far. The balance of an account is the sum of its kPosted lines.
enum class LineState {
    kPosted,    ///< it moved its amount
    kPending,   ///< it reserves its amount
    kEnded,     ///< its reservation was posted or released by another line
    kReleased,  ///< it gave a reservation back
};
[[nodiscard]] std::string_view to_string(LineState state) noexcept;

enum class Direction { kIn, kOut, kWithin };
[[nodiscard]] std::string_view to_string(Direction direction) noexcept;

/// One side of a transfer.
struct StatementAccount {
    std::string owner;  ///< as ledger::AccountKey::owner
    ledger::AccountKind kind = ledger::AccountKind::kAvailable;
    bool own = false;  ///< the reader's, or the escrow of a job of theirs
    /// Wei, decimal, may start with '-'; of own accounts, if something moved.
    std::optional<std::string> balance_after;
};

struct StatementLine {
    ledger::TransferId id;
    std::uint64_t seq = 0;  ///< the order of all transfers of the ledger, with gaps
    UnixMs at = 0;
    ledger::TransferKind kind = ledger::TransferKind::kTransfer;
    std::string reason;  ///< of the transfer, or of the one that it ends
    LineState state = LineState::kPosted;
    bool sealed = false;  ///< there is a proof of it
    Amount amount;
    StatementAccount from;
    StatementAccount to;
    std::optional<Digest> job_id;
    std::optional<std::uint64_t> round;  ///< of credits

    [[nodiscard]] Direction direction() const {
        if (from.own && to.own) return Direction::kWithin;
        return to.own ? Direction::kIn : Direction::kOut;
    }
};

struct StatementFilter {
    static constexpr std::uint64_t kNewest = std::numeric_limits<std::int64_t>::max();

    Address owner;
    std::uint64_t before = kNewest;  ///< only lines with a smaller `seq`
    std::uint32_t limit = 100;       ///< 1 to 1000
};

}  // namespace gym::api
