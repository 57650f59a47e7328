// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {TensorProof} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Header, Shapes} from "./TraceRecords.sol";

/// @title The tensors of an aggregate's trees
/// @notice docs/PROTOCOL.md, "Aggregation": the base has p parameters. The outer state has p momenta and, of a program with an update, then p
/// residuals and the update.
library OuterTensors {
    using Shapes for uint256;

    /// @notice Trees of OuterFrame.
    uint256 internal constant BASE = 1;
    uint256 internal constant OUTER = 2;
    uint256 internal constant BOTH = 3;

    /// @notice Tensors of the outer state.
    function outerCount(Header memory h) internal pure returns (uint256) {
        return h.updateCodec == 0 ? h.parameters : 2 * h.parameters + 1;
    }

    /// @notice Tensors of a tree.
    function count(Header memory h, uint256 tree) internal pure returns (uint256) {
        if (tree == BASE) return h.parameters;
        return tree == OUTER ? outerCount(h) : h.parameters + outerCount(h);
    }

    function isUpdate(Header memory h, uint256 tree, uint256 number) internal pure returns (bool) {
        return h.updateCodec != 0 && tree == OUTER && number == 2 * h.parameters;
    }

    function isResidual(Header memory h, uint256 tree, uint256 number)
        internal
        pure
        returns (bool)
    {
        return h.updateCodec != 0 && tree == OUTER && number >= h.parameters
            && number < 2 * h.parameters;
    }

    /// @notice The number of the parameter whose element, momentum or residual the tensor is.
    function parameterOf(Header memory h, uint256 tree, uint256 number)
        internal
        pure
        returns (uint256)
    {
        return isResidual(h, tree, number) ? number - h.parameters : number;
    }

    /// @notice Reverts unless a tensor of this shape is number `number` of an outer state.
    function verify(
        bytes32 state,
        Header memory h,
        uint256 number,
        uint256 shape,
        TensorProof calldata given
    ) internal view {
        MerkleSha256.verify(state, number, outerCount(h), shape.digest(given.treeRoot), given.path);
    }
}
