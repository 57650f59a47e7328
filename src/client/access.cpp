#include "access.hpp"

#include <boost/json.hpp>

#include "gym/http/connection.hpp"

namespace gym::client {

namespace json = boost::json;

std::string access_body(const registry::Access& access) {
    json::array allowed;
    for (const Address& account : access.allowed)
        allowed.emplace_back(account.hex());
    return json::serialize(json::object{{"visibility", registry::to_string(access.visibility)},
                                        {"allowed", std::move(allowed)}});
}

Status check_confidential(const std::string& url, registry::Visibility visibility) {
    if (visibility == registry::Visibility::kPublic) return {};
    GYM_TRY(const http::Url parsed, http::parse_url(url));
    if (parsed.tls || http::is_loopback(parsed.host)) return {};
    return fail(ErrorCode::kInvalidArgument,
                url +
                    " is plain HTTP, where everyone between can read along: nothing that is not "
                    "public is sent there; use https://");
}

}  // namespace gym::client
