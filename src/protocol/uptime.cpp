#include "gym/protocol/uptime.hpp"

namespace gym::protocol {

Digest uptime_digest(const crypto::Eip712Domain& domain, const Address& node,
                     const UptimeChallenge& challenge) {
    crypto::StructHasher hasher("UptimeAnswer(address node,bytes32 nonce,uint64 issuedMs)");
    hasher.address(node).bytes32(challenge.nonce);
    hasher.uint(static_cast<std::uint64_t>(challenge.issued_ms));
    return crypto::typed_data_digest(domain, hasher.finish());
}

UptimeAnswer answer_uptime(const crypto::Eip712Domain& domain, const crypto::PrivateKey& key,
                           const UptimeChallenge& challenge) {
    return {challenge.nonce, key.sign_digest(uptime_digest(domain, key.address(), challenge))};
}

Status check_uptime(const crypto::Eip712Domain& domain, const Address& node,
                    const UptimeChallenge& challenge, const UptimeAnswer& answer) {
    if (answer.nonce != challenge.nonce)
        return fail(ErrorCode::kUnauthenticated, "the answer is to another challenge");
    return crypto::verify_signature(uptime_digest(domain, node, challenge), answer.signature, node);
}

}  // namespace gym::protocol
