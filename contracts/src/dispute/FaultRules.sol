// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Descriptors} from "../onestep/Descriptors.sol";
import {Descent} from "./Descent.sol";
import {
    Cursor,
    Facts,
    Finding,
    Frames,
    IDisputeErrors,
    Pick,
    RecordProof,
    Stage,
    StepFrame
} from "./DisputeTypes.sol";
import {JobRandom} from "./JobRandom.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {StepRecord, StepRecords} from "./StepRecords.sol";
import {Header, LeafRecord, Shapes, Source, TraceRecords} from "./TraceRecords.sol";

/// @title Faults between a step's record, its trace leaves and the states around it
/// @notice The comparisons of check_step() in src/dispute/step_trace.cpp, field by field; each needs no look into a macro op. As
/// TreeRules: pure, with the arguments of IDisputeGame. All revert with NoFault where both sides are equal.
contract FaultRules {
    using Frames for Cursor;
    using Frames for Facts;
    using Frames for StepFrame;
    using Shapes for uint256;

    uint256 private constant FIELD_BATCH = 0;
    uint256 private constant FIELD_LOSS = 1;
    uint256 private constant FIELD_GRAD_NORM = 2;
    uint256 private constant FIELD_SKIPPED = 3;
    uint256 private constant ONE = 0x3F800000;
    uint256 private constant CLOCK_MAX = 0x7FFFFFFF;
    uint256 private constant CLOCK_WORDS = 2;
    uint256 private constant RANDOM_WORDS = 5;

    /// @notice See IDisputeGame.proveRecord.
    function proveRecord(
        bytes32,
        Cursor calldata c,
        StepFrame calldata frame,
        bytes calldata header,
        bytes calldata record,
        uint8 field,
        Pick calldata leaf,
        RecordProof calldata leafRecord
    ) external view returns (Finding memory found) {
        Header memory h = _enter(c, Stage.TRACE, frame, header);
        StepRecord memory r = StepRecords.open(record, frame.hashBefore, frame.hashAfter);
        if (field > FIELD_SKIPPED) revert IDisputeErrors.BadRecord(field);
        if (field == FIELD_SKIPPED && h.skipped == TraceRecords.NO_LEAF) {
            if (!r.skipped) revert IDisputeErrors.NoFault();
            return Finding(field, bytes32(uint256(1)), 0);
        }
        LeafRecord memory known = _leaf(h, frame, leaf, leafRecord);
        if (field == FIELD_BATCH) {
            if (known.kind != TraceRecords.BATCH) revert IDisputeErrors.BadRecord(known.kind);
            return _unequal(field, r.batchRoot, leaf.node);
        }
        uint256 named = field == FIELD_LOSS ? h.loss : h.skipped;
        uint256 bits = field == FIELD_LOSS ? r.lossBits : r.skipped ? ONE : 0;
        if (field == FIELD_GRAD_NORM) (named, bits) = (h.gradNorm, r.gradNormBits);
        if (leaf.index != named || known.shape.size() != 4) {
            revert IDisputeErrors.BadRecord(leaf.index);
        }
        uint256[] memory words = new uint256[](1);
        words[0] = bits;
        return _unequal(field, _rootOf(known.shape, words), leaf.node);
    }

    /// @notice See IDisputeGame.proveInput.
    function proveInput(
        bytes32,
        Cursor calldata c,
        StepFrame calldata frame,
        Facts calldata facts,
        bytes calldata header,
        Pick calldata leaf,
        RecordProof calldata leafRecord
    ) external view returns (Finding memory) {
        Header memory h = _enter(c, Stage.TRACE, frame, header);
        if (facts.hash() != frame.facts) revert IDisputeErrors.WrongFrame();
        LeafRecord memory known = _leaf(h, frame, leaf, leafRecord);
        uint256[] memory words;
        if (known.kind == TraceRecords.CLOCK) words = _clock(facts, frame.step);
        else if (known.kind == TraceRecords.RANDOM) words = _random(facts, frame.step);
        else revert IDisputeErrors.BadRecord(known.kind);
        bool fits = known.shape.dtype() == Descriptors.I32 && known.shape.count() == words.length;
        if (!fits) revert IDisputeErrors.BadRecord(known.kind);
        return _unequal(leaf.index, leaf.node, _rootOf(known.shape, words));
    }

    /// @notice See IDisputeGame.proveSlot.
    function proveSlot(
        bytes32,
        Cursor calldata c,
        StepFrame calldata frame,
        bytes calldata header,
        Pick calldata slot,
        RecordProof calldata record,
        Pick calldata source
    ) external view returns (Finding memory) {
        Header memory h = _enter(c, Stage.STATE, frame, header);
        Descent.leafBelow(c, c.node, slot.index, slot.node, slot.path);
        if (record.index != slot.index) revert IDisputeErrors.BadRecord(record.index);
        Source memory from = TraceRecords.state(h, record).source;
        if (source.index != from.index) revert IDisputeErrors.BadRecord(source.index);
        bool computed = from.kind == TraceRecords.FROM_LEAF;
        MerkleSha256.verify(
            computed ? frame.trace : frame.stateBefore,
            from.index,
            computed ? h.leaves : h.stateSlots,
            source.node,
            source.path
        );
        return _unequal(slot.index, slot.node, source.node);
    }

    /// @notice See IDisputeGame.proveGradient.
    function proveGradient(
        bytes32,
        Cursor calldata c,
        StepFrame calldata frame,
        bytes calldata header,
        Pick calldata gradient,
        RecordProof calldata record,
        Pick calldata source
    ) external view returns (Finding memory) {
        Header memory h = _enter(c, Stage.GRADIENTS, frame, header);
        Descent.leafBelow(c, c.node, gradient.index, gradient.node, gradient.path);
        if (record.index != gradient.index) revert IDisputeErrors.BadRecord(record.index);
        uint256 leaf = TraceRecords.gradientLeaf(h, record);
        if (source.index != leaf) revert IDisputeErrors.BadRecord(source.index);
        MerkleSha256.verify(frame.trace, leaf, h.leaves, source.node, source.path);
        return _unequal(gradient.index, gradient.node, source.node);
    }

    function _enter(Cursor calldata c, uint8 stage, StepFrame calldata frame, bytes calldata header)
        private
        pure
        returns (Header memory)
    {
        c.expect(stage, true);
        c.check(frame.hash());
        return TraceRecords.header(header, frame.program);
    }

    /// @dev The record of a trace leaf, once the leaf is shown to be the step's.
    function _leaf(
        Header memory h,
        StepFrame calldata frame,
        Pick calldata leaf,
        RecordProof calldata record
    ) private view returns (LeafRecord memory) {
        if (record.index != leaf.index) {
            revert IDisputeErrors.BadRecord(record.index);
        }
        MerkleSha256.verify(frame.trace, leaf.index, h.leaves, leaf.node, leaf.path);
        return TraceRecords.leaf(h, record);
    }

    function _unequal(uint256 element, bytes32 claimed, bytes32 computed)
        private
        pure
        returns (Finding memory)
    {
        if (claimed == computed) revert IDisputeErrors.NoFault();
        return Finding(element, claimed, computed);
    }

    /// @dev Step of the job, saturated, and of the unit.
    function _clock(Facts calldata facts, uint256 step)
        private
        pure
        returns (uint256[] memory words)
    {
        uint256 jobStep = uint256(facts.round) * facts.steps + step;
        words = new uint256[](CLOCK_WORDS);
        (words[0], words[1]) = (jobStep < CLOCK_MAX ? jobStep : CLOCK_MAX, step);
    }

    /// @dev Where the step's random numbers are drawn.
    function _random(Facts calldata facts, uint256 step)
        private
        pure
        returns (uint256[] memory words)
    {
        words = new uint256[](RANDOM_WORDS);
        (words[0], words[1]) = JobRandom.key(facts.jobSeed);
        (words[2], words[3], words[4]) = (uint32(facts.round), facts.slot, step);
    }

    /// @dev The root of a tensor of 4-byte elements that fits into one chunk.
    function _rootOf(uint256 shape, uint256[] memory words) private pure returns (bytes32) {
        bytes memory content = new bytes(MerkleSha256.CHUNK_BYTES);
        for (uint256 i = 0; i < words.length; ++i) {
            for (uint256 k = 0; k < 4; ++k) {
                content[4 * i + k] = bytes1(uint8(words[i] >> (8 * k)));
            }
        }
        return shape.digest(sha256(abi.encodePacked(uint8(0), content)));
    }
}
