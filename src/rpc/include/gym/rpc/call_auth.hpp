#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"

namespace gym::rpc {

/// The binary metadata that carries a call's signature.
inline constexpr char kAuthMetadataKey[] = "gym-auth-bin";
/// How far a caller's clock may be off.
inline constexpr std::int64_t kAuthSkewMsMax = 60'000;

/// The caller, the time, the SHA-256 of the request, and the signature over RpcCall(method, hash of
/// the request, caller, time, nonce). A server can check it before it has read the request.
struct CallAuth {
    Address caller;
    UnixMs unix_ms = 0;
    Digest nonce;
    Digest request_hash;
    crypto::Signature signature;
};

[[nodiscard]] Digest call_digest(const crypto::Eip712Domain& domain, std::string_view method,
                                 const CallAuth& auth);
/// Signs a call with a fresh random nonce.
[[nodiscard]] CallAuth sign_call(const crypto::Eip712Domain& domain, std::string_view method,
                                 ByteView request, const crypto::PrivateKey& key, UnixMs now_ms);
inline constexpr std::size_t kCallAuthBytes =
    Address::kSize + 8 + 2 * Digest::kSize + crypto::Signature::kSize;
[[nodiscard]] Bytes encode(const CallAuth& auth);  ///< kCallAuthBytes
/// @errors kUnauthenticated for bytes that are not such a record.
[[nodiscard]] Result<CallAuth> decode_call_auth(ByteView bytes);

/// Remembers nonces as long as their calls are fresh. Thread-safe. Bounded in all and of one
/// caller, so that no caller can push out another's.
class ReplayGuard {
  public:
    static constexpr std::size_t kNoncesMax = 1'000'000;
    static constexpr std::size_t kNoncesPerCallerMax = 20'000;
    explicit ReplayGuard(std::size_t nonces_max = kNoncesMax,
                         std::size_t of_caller_max = kNoncesPerCallerMax)
        : nonces_max_(nonces_max), of_caller_max_(of_caller_max) {}

    /// @errors kUnauthenticated for a nonce seen before; kUnavailable when the bound is reached.
    Status admit(const Address& caller, const Digest& nonce, UnixMs unix_ms, UnixMs now_ms);

  private:
    void forget_expired(UnixMs now_ms);
    const std::size_t nonces_max_, of_caller_max_;
    std::mutex mutex_;
    std::map<Address, std::set<Digest>> seen_;
    std::multimap<UnixMs, std::pair<Address, Digest>> by_expiry_;
};

/// Whether the call is fresh; costs nothing. @errors kUnauthenticated.
Status check_time(const CallAuth& auth, UnixMs now_ms);
/// Whether the caller signed. @errors kUnauthenticated.
Status check_signature(const crypto::Eip712Domain& domain, std::string_view method,
                       const CallAuth& auth);
/// Whether `request` is what the caller signed for. @errors kUnauthenticated.
Status check_request(const CallAuth& auth, ByteView request);
/// All of it and the nonce, in the order that costs an attacker most.
/// @errors kUnauthenticated naming what failed.
Status check_call(const crypto::Eip712Domain& domain, std::string_view method, ByteView request,
                  const CallAuth& auth, UnixMs now_ms, ReplayGuard& guard);

}  // namespace gym::rpc
