// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Chunk,
    ColumnProof,
    Cursor,
    DeltaProof,
    Finding,
    IDisputeErrors,
    RecordProof,
    Stage,
    TensorProof
} from "../src/dispute/DisputeTypes.sol";
import {ElementRules} from "../src/dispute/ElementRules.sol";
import {OuterProofs} from "../src/dispute/OuterProofs.sol";
import {Float32} from "../src/numerics/Float32.sol";
import {DenseModel} from "./support/DenseModel.sol";
import {DenseSample} from "./support/DenseSample.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {OneStepFixture} from "./support/OneStepFixture.sol";
import {SparseTree, SparseTrees} from "./support/SparseTree.sol";

/// The leaves of a delta of codec 1 at their largest: the last row of the largest parameter, at the end of the largest delta, under the
/// largest state. Every element of the row is a number of its own, no byte of its chunks is 0.
contract DisputeDenseGasTest is OneStepFixture {
    using SparseTrees for SparseTree;

    uint256 private constant LEAF_GAS_MAX = 450_000;
    uint256 private constant SLOTS = 65_536;
    uint256 private constant SLOT = 40_000;
    uint256 private constant DELTAS = 1024;
    uint32 private constant ELEMENTS = 2 ** 31;
    uint256 private constant CHUNKS = 2 ** 23;
    uint256 private constant DELTA_CHUNKS = 2 ** 30;
    uint64 private constant DELTA_BYTES = 2 ** 40;
    /// The last chunk's last row.
    uint64 private constant ROW = DELTA_BYTES - 34;
    bytes32 private constant OTHER = keccak256("another leaf");

    ElementRules private _elements;
    OuterProofs private _outerProofs;

    function setUp() public {
        _deploy();
        (_elements, _outerProofs) = (new ElementRules(_oneStep), new OuterProofs());
    }

    function test_aScale() public {
        _measure(ROW, "proveDelta: a scale of codec 1");
    }

    function test_levels() public {
        _measure(ROW + 32, "proveDelta: levels of codec 1");
    }

    function test_everyByteOfTheRow() public {
        (Cursor memory c, DeltaProof memory proof) = _atRow();
        for (uint64 i = 0; i < 33; ++i) {
            proof.word = ROW + i;
            vm.expectRevert(IDisputeErrors.NoFault.selector);
            _elements.proveDelta(0, c, proof);
        }
    }

    function test_aColumn() public {
        (Cursor memory c, ColumnProof memory proof) = _atColumn();
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        _outerProofs.proveColumn(0, c, proof);
        proof.values[4 * (DELTAS - 1)] ^= 0x01;
        c.twin = keccak256(proof.values);
        _outerProofs.proveColumn(0, c, proof);
        _limit(
            vm.snapshotGasLastCall("DisputeLeaf", "proveColumn: an element of codec 1"), "column"
        );
    }

    function _measure(uint64 offset, string memory name) private {
        (Cursor memory c, DeltaProof memory proof) = _atRow();
        proof.word = offset;
        uint256 right = uint8(proof.chunk[offset % 1024]);
        proof.chunk[offset % 1024] ^= 0x01;
        c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
        Finding memory found = _elements.proveDelta(0, c, proof);
        _limit(vm.snapshotGasLastCall("DisputeLeaf", name), name);
        assertEq(found.element, offset, "byte");
        assertEq(found.computed, bytes32(right), "computed");
    }

    function _limit(uint256 gas, string memory name) private pure {
        assertLe(gas, LEAF_GAS_MAX, name);
    }

    /// The last chunk of the delta, in which all but one row are made up.
    function _atRow() private pure returns (Cursor memory c, DeltaProof memory proof) {
        (proof.header, proof.slot) = _program();
        (proof.facts.finalStateRoot, proof.final_) = _state(_chunkOf(1));
        (proof.facts.initialStateRoot, proof.base) = _state(_chunkOf(2));
        (proof.op.step, proof.op.program) =
        (keccak256(abi.encode(proof.facts)), _traceRoot(proof.header));
        (proof.op.leaf, proof.op.shape) = (type(uint32).max, _shape());
        proof.chunk = _deltaChunk();
        (c.stage, c.answered, c.index) = (Stage.CHUNKS, true, uint64(DELTA_CHUNKS - 1));
        (c.frame, c.node) =
        (keccak256(abi.encode(proof.op)), DisputeTrees.chunkLeaves(proof.chunk)[0]);
    }

    function _atColumn() private pure returns (Cursor memory c, ColumnProof memory proof) {
        (proof.header, proof.slot) = _program();
        SparseTree memory t = _tree(DELTA_CHUNKS, DELTA_CHUNKS - 1, _deltaChunk());
        proof.delta = _chunkProof(t, _deltaChunk());
        bytes32 delta = sha256(
            abi.encodePacked(uint8(2), uint8(5), uint8(1), DELTA_BYTES, proof.delta.treeRoot)
        );
        t = _sparse(DELTAS, DELTAS - 1, delta);
        proof.delta.path = t.path(DELTAS - 1, 0, 10);
        (proof.outer.deltas, proof.outer.deltasRoot) = (uint32(DELTAS), t.root());
        proof.position = uint32(DELTAS - 1);
        proof.values = new bytes(4 * DELTAS);
        DenseSample.put(proof.values, DELTAS - 1, DenseModel.decode(_row(), 63));
        (proof.op.step, proof.op.program) =
        (keccak256(abi.encode(proof.outer)), _traceRoot(proof.header));
        proof.op.record = sha256(abi.encodePacked("gym.state_slot.v1", proof.slot.data));
        (c.stage, c.answered, c.index, c.leaves) =
        (Stage.COLUMN, true, ELEMENTS - 1, uint64(DELTAS));
        (c.frame, c.twin) = (keccak256(abi.encode(proof.op)), keccak256(proof.values));
    }

    /// The parameter is the last one of the delta.
    function _program() private pure returns (bytes memory header, RecordProof memory slot) {
        uint256 rows = uint256(ELEMENTS) / 64;
        // 31 rows a chunk: so many whole chunks, and then some rows of another one.
        uint256 chunk = DELTA_CHUNKS - 1 - rows / 31;
        uint64 offset = uint64(1024 * chunk + 33 * (31 - rows % 31));
        bytes memory shape = abi.encodePacked(uint8(1), uint8(1), ELEMENTS);
        slot.data = abi.encodePacked(shape, uint8(3), uint32(SLOT), offset, uint32(7));
        SparseTree memory t =
            _sparse(SLOTS, SLOT, sha256(abi.encodePacked("gym.state_slot.v1", slot.data)));
        (slot.index, slot.path) = (uint32(SLOT), t.path(SLOT, 0, 16));
        bytes memory counts = abi.encodePacked(uint128(1), uint32(SLOTS), uint32(0));
        bytes memory delta = abi.encodePacked(uint32(SLOTS), DELTA_BYTES, uint64(0));
        header = abi.encodePacked(counts, new bytes(32), delta, new bytes(96), t.root(), uint32(1));
    }

    function _traceRoot(bytes memory header) private pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.trace_program.v1", header));
    }

    /// A state in which the parameter's last chunk is known.
    function _state(bytes memory chunk)
        private
        pure
        returns (bytes32 root, TensorProof memory proof)
    {
        proof = _chunkProof(_tree(CHUNKS, CHUNKS - 1, chunk), chunk);
        bytes memory head = abi.encodePacked(uint8(2), uint8(1), uint8(1), uint64(ELEMENTS));
        SparseTree memory t = _sparse(SLOTS, SLOT, sha256(abi.encodePacked(head, proof.treeRoot)));
        (root, proof.path) = (t.root(), t.path(SLOT, 0, 16));
    }

    function _tree(uint256 chunks, uint256 place, bytes memory chunk)
        private
        pure
        returns (SparseTree memory)
    {
        return _sparse(chunks, place, DisputeTrees.chunkLeaves(chunk)[0]);
    }

    function _sparse(uint256 leaves, uint256 place, bytes32 leaf)
        private
        pure
        returns (SparseTree memory t)
    {
        (t.leaves, t.usual, t.places) = (leaves, OTHER, [place, place]);
        t.others = [leaf, leaf];
    }

    function _chunkProof(SparseTree memory t, bytes memory chunk)
        private
        pure
        returns (TensorProof memory proof)
    {
        (proof.treeRoot, proof.chunks) = (t.root(), new Chunk[](1));
        proof.chunks[0] = Chunk(chunk, t.path(t.places[0], 0, t.depthOf()));
    }

    /// 256 elements of a state, none of whose bytes is 0.
    function _chunkOf(uint256 state) private pure returns (bytes memory chunk) {
        chunk = new bytes(1024);
        for (uint256 i = 0; i < 256; ++i) {
            uint256 word = uint256(keccak256(abi.encode(state, i)));
            DenseSample.put(chunk, i, (word & 0x80030303) | 0x3E010101);
        }
    }

    /// Of the last 64 differences.
    function _row() private pure returns (bytes memory) {
        (bytes memory end, bytes memory begin) = (_chunkOf(1), _chunkOf(2));
        uint256[] memory x = new uint256[](64);
        for (uint256 i = 0; i < 64; ++i) {
            x[i] = Float32.sub(DenseSample.get(end, 192 + i), DenseSample.get(begin, 192 + i));
        }
        return DenseModel.encode(x);
    }

    function _deltaChunk() private pure returns (bytes memory chunk) {
        chunk = new bytes(1024);
        bytes memory row = _row();
        for (uint256 i = 0; i < 1023; ++i) {
            chunk[i] = i < 990 ? bytes1(0x3F) : row[i - 990];
        }
    }

    /// Of a delta that is longer than a dimension of 32 bits.
    function _shape() private pure returns (uint256) {
        return DisputeTrees.shapeOf(5, 0) + (uint256(DELTA_BYTES) >> 32) * 2 ** 96;
    }
}
