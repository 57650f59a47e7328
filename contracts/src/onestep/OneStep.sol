// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IOneStep} from "./IOneStep.sol";

/// @title Any element of any primitive
/// @notice Hands each call to the family of its opcode. No state, no owner, nothing to upgrade.
contract OneStep is IOneStep {
    /// @notice A family's address has no code.
    error NoContract(address family);

    uint256 private constant ELEMENTWISE_LAST = 16;
    uint256 private constant MOVEMENT_FIRST = 32;
    uint256 private constant MOVEMENT_LAST = 38;
    uint256 private constant SUMS_FIRST = 64;
    uint256 private constant SUMS_LAST = 71;
    uint256 private constant PRODUCTS_LAST = 74;

    address private immutable _ELEMENTWISE;
    address private immutable _MOVEMENT;
    address private immutable _SUMS;
    address private immutable _PRODUCTS;

    /// @notice Fixes the families.
    /// @param elementwise ElementwiseOps. @param movement MovementOps.
    /// @param sums SumOps. @param products ProductOps.
    constructor(address elementwise, address movement, address sums, address products) {
        _requireCode(elementwise);
        _requireCode(movement);
        _requireCode(sums);
        _requireCode(products);
        _ELEMENTWISE = elementwise;
        _MOVEMENT = movement;
        _SUMS = sums;
        _PRODUCTS = products;
    }

    /// @inheritdoc IOneStep
    function reach(Descriptor calldata d, uint256, uint64, uint32)
        external
        view
        returns (uint64, uint64)
    {
        _forward(familyOf(d.opcode));
    }

    /// @inheritdoc IOneStep
    function evaluate(Descriptor calldata d, bytes[] calldata, uint64)
        external
        view
        returns (uint64)
    {
        _forward(familyOf(d.opcode));
    }

    /// @notice The contract that computes the primitive `opcode`.
    /// @param opcode Its number. Reverts if no primitive has it.
    /// @return The family's address.
    function familyOf(uint16 opcode) public view returns (address) {
        if (opcode >= 1 && opcode <= ELEMENTWISE_LAST) return _ELEMENTWISE;
        if (opcode >= MOVEMENT_FIRST && opcode <= MOVEMENT_LAST) return _MOVEMENT;
        if (opcode >= SUMS_FIRST && opcode <= SUMS_LAST) return _SUMS;
        if (opcode > SUMS_LAST && opcode <= PRODUCTS_LAST) return _PRODUCTS;
        revert UnknownOpcode(opcode);
    }

    function _requireCode(address family) private view {
        if (family.code.length == 0) revert NoContract(family);
    }

    /// @dev The same call there; its answer or revert is this one's. Ends the call, so that memory
    /// may be overwritten.
    function _forward(address family) private view {
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := staticcall(gas(), family, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(ok) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }
}
