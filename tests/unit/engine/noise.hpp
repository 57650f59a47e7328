#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "gym/engine/delta.hpp"
#include "gym/engine/state.hpp"

// States and deltas of random numbers, for tests of the outer step.
namespace gym::engine::testing {

inline std::vector<float> floats(ByteView bytes) {
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}
inline Bytes bytes_of(const std::vector<float>& values) {
    Bytes out(values.size() * sizeof(float));
    std::memcpy(out.data(), values.data(), out.size());
    return out;
}

inline State base_of_noise(const program::Program& train, std::uint64_t seed) {
    State base = base_of(train, initial_state(train, {}).value()).value();
    std::mt19937_64 rng(seed);
    std::normal_distribution<float> noise(0, 0.05F);
    for (StateTensor& tensor : base.tensors) {
        std::vector<float> values = floats(tensor.bytes);
        for (float& value : values)
            value = noise(rng);
        tensor.bytes = bytes_of(values);
    }
    return base;
}

inline std::vector<Delta> noisy_deltas(const program::Program& train, const State& base,
                                       std::size_t count, std::uint64_t seed) {
    std::mt19937_64 rng(seed);
    std::vector<Delta> out;
    for (std::size_t k = 0; k < count; ++k) {
        State end = base;
        for (StateTensor& tensor : end.tensors) {
            std::normal_distribution<float> noise(0,
                                                  std::ldexp(1.0F, -static_cast<int>(rng() % 12)));
            std::vector<float> values = floats(tensor.bytes);
            for (float& value : values)
                value += noise(rng);
            tensor.bytes = bytes_of(values);
        }
        out.push_back(
            Delta::decode(train, blob::VerifiedBlob::hash(encode_delta(train, base, end).value()))
                .value());
    }
    return out;
}

}  // namespace gym::engine::testing
