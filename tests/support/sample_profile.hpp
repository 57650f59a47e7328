#pragma once

#include "gym/profile/profile.hpp"

namespace gym::profile::testing {

inline constexpr UnixMs kNowMs = 1'800'000'000'000;

inline crypto::PrivateKey operator_key(std::uint8_t last = 7) {
    Bytes secret(32, 0);
    secret.back() = last;
    return crypto::PrivateKey::from_bytes(secret).value();
}

inline Address sample_address(std::uint8_t last) {
    Address out;
    out.data.fill(0x11);
    out.data.back() = last;
    return out;
}

inline NetworkProfile sample_profile() {
    NetworkProfile out;
    out.name = "sample";
    out.coordinator = "coordinator.example.org:7600";
    out.coordinator_ca = kSystemCa;
    out.chain_rpc = {"https://rpc.example.org", "http://127.0.0.1:8545/key"};
    out.contracts = {.chain_id = 5,
                     .start_block = 17,
                     .token = sample_address(1),
                     .distributor = sample_address(2),
                     .escrow = sample_address(3),
                     .commitment_log = sample_address(4),
                     .stake = sample_address(5),
                     .dispute_game = sample_address(6)};
    out.api = "https://api.example.org";
    out.minimum_stake = Amount::parse_tokens("100").value();
    out.fee_address = sample_address(7);
    out.issued_at_ms = kNowMs - 1'000;
    return out;
}

}  // namespace gym::profile::testing
