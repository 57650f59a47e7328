#pragma once

#include "context.hpp"

namespace gym::coordinator {

Result<Bytes> commit_report(const Context& context, const Address& verifier, const Digest& unit,
                            std::uint32_t draw, const Digest& digest);
Result<RevealOutcome> reveal_report(const Context& context, const protocol::Report& report,
                                    ByteView records,
                                    const std::optional<crypto::Signature>& claim);

}  // namespace gym::coordinator
