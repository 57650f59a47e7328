#include "gym/rewards/uptime_recount.hpp"

#include <set>
#include <string>

namespace gym::rewards {
namespace {

Status check_answer(const crypto::Eip712Domain& domain, const Address& node,
                    const protocol::PublishedChallenge& published) {
    const protocol::UptimeChallenge& challenge = published.challenge;
    if (published.withdrawn) return fail(ErrorCode::kMismatch, "it is withdrawn, and answered");
    if (!published.answered_at_ms || !published.signature)
        return fail(ErrorCode::kMismatch, "an answer has a moment and a signature");
    if (*published.answered_at_ms < challenge.issued_ms ||
        *published.answered_at_ms > challenge.deadline_ms)
        return fail(ErrorCode::kMismatch, "the answer did not come within its time");
    return protocol::check_uptime(domain, node, challenge, {challenge.nonce, *published.signature});
}

}  // namespace

Result<UptimeCount> recount_uptime(const crypto::Eip712Domain& domain, const Address& node,
                                   const UptimeSpan& span,
                                   const std::vector<protocol::PublishedChallenge>& challenges) {
    UptimeCount count;
    std::set<Digest> seen;
    for (const protocol::PublishedChallenge& published : challenges) {
        const protocol::UptimeChallenge& challenge = published.challenge;
        const auto wrong = [&](const std::string& what) {
            return fail(ErrorCode::kMismatch, "challenge " + challenge.nonce.hex() + " to node " +
                                                  node.hex() + ": " + what);
        };
        if (challenge.issued_ms < span.from_ms || challenge.deadline_ms >= span.to_ms)
            return wrong("it is not of the span");
        if (!seen.insert(challenge.nonce).second) return wrong("it is listed twice");
        if (published.answered_at_ms || published.signature) {
            const Status its_own = check_answer(domain, node, published);
            if (!its_own.ok()) return wrong(its_own.error().message);
            ++count.answered;
        }
        ++(published.withdrawn ? count.withdrawn : count.issued);
    }
    return count;
}

}  // namespace gym::rewards
