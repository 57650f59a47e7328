// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Cursor, OuterProof, Pick, Stage} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {DisputeProgram} from "./support/DisputeProgram.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {PlainMean} from "./support/PlainMean.sol";
import {SlotLists} from "./support/SlotLists.sol";

/// Gas of every move of games about aggregates, as a transaction.
contract DisputeOuterGasTest is OuterPlayer {
    uint32 private constant DELTAS = 8192;
    uint32 private constant WITHDRAWN = (16 << 16) | (8 << 24);
    uint256 private constant MOVE_GAS_MAX = 500_000;
    string private _prefix;
    bytes32 private _id;
    uint256 private _asserterGas;

    function setUp() public {
        _deployOuter();
    }

    function test_anElementOfTheBase() public {
        _whole(_flipped(0, 0, 270), "outer: ");
    }

    function test_anOpening() public {
        _postOuter(_rightOuter());
        _open(CHALLENGER, SALT);
        vm.snapshotGasLastCall("DisputeGame", "outer: open");
    }

    function test_aStateThatIsNotTheCommittedOne() public {
        OuterRun memory wrong = _rightOuter();
        wrong.state[3] = keccak256("another tensor");
        wrong.record = _outerRunner.recordOf(wrong);
        _whole(wrong, "outer state: ");
    }

    function test_aColumnThatIsNotTheDeltas() public {
        OuterRun memory wrong = _flipped(1, 1, 4);
        OuterPlay memory p = _opened(wrong, "column: ");
        while (p.c.stage != Stage.COLUMN) {
            _playOuter(p, wrong, _rightOuter(), 1);
        }
        p.values = _columnOf(p, wrong);
        p.values[1] ^= 0x40;
        _playOuter(p, wrong, _rightOuter(), 20);
        assertTrue(!_isOpen(p.id), "over");
    }

    function test_anIncludedDelta() public {
        _signUnits();
        Posted memory unit = _unitOf(5, DisputeTrees.tensorRoot(_rightOuter().deltas[1]));
        unit.steps += 1;
        _keep(5, 1, _signedBy(unit, _hashFor(5), _workerKey(5)));
        _postRoundAndEpoch();
        _sign(_aggregateOf(_rightOuter()));
        OuterPlay memory p = _begun("included: ");
        _playOuter(p, _rightOuter(), _rightOuter(), 20);
        assertTrue(!_isOpen(p.id), "over");
    }

    function test_aConflict() public {
        _postOuter(_flipped(0, 0, 0));
        (bytes32 unit, bytes memory other) = (_unit, _commitment);
        bytes32 hash = _hashOf(_record);
        bytes32 digest = _digest(_aggregateOf(_flipped(0, 0, 0)), hash);
        _sign(_aggregateOf(_rightOuter()));
        if (digest < _digest(_aggregateOf(_rightOuter()), hash)) _unit = unit;
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.prank(CHALLENGER);
        _game.openConflict{value: 1 ether}(_commitment, _record, other, SALT);
        vm.snapshotGasLastCall("DisputeGame", "openConflict");
    }

    function test_aListOf1024() public {
        _list(1024, 0, "1024 deltas: ");
    }

    function test_aListOf5000() public {
        _list(5000, 0, "5000 deltas: ");
    }

    /// As many deltas as an aggregate can have.
    function test_theLargestList() public {
        _list(DELTAS, 0, "8192 deltas: ");
    }

    /// In either set of slots no byte is zero.
    function test_theLargestListWithHeldDeltas() public {
        _list(DELTAS, DELTAS / 2, "8192 deltas, 4096 held: ");
    }

    function _slotOf(uint32 i, uint32 count, uint32 held) private pure returns (uint32) {
        if (held == 0) return i;
        return i < count - held ? 2 * i + 1 : 2 * (i - (count - held));
    }

    /// A game in which the asserter of `run` has declared so many deltas, of which that of slot 5 is the run's, and no other is any.
    function _declared(OuterRun memory run, uint32 count, uint32 held, string memory prefix)
        private
        returns (OuterPlay memory p)
    {
        bytes32[] memory deltas = _deltasOf(count, held);
        bytes memory slots = _slotsOf(count, held);
        run.record = _outerRunner.recordWith(
            _outerRunner.batchRoot(deltas, held), DisputeTrees.root(run.state)
        );
        p = _opened(run, prefix);
        p.frame = _frameOf(run);
        (p.frame.deltasRoot, p.frame.deltas) = (DisputeTrees.root(deltas), count);
        (p.frame.held, p.frame.slots) = (held, keccak256(slots));
        (_mover, _ruler, _name) = (_asserter, address(_outer), "declareOuter");
        _call = _declaration(p, run.record, deltas, slots, held);
        _sendOuter(p);
    }

    function _placeOfSlot5(uint32 held) private pure returns (uint32) {
        return held == 0 ? 5 : 2;
    }

    function _deltasOf(uint32 count, uint32 held) private view returns (bytes32[] memory deltas) {
        deltas = new bytes32[](count);
        for (uint32 i = 0; i < count; ++i) {
            deltas[i] = keccak256(abi.encode(i));
        }
        deltas[_placeOfSlot5(held)] = DisputeTrees.tensorRoot(_rightOuter().deltas[1]);
    }

    function _slotsOf(uint32 count, uint32 held) private pure returns (bytes memory) {
        uint32[] memory numbers = new uint32[](count);
        for (uint32 i = 0; i < count; ++i) {
            numbers[i] = _slotOf(i, count, held);
        }
        return SlotLists.declared(numbers, held);
    }

    /// Down the tree to a delta of slot 5, which the asserter shows.
    function _list(uint32 count, uint32 held, string memory prefix) private {
        OuterPlay memory p = _declared(_rightOuter(), count, held, prefix);
        bytes32[] memory deltas = _deltasOf(count, held);
        uint32 place = _placeOfSlot5(held);
        Pick memory to;
        uint256 depth = DisputeTrees.depthOf(count);
        uint256 height = depth - (depth + 1) / 2;
        to.node = DisputeTrees.nodes(deltas, height)[0];
        to.path = DisputeTrees.pathFrom(deltas, 0, height, depth);
        (_mover, _ruler, _name) = (CHALLENGER, address(_trees), "pick");
        _call = abi.encodeCall(IDisputeMoves.pick, (p.id, p.c, to));
        _sendOuter(p);
        (_mover, _ruler, _name) = (_asserter, address(_trees), "answer");
        bytes32[] memory children = DisputeTrees.children(deltas, height, 0, 7);
        _call = abi.encodeCall(IDisputeMoves.answer, (p.id, p.c, children));
        _sendOuter(p);
        (_mover, _ruler, _name) = (CHALLENGER, address(_outer), "pickIncluded");
        _call = abi.encodeCall(
            IDisputeMoves.pickIncluded, (p.id, p.c, p.frame, _slotsOf(count, held), place)
        );
        _sendOuter(p);
        (_mover, _ruler, _name) = (_asserter, address(_outer), "showIncluded");
        bytes32[] memory path = DisputeTrees.path(_leaves, _placeOf[5]);
        bytes32[] memory included = DisputeTrees.path(deltas, place);
        _call = abi.encodeCall(
            IDisputeMoves.showIncluded,
            (p.id, p.c, _outerFacts, _placeOf[5], _posted[5], path, included, false)
        );
        _sendOuter(p);
    }

    /// The most values that are posted at once.
    function test_theLargestColumn() public {
        _column(_valuesOf(1024), 1024, 0, "OuterProofs.proveOuter of 1024 values");
    }

    function test_theLargestColumnWithHeldDeltas() public {
        _column(_valuesOf(1024), 1024, 512, "OuterProofs.proveOuter of 1024 values, 512 held");
    }

    function test_theLargestColumnWithWithdrawnDeltas() public {
        string memory name = "OuterProofs.proveOuter of 1024 values, 512 held, 16 withdrawn";
        _column(_valuesOf(1024), 1024, 512 | WITHDRAWN, name);
    }

    function test_theColumnOfThePartsOf5000() public {
        _column(_added(5000, 0), 5000, 0, "OuterProofs.proveOuter of 5000 values");
    }

    function test_theColumnOfTheMostParts() public {
        uint32 groups = DELTAS / 2 | WITHDRAWN;
        string memory name = "OuterProofs.proveOuter of 8192 values, 4096 held, 16 withdrawn";
        _column(_added(DELTAS, groups), DELTAS, groups, name);
    }

    /// A game about as many deltas as there can be, down to a part whose values do not add what was posted.
    function test_aPartOfTheLargestColumn() public {
        uint32 held = DELTAS / 2;
        OuterRun memory wrong = _flipped(0, 0, 270);
        OuterPlay memory p = _declared(wrong, DELTAS, held, "8192 deltas, a part: ");
        _planTree(p, 1);
        _sendOuter(p);
        while (p.c.stage != Stage.COLUMN || p.c.answered) {
            _playOuter(p, wrong, _rightOuter(), 1);
        }
        bytes memory added = _added(DELTAS, held);
        added[9 * 7 + 8] ^= 0x01;
        _answerAs(
            "postColumn of 8 parts", abi.encodeCall(IDisputeMoves.postColumn, (p.id, p.c, added))
        );
        _sendOuter(p);
        (_mover, _ruler, _name) = (CHALLENGER, address(_outer), "pickPart");
        _call = abi.encodeCall(IDisputeMoves.pickPart, (p.id, p.c, added, 7));
        _sendOuter(p);
        assertEq(p.c.stage, Stage.PART, "stage");
        bytes memory values = this.slice(_valuesOf(DELTAS), 4096 * 7);
        _answerAs(
            "postColumn of a part", abi.encodeCall(IDisputeMoves.postColumn, (p.id, p.c, values))
        );
        _sendOuter(p);
        (_mover, _ruler, _name) = (CHALLENGER, address(_outerProofs), "provePart");
        _call = abi.encodeCall(IDisputeMoves.provePart, (p.id, p.c, p.op, p.frame, values));
        _sendOuter(p);
        assertTrue(!_isOpen(p.id), "over");
    }

    function _answerAs(string memory name, bytes memory call) private {
        (_mover, _ruler, _name, _call) = (_asserter, address(_outer), name, call);
    }

    function _valuesOf(uint256 count) private pure returns (bytes memory values) {
        values = new bytes(4 * count);
        for (uint256 i = 0; i < values.length; ++i) {
            // Small enough to be doubled.
            uint256 mask = i % 4 == 3 ? 0x3e : 0x7e;
            values[i] = bytes1(uint8(uint256(keccak256(abi.encode(i))) & mask | 0x01));
        }
    }

    function slice(bytes calldata values, uint256 begin) external pure returns (bytes memory) {
        uint256 end = begin + 4096 < values.length ? begin + 4096 : values.length;
        return values[begin:end];
    }

    function _added(uint256 count, uint32 groups) private pure returns (bytes memory) {
        return PlainMean.postedParts(_valuesOf(count), groups);
    }

    function _column(bytes memory values, uint32 count, uint32 held, string memory name) private {
        OuterRun memory run = _rightOuter();
        Cursor memory c;
        OuterProof memory proof;
        proof.values = values;
        (proof.facts.baseRoot, proof.facts.momentumRoot) =
        (
            DisputeTrees.root(DisputeTrees.tensorRoots(run.base)),
            DisputeTrees.root(DisputeTrees.tensorRoots(run.momentum))
        );
        proof.header = DisputeProgram.header();
        (proof.outer.facts, proof.outer.tree) = (keccak256(abi.encode(proof.facts)), 1);
        (proof.outer.deltas, proof.outer.held) = (count, held);
        (proof.op.step, proof.op.program) =
        (keccak256(abi.encode(proof.outer)), DisputeProgram.traceRoot());
        proof.op.shape = DisputeProgram.slotShapes()[0];
        proof.base = _tensorProof(run.base[0], 270, 1);
        proof.base.path = DisputeTrees.path(DisputeTrees.tensorRoots(run.base), 0);
        proof.momentum = _tensorProof(run.momentum[0], 270, 1);
        proof.momentum.path = DisputeTrees.path(DisputeTrees.tensorRoots(run.momentum), 0);
        (c.stage, c.answered, c.index, c.leaves) = (Stage.COLUMN, true, 270, count);
        (c.twin, c.frame) = (keccak256(proof.values), keccak256(abi.encode(proof.op)));
        _outerProofs.proveOuter(0, c, proof);
        assertLe(vm.snapshotGasLastCall("DisputeGame", name), MOVE_GAS_MAX, name);
    }

    function _whole(OuterRun memory wrong, string memory prefix) private {
        OuterPlay memory p = _opened(wrong, prefix);
        _playOuter(p, wrong, _rightOuter(), 20);
        assertTrue(!_isOpen(p.id), "over");
    }

    function _opened(OuterRun memory wrong, string memory prefix)
        private
        returns (OuterPlay memory)
    {
        _postOuter(wrong);
        return _begun(prefix);
    }

    function _begun(string memory prefix) private returns (OuterPlay memory p) {
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        p.id = _game.announcementOf(CHALLENGER, _unit, SALT);
        _openNow(CHALLENGER, SALT);
        (_id, _prefix) = (p.id, prefix);
        _startOuter(p, CHALLENGER);
    }

    function _afterMove() internal override {
        uint256 total = vm.snapshotGasLastCall("DisputeGame", string.concat(_prefix, _name));
        uint256 floor = 21_000;
        for (uint256 i = 0; i < _call.length; ++i) {
            floor += _call[i] == 0 ? 10 : 40;
        }
        if (floor > total) total = floor;
        assertLe(total, MOVE_GAS_MAX, _name);
        if (_mover != _asserter) return;
        uint256 counted = _game.gameOf(_id).asserterGas - _asserterGas;
        _asserterGas += counted;
        // What the escrow pays for: the whole transaction and not much more.
        assertLe(total, counted, _name);
        assertLe(counted, total + total / 4 + 17_100, _name);
    }
}
