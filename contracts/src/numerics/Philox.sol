// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// @title Philox4x32-10 and how random words of a job are numbered
/// @notice Bit for bit kernels/include/gym/kernels/philox.h.
library Philox {
    uint256 private constant WORD = 0xFFFFFFFF;

    /// @notice Where in a job a word is drawn: two words of the key, and fields that are taken
    /// modulo their widths (round 24 bits, slot 20, step 20, op 24).
    struct Position {
        uint256 key0;
        uint256 key1;
        uint256 round;
        uint256 slot;
        uint256 step;
        uint256 op;
    }

    /// @notice The random word of one element. @param element below 2^42.
    function word(Position memory place, uint256 element) internal pure returns (uint256) {
        unchecked {
            uint256 group = element >> 2;
            uint256 slot = place.slot & 0xFFFFF;
            uint256[4] memory counter = [
                group & WORD,
                (group >> 32) | ((place.op & 0xFFFFFF) << 8),
                (place.step & 0xFFFFF) | ((slot << 20) & WORD),
                (slot >> 12) | ((place.round & 0xFFFFFF) << 8)
            ];
            _permute(counter, place.key0, place.key1);
            return counter[element & 3];
        }
    }

    /// @notice Ten rounds, in place. All words are below 2^32.
    function _permute(uint256[4] memory c, uint256 key0, uint256 key1) private pure {
        (uint256 c0, uint256 c1, uint256 c2, uint256 c3) = (c[0], c[1], c[2], c[3]);
        unchecked {
            for (uint256 i = 0; i < 10; ++i) {
                uint256 product0 = 0xD2511F53 * c0;
                uint256 product1 = 0xCD9E8D57 * c2;
                (c0, c1) = ((product1 >> 32) ^ c1 ^ key0, product1 & WORD);
                (c2, c3) = ((product0 >> 32) ^ c3 ^ key1, product0 & WORD);
                key0 = (key0 + 0x9E3779B9) & WORD;
                key1 = (key1 + 0xBB67AE85) & WORD;
            }
        }
        (c[0], c[1], c[2], c[3]) = (c0, c1, c2, c3);
    }
}
