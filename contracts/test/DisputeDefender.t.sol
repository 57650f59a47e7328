// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";

/// Games that a delegate answers while the asserter is away.
contract DisputeDefenderTest is DisputePlayer {
    uint256 private constant MOVES_MAX = 20;

    function setUp() public {
        _deployGame();
        _runs.keep("wrong", _runner.run(Fault(Wrong.Primitive, 1, 3, 2)));
        _post(_right());
    }

    function test_aDefenderAnswersForAnAsserterThatIsAway() public {
        Play memory p = _begin(CHALLENGER, SALT);
        _planAnswers(p);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, p.id));
        this.sendPlanned();
        vm.prank(_asserter);
        _stake.setDefender(_asserter, OTHER);
        _playByDefender(p);
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        assertEq(uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.Upheld), "status");
        (uint256 active,, uint256 locks) = _stake.stakeOf(_asserter);
        assertEq(active, STAKE, "stake");
        assertEq(locks, 0, "locks");
    }

    /// The escrow pays whoever sends the answer.
    function test_theDefenderIsPaidForItsGas() public {
        // In a call of its own: forge's isolated transactions have no base fee.
        this.defenderIsPaid();
    }

    function defenderIsPaid() external {
        vm.prank(_asserter);
        _stake.setDefender(_asserter, OTHER);
        more.fee(10 gwei);
        more.txGasPrice(50 gwei);
        bytes32 id = _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        _openNow(CHALLENGER, SALT);
        Play memory p;
        (p.id, p.challenger) = (id, CHALLENGER);
        _start(p);
        _planAnswers(p);
        _send(p);
        assertEq(
            _game.etherOf(OTHER), uint256(_game.gameOf(id).asserterGas) * 20 gwei, "defender's"
        );
        assertEq(_game.etherOf(_asserter), 0, "asserter's");
    }

    /// It defends, and does nothing else.
    function test_aDefenderMakesNoMoveOfAChallenger() public {
        vm.prank(_asserter);
        _stake.setDefender(_asserter, OTHER);
        vm.prank(CHALLENGER);
        _stake.setDefender(CHALLENGER, OTHER);
        Play memory p = _begin(CHALLENGER, SALT);
        _play(p, _right(), _right(), 1);
        _plan(p, _right(), _runs.get("wrong"));
        _mover = OTHER;
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, p.id));
        this.sendPlanned();
    }

    function _planAnswers(Play memory p) private {
        _plan(p, _right(), _runs.get("wrong"));
        _mover = OTHER;
    }

    /// Until the challenger has no move any more.
    function _playByDefender(Play memory p) private {
        StepRun[] memory wrong = _runs.get("wrong");
        for (uint256 i = 0; i < MOVES_MAX; ++i) {
            if (_game.gameOf(p.id).status == IDisputeGame.Status.AsserterMoves) {
                _planAnswers(p);
            } else {
                _plan(p, _right(), wrong);
                bytes memory name = bytes(_name);
                if (name.length > 5 && bytes5(name) == "prove") return;
            }
            _send(p);
        }
    }
}
