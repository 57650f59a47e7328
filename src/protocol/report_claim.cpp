#include "gym/protocol/report_claim.hpp"

namespace gym::protocol {

crypto::Eip712Domain report_domain(std::uint64_t chain_id, const Address& report_game) {
    return signing_domain(chain_id, report_game);
}

UnitCommitment claim_of(const Report& report, const UnitCommitment& committed) {
    UnitCommitment out = committed;
    out.records_root = report.records_root;
    out.final_state_root = report.final_state_root;
    out.delta_root = report.delta_root;
    return out;
}

Status check_report_claim(const crypto::Eip712Domain& domain, const Report& report,
                          const SignedCommitment& claim) {
    const Status genuine = crypto::verify_signature(signing_digest(domain, claim.commitment),
                                                    claim.signature, report.verifier);
    if (!genuine.ok()) return genuine.error().in("report: the signature that it stakes on");
    return {};
}

}  // namespace gym::protocol
