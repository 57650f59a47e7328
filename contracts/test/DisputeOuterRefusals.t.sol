// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Cursor,
    Facts,
    IDisputeErrors,
    OuterFacts,
    OuterFrame,
    Pick,
    RecordProof,
    Stage
} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {DisputeProgram} from "./support/DisputeProgram.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {SlotLists} from "./support/SlotLists.sol";

/// What an asserter declares of an aggregate.
struct Declared {
    OuterFacts facts;
    bytes record;
    bytes32 root;
    bytes32[] children;
    bytes slots;
    uint32 held;
}

/// Moves of games about aggregates that are no moves.
contract DisputeOuterRefusalsTest is OuterPlayer {
    bytes4 private constant WRONG_FRAME = IDisputeErrors.WrongFrame.selector;
    bytes4 internal constant MALFORMED = IDisputeErrors.Malformed.selector;
    bytes4 private constant BAD_RECORD = IDisputeErrors.BadRecord.selector;
    bytes4 private constant WRONG_STAGE = IDisputeErrors.WrongStage.selector;
    bytes4 internal constant MISMATCH = MerkleSha256.RootMismatch.selector;
    bytes4 private constant BAD_LENGTH = MerkleSha256.BadProofLength.selector;

    function setUp() public {
        _deployOuter();
    }

    // --- declareOuter ---

    function test_aDeclarationIsOfTheCommittedRecord() public {
        OuterPlay memory p = _at(0);
        Declared memory d = _declared();
        d.facts.epochLeaves += 1;
        _refusedDeclaration(p, d, abi.encodeWithSelector(WRONG_FRAME));
        d = _declared();
        d.record[60] ^= 0x01;
        _refusedDeclaration(p, d, abi.encodeWithSelector(WRONG_FRAME));
        d = _declared();
        d.root = 0;
        _refusedDeclaration(p, d, abi.encodePacked(MISMATCH));
        d = _declared();
        bytes32[] memory deltas = _declared().children;
        bytes32 right = _outerRunner.batchRoot(deltas, d.held);
        (deltas[0], deltas[1]) = (deltas[1], deltas[0]);
        bytes32 swapped = _outerRunner.batchRoot(deltas, d.held);
        (d.root, d.children) = (DisputeTrees.root(deltas), deltas);
        _refusedDeclaration(p, d, abi.encodeWithSelector(MISMATCH, swapped, right));
    }

    /// As an answer.
    function test_aDeclarationListsTheTree() public {
        OuterPlay memory p = _at(0);
        Declared memory d = _declared();
        d.children = new bytes32[](0);
        _refusedDeclaration(p, d, abi.encodeWithSelector(BAD_LENGTH, 0, 3));
        d.children = new bytes32[](4);
        _refusedDeclaration(p, d, abi.encodeWithSelector(BAD_LENGTH, 4, 3));
        d = _declared();
        d.children[2] = 0;
        _refusedDeclaration(p, d, abi.encodeWithSelector(IDisputeErrors.ZeroDigest.selector));
        d = _declared();
        d.children[1] ^= bytes32(uint256(1));
        _refusedDeclaration(p, d, abi.encodePacked(MISMATCH));
        _sendDeclaration(p, _declared());
    }

    function test_eachDeltaHasASlot() public virtual {
        OuterPlay memory p = _at(0);
        Declared memory d = _declared();
        // As many as the record counts.
        d.slots = _sets(hex"2400", hex"0000");
        _refusedDeclaration(p, d, abi.encodePacked(MISMATCH));
        d.slots = _sets(hex"2444", hex"0000");
        _refusedDeclaration(p, d, abi.encodePacked(MISMATCH));
        d.slots = "";
        _refusedDeclaration(p, d, abi.encodeWithSelector(MALFORMED, 0));
        d.slots = new bytes(7);
        _refusedDeclaration(p, d, abi.encodeWithSelector(MALFORMED, 7));
        // Of no slot; of one that is held, where none is; and with room for slots that no job has.
        d.slots = new bytes(2048);
        _refusedDeclaration(p, d, abi.encodeWithSelector(MALFORMED, 0));
        d.slots = _sets(hex"2400", hex"0040");
        _refusedDeclaration(p, d, abi.encodeWithSelector(MALFORMED, 0));
        d.slots = new bytes(2050);
        SlotLists.put(d.slots, 0);
        SlotLists.put(d.slots, 1);
        SlotLists.put(d.slots, 8191);
        _refusedDeclaration(p, d, abi.encodeWithSelector(MALFORMED, 2050));
        d.slots = new bytes(2048);
        SlotLists.put(d.slots, 0);
        SlotLists.put(d.slots, 1);
        SlotLists.put(d.slots, 8191);
        _sendDeclaration(p, d);
    }

    function _sets(bytes memory own, bytes memory held) internal pure returns (bytes memory) {
        return bytes.concat(own, held);
    }

    /// Its record has an outcome and no numbers. Who committed to another one has no answer.
    function test_theRecordOfAnAggregate() public {
        uint256 state = more.snapshotState();
        bytes memory right = _rightOuter().record;
        bytes memory changed = abi.encodePacked(right);
        changed[7] = 0x01;
        _refusedRecord(changed, abi.encodeWithSelector(BAD_RECORD, 0));
        for (uint256 number = 40; number < 48; number += 4) {
            more.revertToState(state);
            changed = abi.encodePacked(right);
            changed[number] = 0x80;
            _refusedRecord(changed, abi.encodeWithSelector(BAD_RECORD, 1));
        }
        more.revertToState(state);
        changed = abi.encodePacked(right);
        changed[48] = 0x02;
        _refusedRecord(changed, abi.encodeWithSelector(BAD_RECORD, 2));
        more.revertToState(state);
        bytes memory head = DisputeTrees.chunk(right, 0);
        assembly {
            mstore(head, 48)
        }
        bytes32 root = keccak256("root");
        _refusedRecord(
            abi.encodePacked(head, uint8(1), root, uint8(1), root),
            abi.encodeWithSelector(BAD_RECORD, 3)
        );
        more.revertToState(state);
        _refusedRecord(
            abi.encodePacked(head, uint8(0), uint8(0)), abi.encodeWithSelector(BAD_RECORD, 3)
        );
        more.revertToState(state);
        _refusedRecord(
            abi.encodePacked(head, uint8(0), uint8(1), bytes32(0)),
            abi.encodeWithSelector(IDisputeErrors.ZeroDigest.selector)
        );
        more.revertToState(state);
        _refusedRecord(
            abi.encodePacked(head, uint8(0), uint8(1)), abi.encodeWithSelector(MALFORMED, 50)
        );
    }

    /// Facts of a train unit have another hash, whatever they say.
    function test_anAggregateIsNotDeclaredAsTraining() public {
        OuterPlay memory p = _at(0);
        Facts memory facts;
        (facts.recordsRoot, facts.finalStateRoot) =
        (_outerFacts.recordsRoot, _outerFacts.finalStateRoot);
        (facts.deltaRoot, facts.traceRoot) = (_outerFacts.momentumAfter, _outerFacts.traceRoot);
        facts.steps = 1;
        bytes32[] memory none = new bytes32[](0);
        _call = abi.encodeCall(
            IDisputeMoves.declareStates, (p.id, p.c, facts, facts.finalStateRoot, none, none)
        );
        _refused(_asserter, abi.encodeWithSelector(WRONG_FRAME));
    }

    /// And a train unit is no aggregate: nor are facts of another kind its facts.
    function test_trainingIsNotDeclaredAsAnAggregate() public {
        Declared memory d = _declared();
        Facts memory facts;
        Cursor memory c;
        (c.stage, c.frame) = (Stage.UNIT, keccak256(abi.encode(facts)));
        vm.expectRevert(WRONG_FRAME);
        _outer.declareOuter(0, c, d.facts, d.record, d.root, d.children, d.slots, d.held);
        // Elsewhere there is nothing to declare.
        (c.stage, c.frame) = (Stage.OUTER, keccak256(abi.encode(d.facts)));
        vm.expectRevert(abi.encodeWithSelector(WRONG_STAGE, Stage.OUTER));
        _outer.declareOuter(0, c, d.facts, d.record, d.root, d.children, d.slots, d.held);
    }

    /// All players read every answer: it is short, also where there are the most deltas.
    function test_anAnswerIsShort() public {
        OuterPlay memory p = _at(0);
        Declared memory d = _declared();
        d.children = new bytes32[](256);
        _planDeclaration(p, d);
        _refused(_asserter, abi.encodeWithSelector(IDisputeGame.TooMuchData.selector, _call.length));
    }

    // --- from there ---

    function test_aTreeIsPickedOfThree() public {
        OuterPlay memory p = _at(1);
        OuterFrame memory frame = p.frame;
        bytes memory header = DisputeProgram.header();
        _refusedTree(p, frame, header, 0, abi.encodeWithSelector(BAD_RECORD, 0));
        _refusedTree(p, frame, header, 4, abi.encodeWithSelector(BAD_RECORD, 4));
        _refusedTree(p, _with(frame, 1), header, 1, abi.encodeWithSelector(WRONG_FRAME));
        header[59] ^= 0x01;
        _refusedTree(p, frame, header, 1, abi.encodeWithSelector(WRONG_FRAME));
        header[59] ^= 0x01;
        _outerFacts.finalStateRoot ^= bytes32(uint256(1));
        _refusedTree(p, frame, header, 1, abi.encodeWithSelector(WRONG_FRAME));
        _outerFacts.finalStateRoot ^= bytes32(uint256(1));
        _planTree(p, 1);
        _sendOuter(p);
        _playOuter(p, _rightOuter(), _rightOuter(), 1);
        _refusedTree(p, frame, header, 1, abi.encodeWithSelector(WRONG_STAGE, Stage.OUTER_STATE));
    }

    /// A slot has a number only if it is a parameter, and nothing behind it.
    function test_theNumberOfAParameter() public {
        bytes memory parameter = DisputeProgram.slotRecords()[0];
        this.slotOf(parameter);
        bytes memory none = abi.encodePacked(parameter);
        none[none.length - 5] = 0x00; // the offset, 16
        _expectSlot(none, abi.encodeWithSelector(BAD_RECORD, 0));
        none[none.length - 1] = 0x01;
        _expectSlot(none, abi.encodeWithSelector(MALFORMED, none.length - 4));
        _expectSlot(
            abi.encodePacked(parameter, uint8(0)),
            abi.encodeWithSelector(MALFORMED, parameter.length)
        );
        parameter[parameter.length - 1] = 0x01;
        _expectSlot(parameter, abi.encodeWithSelector(BAD_RECORD, 0));
    }

    function test_anIncludedDeltaIsOneOfTheDeclared() public {
        OuterPlay memory p = _at(1);
        OuterRun memory right = _rightOuter();
        _planIncluded(p, right, 3);
        _refused(CHALLENGER, abi.encodeWithSelector(MerkleSha256.LeafOutside.selector, 3, 3));
        p.frame.deltas = 4;
        _planIncluded(p, right, 3);
        _refused(CHALLENGER, abi.encodeWithSelector(WRONG_FRAME));
        p.frame.deltas = 3;
        p.frame.tree = 1;
        _planIncluded(p, right, 1);
        _refused(CHALLENGER, abi.encodeWithSelector(WRONG_FRAME));
        p.frame.tree = 0;
        right.slots[2] = 8;
        _planIncluded(p, right, 1);
        _refused(CHALLENGER, abi.encodeWithSelector(WRONG_FRAME));
        _planTree(p, 1);
        _sendOuter(p);
        _playOuter(p, _rightOuter(), _rightOuter(), 1);
        _planIncluded(p, _rightOuter(), 1);
        _refused(CHALLENGER, abi.encodeWithSelector(WRONG_STAGE, Stage.OUTER_STATE));
    }

    function test_aCommitmentIsShownAsItIsInItsEpoch() public {
        OuterPlay memory p = _at(1);
        _planIncluded(p, _rightOuter(), 1);
        _sendOuter(p);
        bytes memory shown = _posted[5];
        bytes32 hash = _hashFor(5);
        bytes32 delta = _declared().children[1];
        // Signed and well made, but not for this.
        Posted memory unit = _unitOf(5, delta);
        unit.kind = 2;
        _refusedShow(p, 1, _signedBy(unit, hash, KEY), abi.encodeWithSelector(BAD_RECORD, 0));
        unit = _unitOf(5, keccak256("another delta"));
        _refusedShow(p, 1, _signedBy(unit, hash, KEY), abi.encodePacked(MISMATCH));
        unit = _unitOf(6, delta);
        _refusedShow(p, 1, _signedBy(unit, hash, KEY), abi.encodeWithSelector(BAD_RECORD, 1));
        unit = _unitOf(5, delta);
        bytes memory other = _signedBy(unit, keccak256("another round"), _workerKey(5));
        _refusedShow(p, 1, other, abi.encodeWithSelector(BAD_RECORD, 2));
        _refusedShow(
            p, 1, abi.encodePacked(shown, uint8(0)), abi.encodeWithSelector(MALFORMED, 227)
        );
        bytes32[] memory path = DisputeTrees.path(_leavesFor(5), 1);
        bytes32[] memory included = _pathOf(_rightOuter(), 1);
        // A second one that is in no epoch, and other places.
        unit.flops += 1;
        other = _signedBy(unit, hash, _workerKey(5));
        vm.expectPartialRevert(MISMATCH);
        this.show(p, 1, other, path, included);
        vm.expectPartialRevert(MISMATCH);
        this.show(p, 2, shown, path, included);
        vm.expectPartialRevert(MerkleSha256.LeafOutside.selector);
        this.show(p, 4, shown, path, included);
        vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        this.show(p, 1, shown, new bytes32[](0), included);
        _outerFacts.epochLeaves -= 1;
        _refusedShow(p, 1, shown, abi.encodeWithSelector(WRONG_FRAME));
        _outerFacts.epochLeaves += 1;
        vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        this.show(p, 1, shown, path, new bytes32[](1));
        bytes32[] memory another = _pathOf(_rightOuter(), 0);
        vm.expectPartialRevert(MISMATCH);
        this.show(p, 1, shown, path, another);
        this.show(p, 1, shown, path, included);
    }

    // --- helpers ---

    function _at(uint256 moves) internal returns (OuterPlay memory p) {
        _postOuter(_rightOuter());
        p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, _rightOuter(), _rightOuter(), moves);
    }

    function _declared() internal view returns (Declared memory d) {
        OuterRun memory right = _rightOuter();
        bytes32[] memory deltas = DisputeTrees.tensorRoots(right.deltas);
        bytes32 root = DisputeTrees.root(deltas);
        d = Declared(
            _outerFacts,
            right.record,
            root,
            deltas,
            SlotLists.declared(right.slots, right.held),
            right.held
        );
    }

    function _refused(address mover, bytes memory reason) internal {
        _mover = mover;
        if (reason.length == 4) vm.expectPartialRevert(bytes4(reason));
        else vm.expectRevert(reason);
        this.sendPlanned();
    }

    function _planDeclaration(OuterPlay memory p, Declared memory d) private {
        _call = abi.encodeCall(
            IDisputeMoves.declareOuter,
            (p.id, p.c, d.facts, d.record, d.root, d.children, d.slots, d.held)
        );
    }

    function _refusedDeclaration(OuterPlay memory p, Declared memory d, bytes memory reason)
        internal
    {
        _planDeclaration(p, d);
        _refused(_asserter, reason);
    }

    function _sendDeclaration(OuterPlay memory p, Declared memory d) internal {
        _planDeclaration(p, d);
        _mover = _asserter;
        this.sendPlanned();
    }

    function _refusedRecord(bytes memory record, bytes memory reason) private {
        OuterRun memory run = _rightOuter();
        run.record = record;
        _postOuter(run);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        Declared memory d = _declared();
        d.record = record;
        _refusedDeclaration(p, d, reason);
    }

    function _refusedTree(
        OuterPlay memory p,
        OuterFrame memory frame,
        bytes memory header,
        uint8 tree,
        bytes memory reason
    ) private {
        _call = abi.encodeCall(
            IDisputeMoves.pickOuter, (p.id, p.c, frame, _outerFacts, header, tree)
        );
        _refused(CHALLENGER, reason);
    }

    function _expectSlot(bytes memory record, bytes memory reason) private {
        vm.expectRevert(reason);
        this.slotOf(record);
    }

    /// Picks the only tensor of a program whose only state slot has this record.
    function slotOf(bytes calldata record) external view {
        RecordProof memory slot;
        slot.data = record;
        bytes memory header = DisputeProgram.header();
        bytes32 root = sha256(abi.encodePacked("gym.state_slot.v1", record));
        header[19] = 0x01; // state slots
        assembly {
            mstore(add(header, 204), root)
        }
        OuterFrame memory frame;
        (frame.program, frame.tree) = (sha256(abi.encodePacked("gym.trace_program.v1", header)), 1);
        Cursor memory c;
        (c.stage, c.answered, c.leaves) = (Stage.OUTER_STATE, true, 1);
        (c.node, c.frame) = (keccak256("tensor"), keccak256(abi.encode(frame)));
        Pick memory to = Pick(0, c.node, new bytes32[](0), 0, new bytes32[](0));
        _outer.pickOuterTensor(0, c, frame, header, to, slot);
    }

    function _refusedShow(
        OuterPlay memory p,
        uint32 index,
        bytes memory commitment,
        bytes memory reason
    ) private {
        bytes32[] memory path = DisputeTrees.path(_leavesFor(5), 1);
        bytes32[] memory included = _pathOf(_rightOuter(), 1);
        if (reason.length == 4) vm.expectPartialRevert(bytes4(reason));
        else vm.expectRevert(reason);
        this.show(p, index, commitment, path, included);
    }
}
