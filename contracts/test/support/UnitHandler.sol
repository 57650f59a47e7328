// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DisputeHandler} from "./DisputeHandler.sol";
import {DisputePlayer, Play} from "./DisputePlayer.sol";
import {Fault, StepRun, Wrong} from "./DisputeRunner.sol";

/// Games about a unit of training; a cheat's has one wrong element.
contract UnitHandler is DisputePlayer, DisputeHandler {
    mapping(bytes32 id => Play) private _plays;

    constructor(bool honest_) DisputeHandler(honest_) {
        _deployGame();
        _runs.keep("wrong", _runner.run(Fault(Wrong.Primitive, 1, 11, 2)));
        _post(_theirs());
        _fundChallengers();
    }

    function _commit(uint256) internal override {} // one for all histories

    function _begin(bytes32 id, address challenger) internal override {
        Play memory p;
        (p.id, p.challenger) = (id, challenger);
        _start(p);
        _plays[id] = p;
    }

    function _moveIn(bytes32 id, bool tried) internal override returns (bool) {
        Play memory p = _plays[id];
        _plan(p, _theirs(), _ours());
        if (!_isDue(id, tried)) return false;
        _send(p);
        _plays[id] = p;
        return true;
    }

    function _theirs() private view returns (StepRun[] memory) {
        return honest ? _right() : _runs.get("wrong");
    }

    function _ours() private view returns (StepRun[] memory) {
        return honest ? _runs.get("wrong") : _right();
    }
}
