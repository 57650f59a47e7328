// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {DisputeHandler} from "./support/DisputeHandler.sol";
import {Lie, OuterHandler} from "./support/OuterHandler.sol";
import {TestBase} from "./support/TestBase.sol";
import {UnitHandler} from "./support/UnitHandler.sol";

/// Over random histories of many games on one unit of training, or on one aggregate: money is conserved, turns are kept, verdicts stay, everything ends.
abstract contract DisputeInvariants is TestBase {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    uint256 private constant MOVES = 12;
    uint256 private constant PASSES = 3;

    DisputeHandler internal _handler;

    /// forge's hook: what the handler plays.
    function targetSelectors() public view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        bytes4[] memory list = new bytes4[](13);
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
        list[12] = DisputeHandler.compensate.selector;
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
        assertEq(_handler.compensationHeld(), _handler.compensationDue(), "compensation");
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
        assertEq(_handler.compensationHeld(), 0, "stuck compensation");
        _judge();
    }

    function _judge() internal view {
        assertEq(_handler.outOfTurn(), 0, "moves out of turn");
        assertEq(_handler.changedVerdicts(), 0, "a game has one verdict");
        assertEq(_handler.provenAgainstTheRight(), 0, "proofs against who is right");
        assertEq(_handler.lostByTheRight(), 0, "games lost by who is right and in time");
    }

    // What histories are made of leads to every verdict: else nothing that must hold of them would say much.

    /// One game is played to its end. @param last Its last move.
    function _expectEnd(uint256 salt, string memory last, IDisputeGame.Status status) internal {
        _handler.announce(0, bytes32(salt));
        _handler.pass(0, 2);
        _handler.open(0);
        string memory name = _moves(0);
        assertTrue(keccak256(bytes(name)) == keccak256(bytes(last)), name);
        _runOut();
        assertEq(uint256(_handler.statusOf(0)), uint256(status), "status");
        _judge();
    }

    /// All moves that there are in a game. @return name Of the last one.
    function _moves(uint256 i) internal returns (string memory name) {
        for (uint256 k = 0; k < MOVES; ++k) {
            _handler.move(i);
        }
        return _handler.lastMove();
    }

    /// Somebody's clock runs out.
    function _runOut() internal {
        for (uint256 i = 0; i < PASSES; ++i) {
            _handler.pass(40 minutes, 0);
        }
        _handler.timeout(0);
        _handler.look();
    }
}

/// forge-config: default.invariant.runs = 6
/// forge-config: default.invariant.depth = 50
/// forge-config: check.invariant.runs = 32
/// forge-config: soak.invariant.runs = 128
/// forge-config: soak.invariant.depth = 128
/// forge-config: check.invariant.depth = 128
contract DisputeOfACheatInvariantTest is DisputeInvariants {
    function setUp() public {
        _handler = new UnitHandler(false);
    }

    function test_aGameProvesIt() public {
        _expectEnd(0, "proveElement", IDisputeGame.Status.FaultProven);
    }
}

/// forge-config: default.invariant.runs = 6
/// forge-config: default.invariant.depth = 50
/// forge-config: check.invariant.runs = 32
/// forge-config: soak.invariant.runs = 128
/// forge-config: soak.invariant.depth = 128
/// forge-config: check.invariant.depth = 128
contract DisputeOfAnHonestUnitInvariantTest is DisputeInvariants {
    function setUp() public {
        _handler = new UnitHandler(true);
    }

    function test_anAnnouncementIsMadeAgain() public {
        for (uint256 round = 0; round < 2; ++round) {
            _handler.announce(0, 0);
            assertEq(_handler.bondsHeld(), _handler.bondsDue(), "one bond");
            for (uint256 i = 0; i < 10; ++i) {
                _handler.pass(0, 8);
            }
            _handler.endAnnouncement(0, true);
            assertEq(_handler.bondsHeld(), 0, "forfeited");
            assertEq(_handler.burned(), _handler.burnsDue(), "burned");
        }
    }

    function test_aGameUpholdsIt() public {
        _expectEnd(0, "proveElement", IDisputeGame.Status.Upheld);
    }
}

/// forge-config: default.invariant.runs = 6
/// forge-config: default.invariant.depth = 50
/// forge-config: check.invariant.runs = 32
/// forge-config: soak.invariant.runs = 128
/// forge-config: soak.invariant.depth = 128
/// forge-config: check.invariant.depth = 128
contract DisputeOfAWrongAggregateInvariantTest is DisputeInvariants {
    function setUp() public {
        _handler = new OuterHandler(false);
    }

    function test_aGameProvesAWrongBase() public {
        _expectProof(Lie.Base, "proveOuter");
    }

    function test_aGameProvesAWrongMomentum() public {
        _expectProof(Lie.Momentum, "proveOuter");
    }

    function test_aGameProvesAWrongColumn() public {
        _expectProof(Lie.Column, "proveColumn");
    }

    function test_aGameProvesAWrongState() public {
        _expectProof(Lie.State, "proveOuterSlot");
    }

    function test_aGameProvesAWrongSigner() public {
        _expectProof(Lie.Signer, "proveSigner");
    }

    function test_aGameProvesAWrongWeight() public {
        _expectProof(Lie.Weight, "proveOuter");
    }

    function test_aGameProvesALateDeltaThatNoRoundTakes() public {
        _expectProof(Lie.Late, "proveSigner");
    }

    function test_nobodysDeltaIsNotShown() public {
        _expectEnd(uint256(Lie.Nobody), "showIncluded", IDisputeGame.Status.FaultByClock);
    }

    function test_aHeldDeltaIsNotShownAsTheRounds() public {
        _expectEnd(uint256(Lie.Age), "showIncluded", IDisputeGame.Status.FaultByClock);
    }

    function _expectProof(Lie lie, string memory last) private {
        _expectEnd(uint256(lie), last, IDisputeGame.Status.FaultProven);
    }
}

/// forge-config: default.invariant.runs = 6
/// forge-config: default.invariant.depth = 50
/// forge-config: check.invariant.runs = 32
/// forge-config: soak.invariant.runs = 128
/// forge-config: soak.invariant.depth = 128
/// forge-config: check.invariant.depth = 128
contract DisputeOfAnHonestAggregateInvariantTest is DisputeInvariants {
    uint256 private constant GAMES = 6;

    function setUp() public {
        _handler = new OuterHandler(true);
    }

    /// Its challengers try all there is to prove, and lose.
    function test_gamesUpholdIt() public {
        string[3] memory proofs = ["proveOuter", "proveOuterSlot", "proveSigner"];
        uint256 found = 0;
        for (uint256 salt = 0; salt < GAMES; ++salt) {
            _handler.announce(salt, bytes32(salt));
        }
        _handler.pass(0, 2);
        for (uint256 game = 0; game < GAMES; ++game) {
            _handler.open(game);
            bytes32 last = keccak256(bytes(_moves(game)));
            for (uint256 i = 0; i < proofs.length; ++i) {
                if (keccak256(bytes(proofs[i])) == last) found |= 1 << i;
            }
        }
        assertEq(found, 7, "proofs tried");
        _runOut();
        assertEq(uint256(_handler.statusOf(0)), uint256(IDisputeGame.Status.Upheld), "status");
        _judge();
    }
}
