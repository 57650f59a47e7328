#pragma once

#include <optional>
#include <string_view>

#include "gym/registry/units.hpp"

namespace gym::registry {

/// How an audit of a report that agreed with the commitment ended.
enum class AuditResult : std::uint8_t {
    kPassed,
    kFailed,      ///< the report was not computed; it is never paid
    kImpossible,  ///< the inputs are lost
};

/// The report that verified a unit is to be audited before the unit is final, whatever games make
/// of it meanwhile: opening one needs a bond, and no more.
Status require_audit(db::Transaction& tx, const Digest& unit, std::uint32_t draw);
/// The same for every report of `verifier` that agreed and whose unit has not ended yet.
Status require_audits_of(db::Transaction& tx, const Address& verifier);
/// A unit of the job that has not ended and whose audit is due, the one with the earliest deadline.
Result<std::optional<Unit>> next_audit(db::Transaction& tx, const Digest& job_id);
/// Whether the report is still the last one on a unit that has not ended, and its audit due.
Result<bool> is_audit_due(db::Transaction& tx, const Digest& unit, std::uint32_t draw);
/// @errors kConflict if no audit of the report is due.
Status finish_audit(db::Transaction& tx, const Digest& unit, std::uint32_t draw,
                    AuditResult result);

/// The report that disputes a unit is refuted: the unit stays disputed until its window on chain is
/// over, for this reason in the place of the report's. Without effect on a unit that a report does
/// not dispute any more.
Status refute_report(db::Transaction& tx, const Digest& unit, const protocol::Reason& reason);

}  // namespace gym::registry
