#include "gym/rpc/call_auth.hpp"

#include <cstdlib>
#include <string>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/crypto/secret.hpp"

namespace gym::rpc {
namespace {

constexpr std::string_view kType =
    "RpcCall(string method,bytes32 requestHash,address caller,uint64 unixMs,bytes32 nonce)";

}  // namespace

Digest call_digest(const crypto::Eip712Domain& domain, std::string_view method,
                   const CallAuth& auth) {
    crypto::StructHasher hasher(kType);
    hasher.text(method).bytes32(auth.request_hash).address(auth.caller);
    hasher.uint(static_cast<std::uint64_t>(auth.unix_ms)).bytes32(auth.nonce);
    return crypto::typed_data_digest(domain, hasher.finish());
}

CallAuth sign_call(const crypto::Eip712Domain& domain, std::string_view method, ByteView request,
                   const crypto::PrivateKey& key, UnixMs now_ms) {
    CallAuth auth{key.address(), now_ms, crypto::random_digest(), commit::sha256(request), {}};
    auth.signature = key.sign_digest(call_digest(domain, method, auth));
    return auth;
}

Bytes encode(const CallAuth& auth) {
    commit::Encoder out;
    out.fixed(auth.caller).i64(auth.unix_ms).fixed(auth.nonce).fixed(auth.request_hash);
    out.fixed(auth.signature);
    return out.take();
}

Result<CallAuth> decode_call_auth(ByteView bytes) {
    if (bytes.size() != kCallAuthBytes)
        return fail(ErrorCode::kUnauthenticated, "the call's " + std::string(kAuthMetadataKey) +
                                                     " metadata has " +
                                                     std::to_string(bytes.size()) + " bytes, not " +
                                                     std::to_string(kCallAuthBytes));
    commit::Decoder in(bytes);
    CallAuth auth;
    GYM_TRY(auth.caller, in.address());
    GYM_TRY(auth.unix_ms, in.i64());
    GYM_TRY(auth.nonce, in.digest());
    GYM_TRY(auth.request_hash, in.digest());
    GYM_TRY(auth.signature, in.fixed<crypto::Signature>());
    return auth;
}

Status ReplayGuard::admit(const Address& caller, const Digest& nonce, UnixMs unix_ms,
                          UnixMs now_ms) {
    const std::scoped_lock lock(mutex_);
    forget_expired(now_ms);
    const auto known = seen_.find(caller);
    if (known != seen_.end() && known->second.contains(nonce))
        return fail(ErrorCode::kUnauthenticated, "replayed call: its nonce was used before");
    if (by_expiry_.size() >= nonces_max_ ||
        (known != seen_.end() && known->second.size() >= of_caller_max_))
        return fail(ErrorCode::kUnavailable, "too many calls within a minute, try again later");
    seen_[caller].insert(nonce);  // nothing is kept of a call that is refused
    // A call is fresh until its time stamp plus the skew: remembered one millisecond longer.
    by_expiry_.emplace(unix_ms + kAuthSkewMsMax + 1, std::pair(caller, nonce));
    return {};
}

void ReplayGuard::forget_expired(UnixMs now_ms) {
    while (!by_expiry_.empty() && by_expiry_.begin()->first < now_ms) {
        const auto [caller, nonce] = by_expiry_.begin()->second;
        by_expiry_.erase(by_expiry_.begin());
        const auto nonces = seen_.find(caller);
        nonces->second.erase(nonce);
        if (nonces->second.empty()) seen_.erase(nonces);
    }
}

Status check_time(const CallAuth& auth, UnixMs now_ms) {
    // Compared without a subtraction, which a hostile time stamp could make overflow.
    if (auth.unix_ms >= now_ms - kAuthSkewMsMax && auth.unix_ms <= now_ms + kAuthSkewMsMax)
        return {};
    return fail(ErrorCode::kUnauthenticated, "the call is dated " + std::to_string(auth.unix_ms) +
                                                 " ms, the coordinator's clock says " +
                                                 std::to_string(now_ms) +
                                                 " ms: set this machine's clock");
}

Status check_signature(const crypto::Eip712Domain& domain, std::string_view method,
                       const CallAuth& auth) {
    return crypto::verify_signature(call_digest(domain, method, auth), auth.signature, auth.caller);
}

Status check_request(const CallAuth& auth, ByteView request) {
    if (commit::sha256(request) == auth.request_hash) return {};
    return fail(ErrorCode::kUnauthenticated, "the request is not the one that the caller signed");
}

Status check_call(const crypto::Eip712Domain& domain, std::string_view method, ByteView request,
                  const CallAuth& auth, UnixMs now_ms, ReplayGuard& guard) {
    GYM_CHECK(check_time(auth, now_ms));
    GYM_CHECK(check_request(auth, request));
    GYM_CHECK(check_signature(domain, method, auth));
    return guard.admit(auth.caller, auth.nonce, auth.unix_ms, now_ms);
}

}  // namespace gym::rpc
