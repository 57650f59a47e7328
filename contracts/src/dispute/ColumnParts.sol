// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DeltaGroups, OuterStep} from "../numerics/OuterStep.sol";
import {BigEndian} from "./BigEndian.sol";
import {Cursor, Finding, IDisputeErrors, OuterFrame, Stage} from "./DisputeTypes.sol";

/// @title Columns that are too long for one answer
/// @notice Up to OuterStep.PART values are posted at once. Of a longer column what each part adds to the sum is posted, 9 bytes a part; one part
/// can then be picked, and its values are posted. A part's node has its own exponent, that of all parts and its sum: one byte each, with
/// OuterStep.EXPONENT_BIAS, and an i64.
library ColumnParts {
    uint256 private constant FLOAT_BYTES = 4;
    uint256 private constant SUM_BITS = 64;

    /// @notice Bytes of an answer at the cursor, which is at COLUMN or PART.
    function answerBytes(Cursor calldata c) internal pure returns (uint256) {
        if (c.stage == Stage.COLUMN) {
            uint256 parts = OuterStep.parts(c.leaves);
            return parts == 0 ? FLOAT_BYTES * c.leaves : OuterStep.PART_BYTES * parts;
        }
        if (c.stage != Stage.PART) revert IDisputeErrors.WrongStage(c.stage);
        uint256 rest = c.leaves - firstOf(c);
        return FLOAT_BYTES * (rest < OuterStep.PART ? rest : OuterStep.PART);
    }

    /// @notice Reverts unless these bytes were posted at the cursor, of the deltas of this aggregate.
    function check(Cursor calldata c, OuterFrame calldata outer, bytes calldata posted)
        internal
        pure
    {
        bool known = keccak256(posted) == c.twin && outer.deltas == c.leaves && posted.length != 0
            && posted.length == answerBytes(c);
        if (!known) revert IDisputeErrors.WrongFrame();
    }

    /// @notice Number, among all, of the first value that an answer at the cursor has.
    function firstOf(Cursor calldata c) internal pure returns (uint256) {
        return c.stage == Stage.PART ? OuterStep.PART * uint256(c.height) : 0;
    }

    /// @notice What part number `part` is said to add. @param added By all of them, as they were posted.
    function claimOf(bytes calldata added, uint256 part) internal pure returns (bytes32) {
        uint256 begin = OuterStep.PART_BYTES * part;
        uint256 own = BigEndian.number(added, begin, 1);
        uint256 sum = BigEndian.number(added, begin + 1, OuterStep.PART_BYTES - 1);
        return _node(
            // A byte.
            // forge-lint: disable-next-line(unsafe-typecast)
            int256(own) - int256(OuterStep.EXPONENT_BIAS),
            OuterStep.largestExponent(added),
            sum
        );
    }

    /// @notice What the posted values of the cursor's part add. A sum is looked at only where the part's own exponent is right, hence not above
    /// that of all parts: only then no value is too large for it. Reverts with NoFault where the part adds what its node says.
    /// @param packed Legal groups of all deltas.
    function fault(Cursor calldata c, bytes calldata values, uint256 packed)
        internal
        pure
        returns (Finding memory)
    {
        (DeltaGroups memory g,) = OuterStep.groups(c.leaves, packed);
        uint256 first = firstOf(c);
        int256 exponent = _exponentIn(c.node, 0);
        int256 own = OuterStep.partExponent(values, first, g);
        uint256 sum = uint64(uint256(c.node));
        // The low 64 bits of an i64.
        // forge-lint: disable-next-line(unsafe-typecast)
        if (own == _exponentIn(c.node, 8) && own <= exponent) {
            sum = uint64(uint256(OuterStep.partSum(values, first, g, exponent)));
        }
        bytes32 computed = _node(own, exponent, sum);
        if (computed == c.node) revert IDisputeErrors.NoFault();
        return Finding(c.height, c.node, computed);
    }

    function _node(int256 own, int256 all, uint256 sum) private pure returns (bytes32) {
        int256 bias = int256(OuterStep.EXPONENT_BIAS);
        // Each exponent is a byte less the bias.
        // forge-lint: disable-next-line(unsafe-typecast)
        uint256 exponents = uint256(own + bias) << 8 | uint256(all + bias);
        return bytes32(exponents << SUM_BITS | sum);
    }

    /// @dev The part's own exponent (8), or that of all parts (0).
    function _exponentIn(bytes32 node, uint256 shift) private pure returns (int256) {
        uint256 biased = uint8(uint256(node) >> (SUM_BITS + shift));
        // A byte.
        // forge-lint: disable-next-line(unsafe-typecast)
        return int256(biased) - int256(OuterStep.EXPONENT_BIAS);
    }
}
