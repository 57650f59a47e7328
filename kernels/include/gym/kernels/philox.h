// Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11) and how
// this project numbers its random words: a counter never repeats within a job.
#pragma once

#include "gym/kernels/host_device.h"

namespace gym::kernels {

struct PhiloxKey {
    uint32_t word[2];
};

struct PhiloxBlock {
    uint32_t word[4];
};

inline constexpr int kPhiloxRounds = 10;

GYM_HD PhiloxBlock philox4x32_10(PhiloxBlock counter, PhiloxKey key) {
    constexpr uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
    constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
    for (int round = 0; round < kPhiloxRounds; ++round) {
        const uint64_t product0 = kMultiplier0 * counter.word[0];
        const uint64_t product1 = kMultiplier1 * counter.word[2];
        const PhiloxBlock next{
            {static_cast<uint32_t>(product1 >> 32) ^ counter.word[1] ^ key.word[0],
             static_cast<uint32_t>(product1),
             static_cast<uint32_t>(product0 >> 32) ^ counter.word[3] ^ key.word[1],
             static_cast<uint32_t>(product0)}};
        counter = next;
        key.word[0] += kWeyl0;
        key.word[1] += kWeyl1;
    }
    return counter;
}

// Widths of the fields of a counter: together they are its 128 bits, so no two positions share one.
inline constexpr int kRandomRoundBits = 24;
inline constexpr int kRandomSlotBits = 20;
inline constexpr int kRandomStepBits = 20;
inline constexpr int kRandomOpBits = 24;
inline constexpr int kRandomBlockBits = 40;
static_assert(kRandomRoundBits + kRandomSlotBits + kRandomStepBits + kRandomOpBits +
                  kRandomBlockBits ==
              128);

/// Where in a job a random word is used. Each field must fit its width (random_position_valid()).
struct RandomPosition {
    uint64_t round;
    uint32_t slot;
    uint32_t step;
    uint32_t op;
};

GYM_HD bool random_position_valid(RandomPosition position) {
    return position.round >> kRandomRoundBits == 0 && position.slot >> kRandomSlotBits == 0 &&
           position.step >> kRandomStepBits == 0 && position.op >> kRandomOpBits == 0;
}

/// Key of a job: the first 8 bytes of its seed, as two little-endian words.
GYM_HD PhiloxKey philox_key(const uint8_t* job_seed) {
    PhiloxKey key{{0, 0}};
    for (int i = 0; i < 8; ++i)
        key.word[i / 4] |= static_cast<uint32_t>(job_seed[i]) << (8 * (i % 4));
    return key;
}

/// Four random words: block b serves elements 4b..4b+3. b < 2^40.
GYM_HD PhiloxBlock random_block(PhiloxKey key, RandomPosition position, uint64_t block) {
    const PhiloxBlock counter{{static_cast<uint32_t>(block),
                               static_cast<uint32_t>(block >> 32) | position.op << 8,
                               position.step | position.slot << 20,
                               position.slot >> 12 | static_cast<uint32_t>(position.round) << 8}};
    return philox4x32_10(counter, key);
}

/// The random word of one element; element < 2^42.
GYM_HD uint32_t random_word(PhiloxKey key, RandomPosition position, uint64_t element) {
    return random_block(key, position, element / 4).word[element % 4];
}

/// +0 with probability threshold / 2^32, else `value`: dropout (docs/NUMERICS.md, random_mask).
struct RandomMask {
    uint32_t op;
    uint32_t threshold;
    float value;
};

/// Four elements of a mask. @param place (5): key words, round, slot, step, each taken modulo the
/// width of its field.
GYM_HD PhiloxBlock random_mask_words(const int32_t* place, uint32_t op, uint64_t block) {
    const PhiloxKey key{{static_cast<uint32_t>(place[0]), static_cast<uint32_t>(place[1])}};
    const RandomPosition position{static_cast<uint32_t>(place[2]) & ((1u << kRandomRoundBits) - 1),
                                  static_cast<uint32_t>(place[3]) & ((1u << kRandomSlotBits) - 1),
                                  static_cast<uint32_t>(place[4]) & ((1u << kRandomStepBits) - 1),
                                  op};
    return random_block(key, position, block);
}
GYM_HD float random_mask_element(const int32_t* place, RandomMask mask, uint64_t element) {
    const uint32_t word = random_mask_words(place, mask.op, element / 4).word[element % 4];
    return word < mask.threshold ? 0.0f : mask.value;
}

/// A number below `count`, by the high half of a product: word in [0, 2^32) maps to [0, count).
/// Unlike a remainder it needs no division, and its bias is below count / 2^32.
GYM_HD uint32_t index_below(uint32_t word, uint32_t count) {
    return static_cast<uint32_t>((static_cast<uint64_t>(word) * count) >> 32);
}

/// Uniform in [0, 1): 24 bits, exact.
GYM_HD float uniform_unit(uint32_t word) {
    return static_cast<float>(word >> 8) * 0x1p-24f;
}

/// Mean 0, variance 1, from the sum of a block's eight 16-bit halves (Irwin-Hall): integers and one
/// multiplication, so exact on every device. |result| < 4.9.
GYM_HD float unit_variance(PhiloxBlock block) {
    int32_t total = 0;
    for (int i = 0; i < 4; ++i) {
        total += static_cast<int32_t>(block.word[i] & 0xFFFFu) +
                 static_cast<int32_t>(block.word[i] >> 16);
    }
    // A half is uniform on 0..65535: mean 32767.5, variance (2^32 - 1) / 12; eight of them.
    const int32_t doubled = 2 * total - 8 * 65535;
    return static_cast<float>(doubled) * 0x1.3988e2p-17f;
}

}  // namespace gym::kernels
