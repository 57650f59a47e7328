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

/// The report of a verified unit is to be audited before the unit is final.
Status require_audit(db::Transaction& tx, const Digest& unit, std::uint32_t draw);
/// The same for every report of `verifier` on a unit that is not final yet.
Status require_audits_of(db::Transaction& tx, const Address& verifier);
/// A verified unit of the job whose audit is due, the one with the earliest deadline.
Result<std::optional<Unit>> next_audit(db::Transaction& tx, const Digest& job_id);
/// @errors kConflict if no audit of the report is due.
Status finish_audit(db::Transaction& tx, const Digest& unit, std::uint32_t draw,
                    AuditResult result);

}  // namespace gym::registry
