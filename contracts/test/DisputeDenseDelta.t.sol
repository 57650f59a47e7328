// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Chunk,
    ColumnProof,
    Cursor,
    DeltaProof,
    Facts,
    Finding,
    IDisputeErrors,
    OpFrame,
    Pick,
    Stage,
    TensorProof
} from "../src/dispute/DisputeTypes.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {Operands} from "../src/dispute/Operands.sol";
import {DenseModel} from "./support/DenseModel.sol";
import {DenseProgram, DenseSample} from "./support/DenseSample.sol";
import {DisputePlay} from "./support/DisputePlay.sol";
import {DisputeTrees, Tensor} from "./support/DisputeTrees.sol";

/// Deltas of codec 1: every byte of a unit's delta, and every element of it in an aggregate's column. The rules are played without the
/// game, which knows no codec.
contract DisputeDenseDeltaTest is DisputePlay {
    uint64 private constant BYTES = DenseSample.BYTES;
    uint64 private constant PADDING = 1023;
    uint256 private constant DELTA_BYTES_MAX = 2 ** 40;
    bytes32 private constant STATES = keccak256("states");
    bytes4 private constant NO_FAULT = IDisputeErrors.NoFault.selector;
    bytes4 private constant MALFORMED = IDisputeErrors.Malformed.selector;
    bytes4 private constant BAD_RECORD = IDisputeErrors.BadRecord.selector;

    bytes private _rightDelta;
    bytes private _beginState;
    bytes private _endState;

    function setUp() public {
        _deployGame();
        (Tensor[] memory begin, Tensor[] memory end) = DenseSample.states();
        _rightDelta = DenseSample.deltaOf(begin, end);
        (_beginState, _endState) = (abi.encode(begin), abi.encode(end));
        assertEq(_rightDelta.length, BYTES, "bytes");
    }

    // --- bytes of a unit's delta ---

    function test_theHead() public {
        // Magic, codec, number of parameters, zeros.
        uint64[8] memory places = [uint64(0), 7, 8, 11, 12, 15, 16, 32];
        for (uint256 i = 0; i < places.length; ++i) {
            _check(places[i], 0x01);
        }
        assertEq(uint8(_rightDelta[11]), 1, "codec");
        assertEq(uint8(_rightDelta[15]), 2, "parameters");
    }

    function test_theLastByteOfAChunk() public {
        _check(PADDING, 0x01);
        _check(PADDING, 0xFF);
    }

    function test_scales() public {
        _check(33, 0x01);
        _check(33 + 33, 0x80);
        // The row that did not change: any scale is another one.
        assertEq(uint8(_rightDelta[99]), 0, "scale of zeros");
        _check(99, 0x7D);
        assertEq(uint8(_rightDelta[132]), 252, "scale of infinities");
        _check(132, 0x01);
        _check(1024, 0x02);
        _check(1057, 0x04);
    }

    function test_levels() public {
        // Both halves of a byte, the row's first and last one.
        _check(34, 0x01);
        _check(34, 0x10);
        _check(65, 0x08);
        _check(65, 0x80);
        // Where all are 0, and where some are NaN.
        _check(100, 0x01);
        _check(133, 0x10);
        _check(134, 0x01);
    }

    /// Behind the last element of a parameter all levels are 0.
    function test_levelsWithoutAnElement() public {
        // Five elements: byte 3 has one of them.
        _check(1024 + 3, 0x01);
        _check(1024 + 3, 0x10);
        _check(1024 + 4, 0x01);
        _check(1024 + 32, 0x80);
        assertEq(uint8(_rightDelta[1024 + 3]) >> 4, 0, "the sixth");
        // Nine elements.
        _check(1057 + 5, 0x01);
        _check(1057 + 5, 0x10);
        _check(1057 + 6, 0x01);
        _check(BYTES - 1, 0x01);
    }

    /// forge-config: check.fuzz.runs = 2000
    /// forge-config: soak.fuzz.runs = 6000
    function test_anyByte(uint64 offset, uint8 flip) public {
        _check(uint64(bound(offset, 0, BYTES - 1)), flip == 0 ? 1 : flip);
    }

    /// From the steps to the byte.
    function test_theWayToAByte() public view {
        _descend(5);
        _descend(PADDING);
        _descend(1000);
        _descend(BYTES - 1);
    }

    /// 33 bytes have a row's scale and all levels: each one alone is a fault.
    function test_aForgedRow() public {
        (Cursor memory c, DeltaProof memory proof) = _atByte(33);
        bytes memory forged = new bytes(1024);
        c.node = DisputeTrees.chunkLeaves(forged)[0];
        proof.chunk = forged;
        for (uint64 offset = 33; offset < 66; ++offset) {
            proof.word = offset;
            bytes32 right = bytes32(uint256(uint8(_rightDelta[offset])));
            if (right == 0) vm.expectRevert(NO_FAULT);
            Finding memory found = _elements.proveDelta(0, c, proof);
            if (right != 0) assertEq(found.computed, right, "computed");
        }
    }

    // --- proofs that are none ---

    function test_aByteIsOfItsParameter() public {
        (Cursor memory c, DeltaProof memory proof) = _atByte(40);
        for (uint256 slot = 1; slot < 3; ++slot) {
            proof.slot = DenseSample.slotProof(_program(), slot);
            _refused(c, proof, abi.encodeWithSelector(BAD_RECORD, slot));
        }
        (c, proof) = _atByte(1057);
        proof.slot = DenseSample.slotProof(_program(), 0);
        _refused(c, proof, abi.encodeWithSelector(BAD_RECORD, 0));
        (c, proof) = _atByte(1056);
        proof.slot = DenseSample.slotProof(_program(), 1);
        _refused(c, proof, abi.encodeWithSelector(BAD_RECORD, 1));
        // A record is the program's.
        (c, proof) = _atByte(40);
        proof.slot.data[17] ^= 0x01;
        _refusedAs(c, proof, MerkleSha256.RootMismatch.selector);
    }

    function test_aByteIsMadeFromItsOwnElements() public {
        // Rows 1 to 4 are of the parameter's first chunk, row 5 is of the second one.
        (Cursor memory c, DeltaProof memory proof) = _atByte(4 * 33 + 2);
        (, DeltaProof memory other) = _atByte(5 * 33 + 2);
        TensorProof memory right = proof.final_;
        proof.final_ = other.final_;
        _refusedAs(c, proof, MerkleSha256.RootMismatch.selector);
        (proof.final_, proof.base) = (right, other.base);
        _refusedAs(c, proof, MerkleSha256.RootMismatch.selector);
        // Each state in its place.
        (c, proof) = _atByte(4 * 33 + 2);
        (proof.final_, proof.base) = (proof.base, proof.final_);
        _refusedAs(c, proof, MerkleSha256.RootMismatch.selector);
        // The byte says which of a chunk's rows are read.
        (c, proof) = _atByte(3 * 33 + 2);
        proof.word = 4 * 33 + 2;
        vm.expectRevert(NO_FAULT);
        _elements.proveDelta(0, c, proof);
        proof.final_.chunks[0].content[3 * 256] ^= 0x01;
        _refusedAs(c, proof, MerkleSha256.RootMismatch.selector);
    }

    function test_allOfARowsElementsAreBrought() public {
        (Cursor memory c, DeltaProof memory proof) = _atByte(34);
        proof.base.chunks = new Chunk[](0);
        _refused(c, proof, abi.encodeWithSelector(Operands.WrongChunks.selector, 1, 0, 1));
        (c, proof) = _atByte(34);
        Chunk[] memory two = new Chunk[](2);
        (two[0], two[1]) = (proof.final_.chunks[0], proof.final_.chunks[0]);
        proof.final_.chunks = two;
        _refused(c, proof, abi.encodeWithSelector(Operands.WrongChunks.selector, 0, 2, 1));
        (c, proof) = _atByte(1057);
        proof.final_.chunks[0].content = new bytes(32);
        _refused(c, proof, abi.encodeWithSelector(MerkleSha256.BadChunk.selector, 32));
        (c, proof) = _atByte(34);
        proof.base.path = new bytes32[](0);
        _refused(c, proof, abi.encodeWithSelector(MerkleSha256.BadProofLength.selector, 0, 2));
    }

    /// Where the header alone decides, nothing else is looked at, so nothing else may be brought.
    function test_nothingIsBroughtForTheHead() public {
        _bringSomething(0);
        _bringSomething(32);
        _bringSomething(PADDING);
    }

    /// And a row is not made of nothing.
    function test_somethingIsBroughtForARow() public {
        (Cursor memory c, DeltaProof memory proof) = _atByte(33);
        delete proof.slot;
        _refusedAs(c, proof, MerkleSha256.BadProofLength.selector);
    }

    function test_aByteOutsideOfTheChunk() public {
        (Cursor memory c, DeltaProof memory proof) = _atByte(1030);
        uint64[4] memory others = [uint64(PADDING), BYTES, 2048, type(uint64).max];
        for (uint256 i = 0; i < others.length; ++i) {
            proof.word = others[i];
            _refused(c, proof, abi.encodeWithSelector(Operands.ElementOutside.selector, others[i]));
        }
    }

    // --- headers and records ---

    function test_headersNameACodec() public {
        DenseProgram memory p = _program();
        bytes[6] memory codecs = [
            bytes(hex"00000000"),
            hex"00000002",
            hex"01000000",
            hex"ffffffff",
            hex"000001",
            hex"0000000100"
        ];
        for (uint256 i = 0; i < codecs.length; ++i) {
            p.codec = codecs[i];
            _refusedHeader(p, codecs[i].length == 4 ? 204 : 204 + codecs[i].length);
        }
        // A header is the program's: the codec is hashed with it.
        (Cursor memory c, DeltaProof memory proof) = _atByte(33);
        p.codec = "";
        proof.header = DenseSample.header(p);
        _refused(c, proof, abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
    }

    function test_sizesOfDeltas() public {
        uint64[4] memory wrong = [uint64(0), 32, 2 ** 40 + 1, type(uint64).max];
        DenseProgram memory p = _program();
        for (uint256 i = 0; i < wrong.length; ++i) {
            p.deltaBytes = wrong[i];
            _refusedHeader(p, wrong[i]);
        }
        uint64[4] memory right = [uint64(33), 1023, BYTES, 2 ** 40];
        for (uint256 i = 0; i < right.length; ++i) {
            p.deltaBytes = right[i];
            Facts memory facts;
            facts.traceRoot = DenseSample.traceRoot(p);
            Cursor memory c =
                _trees.pickDelta(0, _atSteps(facts), facts, STATES, DenseSample.header(p));
            assertEq(c.leaves, (uint256(right[i]) + 1023) / 1024, "chunks");
        }
        // Of codec 0 they stay whole words.
        (p.codec, p.deltaBytes) = ("", BYTES);
        _refusedHeader(p, BYTES);
    }

    /// A parameter begins with a row that is not the head's, and ends in time.
    function test_placesOfParameters() public {
        uint64[8] memory wrong = [
            uint64(16),
            32,
            34,
            PADDING,
            1025,
            2047,
            uint64(DELTA_BYTES_MAX),
            uint64(DELTA_BYTES_MAX - 34 + 33)
        ];
        for (uint256 i = 0; i < wrong.length; ++i) {
            _placed(wrong[i], 1, false);
        }
        uint64 last = uint64(DELTA_BYTES_MAX - 34);
        _placed(last, 64, true);
        _placed(last, 65, false);
        _placed(last - 33, 128, true);
        _placed(last - 33, 129, false);
        _placed(33, 1, true);
        _placed(1024, 2 ** 31, true);
        _placed(990, 65, true);
    }

    // --- an aggregate's column ---

    /// forge-config: default.fuzz.runs = 64
    /// forge-config: check.fuzz.runs = 1000
    /// forge-config: soak.fuzz.runs = 3000
    function test_anyElementOfAColumn(uint256 slot, uint256 element, uint32 flip) public {
        slot = slot % 2;
        element = bound(element, 0, (slot == 0 ? DenseSample.FIRST : DenseSample.SECOND) - 1);
        _checkColumn(_rightDelta, slot, uint64(element), flip == 0 ? 1 : flip);
    }

    function test_elementsAtTheEndsOfRows() public {
        uint64[6] memory elements = [uint64(0), 63, 64, 1919, 1920, 1924];
        for (uint256 i = 0; i < elements.length; ++i) {
            _checkColumn(_rightDelta, 0, elements[i], 0x80000000);
        }
        _checkColumn(_rightDelta, 1, 0, 1);
        _checkColumn(_rightDelta, 1, 8, 1);
    }

    /// An element without a value is +0, not -0.
    function test_anElementOfTheRowThatDidNotChange() public {
        assertEq(_checkColumn(_rightDelta, 0, 2 * 64, 0x80000000), 0, "value");
    }

    /// Rows that no worker may post, in a delta that nobody has checked.
    function test_malformedRows() public {
        bytes memory delta = _rightDelta;
        // Scales that there are not, with levels 7 and -7.
        (delta[34], delta[33]) = (0x97, 0xFD);
        _zero(delta, 0);
        _zero(delta, 1);
        delta[33] = 0xFF;
        _zero(delta, 0);
        delta[33] = 0x00;
        _zero(delta, 0);
        _zero(delta, 1);
        // Level -8; its neighbour counts.
        (delta[34], delta[33]) = (0x81, 0x7F);
        _zero(delta, 1);
        assertEq(_checkColumn(delta, 0, 0, 1), 0x3F800000, "1");
        // A scale that is larger than it must be, and one without levels.
        (delta[33], delta[34]) = (0xFC, 0x01);
        assertEq(_checkColumn(delta, 0, 0, 1), 0x7E000000, "2^125");
        _zero(delta, 1);
    }

    function test_aColumnIsOfItsRow() public {
        (Cursor memory c, ColumnProof memory proof) = _atColumn(_rightDelta, 0, 1920, 0);
        (, ColumnProof memory other) = _atColumn(_rightDelta, 0, 1919, 0);
        TensorProof memory right = proof.delta;
        proof.delta = other.delta;
        vm.expectPartialRevert(MerkleSha256.BadChunk.selector);
        _outerProofs.proveColumn(0, c, proof);
        proof.delta = right;
        proof.delta.chunks[0].content[65] ^= 0x01;
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        _outerProofs.proveColumn(0, c, proof);
        proof.slot = DenseSample.slotProof(_program(), 1);
        vm.expectRevert(abi.encodeWithSelector(BAD_RECORD, 1));
        _outerProofs.proveColumn(0, c, proof);
    }

    // --- helpers ---

    function _program() private pure returns (DenseProgram memory) {
        return DenseSample.program();
    }

    /// What is right is no fault, and with flipped bits it is one.
    function _check(uint64 offset, uint8 flip) private {
        (Cursor memory c, DeltaProof memory proof) = _atByte(offset);
        vm.expectRevert(NO_FAULT);
        _elements.proveDelta(0, c, proof);
        uint256 right = uint8(proof.chunk[offset % 1024]);
        proof.chunk[offset % 1024] ^= bytes1(flip);
        c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
        Finding memory found = _elements.proveDelta(0, c, proof);
        assertEq(found.element, offset, "byte");
        assertEq(found.claimed, bytes32(right ^ flip), "claimed");
        assertEq(found.computed, bytes32(right), "computed");
    }

    /// A posted chunk of the right delta, and the proof of one of its bytes.
    function _atByte(uint64 offset)
        private
        view
        returns (Cursor memory c, DeltaProof memory proof)
    {
        DenseProgram memory p = _program();
        Tensor[] memory begin = abi.decode(_beginState, (Tensor[]));
        Tensor[] memory end = abi.decode(_endState, (Tensor[]));
        proof.facts = _factsOf(p, begin, end);
        (proof.header, proof.word) = (DenseSample.header(p), offset);
        proof.op = _opOf(p, proof.facts);
        proof.chunk = DisputeTrees.chunk(_rightDelta, offset / 1024);
        (c.stage, c.answered, c.index) = (Stage.CHUNKS, true, offset / 1024);
        (c.frame, c.node) =
        (keccak256(abi.encode(proof.op)), DisputeTrees.chunkLeaves(proof.chunk)[0]);
        (bool has, uint256 slot, uint256 first, uint256 count) = DenseSample.place(offset);
        if (!has) return (c, proof);
        proof.slot = DenseSample.slotProof(p, slot);
        proof.final_ = _tensorProof(end[slot], first, count);
        proof.final_.path = DisputeTrees.path(DisputeTrees.tensorRoots(end), slot);
        proof.base = _tensorProof(begin[slot], first, count);
        proof.base.path = DisputeTrees.path(DisputeTrees.tensorRoots(begin), slot);
    }

    function _factsOf(DenseProgram memory p, Tensor[] memory begin, Tensor[] memory end)
        private
        pure
        returns (Facts memory facts)
    {
        facts.traceRoot = DenseSample.traceRoot(p);
        facts.finalStateRoot = DisputeTrees.root(DisputeTrees.tensorRoots(end));
        facts.initialStateRoot = DisputeTrees.root(DisputeTrees.tensorRoots(begin));
    }

    function _opOf(DenseProgram memory p, Facts memory facts)
        private
        pure
        returns (OpFrame memory op)
    {
        (op.step, op.program) = (keccak256(abi.encode(facts)), facts.traceRoot);
        (op.leaf, op.shape) = (type(uint32).max, DisputeTrees.shapeOf(5, p.deltaBytes));
    }

    function _atSteps(Facts memory facts) private pure returns (Cursor memory c) {
        (c.stage, c.answered) = (Stage.STEPS, true);
        c.frame = keccak256(abi.encode(keccak256(abi.encode(facts)), STATES));
    }

    /// A whole descent to a byte that the asserter has with another bit.
    function _descend(uint64 offset) private view {
        (, DeltaProof memory proof) = _atByte(offset);
        Tensor memory delta = Tensor(DisputeTrees.shapeOf(5, BYTES), _rightDelta);
        delta.data[offset] ^= 0x20;
        bytes32[] memory leaves = DisputeTrees.chunkLeaves(delta.data);
        proof.facts.deltaRoot = DisputeTrees.tensorRoot(delta);
        proof.op = _opOf(_program(), proof.facts);
        Cursor memory c =
            _trees.pickDelta(0, _atSteps(proof.facts), proof.facts, STATES, proof.header);
        c = _steps.openTensor(0, c, proof.op, DisputeTrees.root(leaves), leaves);
        Pick memory to = _pickOf(leaves, offset / 1024);
        c = _trees.pick(0, c, to);
        proof.chunk = DisputeTrees.chunk(delta.data, offset / 1024);
        c = _steps.postChunk(0, c, proof.op, proof.chunk);
        Finding memory found = _elements.proveDelta(0, c, proof);
        assertEq(found.element, offset, "byte");
        assertEq(found.computed, found.claimed ^ bytes32(uint256(0x20)), "computed");
    }

    function _refused(Cursor memory c, DeltaProof memory proof, bytes memory reason) private {
        vm.expectRevert(reason);
        _elements.proveDelta(0, c, proof);
    }

    function _refusedAs(Cursor memory c, DeltaProof memory proof, bytes4 reason) private {
        vm.expectPartialRevert(reason);
        _elements.proveDelta(0, c, proof);
    }

    /// A record, or a part of a state, where there is none.
    function _bringSomething(uint64 offset) private {
        (Cursor memory c, DeltaProof memory proof) = _atByte(offset);
        (, DeltaProof memory row) = _atByte(33);
        proof.slot = row.slot;
        _refused(c, proof, abi.encodeWithSelector(BAD_RECORD, 0));
        delete proof.slot;
        proof.slot.index = 2;
        _refused(c, proof, abi.encodeWithSelector(BAD_RECORD, 2));
        delete proof.slot;
        proof.final_ = row.final_;
        _refused(c, proof, abi.encodeWithSelector(Operands.WrongChunks.selector, 0, 3, 0));
        delete proof.final_;
        proof.base.treeRoot = row.base.treeRoot;
        _refused(c, proof, abi.encodeWithSelector(Operands.WrongChunks.selector, 1, 0, 0));
    }

    function _refusedHeader(DenseProgram memory p, uint256 malformed) private {
        Facts memory facts;
        facts.traceRoot = DenseSample.traceRoot(p);
        bytes memory header = DenseSample.header(p);
        vm.expectRevert(abi.encodeWithSelector(MALFORMED, malformed));
        _trees.pickDelta(0, _atSteps(facts), facts, STATES, header);
    }

    /// The record of the first parameter, at another place in a delta of the largest size.
    function _placed(uint64 offset, uint32 elements, bool legal) private {
        DenseProgram memory p = _program();
        (p.offsets[0], p.elements[0], p.deltaBytes) = (offset, elements, uint64(DELTA_BYTES_MAX));
        (Cursor memory c, ColumnProof memory proof) = _columnOf(p, 0);
        proof.values = new bytes(8);
        c.twin = keccak256(proof.values);
        // No delta is that large here: where the place is legal, the next thing that is missing is the delta.
        if (legal) vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        else vm.expectRevert(abi.encodeWithSelector(MALFORMED, 11));
        _outerProofs.proveColumn(0, c, proof);
    }

    function _columnOf(DenseProgram memory p, uint256 slot)
        private
        pure
        returns (Cursor memory c, ColumnProof memory proof)
    {
        (proof.header, proof.slot) = (DenseSample.header(p), DenseSample.slotProof(p, slot));
        (proof.outer.deltas, proof.outer.deltasRoot) = (2, bytes32(uint256(1)));
        _frame(c, proof, p);
    }

    function _frame(Cursor memory c, ColumnProof memory proof, DenseProgram memory p) private pure {
        (proof.op.step, proof.op.program) =
        (keccak256(abi.encode(proof.outer)), DenseSample.traceRoot(p));
        proof.op.record = sha256(abi.encodePacked("gym.state_slot.v1", proof.slot.data));
        (c.stage, c.answered, c.frame) = (Stage.COLUMN, true, keccak256(abi.encode(proof.op)));
        (c.leaves, c.twin) = (proof.outer.deltas, keccak256(proof.values));
    }

    /// A posted column of two deltas, of which the second one is `delta`; its value has other bits than the right one.
    function _atColumn(bytes memory delta, uint256 slot, uint64 element, uint32 flip)
        private
        pure
        returns (Cursor memory c, ColumnProof memory proof)
    {
        (c, proof) = _columnOf(_program(), slot);
        bytes32[] memory deltas = new bytes32[](2);
        deltas[0] = keccak256("another delta");
        Tensor memory t = Tensor(DisputeTrees.shapeOf(5, delta.length), delta);
        deltas[1] = DisputeTrees.tensorRoot(t);
        proof.outer.deltasRoot = DisputeTrees.root(deltas);
        uint256 begin = _rowBegin(slot, element);
        proof.delta = _tensorProof(t, begin, 33);
        (proof.position, proof.delta.path) = (1, DisputeTrees.path(deltas, 1));
        proof.values = new bytes(8);
        DenseSample.put(proof.values, 1, _valueOf(delta, begin, element) ^ flip);
        _frame(c, proof, _program());
        c.index = element;
    }

    function _rowBegin(uint256 slot, uint256 element) private pure returns (uint256) {
        if (slot == 1) return 1057;
        return element < 1920 ? 33 + 33 * (element / 64) : 1024;
    }

    function _valueOf(bytes memory delta, uint256 begin, uint256 element)
        private
        pure
        returns (uint256)
    {
        bytes memory row = new bytes(33);
        for (uint256 i = 0; i < 33; ++i) {
            row[i] = delta[begin + i];
        }
        return DenseModel.decode(row, element % 64);
    }

    /// @return right The element's bits.
    function _checkColumn(bytes memory delta, uint256 slot, uint64 element, uint32 flip)
        private
        returns (uint256 right)
    {
        (Cursor memory c, ColumnProof memory proof) = _atColumn(delta, slot, element, 0);
        right = DenseSample.get(proof.values, 1);
        vm.expectRevert(NO_FAULT);
        _outerProofs.proveColumn(0, c, proof);
        (c, proof) = _atColumn(delta, slot, element, flip);
        Finding memory found = _outerProofs.proveColumn(0, c, proof);
        assertEq(found.element, 1, "position");
        assertEq(found.claimed, bytes32(right ^ flip), "claimed");
        assertEq(found.computed, bytes32(right), "computed");
    }

    /// An element of the first row that is +0, and neither -0 nor anything else.
    function _zero(bytes memory delta, uint64 element) private {
        assertEq(_checkColumn(delta, 0, element, 0x80000000), 0, "zero");
    }
}
