// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeErrors} from "./DisputeTypes.sol";

/// @title Numbers in signed and hashed bytes, with the highest byte first
library BigEndian {
    /// @notice The number at `offset`. Reverts if it is not all there. @param size Bytes, 1 to 32.
    function number(bytes calldata data, uint256 offset, uint256 size)
        internal
        pure
        returns (uint256 x)
    {
        if (offset + size > data.length) revert IDisputeErrors.Malformed(offset);
        assembly ("memory-safe") {
            x := shr(sub(256, shl(3, size)), calldataload(add(data.offset, offset)))
        }
    }
}
