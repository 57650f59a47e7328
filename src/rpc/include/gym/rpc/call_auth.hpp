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

/// The caller, the time, and the signature over RpcCall(method, SHA-256 of the request, caller,
/// time, nonce).
struct CallAuth {
    Address caller;
    UnixMs unix_ms = 0;
    Digest nonce;
    crypto::Signature signature;
};

[[nodiscard]] Digest call_digest(const crypto::Eip712Domain& domain, std::string_view method,
                                 ByteView request, const CallAuth& auth);
/// Signs a call with a fresh random nonce.
[[nodiscard]] CallAuth sign_call(const crypto::Eip712Domain& domain, std::string_view method,
                                 ByteView request, const crypto::PrivateKey& key, UnixMs now_ms);
[[nodiscard]] Bytes encode(const CallAuth& auth);
/// @errors kUnauthenticated for bytes that are not such a record.
[[nodiscard]] Result<CallAuth> decode_call_auth(ByteView bytes);

/// Remembers nonces as long as their calls are fresh. Thread-safe. Bounded: at most kNoncesMax in
/// all and kNoncesPerCallerMax of one caller, so that no caller can push out another's.
class ReplayGuard {
  public:
    static constexpr std::size_t kNoncesMax = 1'000'000;
    static constexpr std::size_t kNoncesPerCallerMax = 20'000;

    /// @errors kUnauthenticated for a nonce seen before; kUnavailable when the bound is reached.
    Status admit(const Address& caller, const Digest& nonce, UnixMs unix_ms, UnixMs now_ms);

  private:
    void forget_expired(UnixMs now_ms);
    std::mutex mutex_;
    std::map<Address, std::set<Digest>> seen_;
    std::multimap<UnixMs, std::pair<Address, Digest>> by_expiry_;
};

/// Freshness, signature and replay of one call, in the order that costs an attacker most.
/// @errors kUnauthenticated naming what failed.
Status check_call(const crypto::Eip712Domain& domain, std::string_view method, ByteView request,
                  const CallAuth& auth, UnixMs now_ms, ReplayGuard& guard);

}  // namespace gym::rpc
