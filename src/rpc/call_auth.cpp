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

Digest call_digest(const crypto::Eip712Domain& domain, std::string_view method, ByteView request,
                   const CallAuth& auth) {
    crypto::StructHasher hasher(kType);
    hasher.text(method).bytes32(commit::sha256(request)).address(auth.caller);
    hasher.uint(static_cast<std::uint64_t>(auth.unix_ms)).bytes32(auth.nonce);
    return crypto::typed_data_digest(domain, hasher.finish());
}

CallAuth sign_call(const crypto::Eip712Domain& domain, std::string_view method, ByteView request,
                   const crypto::PrivateKey& key, UnixMs now_ms) {
    CallAuth auth{key.address(), now_ms, crypto::random_digest(), {}};
    auth.signature = key.sign_digest(call_digest(domain, method, request, auth));
    return auth;
}

Bytes encode(const CallAuth& auth) {
    commit::Encoder out;
    out.fixed(auth.caller).i64(auth.unix_ms).fixed(auth.nonce).fixed(auth.signature);
    return out.take();
}

Result<CallAuth> decode_call_auth(ByteView bytes) {
    constexpr std::size_t kSize = Address::kSize + 8 + Digest::kSize + crypto::Signature::kSize;
    if (bytes.size() != kSize)
        return fail(ErrorCode::kUnauthenticated,
                    "the call's " + std::string(kAuthMetadataKey) + " metadata has " +
                        std::to_string(bytes.size()) + " bytes, not " + std::to_string(kSize));
    commit::Decoder in(bytes);
    CallAuth auth;
    GYM_TRY(auth.caller, in.address());
    GYM_TRY(auth.unix_ms, in.i64());
    GYM_TRY(auth.nonce, in.digest());
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
    if (by_expiry_.size() >= kNoncesMax ||
        (known != seen_.end() && known->second.size() >= kNoncesPerCallerMax))
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

Status check_call(const crypto::Eip712Domain& domain, std::string_view method, ByteView request,
                  const CallAuth& auth, UnixMs now_ms, ReplayGuard& guard) {
    // Compared without a subtraction, which a hostile time stamp could make overflow.
    if (auth.unix_ms < now_ms - kAuthSkewMsMax || auth.unix_ms > now_ms + kAuthSkewMsMax)
        return fail(ErrorCode::kUnauthenticated,
                    "the call is dated " + std::to_string(auth.unix_ms) +
                        " ms, the coordinator's clock says " + std::to_string(now_ms) +
                        " ms: set this machine's clock");
    GYM_CHECK(crypto::verify_signature(call_digest(domain, method, request, auth), auth.signature,
                                       auth.caller));
    return guard.admit(auth.caller, auth.nonce, auth.unix_ms, now_ms);
}

}  // namespace gym::rpc
