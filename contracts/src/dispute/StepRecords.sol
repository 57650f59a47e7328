// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeErrors} from "./DisputeTypes.sol";

/// @notice Record of a step. Roots are 0 where the record has none.
struct StepRecord {
    uint256 step;
    bytes32 batchRoot;
    uint256 lossBits;
    uint256 gradNormBits;
    bool skipped;
    bool hasGradientRoot;
    bytes32 gradientRoot;
    bool hasStateRoot;
    bytes32 stateRoot;
}

/// @title Step records and their chain
/// @notice Bytes of src/engine/record.cpp: step u64 | batch root | loss u32 | gradient norm u32 | flags u8 | gradient root if flag 1 |
/// 0 or 1 | state root if 1. Flag 2: the step was skipped.
library StepRecords {
    uint256 private constant FIXED_BYTES = 50;
    uint256 private constant HAS_GRADIENT_ROOT = 1;
    uint256 private constant SKIPPED = 2;

    /// @notice The record behind a link of the chain.
    /// @param before The link before; 0 for the first. @param link SHA-256 of `before` and the record.
    function open(bytes calldata data, bytes32 before, bytes32 link)
        internal
        pure
        returns (StepRecord memory)
    {
        if (sha256(abi.encodePacked(before, data)) != link) revert IDisputeErrors.WrongFrame();
        return decode(data);
    }

    function decode(bytes calldata data) internal pure returns (StepRecord memory r) {
        if (data.length < FIXED_BYTES) revert IDisputeErrors.Malformed(data.length);
        r.step = uint64(bytes8(data[0:8]));
        r.batchRoot = bytes32(data[8:40]);
        r.lossBits = uint32(bytes4(data[40:44]));
        r.gradNormBits = uint32(bytes4(data[44:48]));
        uint256 flags = uint8(data[48]);
        if (flags > HAS_GRADIENT_ROOT | SKIPPED) revert IDisputeErrors.Malformed(48);
        r.skipped = flags & SKIPPED != 0;
        r.hasGradientRoot = flags & HAS_GRADIENT_ROOT != 0;
        uint256 offset = 49;
        if (r.hasGradientRoot) {
            if (data.length < FIXED_BYTES + 32) revert IDisputeErrors.Malformed(offset);
            r.gradientRoot = bytes32(data[49:81]);
            offset = 81;
        }
        uint256 present = uint8(data[offset]);
        if (present > 1) revert IDisputeErrors.Malformed(offset);
        r.hasStateRoot = present == 1;
        if (data.length != offset + 1 + 32 * present) revert IDisputeErrors.Malformed(data.length);
        if (r.hasStateRoot) r.stateRoot = bytes32(data[offset + 1:offset + 33]);
    }
}
