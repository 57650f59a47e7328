// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Cursor, Frames} from "../src/dispute/DisputeTypes.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {IStake} from "../src/interfaces/IStake.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";

/// Bonds, stakes, clocks and gas of disputes.
contract DisputeMoneyTest is DisputePlayer {
    using Frames for Cursor;

    function setUp() public {
        _deployGame();
        _runs.keep("wrong", _runner.run(Fault(Wrong.Primitive, 1, 3, 2)));
    }

    function test_aWrongChallengerLosesItsBondOnTheClock() public {
        StepRun[] memory right = _right();
        _post(right);
        Play memory p = _begin(CHALLENGER, SALT);
        // The asserter answers; the challenger has no move that proves anything.
        _play(p, right, right, 1);
        uint256 asserterBefore = _token.balanceOf(_asserter);
        uint256 supply = _token.totalSupply();
        vm.expectRevert(
            abi.encodeWithSelector(IDisputeGame.ClockRuns.selector, p.id, uint256(CLOCK))
        );
        _game.timeout(p.id);
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        _expectStatus(p.id, IDisputeGame.Status.Upheld);
        assertEq(_token.balanceOf(_asserter), asserterBefore + BOND / 2, "half to the asserter");
        assertEq(_token.totalSupply(), supply - (BOND - BOND / 2), "the rest is burned");
        assertEq(_token.balanceOf(address(_game)), 0, "bonds");
        (,, uint256 locks) = _stake.stakeOf(_asserter);
        assertEq(locks, 0, "locks");
        assertEq(_game.etherOf(CHALLENGER), 1 ether, "no base fee, no gas paid");
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotOpen.selector, p.id));
        _game.timeout(p.id);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotFaulty.selector, _unit));
        _game.settle(_unit);
    }

    function test_aSilentAsserterLosesAPartOfItsStake() public {
        _post(_right());
        Play memory p = _begin(CHALLENGER, SALT);
        _wait(CLOCK, 1);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.ClockRuns.selector, p.id, uint256(0)));
        _game.timeout(p.id);
        _wait(1, 1);
        _game.timeout(p.id);
        _expectStatus(p.id, IDisputeGame.Status.FaultByClock);
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.AlreadySettled.selector, _unit));
        _game.settle(_unit);
        (uint256 active,,) = _stake.stakeOf(_asserter);
        assertEq(active, STAKE - STAKE * MISSED_PPM / 1e6, "stake");
    }

    /// The clock is the whole game's: what a move took is gone.
    function test_aClockIsHard() public {
        StepRun[] memory right = _right();
        _post(right);
        Play memory p = _begin(CHALLENGER, SALT);
        _wait(CLOCK / 2, 1);
        _play(p, right, _runs.get("wrong"), 1);
        (uint256 challenger, uint256 asserter) = _game.clocksOf(p.id);
        assertEq(asserter, CLOCK - CLOCK / 2, "asserter's");
        _wait(10, 1);
        (challenger,) = _game.clocksOf(p.id);
        assertEq(challenger, CLOCK - 10, "challenger's");
        _play(p, right, _runs.get("wrong"), 1);
        _wait(CLOCK / 2 + 1, 1);
        _plan(p, right, right);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.ClockRanOut.selector, p.id));
        this.sendPlanned();
        _game.timeout(p.id);
        _expectStatus(p.id, IDisputeGame.Status.FaultByClock);
    }

    /// Who copies an opening or a proof has announced later.
    function test_theEarliestAnnouncementIsRewarded() public {
        StepRun[] memory wrong = _runs.get("wrong");
        StepRun[] memory right = _right();
        _post(wrong);
        bytes32 first = _announce(CHALLENGER, SALT);
        bytes32 second = _announce(OTHER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        Play memory p = _joined(OTHER, second);
        Play memory q = _joined(CHALLENGER, first);
        // The later announcement proves first.
        _play(p, wrong, right, 20);
        uint256 before = _token.balanceOf(CHALLENGER);
        _play(q, wrong, right, 20);
        assertEq(_token.balanceOf(CHALLENGER), before + BOND, "bond");
        vm.expectPartialRevert(IDisputeGame.TooEarly.selector);
        _game.settle(_unit);
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        assertEq(_token.balanceOf(CHALLENGER), before + BOND + STAKE * 4 / 10, "reward");
        assertEq(_token.balanceOf(OTHER), 1e24, "nothing of the reward");
        _stake.compensate(_game.gameOf(second).order);
        assertEq(_token.balanceOf(OTHER), 1e24 + STAKE / 10, "it is another prover");
    }

    /// After the settling period nobody changes who is rewarded.
    function test_aLateProofChangesNothing() public {
        StepRun[] memory wrong = _runs.get("wrong");
        _post(wrong);
        bytes32 first = _announce(CHALLENGER, SALT);
        bytes32 second = _announce(OTHER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        Play memory p = _joined(OTHER, second);
        Play memory q = _joined(CHALLENGER, first);
        _play(p, wrong, _right(), 20);
        _wait(SETTLING + 1, 1);
        _game.timeout(q.id);
        _game.settle(_unit);
        assertEq(_token.balanceOf(OTHER), 1e24 + STAKE * 4 / 10, "reward");
        _expectStatus(q.id, IDisputeGame.Status.FaultByClock);
    }

    /// Nothing that was answered is asked again: a thousand games cost the asserter what one does.
    function test_anAnswerServesEveryGameOfTheUnit() public {
        StepRun[] memory wrong = _runs.get("wrong");
        StepRun[] memory right = _right();
        _post(wrong);
        Play memory p = _begin(CHALLENGER, SALT);
        _play(p, wrong, right, 6); // down to the primitives
        bytes32 again = _announce(OTHER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        Play memory q = _joined(OTHER, again);
        _play(q, wrong, right, 3);
        assertEq(q.c.hash(), p.c.hash(), "as far as the first");
        assertEq(_game.gameOf(q.id).asserterGas, 0, "without a move of the asserter");
        _play(q, wrong, right, 20);
        _expectStatus(q.id, IDisputeGame.Status.FaultProven);
        // The first may end, too; its bond is safe whoever was first.
        vm.prank(CHALLENGER);
        _game.close(p.id);
        _expectStatus(p.id, IDisputeGame.Status.Moot);
        assertEq(_token.balanceOf(address(_game)), 0, "bonds");
    }

    function test_nobodyElseClosesAGameBeforeTheUnitIsSettled() public {
        StepRun[] memory wrong = _runs.get("wrong");
        _post(wrong);
        bytes32 first = _announce(CHALLENGER, SALT);
        bytes32 second = _announce(OTHER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        Play memory q = _joined(CHALLENGER, first);
        Play memory p = _joined(OTHER, second);
        vm.prank(CHALLENGER);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotFaulty.selector, _unit));
        _game.close(q.id);
        _play(p, wrong, _right(), 20);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, q.id));
        vm.prank(OTHER);
        _game.close(q.id);
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        _game.close(q.id);
        assertEq(_token.balanceOf(address(_game)), 0, "bonds");
    }

    /// The asserter as its own challenger: half of what it loses is gone.
    function test_playingAgainstOneselfLoses() public {
        _post(_right());
        _fund(_asserter);
        uint256 before = _token.balanceOf(_asserter) + STAKE;
        bytes32 id = _open(_asserter, SALT);
        _wait(CLOCK + 1, 1);
        _game.timeout(id);
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        (uint256 left,,) = _stake.stakeOf(_asserter);
        uint256 burned = (STAKE - left) / 2;
        assertTrue(burned != 0, "a slash");
        assertLe(_token.balanceOf(_asserter) + left, before - burned, "at most half comes back");
    }

    function test_stakeStaysWhileAGameIsOpen() public {
        StepRun[] memory right = _right();
        _post(right);
        vm.prank(_asserter);
        _stake.thaw(STAKE);
        Play memory p = _begin(CHALLENGER, SALT);
        _wait(1 days, 1);
        vm.prank(_asserter);
        vm.expectRevert(abi.encodeWithSelector(IStake.StakeLocked.selector, _asserter, uint256(1)));
        _stake.withdraw();
        _game.timeout(p.id);
        vm.prank(_asserter);
        vm.expectPartialRevert(IStake.StakeLocked.selector);
        _stake.withdraw();
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        (uint256 active, uint256 thawing, uint256 locks) = _stake.stakeOf(_asserter);
        assertEq(active + locks, 0, "nothing else");
        assertEq(thawing, STAKE - STAKE * MISSED_PPM / 1e6, "thawing stake is slashed");
    }

    /// The escrow pays the asserter's gas, at most at twice the base fee; the rest comes back.
    function test_theEscrowPaysTheAsserter() public {
        // In a call of its own: forge's isolated transactions have no base fee.
        this.escrowPays();
    }

    function escrowPays() external {
        StepRun[] memory right = _right();
        _post(right);
        more.fee(10 gwei);
        more.txGasPrice(50 gwei);
        bytes32 id = _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        uint256 needed = 2 * 10 gwei * uint256(ESCROW_GAS);
        vm.prank(CHALLENGER);
        vm.expectRevert(
            abi.encodeWithSelector(IDisputeGame.EscrowTooSmall.selector, needed - 1, needed)
        );
        _game.open{value: needed - 1}(_commitment, _record, _slot, _index, _path, SALT);
        Play memory p = _joined(CHALLENGER, id);
        _play(p, right, right, 1);
        IDisputeGame.Game memory g = _game.gameOf(id);
        uint256 paid = _game.etherOf(_asserter);
        assertEq(paid, uint256(g.asserterGas) * 20 gwei, "twice the base fee");
        assertEq(paid + g.escrow, 1 ether, "conserved");
        assertLe(60_000, g.asserterGas, "more than nothing");
        assertLe(g.asserterGas, 250_000, "about the move's");
        _wait(CLOCK + 1, 1);
        _game.timeout(id);
        uint256 before = _asserter.balance;
        vm.prank(_asserter);
        _game.withdrawEther();
        assertEq(_asserter.balance, before + paid, "asserter's");
        vm.prank(CHALLENGER);
        assertEq(_game.withdrawEther(), 1 ether - paid, "challenger's");
        vm.prank(CHALLENGER);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NoEther.selector, CHALLENGER));
        _game.withdrawEther();
    }

    function test_anAnnouncementIsForfeitOrReclaimed() public {
        _post(_right());
        bytes32 idle = _announce(OTHER, keccak256("idle"));
        bytes32 late = _announce(OTHER, SALT);
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        _game.forfeit(idle);
        vm.prank(OTHER);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotFaulty.selector, _unit));
        _game.reclaim(_unit, SALT);
        Play memory p = _begin(CHALLENGER, SALT);
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        vm.prank(OTHER);
        _game.reclaim(_unit, SALT);
        vm.prank(OTHER);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotAnnounced.selector, late));
        _game.reclaim(_unit, SALT);
        uint256 supply = _token.totalSupply();
        _wait(0, ANNOUNCE_BLOCKS + OPEN_BLOCKS);
        _game.forfeit(idle);
        assertEq(_token.totalSupply(), supply - BOND, "burned");
        assertEq(_token.balanceOf(address(_game)), 0, "bonds");
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotAnnounced.selector, idle));
        _game.forfeit(idle);
    }

    /// Opens what was announced.
    function _joined(address who, bytes32 id) private returns (Play memory p) {
        _openNow(who, SALT);
        (p.id, p.challenger) = (id, who);
        _start(p);
    }

    function _expectStatus(bytes32 id, IDisputeGame.Status status) private view {
        assertEq(uint256(_game.gameOf(id).status), uint256(status), "status");
    }
}
