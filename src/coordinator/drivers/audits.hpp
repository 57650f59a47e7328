#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// Whether the report of this draw is audited: at the rate of Options::audit_ppm, by the
/// coordinator's own signature, which no one else can compute before the report is committed to.
[[nodiscard]] bool is_audited(const Context& context, const Digest& unit, std::uint32_t draw);

/// Takes the result of the job's audit, if there is one, and has the next unit re-executed whose
/// report agreed and is to be audited: beside the ticks, one of the job at a time. A report whose
/// trace was not computed excludes its verifier; one that passed a wrong unit also rejects that.
Status audit_reports(const Context& context, const registry::Job& job, TickSummary& summary);

}  // namespace gym::coordinator
