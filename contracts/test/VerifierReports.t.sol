// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Commitments} from "../src/dispute/Commitments.sol";
import {ReportRules} from "../src/dispute/ReportRules.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {Play} from "./support/DisputePlay.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {ReportFixture} from "./support/ReportFixture.sol";

/// Verifiers' reports, true and false, in whole games over real data.
contract VerifierReportsTest is ReportFixture {
    uint256 private constant MOVES_MAX = 20;

    function setUp() public {
        _deployReports();
        _runs.keep("wrong", _runner.run(Fault(Wrong.Primitive, 1, 3, 2)));
    }

    // --- lies ---

    /// The worker is right, and the report says that its unit gives something else.
    function test_aReportThatAccusesARightUnitCostsItsStake() public {
        _postAndReport(_right(), _runs.get("wrong"));
        _loses(_runs.get("wrong"), _right());
    }

    /// The worker is wrong, and the report copies what it committed to.
    function test_aReportThatAgreesWithAWrongUnitCostsItsStake() public {
        _postAndReport(_runs.get("wrong"), _runs.get("wrong"));
        _loses(_runs.get("wrong"), _right());
    }

    /// Right step records, and another delta than they give.
    function test_aReportWithAnotherDeltaCostsItsStake() public {
        _post(_right());
        Posted memory p = _honest(_right());
        Play memory play;
        play.delta = _delta(_right());
        play.delta.data[701] ^= 0x01;
        p.deltaRoot = DisputeTrees.tensorRoot(play.delta);
        _report(p);
        (play.id, play.challenger) = (_open(CHALLENGER, SALT), CHALLENGER);
        _start(play);
        _play(play, _right(), _right(), MOVES_MAX);
        _isSlashed(play.id);
    }

    /// Whatever element a verifier makes up. A run takes a second.
    /// forge-config: default.fuzz.runs = 3
    /// forge-config: check.fuzz.runs = 20
    /// forge-config: soak.fuzz.runs = 300
    function test_anyFalseReportIsProvenFalse(uint256 step, uint256 primitive, uint256 element)
        public
    {
        StepRun[] memory lie = _runner.run(
            Fault(Wrong.Primitive, bound(step, 0, 2), bound(primitive, 0, 11), element % 1000)
        );
        _postAndReport(_right(), lie);
        _loses(lie, _right());
    }

    /// Terms that the round fixes: such a report is decided when the game is opened.
    function test_aReportThatContradictsTheRecordIsLostAtOnce() public {
        _post(_right());
        Posted memory p = _honest(_right());
        p.flops += 1;
        _report(p);
        _isSlashed(_open(CHALLENGER, SALT));
    }

    // --- honest verifiers ---

    /// An accuser that cannot prove anything loses its bond, half of it to the verifier.
    function test_anHonestReportIsUpheld() public {
        _postAndReport(_runs.get("wrong"), _right());
        uint256 before = _token.balanceOf(_verifier);
        Play memory p = _begin(CHALLENGER, SALT);
        _play(p, _right(), _runs.get("wrong"), 1); // the verifier's answer
        assertTrue(_isOpen(p.id), "the accuser is to move, and has no move that leads to a fault");
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        _isUpheld(p.id);
        assertEq(_token.balanceOf(_verifier) - before, BOND / 2, "half of the bond");
    }

    /// A worker that throws the game about its own right unit makes it faulty on chain. The honest verifier that agreed has said the same
    /// roots, and still plays its own game, with its own answers.
    function test_aWorkerThatThrowsItsGameTakesNoVerifierWithIt() public {
        Posted memory honest = _honest(_right());
        _post(honest);
        bytes32 workersUnit = _unit;
        // Its commitment is right; it answers with the leaves of another run.
        Play memory thrown = _begin(CHALLENGER, SALT);
        _play(thrown, _thrown(), _right(), MOVES_MAX);
        assertTrue(_workersGame.unitOf(workersUnit).provenAt != 0, "thrown");
        _report(honest);
        Play memory p = _begin(CHALLENGER, SALT);
        _play(p, _right(), _thrown(), 1);
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        _isUpheld(p.id);
    }

    /// Of a worker's two commitments, of which a game marks the one with the lower digest, an honest verifier may have agreed with either.
    function test_equivocationTouchesNoReport() public {
        Posted memory p = _honest(_right());
        _post(p);
        bytes memory first = _commitment;
        Posted memory other = _honest(_runs.get("wrong"));
        bytes memory second =
            _signedBy(other, sha256(abi.encodePacked("gym.round.v1", _record)), KEY);
        _report(p);
        bytes32 id = _reports.announcementOf(CHALLENGER, _unit, SALT);
        vm.prank(CHALLENGER);
        _reports.announce(id);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.prank(CHALLENGER);
        vm.expectRevert(ReportRules.NotAboutReports.selector);
        _reports.openConflict{value: 1 ether}(first, _record, second, SALT);
        vm.prank(CHALLENGER);
        vm.expectRevert(ReportRules.NotAboutReports.selector);
        _reports.openWithheld{value: 1 ether}(first, _record, _slot, 0, _path, SALT);
        assertEq(_staked(_verifier), STAKE, "nothing is lost");
    }

    /// A commitment that never came under a root, and one of a round without an epoch: the report stands for itself, or waits.
    function test_aReportNeedsNoCommitmentUnderARoot() public {
        _post(_runs.get("wrong"));
        Posted memory p = _honest(_right());
        p.worker = _verifier;
        _report(p);
        Play memory play = _begin(CHALLENGER, SALT);
        _play(play, _right(), _runs.get("wrong"), 1);
        _wait(CLOCK + 1, 1);
        _game.timeout(play.id);
        _isUpheld(play.id);
    }

    /// An outage costs the stated part, as a worker's does.
    function test_anOutageCostsAPartOfTheStake() public {
        _postAndReport(_right(), _right());
        bytes32 id = _open(CHALLENGER, SALT);
        _wait(CLOCK + 1, 1);
        _game.timeout(id);
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        assertEq(_staked(_verifier), STAKE - STAKE * MISSED_PPM / 1e6, "a part");
    }

    /// Its defender answers while its machine is away.
    function test_aDefenderAnswersForAVerifier() public {
        vm.prank(_verifier);
        _verifierStake.setDefender(_verifier, OTHER);
        _postAndReport(_right(), _right());
        Play memory p = _begin(CHALLENGER, SALT);
        _plan(p, _right(), _runs.get("wrong"));
        sendPlannedAs(OTHER);
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        _isUpheld(p.id);
    }

    // --- what is a report, and until when ---

    /// A worker's commitment is no report, and a report no commitment: neither signature serves the other game.
    function test_signaturesAreForOneGame() public {
        _post(_right());
        (bytes memory workers, bytes32 workersUnit) = (_commitment, _unit);
        (bytes32[] memory path, uint32 index) = (_path, _index);
        _report(_honest(_right()));
        _announce(CHALLENGER, SALT);
        (bytes memory report, bytes32 unit) = (_commitment, _unit);
        // Under the other domain the worker's signature is somebody else's, whose unit nobody announced.
        (_commitment, _unit) = (workers, workersUnit);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectPartialRevert(IDisputeGame.NotAnnounced.selector);
        this.openAs(CHALLENGER);
        (_commitment, _unit, _path, _index, _game) = (report, unit, path, index, _workersGame);
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        assertTrue(!_opens(), "a report is under no root");
    }

    function test_theWindowIsLongerThanTheUnits() public {
        _postAndReport(_right(), _runs.get("wrong"));
        _wait(0, REPORT_WINDOW_BLOCKS - ANNOUNCE_BLOCKS);
        Play memory p = _begin(CHALLENGER, SALT);
        assertTrue(_isOpen(p.id), "in the last block");
    }

    function test_noGameAfterTheWindow() public {
        _postAndReport(_right(), _runs.get("wrong"));
        _wait(0, REPORT_WINDOW_BLOCKS - ANNOUNCE_BLOCKS + 1);
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.openAs(CHALLENGER);
    }

    function test_aReportIsInNoTree() public {
        _postAndReport(_right(), _right());
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        _index = 1;
        vm.expectRevert(ReportRules.InNoTree.selector);
        this.openAs(CHALLENGER);
    }

    function test_noReportsAboutAggregates() public {
        _post(_right());
        Posted memory p = _honest(_right());
        p.slot = type(uint32).max;
        _report(p);
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectPartialRevert(ReportRules.NotAWorkersUnit.selector);
        this.openAs(CHALLENGER);
    }

    function test_noGameAboutARoundThatIsNotPosted() public {
        _postAndReport(_right(), _right());
        _record[500 % 464] ^= 0x01;
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectRevert(ReportRules.NotPosted.selector);
        this.openAs(CHALLENGER);
    }

    function test_anyFlippedBitIsNoReportOfTheVerifier(uint256 bit) public {
        _postAndReport(_right(), _right());
        bit = bound(bit, 0, 8 * Commitments.BYTES - 1);
        _commitment[bit / 8] ^= bytes1(uint8(1 << (bit % 8)));
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        assertTrue(!_opens(), "no game about the report");
    }

    /// Once per report, and nothing is left for a second lie.
    function test_aReportIsSlashedOnce() public {
        _postAndReport(_right(), _runs.get("wrong"));
        _loses(_runs.get("wrong"), _right());
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.AlreadySettled.selector, _unit));
        _game.settle(_unit);
    }

    /// Stake that a verifier takes out after a lie is there until nobody can open a game any more.
    function test_thawingStakeIsSlashed() public {
        _postAndReport(_right(), _runs.get("wrong"));
        vm.prank(_verifier);
        _verifierStake.thaw(STAKE);
        _loses(_runs.get("wrong"), _right());
    }

    function test_lateUnits() public {
        _format = 4;
        _late = true;
        _postAndReport(_right(), _runs.get("wrong"));
        _loses(_runs.get("wrong"), _right());
    }

    function test_noLateReportsOfRoundsWithoutLateUnits() public {
        _postAndReport(_right(), _runs.get("wrong"));
        _late = true;
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectRevert(ReportRules.TakesNoLate.selector);
        this.openAs(CHALLENGER);
    }

    function openAs(address who) external {
        _openNow(who, SALT);
    }

    function _opens() private returns (bool) {
        try this.openAs(CHALLENGER) {
            return true;
        } catch {
            return false;
        }
    }

    function _thrown() private view returns (StepRun[] memory run) {
        // What was committed to, with the trace of another run in one step.
        run = _right();
        StepRun[] memory wrong = _runs.get("wrong");
        (run[1].leaves, run[1].leafRoots) = (wrong[1].leaves, wrong[1].leafRoots);
        (run[1].primitives, run[1].primitiveRoots) = (wrong[1].primitives, wrong[1].primitiveRoots);
    }

    function _loses(StepRun[] memory said, StepRun[] memory truth) private {
        Play memory p = _begin(CHALLENGER, SALT);
        _play(p, said, truth, MOVES_MAX);
        _isSlashed(p.id);
    }

    function _isSlashed(bytes32 game) private {
        assertEq(
            uint256(_game.gameOf(game).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
        uint256 before = _token.balanceOf(CHALLENGER);
        uint256 supply = _token.totalSupply();
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        assertEq(_staked(_verifier), 0, "all of it");
        assertEq(_token.balanceOf(CHALLENGER) - before, STAKE * 4 / 10, "the finder's reward");
        assertEq(supply - _token.totalSupply(), STAKE * 6 / 10, "the rest is burned");
        (uint256 active,,) = _workersStake.stakeOf(vm.addr(KEY));
        assertEq(active, STAKE, "no worker's stake");
    }

    function _isUpheld(bytes32 game) private view {
        assertEq(uint256(_game.gameOf(game).status), uint256(IDisputeGame.Status.Upheld), "status");
        assertEq(_staked(_verifier), STAKE, "all of it stays");
    }
}
