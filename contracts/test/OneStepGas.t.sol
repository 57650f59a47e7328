// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IOneStep} from "../src/onestep/IOneStep.sol";
import {OneStepCases} from "./support/OneStepCases.sol";

/// Gas of the largest legal leaf of every primitive, operands' bytes all non-zero. The execution is
/// compared with snapshots/OneStep.json; as a transaction of its own, with 21,000 and the calldata,
/// it is held below the bounds. A dispute's last move adds the proofs of the operands' chunks.
contract OneStepGasTest is OneStepCases {
    /// A transaction may use this much (EIP-7825).
    uint256 private constant TRANSACTION_GAS_MAX = 2 ** 24;
    uint256 private constant LEAF_GAS_MAX = 450_000;

    function setUp() public {
        _deploy();
    }

    function test_elementwise() public {
        _elementwise();
    }

    function test_movement() public {
        _movement();
    }

    function test_blocks() public {
        _blocks();
    }

    function test_quantised() public {
        _quantised();
    }

    function test_products() public {
        _products();
    }

    function _measure(
        string memory name,
        IOneStep.Descriptor memory d,
        bytes[] memory inputs,
        uint64 element
    ) internal override {
        bytes memory call = abi.encodeCall(IOneStep.evaluate, (d, inputs, element));
        _oneStep.evaluate(d, inputs, element);
        uint256 used = vm.snapshotGasLastCall("OneStep", name);
        // Calldata, and the floor that Prague puts under it (EIP-7623; not in this EVM version).
        uint256 standard = 21_000;
        uint256 floor = 21_000;
        for (uint256 i = 0; i < call.length; ++i) {
            standard += call[i] == 0 ? 4 : 16;
            floor += call[i] == 0 ? 10 : 40;
        }
        uint256 cost = used + standard > floor ? used + standard : floor;
        assertLe(cost, LEAF_GAS_MAX, name);
        assertLe(cost, TRANSACTION_GAS_MAX, name);
    }
}
