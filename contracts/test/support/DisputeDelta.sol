// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Float32} from "../../src/numerics/Float32.sol";
import {DisputeProgram} from "./DisputeProgram.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";

/// The delta of a unit of DisputeProgram: head, then final minus initial value of the parameters.
library DisputeDelta {
    function make(Tensor[] memory initial, Tensor[] memory final_)
        internal
        pure
        returns (Tensor memory t)
    {
        t.shape = DisputeTrees.shapeOf(5, DisputeProgram.DELTA_BYTES);
        t.data = abi.encodePacked("GYMDLTA1", uint32(0), uint32(DisputeProgram.PARAMETERS));
        for (uint256 s = 0; s < DisputeProgram.PARAMETERS; ++s) {
            bytes memory part = new bytes(initial[s].data.length);
            for (uint256 i = 0; i < part.length; i += 4) {
                uint256 word = Float32.sub(_word(final_[s].data, i), _word(initial[s].data, i));
                for (uint256 k = 0; k < 4; ++k) {
                    part[i + k] = bytes1(uint8(word >> (8 * k)));
                }
            }
            t.data = abi.encodePacked(t.data, part);
        }
    }

    /// Which parameter a word lies in, and which element of it that is.
    function place(uint256 word) internal pure returns (uint256 slot, uint256 element) {
        return word < 304 ? (0, word - 4) : (1, word - 304);
    }

    function _word(bytes memory data, uint256 i) private pure returns (uint256 x) {
        for (uint256 k = 4; k > 0; --k) {
            x = (x << 8) | uint8(data[i + k - 1]);
        }
    }
}
