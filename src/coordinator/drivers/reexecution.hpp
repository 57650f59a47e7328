#pragma once

#include <stop_token>
#include <string_view>

#include "context.hpp"

namespace gym::coordinator {

/// A blob of the coordinator's store. @param what it is, for the error. @errors of the store.
[[nodiscard]] Result<blob::VerifiedBlob> load_blob(const Context& context, const Digest& root,
                                                   std::string_view what);
[[nodiscard]] Result<blob::VerifiedBlob> load_dataset(const Context& context,
                                                      const registry::Job& job);

/// Runs a unit again from the inputs that the coordinator keeps: for the referee of a dispute, and
/// for the audit of a report.
/// @param challenge the signature in the report under audit; nullptr: no trace. Train units only.
/// @errors kNotFound, kMismatch: an input is lost or altered; kCancelled on `stop`; of the blob
/// store and of Compute.
[[nodiscard]] Result<Compute::Reexecuted> reexecute(const Context& context,
                                                    const registry::Job& job,
                                                    const registry::Round& round,
                                                    const registry::Unit& unit,
                                                    const crypto::Signature* challenge = nullptr,
                                                    const std::stop_token& stop = {});

/// Runs the first steps of a train unit again. @return the link of its record chain after them.
/// @errors as above.
[[nodiscard]] Result<Digest> reexecute_prefix(const Context& context, const registry::Job& job,
                                              const registry::Round& round,
                                              const Compute::SlotSteps& prefix,
                                              const std::stop_token& stop);

/// Whether the same re-execution may have another result later than this error.
[[nodiscard]] bool may_work_later(ErrorCode code);

}  // namespace gym::coordinator
