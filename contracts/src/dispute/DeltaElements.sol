// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DenseRow} from "../numerics/DenseRow.sol";
import {Float32} from "../numerics/Float32.sol";
import {LittleEndian} from "../numerics/LittleEndian.sol";
import {DeltaRows} from "./DeltaRows.sol";
import {DeltaProof, IDisputeErrors, TensorProof} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Operands, Span} from "./Operands.sol";
import {Header, Shapes, StateRecord, TraceRecords} from "./TraceRecords.sol";

/// @title What a word or a byte of a unit's delta must be
/// @notice Words in codec 0, where each is the difference of two elements; bytes in codec 1, where each is made of the 64 differences of
/// its row. Operand 0 is the parameter's part at the unit's end, operand 1 the same part at its beginning.
library DeltaElements {
    using Shapes for uint256;

    uint256 private constant WORD_BYTES = 4;
    bytes8 private constant MAGIC = "GYMDLTA1";

    /// @notice Bytes of what DeltaProof.word counts.
    function sizeOf(Header memory h) internal pure returns (uint256) {
        return h.deltaCodec == TraceRecords.DENSE ? 1 : WORD_BYTES;
    }

    /// @notice The word or byte number proof.word, from the elements that the proof shows.
    function computed(Header memory h, DeltaProof calldata proof) internal view returns (uint256) {
        uint256 offset = uint256(proof.word) * sizeOf(h);
        bool dense = h.deltaCodec == TraceRecords.DENSE;
        if (offset < TraceRecords.deltaHeadBytes(h)) {
            _expectNothing(proof);
            return head(h, offset);
        }
        if (!dense) return _difference(h, proof, offset);
        if (!DeltaRows.isPadding(offset)) return _rowByte(h, proof, offset);
        _expectNothing(proof);
        return 0;
    }

    /// @notice The word or byte at `offset`, before the first parameter: magic, codec and number of parameters, in codec 1 also zeros up
    /// to the end of the row.
    function head(Header memory h, uint256 offset) internal pure returns (uint256 x) {
        bytes memory all =
            abi.encodePacked(MAGIC, uint32(h.deltaCodec), uint32(h.parameters), bytes17(0));
        for (uint256 i = sizeOf(h); i > 0; --i) {
            x = (x << 8) | uint8(all[offset + i - 1]);
        }
    }

    /// @dev Reverts if a record or a part of a state is brought, where the header alone decides.
    function _expectNothing(DeltaProof calldata proof) private pure {
        uint256 brought = proof.slot.index + proof.slot.data.length + proof.slot.path.length;
        if (brought != 0) revert IDisputeErrors.BadRecord(proof.slot.index);
        Operands.expectNone(proof.final_, 0);
        Operands.expectNone(proof.base, 1);
    }

    /// @dev The word at `offset`, which the parameter of proof.slot must hold.
    function _difference(Header memory h, DeltaProof calldata proof, uint256 offset)
        private
        view
        returns (uint256)
    {
        StateRecord memory slot = TraceRecords.state(h, proof.slot);
        bool inside = slot.deltaOffset != 0 && offset >= slot.deltaOffset
            && offset - slot.deltaOffset < slot.shape.size();
        if (!inside) revert IDisputeErrors.BadRecord(proof.slot.index);
        Span memory span = Span(0, slot.shape.size(), offset - slot.deltaOffset, WORD_BYTES);
        (bytes memory end, bytes memory begin) = _both(h, proof, slot.shape, span);
        return Float32.sub(LittleEndian.word(end, 0), LittleEndian.word(begin, 0));
    }

    /// @dev The byte at `offset`, of a row of the parameter of proof.slot. All of the row's elements are read for its scale.
    function _rowByte(Header memory h, DeltaProof calldata proof, uint256 offset)
        private
        view
        returns (uint256)
    {
        uint256 row = DeltaRows.rowOf(offset);
        (uint256 shape, Span memory span) = _ofRow(h, proof, row);
        (bytes memory end, bytes memory begin) = _both(h, proof, shape, span);
        return DenseRow.encoded(_differences(end, begin), offset - DeltaRows.beginOf(row));
    }

    /// @dev The parameter's bytes that a row is made of: within one chunk, which is four rows.
    function _ofRow(Header memory h, DeltaProof calldata proof, uint256 row)
        private
        view
        returns (uint256 shape, Span memory)
    {
        StateRecord memory slot = TraceRecords.state(h, proof.slot);
        shape = slot.shape;
        uint256 first = DeltaRows.rowOf(slot.deltaOffset);
        bool inside =
            slot.deltaOffset != 0 && row >= first && row - first < DeltaRows.count(shape.count());
        if (!inside) revert IDisputeErrors.BadRecord(proof.slot.index);
        uint256 begin = (row - first) * DenseRow.ELEMENTS * WORD_BYTES;
        uint256 length = shape.size() - begin;
        if (length > DenseRow.ELEMENTS * WORD_BYTES) length = DenseRow.ELEMENTS * WORD_BYTES;
        return (shape, Span(0, shape.size(), begin, length));
    }

    /// @dev The elements of a row; behind the parameter's last one 0.
    function _differences(bytes memory end, bytes memory begin)
        private
        pure
        returns (uint256[] memory x)
    {
        x = new uint256[](DenseRow.ELEMENTS);
        uint256 count = end.length / WORD_BYTES;
        for (uint256 i = 0; i < count; ++i) {
            x[i] = Float32.sub(LittleEndian.word(end, i), LittleEndian.word(begin, i));
        }
    }

    /// @dev The same bytes of the parameter at the unit's end and at its beginning.
    function _both(Header memory h, DeltaProof calldata proof, uint256 shape, Span memory span)
        private
        view
        returns (bytes memory end, bytes memory begin)
    {
        end = _parameter(proof.facts.finalStateRoot, h.stateSlots, proof, shape, span);
        span.operand = 1;
        begin = _parameter(proof.facts.initialStateRoot, h.stateSlots, proof, shape, span);
    }

    /// @dev Bytes of the parameter under a state's root.
    function _parameter(
        bytes32 root,
        uint256 slots,
        DeltaProof calldata proof,
        uint256 shape,
        Span memory span
    ) private view returns (bytes memory) {
        TensorProof calldata given = span.operand == 0 ? proof.final_ : proof.base;
        MerkleSha256.verify(root, proof.slot.index, slots, shape.digest(given.treeRoot), given.path);
        return Operands.range(given, span);
    }
}
