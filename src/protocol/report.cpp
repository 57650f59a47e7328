#include "gym/protocol/report.hpp"

#include <vector>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::protocol {
namespace {

/// A 64-bit word of H(tag | signature | index).
std::uint64_t word(const crypto::Signature& signature, std::uint32_t index) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("gym.positions.v1")).fixed(signature).u32(index);
    const Digest hash = commit::sha256(encoder.view());
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < 8; ++i)
        out = out << 8 | hash.data[i];
    return out;
}

/// Maps a uniform word to [0, bound) by the high half of the product.
std::uint64_t scale(std::uint64_t value, std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(value) * bound >> 64U);
}

}  // namespace

Digest trace_challenge_digest(const crypto::Eip712Domain& domain, const Digest& beacon,
                              const Digest& unit) {
    crypto::StructHasher hasher("TraceChallenge(bytes32 beacon,bytes32 unit)");
    return crypto::typed_data_digest(domain, hasher.bytes32(beacon).bytes32(unit).finish());
}

std::uint32_t trace_step(std::uint32_t steps) {
    GYM_ASSERT(steps > 0, "a unit has at least one step");
    return steps - 1;
}

TraceChallenge trace_challenge(const crypto::Signature& signature, std::uint32_t steps,
                               std::uint64_t chunk_count) {
    GYM_ASSERT(chunk_count > 0, "a trace has at least one chunk");
    TraceChallenge out;
    out.step = trace_step(steps);
    for (std::uint32_t i = 0; i < kTracePositions; ++i)
        out.positions[i] = scale(word(signature, i), chunk_count);
    return out;
}

Digest trace_digest(std::span<const Digest> leaves_at_positions) {
    commit::Hasher hasher;
    hasher.update(as_bytes("gym.trace.v1"));
    for (const Digest& leaf : leaves_at_positions)
        hasher.update(leaf);
    return hasher.finish();
}

Digest trace_at(const crypto::Signature& signature, std::uint32_t steps,
                std::span<const Digest> leaves) {
    std::vector<Digest> chosen;
    if (!leaves.empty())
        for (const std::uint64_t at : trace_challenge(signature, steps, leaves.size()).positions)
            chosen.push_back(leaves[at]);
    return trace_digest(chosen);
}

Digest report_digest(const Digest& beacon, const Report& report) {
    commit::Encoder out;
    out.raw(as_bytes("gym.report.v1")).fixed(beacon).fixed(report.unit).u32(report.draw);
    out.fixed(report.verifier).fixed(report.records_root).fixed(report.final_state_root);
    out.fixed(report.delta_root).fixed(report.trace).fixed(report.challenge_signature);
    out.fixed(report.salt);
    return commit::sha256(out.view());
}

Status check_reveal(const crypto::Eip712Domain& domain, const Digest& beacon,
                    const Digest& committed, const Report& report) {
    const Digest opened = report_digest(beacon, report);
    if (opened != committed)
        return fail(ErrorCode::kMismatch, "report: it hashes to " + opened.hex() +
                                              ", the verifier committed to " + committed.hex());
    const Status positions =
        crypto::verify_signature(trace_challenge_digest(domain, beacon, report.unit),
                                 report.challenge_signature, report.verifier);
    if (!positions.ok()) return positions.error().in("report: trace positions");
    return {};
}

UnitRoots roots_of(const Report& report) {
    return {report.records_root, report.final_state_root, report.delta_root};
}

}  // namespace gym::protocol
