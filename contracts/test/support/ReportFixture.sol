// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {DisputeGame} from "../../src/DisputeGame.sol";
import {Stake} from "../../src/Stake.sol";
import {ReportRules} from "../../src/dispute/ReportRules.sol";
import {IStake} from "../../src/interfaces/IStake.sol";
import {Posted} from "./DisputeFixture.sol";
import {DisputePlayer} from "./DisputePlayer.sol";
import {StepRun} from "./DisputeRunner.sol";

/// A second stake and game, of verifiers, beside the workers'. Once a verifier has reported, the fixture's unit, asserter, game and
/// stake are those of its report.
abstract contract ReportFixture is DisputePlayer {
    uint256 internal constant VERIFIER_KEY = 0x4e51;
    uint256 internal constant REPORT_WINDOW_BLOCKS = 2 * WINDOW_BLOCKS;

    ReportRules internal _reportRules;
    DisputeGame internal _reports;
    Stake internal _verifierStake;
    DisputeGame internal _workersGame;
    Stake internal _workersStake;
    address internal _verifier;
    bytes32 internal _recordHash;

    function _deployReports() internal {
        _deployGame();
        (_workersGame, _workersStake) = (_game, _stake);
        _verifier = vm.addr(VERIFIER_KEY);
        _reportRules = new ReportRules(_log, REPORT_WINDOW_BLOCKS);
        address[7] memory rules = _rules();
        rules[0] = address(_reportRules);
        address game = more.computeCreateAddress(address(this), more.getNonce(address(this)) + 1);
        _verifierStake = new Stake(IERC20(address(_token)), game, 2 days, 500_000, 100_000);
        _reports = new DisputeGame(_terms(), IStake(address(_verifierStake)), rules);
        _token.approve(address(_verifierStake), type(uint256).max);
        _verifierStake.stake(_verifier, STAKE);
        _game = _reports;
        _fund(CHALLENGER);
        _fund(OTHER);
        _game = _workersGame;
    }

    /// A worker's commitment to `run` is on chain; then the verifier says that the unit gives `found`.
    function _postAndReport(StepRun[] memory run, StepRun[] memory found) internal {
        _post(run);
        _report(_honest(found));
    }

    function _report(Posted memory p) internal {
        _recordHash = sha256(abi.encodePacked("gym.round.v1", _record));
        (_game, _stake, _asserter) = (_reports, _verifierStake, _verifier);
        (_facts.recordsRoot, _facts.finalStateRoot) = (p.recordsRoot, p.finalStateRoot);
        _facts.deltaRoot = p.deltaRoot;
        _unit = keccak256(abi.encode(_digest(p, _recordHash), _verifier));
        _commitment = _signedBy(p, _recordHash, VERIFIER_KEY);
        _index = 0;
        _path = new bytes32[](0);
    }

    function _signedFor() internal view override returns (address) {
        return address(_game) == address(_reports) ? address(_reports) : address(_log);
    }

    function _staked(address who) internal view returns (uint256) {
        (uint256 active, uint256 thawing,) = _verifierStake.stakeOf(who);
        return active + thawing;
    }
}
