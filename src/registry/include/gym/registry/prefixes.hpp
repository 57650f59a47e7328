#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gym/db/database.hpp"
#include "gym/protocol/prefix.hpp"
#include "gym/registry/published.hpp"
#include "gym/registry/units.hpp"

/// Prefixes of units that end without a commitment (docs/PROTOCOL.md, "Prefixes").
namespace gym::registry {

/// A verifier's statement about the same steps.
struct PrefixReport {
    Digest link;
    crypto::Signature signature;

    friend bool operator==(const PrefixReport&, const PrefixReport&) = default;
};

/// The newest prefix of a unit. It is due while its unit is expired and it is not decided.
struct Prefix {
    Digest unit;
    std::uint32_t steps = 0;
    Digest link;
    crypto::Signature signature;  ///< of the unit's worker
    UnixMs received_at_ms = 0;
    protocol::PrefixState state = protocol::PrefixState::kKept;
    std::uint32_t draws = 0;  ///< made; the current draw is draws - 1
    UnixMs deadline_ms = 0;   ///< of the current draw
    std::optional<Address> verifier;
    std::optional<PrefixReport> report;
    std::uint64_t flops = 0;     ///< of its steps, once it is verified or refuted
    bool verifier_paid = false;  ///< its report is what was decided
    std::string reason;          ///< why it is refuted or unpaid; else empty

    friend bool operator==(const Prefix&, const Prefix&) = default;
};

/// Keeps a prefix that its worker signed in the place of the one before. The same again changes
/// nothing. It locks the unit's row against its end until the transaction's.
/// @pre the prefix fits the unit (protocol::check_against_round()).
/// @errors kConflict unless the unit is assigned, and for fewer steps than are kept, or for another
/// link of as many; kOutOfRange within protocol::kPrefixEveryMsMin of the one before.
Status keep_prefix(db::Transaction& tx, const Digest& unit, const protocol::SignedPrefix& prefix,
                   UnixMs now_ms);
/// Forgets the prefix of a unit that is committed to, if it has one.
Status drop_prefix(db::Transaction& tx, const Digest& unit);
/// The same unless it is decided, of a unit that has ended and whose commitment an epoch has.
Status drop_undecided_prefix(db::Transaction& tx, const Digest& unit);
Result<std::optional<Prefix>> find_prefix(db::Transaction& tx, const Digest& unit);
/// @errors kNotFound.
Result<Prefix> get_prefix(db::Transaction& tx, const Digest& unit);

struct DuePrefix {
    Unit unit;
    Prefix prefix;
    bool worker_excluded = false;
};
/// Due prefixes of a job, oldest round first.
Result<std::vector<DuePrefix>> due_prefixes(db::Transaction& tx, const Digest& job_id,
                                            std::uint32_t limit = 1000);
/// Whether a prefix of a unit of the round is due.
Result<bool> has_due_prefix(db::Transaction& tx, const Digest& job_id, std::uint64_t round);

/// The drawn prefix that each verifier runs next: that with the earliest deadline, of those whose
/// deadline is not over. Verifiers without one are left out.
Result<std::map<Address, DuePrefix>> next_prefixes(db::Transaction& tx,
                                                   std::span<const Address> verifiers,
                                                   UnixMs now_ms);

/// A verified prefix counts as one of a row for so long, or for four times its job's `unit_ms` if
/// that is longer: a machine that comes and goes gets units of the job again.
inline constexpr std::int64_t kPrefixCountsMs = 86'400'000;
/// Counts the worker's prefixes of the job's units that are drawn or reported on, or were verified,
/// not too long ago, since it last committed to a unit of the job that was not found faulty.
Result<std::uint32_t> prefixes_in_row(db::Transaction& tx, const Digest& job_id,
                                      const Address& worker, UnixMs now_ms);
/// By running job, the workers of which another prefix would be one more in a row than is paid
/// (protocol::kPrefixesInRowMax), if all their units under way ended with one, too.
Result<std::map<Digest, std::set<Address>>> unpayable_workers(db::Transaction& tx, UnixMs now_ms);

/// Gives the prefix its next draw. @param verifier absent: none is there yet.
Status draw_prefix(db::Transaction& tx, const Digest& unit, const std::optional<Address>& verifier,
                   UnixMs deadline_ms);
/// The verifier of the current draw. @errors kConflict unless it waits for one.
Status set_prefix_verifier(db::Transaction& tx, const Digest& unit, const Address& verifier);
/// Keeps a verifier's report; what it decides follows. @errors kConflict unless it is drawn.
Status store_prefix_report(db::Transaction& tx, const Digest& unit, const PrefixReport& report,
                           UnixMs now_ms);

/// The end of a prefix.
struct PrefixVerdict {
    protocol::PrefixState state = protocol::PrefixState::kUnpaid;  ///< terminal
    std::uint64_t flops = 0;  ///< of its steps; 0 if it is unpaid
    bool verifier_paid = false;
    std::string reason;  ///< unless it is verified
};
/// Decides a prefix; one that is verified or refuted gets its place in the feed. One that is
/// refuted ends its worker's run of valid units. @errors kConflict if it is decided.
Status decide_prefix(db::Transaction& tx, const Digest& unit, const PrefixVerdict& verdict,
                     UnixMs now_ms);

/// A prefix that was decided by re-execution: what is credited.
struct DecidedPrefix {
    std::uint64_t seq = 0;  ///< no gaps, as in the feed of units
    Digest unit;
    Digest job_id;
    std::uint64_t round = 0;
    Address worker;
    Address owner;          ///< receives the worker's credit
    bool verified = false;  ///< else refuted: the worker gets nothing
    std::uint64_t flops = 0;
    std::optional<Address> verifier;  ///< that is paid; absent: none is
    Address verifier_owner;           ///< receives its credit
};
/// Decided prefixes after `after_seq`, ascending, at most `limit` (10,000).
Result<std::vector<DecidedPrefix>> read_decided_prefixes(db::Transaction& tx,
                                                         std::uint64_t after_seq,
                                                         std::uint32_t limit);

/// Decided prefixes of a round, by unit, without times: what gym-api hands out.
Result<std::vector<Prefix>> published_prefixes(db::Transaction& tx, const Digest& job_id,
                                               std::uint64_t round, const Page& page);

}  // namespace gym::registry
