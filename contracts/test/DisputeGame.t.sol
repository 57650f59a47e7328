// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";

/// Whole games over real data: wherever the asserter is wrong, the challenger proves it.
contract DisputeGameTest is DisputePlayer {
    uint256 private constant MOVES_MAX = 20;

    function setUp() public {
        _deployGame();
    }

    function test_anElementOfAnElementwiseOp() public {
        _expectFault(Fault(Wrong.Primitive, 1, 0, 299), "proveElement", 9);
    }

    function test_anElementOfARowSum() public {
        _expectFault(Fault(Wrong.Primitive, 0, 3, 2), "proveElement", 8);
    }

    function test_anElementOfTheSecondChunkOfATensor() public {
        _expectFault(Fault(Wrong.Primitive, 2, 2, 270), "proveElement", 10);
    }

    function test_anElementOfAProduct() public {
        _expectFault(Fault(Wrong.Primitive, 2, 7, 5), "proveElement", 8);
    }

    function test_anElementOfALookup() public {
        _expectFault(Fault(Wrong.Primitive, 0, 11, 13), "proveElement", 7);
    }

    /// A run takes a second; DisputeLeaves.t.sol has many of its last move.
    /// forge-config: default.fuzz.runs = 4
    /// forge-config: check.fuzz.runs = 40
    /// forge-config: soak.fuzz.runs = 600
    function test_anyElementOfAnyPrimitive(uint256 step, uint256 primitive, uint256 element)
        public
    {
        Fault memory fault = Fault(
            Wrong.Primitive, bound(step, 0, 2), bound(primitive, 0, 11), element % 1000
        );
        _expectFault(fault, "proveElement", 0);
    }

    function test_aToken() public {
        _expectFault(Fault(Wrong.Batch, 1, 0, 6), "proveToken", 6);
    }

    function test_theClock() public {
        _expectFault(Fault(Wrong.Clock, 1, 0, 0), "proveInput", 4);
    }

    function test_theRandomPosition() public {
        _expectFault(Fault(Wrong.Random, 2, 0, 4), "proveInput", 4);
    }

    function test_theLossOfARecord() public {
        _expectFault(Fault(Wrong.Loss, 0, 0, 0), "proveRecord", 4);
    }

    function test_theGradientNormOfARecord() public {
        _expectFault(Fault(Wrong.GradNorm, 1, 0, 0), "proveRecord", 4);
    }

    function test_theBatchRootOfARecord() public {
        _expectFault(Fault(Wrong.BatchRoot, 2, 0, 0), "proveRecord", 4);
    }

    function test_aRecordThatSkipsAStep() public {
        _expectFault(Fault(Wrong.Skipped, 1, 0, 0), "proveRecord", 4);
    }

    function test_aStateThatIsNoLeaf() public {
        _expectFault(Fault(Wrong.Slot, 1, 0, 0), "proveSlot", 6);
    }

    function test_aStateThatIsNotTheOneBefore() public {
        _expectFault(Fault(Wrong.Slot, 2, 2, 0), "proveSlot", 6);
    }

    function test_aGradient() public {
        _expectFault(Fault(Wrong.Gradient, 1, 1, 0), "proveGradient", 6);
    }

    /// Plays the whole game; then the asserter loses its stake, half of it burned, and the challenger gets the reward.
    function _expectFault(Fault memory fault, string memory last, uint256 moves) private {
        StepRun[] memory wrong = _runner.run(fault);
        _post(wrong);
        uint256 before = _token.balanceOf(CHALLENGER);
        Play memory p = _begin(CHALLENGER, SALT);
        _play(p, wrong, _right(), MOVES_MAX);
        IDisputeGame.Game memory g = _game.gameOf(p.id);
        assertEq(uint256(g.status), uint256(IDisputeGame.Status.FaultProven), "status");
        assertTrue(keccak256(bytes(_name)) == keccak256(bytes(last)), _name);
        if (moves != 0) assertEq(g.moves, moves, "moves");
        assertEq(_token.balanceOf(CHALLENGER), before, "the bond is back");
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        assertEq(_token.balanceOf(CHALLENGER), before + STAKE * 4 / 10, "reward");
        (uint256 active, uint256 thawing, uint256 locks) = _stake.stakeOf(_asserter);
        assertEq(active + thawing + locks, 0, "stake");
        assertEq(_token.balanceOf(address(_game)), 0, "bonds");
    }
}
