// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Stage} from "../../src/dispute/DisputeTypes.sol";
import {DisputeHandler} from "./DisputeHandler.sol";
import {OuterPlay, OuterPlayer} from "./OuterPlayer.sol";
import {DisputeTrees} from "./DisputeTrees.sol";
import {OuterRun} from "./OuterRunner.sol";

/// What is wrong with an aggregate: an element of its result, which a column that is not the deltas' may fit; the state of its record; who
/// signed what it includes; held deltas count fully; a delta came late in a round that takes none late; or it includes what nobody committed
/// to, or a held delta as one of the round, and its asserter has nothing to show.
enum Lie {
    Base,
    Momentum,
    Column,
    State,
    Signer,
    Weight,
    Late,
    Nobody,
    Age
}

/// Games about an aggregate with held deltas, one of them late. Each history has one of the lies; challengers of an honest one look for faults in all places.
contract OuterHandler is OuterPlayer, DisputeHandler {
    uint256 private constant LIES = 9;
    uint256 private constant ELEMENTS = 309;
    uint32 private constant BAD_SLOT = 5;

    mapping(bytes32 id => OuterPlay) private _plays;
    bytes private _fully;
    Lie public lie;

    constructor(bool honest_) DisputeHandler(honest_) {
        _deployOuter();
        _fully = abi.encode(_outerRunner.run(_rightOuter().slots, 0, 1));
        _fundChallengers();
    }

    function _heldOfRight() internal pure override returns (uint32) {
        return 2;
    }

    function _lateOfRight() internal pure override returns (uint32) {
        return 1;
    }

    function _takesLate() internal view override returns (bool) {
        return honest || lie != Lie.Late;
    }

    function _commit(uint256 seed) internal override {
        if (_unit != 0) return;
        lie = Lie(seed % LIES);
        if (honest || lie != Lie.Signer) return _postOuter(_theirs());
        _signUnits();
        bytes32 root = DisputeTrees.tensorRoot(_rightOuter().deltas[1]);
        _keep(BAD_SLOT, 1, _signedBy(_unitOf(BAD_SLOT, root), _hashFor(BAD_SLOT), 0x9999));
        _postRoundAndEpoch();
        _sign(_aggregateOf(_theirs()));
    }

    function _begin(bytes32 id, address challenger) internal override {
        OuterPlay memory p;
        p.id = id;
        _startOuter(p, challenger);
        // What the asserter has answered in another game is not answered again.
        p.frame = _frameOf(_theirs());
        _plays[id] = p;
    }

    function _moveIn(bytes32 id, bool tried) internal override returns (bool) {
        OuterPlay memory p = _plays[id];
        OuterRun memory theirs = _theirs();
        if (p.c.stage == Stage.COLUMN) p.values = _claimedColumn(p, theirs);
        _planIn(p, theirs);
        bool nothing = lie == Lie.Nobody || lie == Lie.Age;
        if (!honest && nothing && p.c.stage == Stage.INCLUDED) return false;
        if (!_isDue(id, tried)) return false;
        _sendOuter(p);
        _plays[id] = p;
        return true;
    }

    /// A challenger of an honest aggregate goes where its game's id says.
    function _planIn(OuterPlay memory p, OuterRun memory theirs) private {
        uint256 seed = uint256(p.id);
        if (!honest || !p.c.answered) return _planOuter(p, theirs, _ours(seed));
        if (p.c.stage == Stage.OUTER && seed % 3 == 0) {
            return _planIncluded(p, theirs, (seed >> 8) % theirs.deltas.length);
        }
        if (p.c.stage == Stage.OUTER && seed % 3 == 1) return _planTree(p, 3);
        if (p.c.stage == Stage.OUTER_STATE && p.frame.tree == 3) {
            return _planSlotOf(p, theirs, (seed >> 8) % 4);
        }
        _planOuter(p, theirs, _ours(seed));
    }

    function _claimedColumn(OuterPlay memory p, OuterRun memory theirs)
        private
        view
        returns (bytes memory values)
    {
        values = _columnOf(p, theirs);
        if (!honest && lie == Lie.Column) values[4 * 2 + 1] ^= 0x40;
    }

    function _theirs() private view returns (OuterRun memory r) {
        r = _rightOuter();
        if (honest) return r;
        if (lie == Lie.Base || lie == Lie.Column) return _flipped(0, 0, 270);
        if (lie == Lie.Momentum) return _flipped(1, 1, 8);
        if (lie == Lie.Nobody) r.slots[2] = 11;
        if (lie == Lie.Age) return abi.decode(_fully, (OuterRun));
        if (lie == Lie.Weight) {
            OuterRun memory fully = abi.decode(_fully, (OuterRun));
            fully.held = r.held;
            fully.record = _outerRunner.recordOf(fully);
            return fully;
        }
        if (lie == Lie.State) {
            r.state[1] = keccak256("another tensor");
            r.record = _outerRunner.recordOf(r);
        }
    }

    function _ours(uint256 seed) private view returns (OuterRun memory) {
        if (!honest) return _rightOuter();
        uint256 i = (seed >> 8) % ELEMENTS;
        (uint256 tensor, uint256 element) = i < 300 ? (0, i) : (1, i - 300);
        return _flipped((seed >> 4) % 2, tensor, element);
    }
}
