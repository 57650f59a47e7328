// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {IStake} from "../src/interfaces/IStake.sol";
import {DisputeGame} from "../src/DisputeGame.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {Fault, Wrong} from "./support/DisputeRunner.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";

/// What clocks that ran out cost, and that they are no way around a proven fault.
contract DisputeClocksTest is DisputePlayer {
    uint256 private constant MISSED = STAKE * MISSED_PPM / 1e6;
    uint256 private constant MOVES_MAX = 20;

    mapping(uint256 leaf => bytes32) private _otherUnits;
    mapping(uint256 leaf => bytes) private _otherCommitments;

    function setUp() public {
        _deployGame();
        _runs.keep("wrong", _runner.run(Fault(Wrong.Primitive, 1, 3, 2)));
    }

    function test_anOutageCostsAPartOfTheStake() public {
        _post(_right());
        _missClock();
        uint256 before = _token.balanceOf(CHALLENGER);
        _settle(_unit);
        assertEq(_staked(), STAKE - MISSED, "the rest stays");
        assertEq(_token.balanceOf(CHALLENGER) - before, MISSED * 4 / 10, "the finder's reward");
        vm.prank(_asserter);
        _stake.thaw(STAKE - MISSED);
        _wait(1 days, 1);
        vm.prank(_asserter);
        assertEq(_stake.withdraw(), STAKE - MISSED, "and can be withdrawn");
    }

    /// A machine that is away misses the clocks of all games; the provers of all its units share what the first one costs.
    function test_gamesOfOneOutageCostNoMoreThanOne() public {
        _post(_right());
        bytes32 first = _unit;
        _missClock();
        _turnTo(0);
        bytes32 second = _unit;
        bytes32 game = _missClock();
        _wait(1, 1);
        _settle(first);
        _settle(second);
        assertEq(_staked(), STAKE - MISSED, "once");
        assertEq(_stake.compensate(_game.gameOf(game).order), MISSED / 10, "the second's prover");
    }

    /// In whichever order the units are settled.
    function test_theOrderOfSettlingChangesNothing() public {
        _post(_right());
        bytes32 first = _unit;
        _missClock();
        _turnTo(0);
        _missClock();
        _settle(_unit);
        assertEq(_staked(), STAKE - MISSED, "the later one");
        _game.settle(first);
        assertEq(_staked(), STAKE - MISSED, "then the earlier one");
    }

    function test_aSecondOutageCostsAll() public {
        _post(_right());
        _missClock();
        _settle(_unit);
        _turnTo(0);
        _missClock();
        _settle(_unit);
        assertEq(_staked(), 0, "all of it");
    }

    /// An asserter that would be proven wrong in one game misses the clock of another one, of an accomplice that announced first.
    function test_aClockDoesNotCoverAFaultThatIsProven() public {
        _post(_runs.get("wrong"));
        (bytes32 accomplice, Play memory honest) = _accompliceFirst();
        _play(honest, _runs.get("wrong"), _right(), MOVES_MAX);
        assertTrue(!_game.unitOf(_unit).byClock, "proven");
        _wait(CLOCK + 1, 1);
        _game.timeout(accomplice);
        assertTrue(!_game.unitOf(_unit).byClock, "and stays so");
        _settle(_unit);
        assertEq(_staked(), 0, "all of it");
    }

    /// The clock ran out first, then another game shows the fault.
    function test_aProofAfterTheClockCostsAll() public {
        _post(_runs.get("wrong"));
        (bytes32 accomplice, Play memory honest) = _accompliceFirst();
        _wait(CLOCK - 60, 1);
        _play(honest, _runs.get("wrong"), _right(), 1);
        _wait(61, 1);
        _game.timeout(accomplice);
        assertTrue(_game.unitOf(_unit).byClock, "only a clock so far");
        _play(honest, _runs.get("wrong"), _right(), MOVES_MAX);
        assertTrue(!_game.unitOf(_unit).byClock, "proven");
        _settle(_unit);
        assertEq(_staked(), 0, "all of it");
    }

    function test_aProvenFaultAfterAnOutageCostsAll() public {
        _post(_right());
        bytes32 first = _unit;
        _missClock();
        _turnTo(2);
        _open(CHALLENGER, SALT);
        assertTrue(_game.unitOf(_unit).provenAt != 0, "proven when it is opened");
        _settle(first);
        assertEq(_staked(), STAKE - MISSED, "the outage");
        _game.settle(_unit);
        assertEq(_staked(), 0, "all of it");
    }

    /// Whatever share it is: at least half of what is taken is burned, so staging an outage gains nothing.
    function test_aStagedOutageLosesHalfOfItsPart() public {
        _post(_right());
        uint256 supply = _token.totalSupply();
        uint256 before = _token.balanceOf(CHALLENGER);
        _missClock();
        _settle(_unit);
        assertLe(MISSED / 2, supply - _token.totalSupply(), "burned");
        assertLe(_token.balanceOf(CHALLENGER) - before, MISSED / 2, "what comes back");
    }

    function test_theShareIsFromOnePartToAll() public {
        IDisputeGame.Terms memory t = _terms();
        t.missedPpm = 0;
        vm.expectRevert(IDisputeGame.BadTerms.selector);
        new DisputeGame(t, IStake(address(_stake)), _rules());
        t.missedPpm = 1_000_001;
        vm.expectRevert(IDisputeGame.BadTerms.selector);
        new DisputeGame(t, IStake(address(_stake)), _rules());
        assertEq(_game.terms().missedPpm, MISSED_PPM, "as deployed");
    }

    /// Beside the unit under dispute: a right one first, and one with a root of zero last, which its opening proves wrong.
    function _otherLeaf(bytes32 record, uint256 i) internal override returns (bytes32) {
        Posted memory p = _honest(_right());
        p.recordsRoot = i == 0 ? keccak256("another unit") : bytes32(0);
        _otherUnits[i] = keccak256(abi.encode(_digest(p, record), _asserter));
        _otherCommitments[i] = _signed(p, record);
        return sha256(abi.encodePacked("gym.commitment.v1", _otherCommitments[i]));
    }

    /// The unit at leaf `i` is under dispute from then on.
    function _turnTo(uint256 i) private {
        bytes32 hash = sha256(abi.encodePacked("gym.round.v1", _record));
        bytes32[] memory leaves = new bytes32[](3);
        (leaves[0], leaves[2]) = (_otherLeaf(hash, 0), _otherLeaf(hash, 2));
        leaves[1] = sha256(abi.encodePacked("gym.commitment.v1", _commitment));
        (_unit, _commitment) = (_otherUnits[i], _otherCommitments[i]);
        _path = DisputeTrees.path(leaves, i);
        // forge-lint: disable-next-line(unsafe-typecast)
        _index = uint32(i);
    }

    /// @return game That the asserter did not answer.
    function _missClock() private returns (bytes32 game) {
        game = _open(CHALLENGER, SALT);
        _wait(CLOCK + 1, 1);
        _game.timeout(game);
    }

    function _accompliceFirst() private returns (bytes32 accomplice, Play memory honest) {
        accomplice = _announce(OTHER, SALT);
        bytes32 second = _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        _openNow(OTHER, SALT);
        _openNow(CHALLENGER, SALT);
        (honest.id, honest.challenger) = (second, CHALLENGER);
        _start(honest);
    }

    function _settle(bytes32 unit) private {
        _wait(SETTLING + 1, 1);
        _game.settle(unit);
    }

    function _staked() private view returns (uint256) {
        (uint256 active, uint256 thawing,) = _stake.stakeOf(_asserter);
        return active + thawing;
    }
}
