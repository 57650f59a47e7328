#pragma once

#include "gym/client/api_client.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::owner {

/// That orders signed by `signer` are the ones of the API key's owner, which gym-api asks for: said
/// before anything is uploaded or sent. What gym-api does not answer is left to the order itself.
/// @errors kPermissionDenied naming both addresses.
[[nodiscard]] Status check_order_key(const client::ApiClient& api, const Address& signer);

}  // namespace gym::owner
