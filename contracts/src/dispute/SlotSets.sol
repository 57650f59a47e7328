// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeErrors} from "./DisputeTypes.sol";

/// @title Sets of slots, a bit each
/// @notice Slot s is in the set if bit 7 - s % 8 of byte s / 8 is 1. So no slot is there twice, and their order is that of their numbers.
library SlotSets {
    /// @notice A set of all slots that a job can have.
    uint256 internal constant BYTES_MAX = 1024;

    uint256 private constant WORD = 32;
    uint256 private constant BITS = 256;

    /// @notice How many slots the set has.
    function count(bytes calldata set) internal pure returns (uint256 total) {
        for (uint256 begin = 0; begin < set.length; begin += WORD) {
            total += _ones(_word(set, begin));
        }
    }

    /// @notice The slot that has `position` others of the set below it. Reverts with Malformed where there is none.
    function slotAt(bytes calldata set, uint256 position) internal pure returns (uint256 slot) {
        uint256 rest = position;
        for (uint256 begin = 0; begin < set.length; begin += WORD) {
            uint256 word = _word(set, begin);
            uint256 ones = _ones(word);
            if (rest < ones) return 8 * begin + _placeOf(word, rest);
            rest -= ones;
        }
        revert IDisputeErrors.Malformed(position);
    }

    /// @dev Place, from the highest bit on, of the 1 that has `position` others above it. @param word With so many.
    function _placeOf(uint256 word, uint256 position) private pure returns (uint256 place) {
        uint256 rest = position;
        for (uint256 half = BITS / 2; half > 0; half /= 2) {
            uint256 ones = _ones(word >> (BITS - half));
            if (rest < ones) continue;
            rest -= ones;
            word <<= half;
            place += half;
        }
    }

    /// @dev 32 bytes of the set; 0 behind its end.
    function _word(bytes calldata set, uint256 begin) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := calldataload(add(set.offset, begin))
        }
        uint256 length = set.length - begin;
        if (length < WORD) {
            uint256 beyond = 8 * (WORD - length);
            word = (word >> beyond) << beyond;
        }
    }

    /// @dev Bits that are 1: in pairs, fours and bytes, then in halves of 16 bits, whose sum is at most 256.
    function _ones(uint256 x) private pure returns (uint256) {
        // No lane overflows into the next, and only the top one of the product is looked at.
        unchecked {
            uint256 pairs = type(uint256).max / 3;
            uint256 fours = type(uint256).max / 5;
            uint256 bytes_ = type(uint256).max / 17;
            uint256 halves = type(uint256).max / 257;
            x -= (x >> 1) & pairs;
            x = (x & fours) + ((x >> 2) & fours);
            x = (x + (x >> 4)) & bytes_;
            x = (x & halves) + ((x >> 8) & halves);
            return (x * (type(uint256).max / 0xFFFF)) >> 240;
        }
    }
}
