// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DisputeHandler} from "./support/DisputeHandler.sol";
import {TestBase} from "./support/TestBase.sol";

/// Over random histories of many games on one unit: money is conserved, turns are kept, verdicts stay, everything ends.
abstract contract DisputeInvariants is TestBase {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    DisputeHandler internal _handler;

    /// forge's hook: what the handler plays.
    function targetSelectors() public view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        bytes4[] memory list = new bytes4[](12);
        list[0] = DisputeHandler.announce.selector;
        list[1] = DisputeHandler.open.selector;
        list[2] = DisputeHandler.open.selector;
        list[3] = DisputeHandler.pass.selector;
        list[4] = DisputeHandler.timeout.selector;
        list[5] = DisputeHandler.close.selector;
        list[6] = DisputeHandler.settle.selector;
        list[7] = DisputeHandler.endAnnouncement.selector;
        list[8] = DisputeHandler.withdrawEther.selector;
        list[9] = DisputeHandler.look.selector;
        list[10] = DisputeHandler.move.selector;
        list[11] = DisputeHandler.move.selector;
        targets[0] = FuzzSelector(address(_handler), list);
    }

    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    /// One campaign for all of them: a history costs more than looking at it.
    function invariant_moneyTurnsAndVerdictsAreKept() public {
        assertEq(_handler.bondsHeld(), _handler.bondsDue(), "one bond each");
        assertEq(_handler.burned(), _handler.burnsDue(), "burned");
        uint256 held = _handler.etherHeld();
        assertEq(held, _handler.etherDue(), "escrows and what is owed");
        assertEq(held + _handler.withdrawn(), _handler.deposited(), "ether");
        assertTrue(_handler.stakeIsWhole(), "stake and its lock");
        _handler.openGames();
        _handler.look();
        _judge();
    }

    /// No state is stuck, and who is right has not lost.
    function afterInvariant() public {
        _handler.everythingEnds();
        assertEq(_handler.openGames(), 0, "stuck games");
        assertEq(_handler.bondsHeld(), 0, "stuck bonds");
        assertEq(_handler.burned(), _handler.burnsDue(), "burned at the end");
        assertTrue(_handler.stakeIsWhole(), "stake at the end");
        _judge();
    }

    function _judge() private view {
        assertEq(_handler.outOfTurn(), 0, "moves out of turn");
        assertEq(_handler.changedVerdicts(), 0, "a game has one verdict");
        assertEq(_handler.provenAgainstTheRight(), 0, "proofs against who is right");
        assertEq(_handler.lostByTheRight(), 0, "games lost by who is right and in time");
    }
}

/// forge-config: default.invariant.runs = 6
/// forge-config: default.invariant.depth = 50
/// forge-config: check.invariant.runs = 128
/// forge-config: check.invariant.depth = 128
contract DisputeOfACheatInvariantTest is DisputeInvariants {
    function setUp() public {
        _handler = new DisputeHandler(false);
    }
}

/// forge-config: default.invariant.runs = 6
/// forge-config: default.invariant.depth = 50
/// forge-config: check.invariant.runs = 128
/// forge-config: check.invariant.depth = 128
contract DisputeOfAnHonestUnitInvariantTest is DisputeInvariants {
    function setUp() public {
        _handler = new DisputeHandler(true);
    }
}
