#pragma once

#include <random>

#include "abi_codec.hpp"
#include "gym/game/calldata.hpp"

/// Moves for tests: of fixed content, of random content, and with something changed.
namespace gym::game::testing {

using Rng = std::mt19937_64;

/// 32 times the same byte.
inline Digest filled(std::uint8_t byte) {
    Digest digest;
    digest.data.fill(byte);
    return digest;
}
inline Digest random_digest(Rng& rng) {
    Digest digest;
    for (std::uint8_t& byte : digest.data)
        byte = static_cast<std::uint8_t>(rng());
    return digest;
}

// Moves whose hashes stand in tests/unit/game/*_test.cpp, made by `cast abi-encode` and `cast
// keccak`.
inline Cursor sample_cursor() {
    return {Stage::kMacro, true, 3, 5, 20, filled(1), filled(2), filled(3)};
}
inline Facts sample_facts() {
    return {filled(4),  filled(5), filled(6), filled(7), filled(8), filled(9),
            filled(10), 11,        12,        13,        14};
}
inline StepFrame sample_step() {
    return {filled(15), filled(16), 17, filled(18), filled(19), filled(20), filled(21), filled(22)};
}
inline OpFrame sample_op() {
    return {
        filled(23), filled(24), 25, 26,         27,
        28,         filled(29), 30, filled(31), dispute::Shape{program::DType::kF32, {2, 3, 5}}};
}
inline OuterFacts sample_outer_facts() {
    return {filled(101), filled(102), filled(103), filled(104), filled(105), filled(106),
            filled(107), filled(108), 109,         filled(117), filled(118), 119};
}
inline OuterFrame sample_outer() {
    return {filled(111), filled(112), filled(113), 114,
            14,          filled(115), filled(116), OuterTree::kMomentum};
}
inline DataRequest sample_request() {
    DataRequest request{Wanted::kLateDelta, filled(121), 122, 123, 124, filled(125), 126,
                        filled(127),        filled(128), 129, {}};
    request.worker.data.fill(130);
    return request;
}
inline Pick sample_pick() {
    return {40, filled(41), {filled(42), filled(43)}, filled(44), {filled(45)}};
}

template <std::unsigned_integral T>
void randomise(Rng& rng, T& number) {
    number = static_cast<T>(rng() >> rng() % 64);
}
inline void randomise(Rng& rng, bool& flag) {
    flag = rng() % 2 != 0;
}
inline void randomise(Rng& rng, Stage& stage) {
    stage = static_cast<Stage>(1 + rng() % 15);
}
inline void randomise(Rng& rng, OuterTree& tree) {
    tree = static_cast<OuterTree>(rng() % 4);
}
inline void randomise(Rng& rng, Wanted& what) {
    what = static_cast<Wanted>(1 + rng() % 6);
}
inline void randomise(Rng& rng, Digest& digest) {
    digest = random_digest(rng);
}
inline void randomise(Rng& rng, Address& address) {
    for (std::uint8_t& byte : address.data)
        byte = static_cast<std::uint8_t>(rng());
}
inline void randomise(Rng& rng, Bytes& bytes) {
    bytes.resize(rng() % 80);
    for (std::uint8_t& byte : bytes)
        byte = static_cast<std::uint8_t>(rng());
}
inline void randomise(Rng& rng, std::optional<dispute::Shape>& shape) {
    shape.reset();
    if (rng() % 4 == 0) return;
    if (rng() % 4 == 0) {  // a delta
        shape = dispute::Shape{program::DType::kU8, {1 + rng() % dispute::kDeltaBytesMax}};
        return;
    }
    shape = dispute::Shape{static_cast<program::DType>(1 + rng() % 7), {}};
    for (std::uint64_t rank = 1 + rng() % program::kRankMax; rank > 0; --rank)
        shape->dims.push_back(1 + static_cast<std::uint32_t>(rng() % 40));
}
template <class T>
void randomise(Rng& rng, std::vector<T>& items);
template <abi::Struct T>
void randomise(Rng& rng, T& one) {
    std::apply([&](auto&... member) { (randomise(rng, member), ...); }, abi::members(one));
}
template <class T>
void randomise(Rng& rng, std::vector<T>& items) {
    items.resize(rng() % 4);
    for (T& item : items)
        randomise(rng, item);
}

/// Move number `index` of the variant, with random content.
template <std::size_t I = 0>
Move random_move(Rng& rng, std::size_t index) {
    if constexpr (I + 1 < std::variant_size_v<Move>)
        if (index != I) return random_move<I + 1>(rng, index);
    std::variant_alternative_t<I, Move> move;
    randomise(rng, move);
    return move;
}

}  // namespace gym::game::testing
