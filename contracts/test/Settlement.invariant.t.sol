// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {TestBase} from "./support/TestBase.sol";
import {SettlementHandler} from "./support/SettlementHandler.sol";

/// Money rules over random histories of every role's calls, right and wrong ones.
contract SettlementInvariantTest is TestBase {
    SettlementHandler private _handler;

    function setUp() public {
        _handler = new SettlementHandler();
    }

    /// forge's hook: only the handler is called.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    function invariant_paidAtMostPostedAtMostFunded() public view {
        uint256 paid = _handler.distributor().totalClaimed();
        uint256 posted = _handler.highestActiveTotal();
        uint256 funded = paid + _handler.token().balanceOf(address(_handler.distributor()));
        assertLe(paid, posted, "paid <= posted");
        assertLe(posted, funded, "posted <= funded");
    }

    function invariant_everyEarnerWasPaidExactlyWhatIsRecorded() public view {
        uint256 sum = 0;
        for (uint256 i = 0; i < _handler.EARNERS(); ++i) {
            address earner = _handler.earner(i);
            uint256 claimed = _handler.distributor().claimed(earner);
            assertEq(_handler.received(i), claimed, "tokens received = claimed");
            assertLe(claimed, _handler.highestActiveEarned(i), "claimed <= an active root's leaf");
            sum += claimed;
        }
        assertEq(_handler.distributor().totalClaimed(), sum, "sum of claims");
    }

    function invariant_disabledRootsPaidNothing() public view {
        assertEq(_handler.paidByDisabledRoots(), 0, "paid by disabled roots");
    }

    function invariant_anybodyDisablesWrongRootsAndNobodyRightOnes() public view {
        assertEq(_handler.falseVerdicts(), 0, "false verdicts");
    }

    /// Whoever holds the admin's key: no role is granted and no limit raised before the delay is over.
    function invariant_theAdminChangesNothingEarly() public view {
        assertEq(_handler.earlyChanges(), 0, "early changes");
        assertEq(_handler.timelock().getMinDelay(), 2 days, "delay");
    }

    function invariant_whoeverLeavesGetsEverything() public view {
        assertEq(_handler.trapped(), 0, "trapped deposits");
    }

    /// Whoever holds the settler's key.
    function invariant_ownersPayAtMostWhatTheySigned() public view {
        for (uint256 i = 0; i < _handler.OWNERS(); ++i) {
            assertLe(_handler.released(i), _handler.signed(i), "released <= signed");
        }
        assertEq(_handler.forged(), 0, "forged locks");
    }

    function invariant_escrowIsBackedOneToOne() public view {
        uint256 sum = 0;
        uint256 locked = 0;
        for (uint256 i = 0; i < _handler.OWNERS(); ++i) {
            uint256 balance = _handler.escrow().balanceOf(_handler.owner(i));
            sum += balance;
            locked += _handler.escrow().lockedOf(_handler.owner(i));
            assertLe(_handler.escrow().lockedOf(_handler.owner(i)), balance, "locked <= balance");
        }
        assertEq(_handler.escrow().totalLocked(), locked, "sum of what is locked");
        assertEq(_handler.escrow().totalBalance(), sum, "sum of balances");
        assertEq(_handler.token().balanceOf(address(_handler.escrow())), sum, "tokens held");
    }

    function invariant_noTokenIsLost() public view {
        uint256 paid = _handler.distributor().totalClaimed();
        uint256 held = _handler.token().balanceOf(address(_handler.escrow()))
            + _handler.token().balanceOf(address(_handler.distributor()));
        assertEq(held + paid + _handler.withdrawn(), _handler.deposited(), "sum of tokens");
    }

    /// Whatever happened, pauses included: after the bounded time every earner and owner gets everything.
    function afterInvariant() public {
        _handler.everybodyLeaves();
        for (uint256 i = 0; i < _handler.OWNERS(); ++i) {
            assertEq(_handler.escrow().balanceOf(_handler.owner(i)), 0, "trapped deposit");
        }
        for (uint256 i = 0; i < _handler.EARNERS(); ++i) {
            assertEq(
                _handler.distributor().claimed(_handler.earner(i)),
                _handler.activeEarned(i),
                "trapped reward"
            );
        }
    }
}
