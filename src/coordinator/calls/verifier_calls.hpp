#pragma once

#include "context.hpp"
#include "gym/records/task.hpp"

namespace gym::coordinator {

Result<std::optional<records::VerifyTask>> next_task(const Context& context,
                                                     const Address& verifier);
Result<Bytes> commit_report(const Context& context, const Address& verifier, const Digest& unit,
                            std::uint32_t draw, const Digest& digest);
Result<RevealOutcome> reveal_report(const Context& context, const protocol::Report& report,
                                    ByteView records);

}  // namespace gym::coordinator
