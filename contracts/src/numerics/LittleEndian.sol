// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

// Widths stand at each place; casts between them are the arithmetic itself.
// forge-lint: disable-start(unsafe-typecast)

/// @title Elements of tensors, which lie in bytes with the lowest first
library LittleEndian {
    /// @notice The unsigned number that up to 8 bytes hold.
    /// @param data 0 to 8 bytes.
    function read(bytes calldata data) internal pure returns (uint256) {
        return element(data, 0, data.length);
    }

    /// @notice Number `index` of `size` bytes each. @param size 0 to 8; the number must lie inside.
    function element(bytes calldata data, uint256 index, uint256 size)
        internal
        pure
        returns (uint256 x)
    {
        assembly ("memory-safe") {
            let unused := sub(256, shl(3, size))
            x := shr(unused, calldataload(add(data.offset, mul(index, size))))
            x := or(shr(8, and(x, 0xff00ff00ff00ff00)), shl(8, and(x, 0x00ff00ff00ff00ff)))
            x := or(shr(16, and(x, 0xffff0000ffff0000)), shl(16, and(x, 0x0000ffff0000ffff)))
            x := or(shr(32, x), shl(32, and(x, 0xffffffff)))
            x := shr(sub(unused, 192), x)
        }
    }

    /// @notice Number `index` of four bytes each; it must lie inside.
    function word(bytes memory data, uint256 index) internal pure returns (uint256 x) {
        assembly ("memory-safe") {
            x := shr(224, mload(add(add(data, 32), shl(2, index))))
            x := or(shr(8, and(x, 0xff00ff00)), shl(8, and(x, 0x00ff00ff)))
            x := or(shr(16, x), and(shl(16, x), 0xffff0000))
        }
    }

    /// @notice The signed number that the low 32 bits of x are.
    function int32Of(uint256 x) internal pure returns (int256) {
        return int32(uint32(x));
    }

    /// @notice The signed number that the low 64 bits of x are.
    function int64Of(uint256 x) internal pure returns (int256) {
        return int64(uint64(x));
    }
}
