// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {OuterFacts, SlotProof} from "../../src/dispute/DisputeTypes.sol";
import {DisputeFixture, Posted} from "./DisputeFixture.sol";
import {DisputeProgram} from "./DisputeProgram.sol";
import {OuterRun, OuterRunner} from "./OuterRunner.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";
import {Slots} from "./Slots.sol";

/// Two rounds of twelve workers, units of four of them, and an aggregate of three of them that is signed by the asserter.
abstract contract OuterFixture is DisputeFixture {
    uint64 internal constant ROUND = 6;
    uint32 internal constant AGGREGATE_SLOT = type(uint32).max;
    uint32 internal constant STEPS = 3;
    uint256 internal constant WORKERS = 12;

    OuterRunner internal _outerRunner;
    OuterFacts internal _outerFacts;
    bytes internal _rightRun;
    /// The workers' commitments as they are in the epoch of their round, by slot.
    mapping(uint32 slot => bytes) internal _posted;
    mapping(uint32 slot => uint32) internal _placeOf;
    bytes32[] internal _leaves;
    /// The round before, which held deltas are of.
    bytes internal _recordBefore;
    bytes32[] internal _leavesBefore;

    function _deployOuter() internal {
        _deployGame();
        _outerRunner = new OuterRunner(_oneStep);
        uint32[] memory slots = new uint32[](3);
        (slots[0], slots[1], slots[2]) = (2, 5, 9);
        _rightRun = abi.encode(_outerRunner.run(slots, _heldOfRight(), 1));
    }

    /// How many deltas of the right run are held.
    function _heldOfRight() internal view virtual returns (uint32) {
        return 0;
    }

    /// How many of these, the last ones, were committed to late.
    function _lateOfRight() internal view virtual returns (uint32) {
        return 0;
    }

    /// Whether the record of the round before says that late commitments are taken.
    function _takesLate() internal view virtual returns (bool) {
        return _lateOfRight() > 0;
    }

    function _rightOuter() internal view returns (OuterRun memory) {
        return abi.decode(_rightRun, (OuterRun));
    }

    function _workerKey(uint32 slot) internal pure returns (uint256) {
        return 0x1000 + slot;
    }

    /// What a worker's commitment says.
    function _unitOf(uint32 slot, bytes32 deltaRoot) internal pure returns (Posted memory p) {
        (p.kind, p.slot, p.worker) = (1, slot, vm.addr(_workerKey(slot)));
        (p.steps, p.tokens, p.flops) = (STEPS, TOKENS_PER_STEP * STEPS, FLOPS_PER_STEP * STEPS);
        (p.recordsRoot, p.finalStateRoot) = (keccak256("records"), keccak256("final state"));
        p.deltaRoot = deltaRoot;
    }

    /// What an aggregate's commitment to a run says.
    function _aggregateOf(OuterRun memory r) internal view returns (Posted memory p) {
        (p.kind, p.slot, p.worker, p.steps) = (2, AGGREGATE_SLOT, _asserter, 1);
        p.recordsRoot = sha256(abi.encodePacked(bytes32(0), r.record));
        p.finalStateRoot = DisputeTrees.root(DisputeTrees.tensorRoots(r.baseAfter));
        p.deltaRoot = DisputeTrees.root(DisputeTrees.tensorRoots(r.momentumAfter));
    }

    /// Posts the round and an epoch of honest units with the deltas of the right run; signs the aggregate.
    function _postOuter(OuterRun memory r) internal {
        _signUnits();
        _postRoundAndEpoch();
        _sign(_aggregateOf(r));
    }

    /// What the workers of the right run's deltas have signed, and one more.
    function _signUnits() internal {
        OuterRun memory right = _rightOuter();
        _recordBefore = _outerRecord(_takesLate() ? 4 : 3, ROUND - 1, keccak256("previous"), right);
        _record = _outerRecord(3, ROUND, _hashOf(_recordBefore), right);
        for (uint32 i = 0; i < right.slots.length; ++i) {
            uint32 slot = right.slots[i];
            if (slot > type(uint16).max) continue; // of earlier rounds
            Posted memory unit = _unitOf(slot, DisputeTrees.tensorRoot(right.deltas[i]));
            _keep(slot, i, _signedBy(unit, _hashFor(slot), _workerKey(slot)));
        }
        Posted memory other = _unitOf(11, keccak256("not included"));
        uint32 place = uint32(right.slots.length);
        _keepIn(_leavesBefore, place, _signedBy(other, _hashOf(_recordBefore), _workerKey(11)));
        _keep(11, place, _signedBy(other, _hashOf(_record), _workerKey(11)));
    }

    /// Whether the right run has the slot's delta as a held one.
    function _isHeld(uint32 slot) internal view returns (bool) {
        OuterRun memory right = _rightOuter();
        return _isAmongLast(right.slots, right.held & 0xFFFF, slot);
    }

    /// Whether the right run has it as a late one.
    function _isLate(uint32 slot) internal view returns (bool) {
        OuterRun memory right = _rightOuter();
        // A right run that a test puts in the place of the usual one may hold fewer.
        uint32 late = _lateOfRight() < right.held ? _lateOfRight() : right.held;
        return _isAmongLast(right.slots, late, slot);
    }

    /// Whether the slot is one of the last `count` that are not withdrawn.
    function _isAmongLast(uint32[] memory slots, uint256 count, uint32 slot)
        private
        pure
        returns (bool)
    {
        uint256 added = slots.length;
        while (added > 0 && slots[added - 1] > type(uint16).max) --added;
        for (uint256 i = added - count; i < added; ++i) {
            if (slots[i] == slot) return true;
        }
        return false;
    }

    /// The record that the slot's commitment names.
    function _recordFor(uint32 slot) internal view returns (bytes memory) {
        return _isHeld(slot) ? _recordBefore : _record;
    }

    function _hashFor(uint32 slot) internal view returns (bytes32) {
        return _hashOf(_recordFor(slot));
    }

    /// Of its epoch.
    function _leavesFor(uint32 slot) internal view returns (bytes32[] storage) {
        return _isHeld(slot) && !_isLate(slot) ? _leavesBefore : _leaves;
    }

    function _keep(uint32 slot, uint32 place, bytes memory signed) internal {
        (_posted[slot], _placeOf[slot]) = (signed, place);
        _keepIn(_leavesFor(slot), place, signed);
    }

    function _keepIn(bytes32[] storage leaves, uint32 place, bytes memory signed) internal {
        while (leaves.length <= place) {
            leaves.push();
        }
        leaves[place] = sha256(abi.encodePacked("gym.commitment.v1", signed));
    }

    function _postRoundAndEpoch() internal {
        _postRoundBefore();
        _log.postRound(JOB, ROUND, _hashOf(_record));
        _log.postEpoch(_epoch, JOB, ROUND, DisputeTrees.root(_leaves), uint32(_leaves.length));
    }

    function _postRoundBefore() internal virtual {
        uint64 round = ROUND - 1;
        _log.postRound(JOB, round, _hashOf(_recordBefore));
        uint32 count = uint32(_leavesBefore.length);
        _log.postEpoch(_epoch + 1000, JOB, round, DisputeTrees.root(_leavesBefore), count);
    }

    /// The asserter's claim. It is in no epoch.
    function _sign(Posted memory p) internal {
        bytes32 hash = _hashOf(_record);
        OuterRun memory right = _rightOuter();
        _outerFacts = OuterFacts({
            recordsRoot: p.recordsRoot,
            finalStateRoot: p.finalStateRoot,
            momentumAfter: p.deltaRoot,
            roundRecord: hash,
            traceRoot: DisputeProgram.traceRoot(),
            baseRoot: DisputeTrees.root(DisputeTrees.tensorRoots(right.base)),
            momentumRoot: DisputeTrees.root(DisputeTrees.tensorRoots(right.momentum)),
            epochRoot: _leaves.length == 0 ? bytes32(0) : DisputeTrees.root(_leaves),
            epochLeaves: uint32(_leaves.length),
            previousRecord: _hashOf(_recordBefore),
            previousEpochRoot: DisputeTrees.root(_leavesBefore),
            previousEpochLeaves: uint32(_leavesBefore.length)
        });
        _unit = keccak256(abi.encode(_digest(p, hash), _asserter));
        (_commitment, _index) = (_signedBy(p, hash, KEY), 0);
        delete _path;
        delete _slot;
    }

    /// Of the round's workers.
    function _slotOf(uint256 slot) internal pure returns (SlotProof memory) {
        return Slots.prove(_roundWorkers(), STEPS, slot);
    }

    function _roundWorkers() private pure returns (address[] memory workers) {
        workers = new address[](WORKERS);
        for (uint32 i = 0; i < WORKERS; ++i) {
            workers[i] = vm.addr(_workerKey(i));
        }
    }

    function _hashOf(bytes memory record) internal pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.round.v1", record));
    }

    /// A round record that begins with base and momentum of `r`.
    function _outerRecord(uint16 format, uint64 round, bytes32 previous, OuterRun memory r)
        internal
        pure
        returns (bytes memory data)
    {
        bytes memory roots = abi.encodePacked(
            previous,
            DisputeTrees.root(DisputeTrees.tensorRoots(r.base)),
            DisputeTrees.root(DisputeTrees.tensorRoots(r.momentum)),
            keccak256("program"),
            keccak256("aggregate"),
            keccak256("evaluate")
        );
        roots = abi.encodePacked(
            roots,
            keccak256("dataset"),
            keccak256("job seed"),
            DisputeProgram.traceRoot(),
            keccak256("initial state")
        );
        data = abi.encodePacked(format, JOB, round, roots, uint32(1));
        data = abi.encodePacked(data, TOKENS_PER_STEP, FLOPS_PER_STEP, uint16(0));
        data = abi.encodePacked(data, uint32(50_000), uint32(1_000_000), uint32(WORKERS));
        data = abi.encodePacked(data, Slots.root(_roundWorkers(), STEPS), uint32(0), bytes32(0));
    }

    /// A copy with a flipped bit in one element of the next base (0) or momentum (1). The record's state follows.
    function _flipped(uint256 which, uint256 k, uint256 i)
        internal
        view
        returns (OuterRun memory r)
    {
        r = _rightOuter();
        Tensor memory t = which == 0 ? r.baseAfter[k] : r.momentumAfter[k];
        t.data[4 * i + 2] ^= 0x01;
        r.state[2 * which + k] = DisputeTrees.tensorRoot(t);
        r.record = _outerRunner.recordOf(r);
    }
}
