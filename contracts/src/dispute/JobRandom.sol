// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Philox} from "../numerics/Philox.sol";
import {Facts} from "./DisputeTypes.sol";

/// @title Random numbers of a job
/// @notice docs/NUMERICS.md, "Randomness"; src/engine/batch.cpp.
library JobRandom {
    /// @notice The first 8 bytes of the seed, as two little-endian words.
    function key(bytes32 seed) internal pure returns (uint256 key0, uint256 key1) {
        for (uint256 i = 0; i < 4; ++i) {
            key0 |= uint256(uint8(seed[i])) << (8 * i);
            key1 |= uint256(uint8(seed[4 + i])) << (8 * i);
        }
    }

    /// @notice Which of `starts` positions window `window` of a step begins at.
    function windowStart(Facts calldata facts, uint256 step, uint256 window, uint256 starts)
        internal
        pure
        returns (uint256)
    {
        Philox.Position memory place;
        (place.key0, place.key1) = key(facts.jobSeed);
        (place.round, place.slot, place.step) = (facts.round, facts.slot, step);
        uint256 low = Philox.word(place, 4 * window);
        uint256 high = Philox.word(place, 4 * window + 1);
        return ((low | (high << 32)) * starts) >> 64;
    }
}
