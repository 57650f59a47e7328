#pragma once

#include "context.hpp"
#include "gym/protocol/prefix.hpp"

namespace gym::coordinator {

// The rules of these calls are at Coordinator's methods of the same names.

Status keep_prefix(const Context& context, const Address& worker,
                   const protocol::SignedPrefix& prefix);
Status report_prefix(const Context& context, const Address& verifier,
                     const protocol::SignedPrefix& found);

}  // namespace gym::coordinator
