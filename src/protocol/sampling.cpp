#include "gym/protocol/sampling.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::protocol {

Result<Amount> work_value(std::uint64_t flops, const Amount& price_wei_per_pflop) {
    return Amount(flops).mul_div(std::max(price_wei_per_pflop, Amount(1)), Amount(1));
}

std::uint64_t units_worth(const Amount& valid, const Amount& unit) {
    if (unit.is_zero()) return 0;
    const auto units = valid.mul_div(Amount(1), unit);
    GYM_ASSERT(units.ok(), "a quotient is no larger than its dividend");
    return units->to_u64().value_or(std::numeric_limits<std::uint64_t>::max());
}

std::uint32_t sampling_rate_ppm(std::uint64_t valid_units, const SamplingPolicy& policy) {
    const std::uint64_t rate = kPpm / std::max<std::uint64_t>(valid_units, 1);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rate, policy.floor_ppm, kPpm));
}

bool is_sampled(const Digest& beacon, const Digest& unit, std::uint32_t rate_ppm) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("gym.sample.v1")).fixed(beacon).fixed(unit);
    const Digest hash = commit::sha256(encoder.view());
    std::uint64_t draw = 0;
    for (std::size_t i = 0; i < 8; ++i)
        draw = draw << 8 | hash.data[i];
    // draw / 2^64 < rate / kPpm, without a division: kPpm always draws because draw < 2^64.
    __extension__ using Wide = unsigned __int128;
    return static_cast<Wide>(draw) * kPpm < static_cast<Wide>(rate_ppm) << 64U;
}

std::optional<Address> assign_verifier(const Digest& beacon, const Digest& unit, std::uint32_t draw,
                                       const Address& worker,
                                       std::span<const VerifierCandidate> candidates) {
    std::optional<std::tuple<std::uint32_t, std::uint32_t, Digest, Address>> best;
    for (const VerifierCandidate& candidate : candidates) {
        if (candidate.address == worker) continue;
        commit::Encoder encoder;
        encoder.raw(as_bytes("gym.verifier.v1")).fixed(beacon).fixed(unit).u32(draw);
        encoder.fixed(candidate.address);
        std::tuple rank{candidate.draws_failed, candidate.units_waiting,
                        commit::sha256(encoder.view()), candidate.address};
        if (!best || rank < *best) best = rank;
    }
    if (!best) return std::nullopt;
    return std::get<Address>(*best);
}

}  // namespace gym::protocol
