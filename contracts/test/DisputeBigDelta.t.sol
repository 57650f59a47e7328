// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Chunk,
    ColumnProof,
    Cursor,
    DeltaProof,
    Facts,
    Finding,
    Frames,
    IDisputeErrors,
    OpFrame,
    Pick,
    RecordProof,
    Stage,
    TensorProof
} from "../src/dispute/DisputeTypes.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {Operands} from "../src/dispute/Operands.sol";
import {Shapes} from "../src/dispute/TraceRecords.sol";
import {DisputeFixture} from "./support/DisputeFixture.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {SparseTree, SparseTrees} from "./support/SparseTree.sol";

/// One parameter of a program, and where it lies in a delta of any size.
struct Big {
    uint256 deltaBytes;
    uint256 offset;
    uint256 elements;
}

/// Deltas that no test has memory for: all their words are 0 but the head's and one. The rules are played from the steps down to the
/// word, without the game. tests/unit/game/big_delta_test.cpp plays the same on the C++ rules.
contract DisputeBigDeltaTest is DisputeFixture {
    using SparseTrees for SparseTree;

    uint256 private constant U8 = 5;
    uint256 private constant DELTA_BYTES_MAX = 2 ** 40;
    uint256 private constant SLOTS = 2;
    /// Of llama-7b.
    uint256 private constant SEVEN_BILLION = 26_953_662_480;
    uint32 private constant VALUE = 0x3F800001;
    bytes32 private constant STATES = keccak256("states");

    function setUp() public {
        _deployGame();
    }

    // --- words and digests of shapes ---

    /// The words of tests/unit/game/big_delta_test.cpp.
    function test_theWordOfASize() public pure {
        assertEq(Shapes.ofBytes(16), 0x05010000001000000000000000000000000000000000, "16");
        assertEq(Shapes.ofBytes(2 ** 32 - 4), 0x0501fffffffc00000000000000000000000000000000, "old");
        assertEq(Shapes.ofBytes(2 ** 32), 0x05010000000000000001000000000000000000000000, "2^32");
        assertEq(
            Shapes.ofBytes(SEVEN_BILLION),
            0x05014690401000000006000000000000000000000000,
            "llama-7b"
        );
        assertEq(
            Shapes.ofBytes(DELTA_BYTES_MAX),
            0x05010000000000000100000000000000000000000000,
            "the largest"
        );
    }

    /// A size that a dimension of 32 bits has keeps its word and digest.
    function test_smallSizesAreShapesOfOneDimension(uint32 size, bytes32 tree) public pure {
        uint256 word = DisputeTrees.shapeOf(U8, size);
        assertEq(Shapes.ofBytes(size), word, "word");
        bytes32 expected =
            sha256(abi.encodePacked(uint8(2), uint8(5), uint8(1), uint64(size), tree));
        assertEq(Shapes.digest(word, tree), expected, "digest");
    }

    function test_everySizeHasOneWord(uint64 size, bytes32 tree) public pure {
        uint256 word = Shapes.ofBytes(size);
        assertEq(Shapes.size(word), size, "size");
        assertEq(Shapes.chunks(word), (uint256(size) + 1023) / 1024, "chunks");
        bytes32 expected = sha256(abi.encodePacked(uint8(2), uint8(5), uint8(1), size, tree));
        assertEq(Shapes.digest(word, tree), expected, "digest");
    }

    /// The second dim of rank 2 is none of a size.
    function test_otherRanksHaveDimsOf32Bits(uint32 a, uint32 b, bytes32 tree) public pure {
        uint256 word = DisputeTrees.shapeOf(1, a, b);
        assertEq(Shapes.count(word), uint256(a) * b, "count");
        bytes32 expected =
            sha256(abi.encodePacked(uint8(2), uint8(1), uint8(2), uint64(a), uint64(b), tree));
        assertEq(Shapes.digest(word, tree), expected, "digest");
    }

    // --- from the steps to a word ---

    function test_aroundTheSizeThatADimensionHas() public {
        _check(Big(2 ** 32 - 4, 16, 2 ** 30 - 5), 2 ** 30 - 2);
        _check(Big(2 ** 32, 16, 2 ** 30 - 4), 2 ** 30 - 1);
        _check(Big(2 ** 32 + 4, 16, 2 ** 30 - 3), 2 ** 30);
    }

    function test_sevenBillionParameters() public {
        // Both sides of 4 GiB in one parameter of 8 GiB, the largest tensor.
        Big memory b = Big(SEVEN_BILLION, 16, 2 ** 31);
        _check(b, 4);
        _check(b, 2 ** 30 - 1);
        _check(b, 2 ** 30);
        _check(b, 2 ** 31 + 3);
        b.offset = SEVEN_BILLION - 2 ** 33;
        _check(b, b.offset / 4);
        _check(b, SEVEN_BILLION / 4 - 1);
    }

    function test_theLargestDelta() public {
        _check(Big(2 ** 36, 2 ** 36 - 64, 16), 2 ** 34 - 1);
        Big memory b = Big(DELTA_BYTES_MAX, DELTA_BYTES_MAX - 2 ** 33, 2 ** 31);
        _check(b, b.offset / 4);
        _check(b, DELTA_BYTES_MAX / 4 - 1);
    }

    /// forge-config: default.fuzz.runs = 8
    /// forge-config: check.fuzz.runs = 100
    /// forge-config: soak.fuzz.runs = 300
    function test_anyWord(uint256 size, uint256 word) public {
        size = 4 * bound(size, 2 ** 28, DELTA_BYTES_MAX / 4);
        uint256 elements = size / 4 - 4 < 2 ** 31 ? size / 4 - 4 : 2 ** 31;
        Big memory b = Big(size, size - 4 * elements, elements);
        _check(b, bound(word, b.offset / 4, size / 4 - 1));
    }

    function test_theHeadOfABigDelta() public view {
        Big memory b = Big(SEVEN_BILLION, 16, 2 ** 31);
        for (uint256 word = 0; word < 4; ++word) {
            (Cursor memory c, DeltaProof memory proof) = _atChunk(b, 7, word, 1);
            delete proof.slot;
            delete proof.final_;
            delete proof.base;
            assertEq(_elements.proveDelta(0, c, proof).element, word, "found");
        }
    }

    function test_aWordOutsideOfTheDelta() public {
        Big memory b = Big(SEVEN_BILLION, 16, 2 ** 31);
        (Cursor memory c, DeltaProof memory proof) = _atChunk(b, 2 ** 30, 2 ** 30, VALUE ^ 1);
        // The same bits modulo 2^30 and 2^32 are another word.
        uint64[3] memory others = [uint64(0), 2 ** 32 + 2 ** 30, type(uint64).max];
        for (uint256 i = 0; i < others.length; ++i) {
            proof.word = others[i];
            vm.expectRevert(abi.encodeWithSelector(Operands.ElementOutside.selector, others[i]));
            _elements.proveDelta(0, c, proof);
        }
    }

    /// The element of a parameter, of another chunk 4 GiB away.
    function test_anElementOfAnotherPlace() public {
        Big memory b = Big(SEVEN_BILLION, 16, 2 ** 31);
        (Cursor memory c, DeltaProof memory proof) =
            _atChunk(b, 2 ** 30 + 4, 2 ** 30 + 4, VALUE ^ 1);
        SparseTree memory other = _parameter(b, 4, VALUE);
        proof.final_.treeRoot = other.root();
        (proof.facts.finalStateRoot,) = _state(_shapeDigest(b, proof.final_.treeRoot));
        proof.op.step = keccak256(abi.encode(proof.facts));
        c.frame = keccak256(abi.encode(proof.op));
        vm.expectRevert(
            abi.encodeWithSelector(
                MerkleSha256.RootMismatch.selector,
                _parameter(b, 2 ** 30 + 4, VALUE).root(),
                other.root()
            )
        );
        _elements.proveDelta(0, c, proof);
    }

    /// A delta whose size is the same modulo 2^32 is another tensor.
    function test_theSizeCountsInFull() public {
        Big memory b = Big(SEVEN_BILLION, 16, 2 ** 31);
        (Cursor memory c, Facts memory facts, bytes memory header) = _atSteps(b, 7, 7, VALUE);
        c = _trees.pickDelta(0, c, facts, STATES, header);
        OpFrame memory op = _opOf(b, facts);
        op.shape = DisputeTrees.shapeOf(U8, uint32(SEVEN_BILLION));
        vm.expectRevert(IDisputeErrors.WrongFrame.selector);
        _steps.openTensor(0, c, op, bytes32(uint256(1)), new bytes32[](0));
        // Its root, committed to, opens nothing.
        bytes32 tree = _delta(b, 7, VALUE).root();
        op = _opOf(b, facts);
        bytes32 small = sha256(
            abi.encodePacked(uint8(2), uint8(5), uint8(1), uint64(uint32(SEVEN_BILLION)), tree)
        );
        bytes32 right = c.node;
        c.node = small;
        vm.expectRevert(abi.encodeWithSelector(MerkleSha256.RootMismatch.selector, right, small));
        _steps.openTensor(0, c, op, tree, new bytes32[](0));
    }

    // --- records ---

    function test_sizesThatNoDeltaHas() public {
        uint64[5] memory sizes = [12, 18, uint64(2 ** 32 + 2), 2 ** 40 + 4, type(uint64).max - 3];
        for (uint256 i = 0; i < sizes.length; ++i) {
            Big memory b = Big(sizes[i], 16, 1);
            Facts memory facts;
            facts.traceRoot = _traceRoot(b);
            // Hashing is a call, too, and expectRevert means the next one.
            bytes memory header = _header(b);
            vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, sizes[i]));
            _trees.pickDelta(0, _steps_(facts), facts, STATES, header);
        }
    }

    function test_placesThatNoDeltaHas() public {
        Big memory b = Big(DELTA_BYTES_MAX, DELTA_BYTES_MAX - 4, 1);
        _check(b, DELTA_BYTES_MAX / 4 - 1);
        uint256[4] memory places =
            [DELTA_BYTES_MAX, DELTA_BYTES_MAX - 6, 2 ** 63, uint256(type(uint64).max) - 3];
        for (uint256 i = 0; i < places.length; ++i) {
            b.offset = places[i];
            DeltaProof memory proof;
            (proof.header, proof.slot, proof.op) =
            (_header(b), _slotProof(b), _opOf(b, proof.facts));
            proof.word = uint64(DELTA_BYTES_MAX / 4 - 1);
            proof.chunk = new bytes(1024);
            Cursor memory c;
            (c.stage, c.answered, c.index) =
            (Stage.CHUNKS, true, uint64(DELTA_BYTES_MAX / 1024 - 1));
            (c.node, c.frame) = (_leaf(proof.chunk), keccak256(abi.encode(proof.op)));
            // Behind shape and source.
            vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 11));
            _elements.proveDelta(0, c, proof);
        }
    }

    // --- an aggregate's column ---

    function test_aColumnOfBigDeltas() public {
        Big memory b = Big(SEVEN_BILLION, 16, 2 ** 31);
        _column(b, 2 ** 30 - 5);
        _column(b, 2 ** 30 - 4);
        b.offset = SEVEN_BILLION - 2 ** 33;
        _column(b, 2 ** 31 - 1);
    }

    /// The asserter's delta has VALUE in `word`, as the final state says; and with another bit it does not.
    function _check(Big memory b, uint256 word) private {
        (Cursor memory c, DeltaProof memory proof) = _atChunk(b, word, word, VALUE);
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        _elements.proveDelta(0, c, proof);
        (c, proof) = _atChunk(b, word, word, VALUE ^ 1);
        Finding memory found = _elements.proveDelta(0, c, proof);
        if (b.deltaBytes == SEVEN_BILLION && word == 2 ** 30) {
            vm.snapshotGasLastCall("DisputeLeaf", "a word of a delta of 25 GiB");
        }
        assertEq(found.element, word, "element");
        assertEq(found.claimed, bytes32(uint256(VALUE ^ 1)), "claimed");
        assertEq(found.computed, bytes32(uint256(VALUE)), "computed");
        // Where the final state has nothing, the delta may not either.
        if (word < b.offset / 4 + 1 || word % 256 == 0) return;
        (c, proof) = _atChunk(b, word - 1, word, VALUE);
        assertEq(_elements.proveDelta(0, c, proof).computed, 0, "nothing");
    }

    /// A proof at the chunk of `word`, where the delta has `bits`. The parameter's final value is VALUE in `trained`.
    function _atChunk(Big memory b, uint256 trained, uint256 word, uint32 bits)
        private
        view
        returns (Cursor memory c, DeltaProof memory proof)
    {
        SparseTree memory t = _delta(b, word, bits);
        (c, proof.facts, proof.header) = _atSteps(b, trained, word, bits);
        c = _trees.pickDelta(0, c, proof.facts, STATES, proof.header);
        assertEq(c.leaves, (b.deltaBytes + 1023) / 1024, "chunks");
        proof.op = _opOf(b, proof.facts);
        uint256 height = t.depthOf();
        c = _steps.openTensor(0, c, proof.op, t.root(), t.children(height, 0));
        uint256 chunk = word / 256;
        while (true) {
            uint256 to = height - SparseTrees.levels(height);
            Pick memory pick;
            pick.index = uint64(chunk >> to);
            (pick.node, pick.path) = (t.node(to, chunk >> to), t.path(chunk >> to, to, height));
            c = _trees.pick(0, c, pick);
            height = to;
            if (height == 0) break;
            c = _trees.answer(0, c, t.children(height, chunk >> to));
        }
        proof.chunk = _deltaChunk(b, word, bits);
        c = _steps.postChunk(0, c, proof.op, proof.chunk);
        assertEq(c.index, chunk, "chunk");
        proof.word = uint64(word);
        proof.slot = _slotProof(b);
        if (word < 4) return (c, proof);
        proof.final_ = _opened(b, trained, word, VALUE);
        proof.base = _opened(b, trained, word, 0);
    }

    /// The cursor where steps are answered, of a unit with this delta.
    function _atSteps(Big memory b, uint256 trained, uint256 word, uint32 bits)
        private
        pure
        returns (Cursor memory c, Facts memory facts, bytes memory header)
    {
        header = _header(b);
        facts.traceRoot = _traceRoot(b);
        facts.deltaRoot = sha256(
            abi.encodePacked(
                uint8(2), uint8(5), uint8(1), uint64(b.deltaBytes), _delta(b, word, bits).root()
            )
        );
        (facts.finalStateRoot,) = _state(_shapeDigest(b, _parameter(b, trained, VALUE).root()));
        (facts.initialStateRoot,) = _state(_shapeDigest(b, _parameter(b, trained, 0).root()));
        c = _steps_(facts);
    }

    function _steps_(Facts memory facts) private pure returns (Cursor memory c) {
        (c.stage, c.answered) = (Stage.STEPS, true);
        c.frame = keccak256(abi.encode(keccak256(abi.encode(facts)), STATES));
    }

    function _opOf(Big memory b, Facts memory facts) private pure returns (OpFrame memory op) {
        (op.step, op.program) = (keccak256(abi.encode(facts)), _traceRoot(b));
        op.leaf = type(uint32).max;
        op.shape = _word(b.deltaBytes);
    }

    /// Independently of Shapes.
    function _word(uint256 size) private pure returns (uint256) {
        return DisputeTrees.shapeOf(U8, size % 2 ** 32) + (size / 2 ** 32) * 2 ** 96;
    }

    /// A posted column of one delta, whose value is right and then wrong.
    function _column(Big memory b, uint256 element) private {
        uint256 word = b.offset / 4 + element;
        SparseTree memory t = _delta(b, word, VALUE);
        ColumnProof memory proof;
        Cursor memory c;
        proof.header = _header(b);
        proof.slot = _slotProof(b);
        proof.outer.deltas = 1;
        proof.outer.deltasRoot =
            sha256(abi.encodePacked(uint8(2), uint8(5), uint8(1), uint64(b.deltaBytes), t.root()));
        proof.op.step = keccak256(abi.encode(proof.outer));
        proof.op.program = _traceRoot(b);
        proof.op.record = sha256(abi.encodePacked("gym.state_slot.v1", proof.slot.data));
        proof.delta.treeRoot = t.root();
        proof.delta.chunks = new Chunk[](1);
        proof.delta.chunks[0].content = _deltaChunk(b, word, VALUE);
        proof.delta.chunks[0].path = t.path(word / 256, 0, t.depthOf());
        (c.stage, c.answered, c.index) = (Stage.COLUMN, true, uint64(element));
        (c.leaves, c.frame) = (proof.outer.deltas, keccak256(abi.encode(proof.op)));
        proof.values = hex"0100803f"; // VALUE
        c.twin = keccak256(proof.values);
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        _outerProofs.proveColumn(0, c, proof);
        proof.values = hex"0000803f";
        c.twin = keccak256(proof.values);
        Finding memory found = _outerProofs.proveColumn(0, c, proof);
        assertEq(found.computed, bytes32(uint256(VALUE)), "computed");
    }

    // --- bytes and trees ---

    /// The delta's chunks: with the head, and `bits` in `word`.
    function _delta(Big memory b, uint256 word, uint32 bits)
        private
        pure
        returns (SparseTree memory t)
    {
        (t.leaves, t.usual) = ((b.deltaBytes + 1023) / 1024, _leaf(""));
        t.places = [uint256(0), word / 256];
        bytes32 first = _leaf(_deltaChunk(b, word < 256 ? word : 0, word < 256 ? bits : 0));
        t.others = [first, _leaf(_deltaChunk(b, word, bits))];
    }

    /// Of the delta, the chunk of `word`. A word of the head has all bits but these.
    function _deltaChunk(Big memory b, uint256 word, uint32 bits)
        private
        pure
        returns (bytes memory chunk)
    {
        uint256 rest = b.deltaBytes - word / 256 * 1024;
        chunk = new bytes(rest < 1024 ? rest : 1024);
        if (word < 256) {
            bytes memory head = abi.encodePacked("GYMDLTA1", uint32(0), uint32(1));
            for (uint256 i = 0; i < 16; ++i) {
                chunk[i] = head[i];
            }
        }
        _put(chunk, word % 256, bits);
    }

    function _put(bytes memory chunk, uint256 word, uint32 bits) private pure {
        for (uint256 k = 0; k < 4; ++k) {
            chunk[4 * word + k] ^= bytes1(uint8(bits >> (8 * k)));
        }
    }

    /// The parameter's tensor: 0 but `bits` in `word` of the delta.
    function _parameter(Big memory b, uint256 word, uint32 bits)
        private
        pure
        returns (SparseTree memory t)
    {
        (t.leaves, t.usual) = ((4 * b.elements + 1023) / 1024, _leaf(""));
        uint256 element = word < b.offset / 4 ? 0 : word - b.offset / 4;
        bytes memory chunk = new bytes(1024);
        _put(chunk, element % 256, bits);
        t.places = [element / 256, element / 256];
        t.others = [_leaf(chunk), 0];
    }

    /// The chunk of the parameter with `word`, up to the state's root.
    function _opened(Big memory b, uint256 trained, uint256 word, uint32 bits)
        private
        pure
        returns (TensorProof memory proof)
    {
        SparseTree memory t = _parameter(b, trained, bits);
        uint256 element = word - b.offset / 4;
        uint256 last = trained < b.offset / 4 ? 0 : trained - b.offset / 4;
        uint256 rest = 4 * b.elements - element / 256 * 1024;
        proof.treeRoot = t.root();
        proof.chunks = new Chunk[](1);
        proof.chunks[0].content = new bytes(rest < 1024 ? rest : 1024);
        if (last / 256 == element / 256) _put(proof.chunks[0].content, last % 256, bits);
        proof.chunks[0].path = t.path(element / 256, 0, t.depthOf());
        (, proof.path) = _state(_shapeDigest(b, proof.treeRoot));
    }

    function _shapeDigest(Big memory b, bytes32 tree) private pure returns (bytes32) {
        return sha256(abi.encodePacked(uint8(2), uint8(1), uint8(1), uint64(b.elements), tree));
    }

    /// A state of two tensors, of which the parameter is the second.
    function _state(bytes32 parameter) private pure returns (bytes32 root, bytes32[] memory path) {
        path = new bytes32[](1);
        path[0] = keccak256("another tensor");
        root = sha256(abi.encodePacked(uint8(1), path[0], parameter));
    }

    function _leaf(bytes memory chunk) private pure returns (bytes32) {
        return sha256(abi.encodePacked(uint8(0), chunk, new bytes(1024 - chunk.length)));
    }

    function _records(Big memory b) private pure returns (bytes[2] memory list) {
        list[0] = abi.encodePacked(
            uint8(1), uint8(1), uint32(1), uint8(3), uint32(0), uint64(0), uint32(0)
        );
        list[1] = abi.encodePacked(
            uint8(1), uint8(1), uint32(b.elements), uint8(3), uint32(1), uint64(b.offset), uint32(0)
        );
    }

    function _slotProof(Big memory b) private pure returns (RecordProof memory proof) {
        bytes[2] memory records = _records(b);
        proof.index = 1;
        proof.data = records[1];
        proof.path = new bytes32[](1);
        proof.path[0] = sha256(abi.encodePacked("gym.state_slot.v1", records[0]));
    }

    function _header(Big memory b) private pure returns (bytes memory) {
        RecordProof memory proof = _slotProof(b);
        bytes32 slot = sha256(abi.encodePacked("gym.state_slot.v1", proof.data));
        bytes memory counts =
            abi.encodePacked(uint32(1), uint32(0), uint32(0), uint32(0), uint32(SLOTS), uint32(0));
        bytes memory none =
            abi.encodePacked(type(uint32).max, type(uint32).max, type(uint32).max, new bytes(20));
        bytes memory delta = abi.encodePacked(uint32(1), uint64(b.deltaBytes), uint64(0));
        bytes32 slots = sha256(abi.encodePacked(uint8(1), proof.path[0], slot));
        return abi.encodePacked(counts, none, delta, new bytes(96), slots);
    }

    function _traceRoot(Big memory b) private pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.trace_program.v1", _header(b)));
    }
}
