#include "gym/contracts/drand_beacon.hpp"

#include <limits>

#include "bindings.hpp"
#include "gym/common/assert.hpp"

namespace gym::contracts {
namespace {

/// https://docs.drand.love: quicknet's key, decompressed (tests/vectors/drand.json).
constexpr std::string_view kQuicknetKey =
    "03cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064"
    "51"
    "0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece4"
    "5a"
    "01a714f2edb74119a2f2b0d5a7c75ba902d163700a61bc224ededd8e63aef7be1aaf8e93d7a9718b047ccddb3eb5d6"
    "8b"
    "0e5db2b6bfbb01c867749cadffca88b36c24f3012ba09fc4d3022c5c37dce0f977d3adb5d183c7477c442b1f045152"
    "73";
constexpr std::uint64_t kQuicknetRound = 1'000;
constexpr std::string_view kQuicknetSignature =
    "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e"
    "39";

Bytes bytes_of(std::string_view text) {
    auto bytes = from_hex(text);
    GYM_ASSERT(bytes.ok(), "a constant is hexadecimal");
    return std::move(bytes).value();
}

}  // namespace

DrandChain drand_quicknet() {
    return {bytes_of(kQuicknetKey), 1'692'803'367,  3,
            kDrandDelayS,           kQuicknetRound, bytes_of(kQuicknetSignature)};
}

ContractCall DrandBeacon::prove(std::uint64_t round, ByteView signature) const {
    return make_call(address_, "prove(uint64,bytes)",
                     {round, Bytes(signature.begin(), signature.end())},
                     "prove the beacon of drand's round " + std::to_string(round));
}

Result<Digest> DrandBeacon::verify(chain::ChainClient& client, std::uint64_t round,
                                   ByteView signature) const {
    GYM_TRY(const auto values,
            call_view(client, address_, chain::BlockTag::kLatest, "verify(uint64,bytes)",
                      {round, Bytes(signature.begin(), signature.end())}, "_(bytes32)"));
    Digest out;
    GYM_CHECK(read_all(values, out));
    return out;
}

Result<Digest> DrandBeacon::randomness_of(chain::ChainClient& client, std::uint64_t round,
                                          const chain::BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "randomnessOf(uint64)", {round}, "_(bytes32)"));
    Digest out;
    GYM_CHECK(read_all(values, out));
    return out;
}

Result<DrandBeacon::Schedule> DrandBeacon::schedule(chain::ChainClient& client) const {
    GYM_TRY(const auto values, call_view(client, address_, chain::BlockTag::kLatest, "schedule()",
                                         {}, "_(uint64,uint64,uint64)"));
    Schedule out;
    GYM_CHECK(read_all(values, out.genesis_s, out.period_s, out.delay_s));
    if (out.period_s == 0)
        return fail(ErrorCode::kMalformed,
                    "the drand chain of " + address_.hex() + " has a period of zero");
    return out;
}

std::uint64_t DrandBeacon::Schedule::begins_s(std::uint64_t round) const {
    constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
    if (round - 1 > (kNever - genesis_s) / period_s) return kNever;
    return genesis_s + (round - 1) * period_s;
}

}  // namespace gym::contracts
