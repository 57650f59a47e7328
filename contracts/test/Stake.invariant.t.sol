// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {StakeHandler} from "./support/StakeHandler.sol";
import {TestBase} from "./support/TestBase.sol";

/// Stake is conserved over random histories of stakers and the game.
contract StakeInvariantTest is TestBase {
    StakeHandler private _handler;

    function setUp() public {
        _handler = new StakeHandler();
    }

    /// forge's hook: only the handler is called.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    function invariant_stakeIsConserved() public view {
        uint256 held = 0;
        for (uint256 i = 0; i < _handler.OWNERS(); ++i) {
            (uint256 active, uint256 thawing,) = _handler.stakes().stakeOf(_handler.owner(i));
            held += active + thawing;
        }
        uint256 unpaid = _handler.compensation() - _handler.token().balanceOf(_handler.PROVER());
        uint256 tokens = _handler.token().balanceOf(address(_handler.stakes()));
        assertEq(tokens, held + unpaid, "tokens = stakes and what provers wait for");
        assertEq(held + _handler.withdrawn() + _handler.slashed(), _handler.staked(), "sum");
    }

    function invariant_aSlashIsBurnedOrPaid() public view {
        uint256 paid = _handler.token().balanceOf(_handler.FINDER()) + _handler.compensation();
        assertEq(_handler.burned() + paid, _handler.slashed(), "burned + paid");
        assertLe(paid, _handler.burned(), "at least half is burned");
    }

    function invariant_nobodyLeavesAnOpenGame() public view {
        assertEq(_handler.withdrawnWhileLocked(), 0, "withdrawals");
    }

    /// No state keeps stake in for ever.
    function afterInvariant() public {
        _handler.everybodyLeaves();
        _handler.everybodyIsPaid();
        uint256 left = _handler.token().balanceOf(address(_handler.stakes()));
        // A part below a base unit is not sent.
        assertLe(left, _handler.proofs(), "trapped stake");
    }
}
