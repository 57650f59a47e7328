// SHA-256 (FIPS 180-4) on a device: no library has it there. Host code uses OpenSSL.
#pragma once

#include "gym/kernels/host_device.h"
#include "launch.cuh"

namespace gym::kernels::cuda {

struct Sha256 {
    uint32_t word[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                        0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
};

// A template only so that its definition may stand in a header: one copy in constant memory.
template <typename = void>
struct Sha256Constants {
    static __device__ uint32_t at(int round) {
        constexpr uint32_t kConstants[64] = {
            0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u,
            0x923f82a4u, 0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u,
            0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u,
            0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
            0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u,
            0x06ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u,
            0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu,
            0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
            0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au,
            0x5b9cca4fu, 0x682e6ff3u, 0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u,
            0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};
        return kConstants[round];
    }
};

__device__ inline uint32_t rotate_right(uint32_t x, int bits) {
    return (x >> bits) | (x << (32 - bits));
}

/// One block of 16 big-endian words; `w` is used up.
__device__ inline void sha256_block(Sha256& state, uint32_t (&w)[16]) {
    uint32_t a = state.word[0], b = state.word[1], c = state.word[2], d = state.word[3];
    uint32_t e = state.word[4], f = state.word[5], g = state.word[6], h = state.word[7];
    GYM_UNROLL
    for (int i = 0; i < 64; ++i) {
        if (i >= 16) {
            const uint32_t x = w[(i + 1) % 16], y = w[(i + 14) % 16];
            w[i % 16] += (rotate_right(x, 7) ^ rotate_right(x, 18) ^ (x >> 3)) + w[(i + 9) % 16] +
                         (rotate_right(y, 17) ^ rotate_right(y, 19) ^ (y >> 10));
        }
        const uint32_t sigma1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        const uint32_t t1 =
            h + sigma1 + ((e & f) ^ (~e & g)) + Sha256Constants<>::at(i) + w[i % 16];
        const uint32_t sigma0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        const uint32_t t2 = sigma0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state.word[0] += a;
    state.word[1] += b;
    state.word[2] += c;
    state.word[3] += d;
    state.word[4] += e;
    state.word[5] += f;
    state.word[6] += g;
    state.word[7] += h;
}

}  // namespace gym::kernels::cuda
