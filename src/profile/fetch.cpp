#include "gym/profile/fetch.hpp"

#include "gym/chain/client.hpp"
#include "gym/http/connection.hpp"

namespace gym::profile {
namespace {

constexpr std::uint32_t kTimeoutMs = 15'000;
constexpr UnixMs kFutureMsMax = 3'600'000;  // two clocks differ
constexpr unsigned kStatusOk = 200;
constexpr unsigned kStatusNotFound = 404;
// A person waits.
constexpr chain::HttpOptions kChainHttp{.timeout_ms = 5'000, .attempts = 1};

/// The body of a success. @param where the URL, for messages.
Result<std::string> download(const http::Url& url, const std::string& where) {
    http::Request request{.target = url.target == "/" ? kProfilePath : url.target};
    request.headers.emplace_back("Accept", "application/json");
    request.headers.emplace_back("Connection", "close");
    const auto connection = http::Connection::create(url, {.peer = "the network's server",
                                                           .timeout_ms = kTimeoutMs,
                                                           .reply_bytes_max = kProfileBytesMax});
    GYM_TRY(http::Reply reply, connection->exchange(request));
    if (reply.status == kStatusNotFound)
        return fail(ErrorCode::kNotFound,
                    where + " has no network profile: ask the operator for the right address");
    if (reply.status != kStatusOk)
        return fail(ErrorCode::kUnavailable, where + " answers with status " +
                                                 std::to_string(reply.status) +
                                                 " instead of a network profile");
    return std::move(reply.body);
}

}  // namespace

Result<SignedProfile> fetch_profile(const std::string& url, UnixMs now_ms) {
    const auto parsed = http::parse_url(url);
    if (!parsed.ok())
        return fail(ErrorCode::kInvalidArgument,
                    "'" + url.substr(0, kUrlBytesMax) +
                        "' is not the address of a network: " + parsed.error().message);
    GYM_TRY(const std::string text, download(*parsed, url));
    auto out = parse_profile(text);
    if (!out.ok()) return out.error().in(url);
    const Status sound = check(out->profile, now_ms);
    if (!sound.ok()) return sound.error().in(url);
    if (out->profile.issued_at_ms > now_ms + kFutureMsMax)
        return fail(ErrorCode::kInvalidArgument,
                    url + ": the network profile was issued in the future, at " +
                        utc_text(out->profile.issued_at_ms) + ": is this machine's clock right?");
    return out;
}

Result<std::string> find_chain_rpc(const NetworkProfile& profile) {
    std::string found, last;
    for (const std::string& url : profile.chain_rpc) {
        GYM_TRY(const auto client, chain::make_http_client(url, kChainHttp));
        const auto id = client->chain_id();
        if (!id.ok()) {
            last = id.error().message;
            continue;
        }
        if (*id != profile.contracts.chain_id)
            return fail(ErrorCode::kMismatch, "the network profile is for chain " +
                                                  std::to_string(profile.contracts.chain_id) +
                                                  ", but " + url +
                                                  ", which it names, serves chain " +
                                                  std::to_string(*id) + ": tell the operator");
        if (found.empty()) found = url;
    }
    if (!found.empty()) return found;
    return fail(ErrorCode::kUnavailable,
                "no endpoint of the network's chain answers, so the profile could not be checked "
                "against it: " +
                    last);
}

}  // namespace gym::profile
