// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {IStake} from "../src/interfaces/IStake.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";

/// Provers beside the finder: what they spend comes back, and accomplices of the asserter gain nothing by being provers.
contract DisputeProversTest is DisputePlayer {
    address private constant THIRD = address(0x3d);
    uint256 private constant MOVES_MAX = 20;
    /// As in examples/params.yaml: gas at 2 gwei, ether at 3,000 tokens. In base units of the token.
    uint256 private constant TOKENS_PER_GAS = 2e9 * 3000;

    function setUp() public {
        _deployGame();
        _runs.keep("wrong", _runner.run(Fault(Wrong.Primitive, 1, 3, 2)));
        _post(_runs.get("wrong"));
        _fund(THIRD);
    }

    /// An accomplice of the asserter is first, and wins. An honest prover has its gas back, and more.
    function test_aProverThatIsNotFirstHasItsGasAndAPremium() public {
        (Play memory p, Play memory q) = _twoGames();
        _playOn(p);
        _playOn(q);
        _settle();
        IDisputeGame.Game memory g = _game.gameOf(q.id);
        uint256 before = _token.balanceOf(CHALLENGER);
        vm.prank(address(0xa11));
        uint256 paid = _stake.compensate(g.order);
        assertEq(_token.balanceOf(CHALLENGER) - before, paid, "paid to the prover");
        assertEq(paid, STAKE / 10, "the share for compensation");
        // The announcement, the payment, and both sides' moves.
        uint256 spent = (400_000 + g.challengerGas + g.asserterGas) * TOKENS_PER_GAS;
        assertLe(2 * spent, paid, "its gas and a premium");
        assertEq(_token.balanceOf(address(_stake)), 0, "nothing left");
        vm.expectRevert(abi.encodeWithSelector(IStake.NothingDue.selector, g.order));
        _stake.compensate(g.order);
    }

    /// An open game that ends without a proof leaves all of the share to the one that proved the fault.
    function test_aGameThatProvesNothingHasNoPart() public {
        (Play memory p, Play memory q, Play memory r) = _threeGames();
        _playOn(p);
        _playOn(q);
        // The third one has the asserter's answers by then, but never moves: it proves nothing.
        _settle();
        _game.close(r.id);
        assertEq(_stake.compensate(_game.gameOf(q.id).order), STAKE / 10, "all of it");
        _refusesToPay(r.id);
    }

    /// The clock proves a fault, too: by fewer moves.
    function test_aGameWonByTheClockCountsItsMoves() public {
        (Play memory p, Play memory q, Play memory r) = _threeGames();
        _playOn(q);
        _playOn(p);
        _wait(CLOCK + 1, 1);
        _game.timeout(r.id);
        _settle();
        uint256 byProof = 8 + _game.gameOf(q.id).moves;
        uint256 byClock = 5 + _game.gameOf(r.id).moves;
        uint256 all = STAKE / 10;
        assertEq(
            _stake.compensate(_game.gameOf(q.id).order),
            all * byProof / (byProof + byClock),
            "proof"
        );
        assertEq(
            _stake.compensate(_game.gameOf(r.id).order),
            all - all * byProof / (byProof + byClock),
            "clock"
        );
    }

    /// The gas price and the bytes of a transaction change nothing: only moves count.
    function test_aHugeTipAndUselessBytesTakeNothingFromOthers() public {
        (Play memory p, Play memory q, Play memory r) = _threeGames();
        _playOn(p);
        _playOn(q);
        more.txGasPrice(1e15);
        while (_isOpen(r.id)) {
            _plan(r, _runs.get("wrong"), _right());
            _call = abi.encodePacked(_call, new bytes(2000));
            _send(r);
        }
        _settle();
        assertLe(_game.gameOf(q.id).challengerGas, _game.gameOf(r.id).challengerGas, "gas");
        uint256 honest = _stake.compensate(_game.gameOf(q.id).order);
        assertEq(honest, _stake.compensate(_game.gameOf(r.id).order), "the same");
    }

    function test_aGameThatIsAnnouncedAfterTheProofHasNoPart() public {
        Play memory p = _begin(CHALLENGER, SALT);
        _playOn(p);
        Play memory late = _begin(OTHER, SALT);
        _playOn(late);
        assertTrue(
            _game.gameOf(late.id).status == IDisputeGame.Status.FaultProven, "it proves it again"
        );
        uint256 supply = _token.totalSupply();
        _settle();
        assertEq(_token.totalSupply(), supply - STAKE * 6 / 10, "burned");
        _refusesToPay(late.id);
        _refusesToPay(p.id);
    }

    /// An accomplice that is first and stalls has no reward, and no part.
    function test_anAccompliceThatStallsItsGameGainsNothing() public {
        (Play memory p, Play memory q) = _twoGames();
        _play(p, _runs.get("wrong"), _right(), 5);
        assertTrue(_game.gameOf(p.id).status == IDisputeGame.Status.ChallengerMoves, "its own turn");
        _playOn(q);
        _wait(2 * CLOCK, 1);
        _game.timeout(p.id);
        uint256 before = _token.balanceOf(OTHER);
        uint256 finder = _token.balanceOf(CHALLENGER);
        _settle();
        assertEq(_token.balanceOf(CHALLENGER), finder + STAKE * 4 / 10, "reward");
        assertEq(_token.balanceOf(OTHER), before, "accomplice");
        _refusesToPay(p.id);
    }

    /// The asserter and all its accomplices, as finder and as all other provers: half of the stake is gone, beside their gas.
    function test_aWorkerThatIsAllItsProversLosesHalf(uint8 games) public {
        games = uint8(bound(games, 1, 6));
        uint256 supply = _token.totalSupply();
        uint256 before = _token.balanceOf(OTHER) + _token.balanceOf(_asserter) + STAKE;
        bytes32[] memory ids = new bytes32[](games);
        for (uint256 i = 0; i < games; ++i) {
            ids[i] = _announce(OTHER, bytes32(i));
        }
        _wait(0, ANNOUNCE_BLOCKS);
        for (uint256 i = 0; i < games; ++i) {
            _openNow(OTHER, bytes32(i));
            Play memory p;
            (p.id, p.challenger) = (ids[i], OTHER);
            _start(p);
            // Some by proof, some by the clock.
            if (i % 2 == 0) _playOn(p);
        }
        _wait(CLOCK + 1, 1);
        for (uint256 i = 1; i < games; i += 2) {
            _game.timeout(ids[i]);
        }
        _settle();
        for (uint256 i = 0; i < games; ++i) {
            try _stake.compensate(_game.gameOf(ids[i]).order) {} catch {} // the finder's
        }
        uint256 afterwards = _token.balanceOf(OTHER) + _token.balanceOf(_asserter);
        assertLe(afterwards, before - STAKE / 2, "half is gone");
        assertLe(STAKE / 2, supply - _token.totalSupply(), "burned");
    }

    /// A cheat signs two commitments for another unit, so that an accomplice wins in one move and has the stake taken for that unit. The
    /// prover of the first unit's fault is paid from the same slash.
    function test_aSacrificedUnitTakesNothingFromTheProversOfAnother() public {
        bytes32 hash = sha256(abi.encodePacked("gym.round.v1", _record));
        Posted memory a = _honest(_right());
        Posted memory b = _honest(_right());
        b.deltaRoot = keccak256("another delta");
        (bytes32 x, bytes32 y) = (_digestOf(a, hash, 1), _digestOf(b, hash, 1));
        bytes32 sacrificed = keccak256(abi.encode(x < y ? x : y, _asserter));
        bytes32 first = _game.announcementOf(OTHER, sacrificed, SALT);
        vm.prank(OTHER);
        _game.announce(first);
        bytes32 second = _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        bytes memory one = _signedOf(a, hash, KEY, 1);
        bytes memory other = _signedOf(b, hash, KEY, 1);
        vm.prank(OTHER);
        _game.openConflict{value: 1 ether}(one, _record, other, SALT);
        Play memory q = _joined(CHALLENGER, second);
        _playOn(q);
        _wait(SETTLING + 1, 1);
        uint256 before = _token.balanceOf(CHALLENGER);
        _game.settle(sacrificed);
        _game.settle(_unit); // of which nothing is left
        _stake.compensate(_game.gameOf(second).order);
        assertEq(_token.balanceOf(CHALLENGER), before + STAKE / 10, "compensated");
        _refusesToPay(first);
    }

    /// An accomplice of the asserter announces first, then an honest challenger.
    function _twoGames() private returns (Play memory p, Play memory q) {
        bytes32[2] memory ids = [_announce(OTHER, SALT), _announce(CHALLENGER, SALT)];
        _wait(0, ANNOUNCE_BLOCKS);
        (p, q) = (_joined(OTHER, ids[0]), _joined(CHALLENGER, ids[1]));
    }

    function _threeGames() private returns (Play memory p, Play memory q, Play memory r) {
        bytes32[3] memory ids =
            [_announce(OTHER, SALT), _announce(CHALLENGER, SALT), _announce(THIRD, SALT)];
        _wait(0, ANNOUNCE_BLOCKS);
        (p, q, r) = (_joined(OTHER, ids[0]), _joined(CHALLENGER, ids[1]), _joined(THIRD, ids[2]));
    }

    function _playOn(Play memory p) private {
        StepRun[] memory right = _right();
        _play(p, _runs.get("wrong"), right, MOVES_MAX);
    }

    function _settle() private {
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
    }

    function _refusesToPay(bytes32 id) private {
        uint256 number = _game.gameOf(id).order;
        vm.expectRevert(abi.encodeWithSelector(IStake.NothingDue.selector, number));
        _stake.compensate(number);
    }

    /// Opens what was announced.
    function _joined(address who, bytes32 id) private returns (Play memory p) {
        _openNow(who, SALT);
        (p.id, p.challenger) = (id, who);
        _start(p);
    }
}
