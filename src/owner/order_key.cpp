#include "gym/owner/order_key.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gym::owner {
namespace {

/// gym-api's words about the statement of somebody else.
constexpr std::string_view kKeyOf = "the API key belongs to ";
constexpr std::size_t kAddressChars = 42;

}  // namespace

Status check_order_key(const client::ApiClient& api, const Address& signer) {
    const auto own = api.statement(signer, 1, std::nullopt);
    if (own.ok() || own.error().code != ErrorCode::kPermissionDenied) return {};
    const std::string& said = own.error().message;
    const std::size_t at = said.find(kKeyOf);
    if (at == std::string::npos) return {};
    const std::string account = said.substr(at + kKeyOf.size(), kAddressChars);
    return fail(ErrorCode::kPermissionDenied,
                "your keystore is " + signer.hex() + ", the API key belongs to " + account +
                    ": name the keystore of that account, or an API key of your keystore's");
}

}  // namespace gym::owner
