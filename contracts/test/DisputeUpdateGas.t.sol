// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Chunk,
    Cursor,
    OpFrame,
    Stage,
    TensorProof,
    UpdateProof
} from "../src/dispute/DisputeTypes.sol";
import {Float32} from "../src/numerics/Float32.sol";
import {DenseModel} from "./support/DenseModel.sol";
import {DenseSample} from "./support/DenseSample.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {SparseTree, SparseTrees} from "./support/SparseTree.sol";
import {RowPick, UpdateFixture} from "./support/UpdateFixture.sol";
import {PlainMean} from "./support/PlainMean.sol";
import {UpdateRun, UpdateSample} from "./support/UpdateSample.sol";

/// Gas of what is decided of an update. Every element of a row is a number of its own.
contract DisputeUpdateGasTest is UpdateFixture {
    using SparseTrees for SparseTree;

    uint256 private constant LEAF_GAS_MAX = 450_000;
    uint256 private constant ROW = 29;
    uint256 private constant ELEMENT = 64 * ROW + 7;
    /// Of the largest parameter, and of the largest model.
    uint32 private constant ELEMENTS = 2 ** 31;
    uint256 private constant CHUNKS = 2 ** 23;
    uint256 private constant TENSORS = 131_073;

    function test_aRowIsPicked() public {
        RowPick memory to = _rowPick(_right(), 0);
        (to.row, to.slot) = (uint64(ROW), _slot(0));
        _picked(to);
        _limit("pickRow");
    }

    /// The last residuals of the largest parameter, in the largest outer state.
    function test_residualsArePosted() public {
        (Cursor memory c, OpFrame memory op, TensorProof memory proof) = _largest();
        _rules.postRow(0, c, op, proof);
        _limit("postRow");
        proof.chunks[0].content[3] ^= 0x01;
        vm.expectPartialRevert(bytes4(keccak256("RootMismatch(bytes32,bytes32)")));
        _rules.postRow(0, c, op, proof);
    }

    function test_aScale() public {
        _row(0, "proveRow: a scale");
    }

    function test_levels() public {
        _row(32, "proveRow: levels");
    }

    function test_aResidual() public {
        UpdateRun memory theirs = _right();
        theirs.outerAfter[2].data[4 * ELEMENT] ^= 0x01;
        (Cursor memory c, UpdateProof memory proof) = _atColumn(theirs, 0, ELEMENT);
        _proofs.proveUpdate(0, c, proof);
        _limit("proveUpdate: a residual");
    }

    /// Of as many deltas as are posted at once.
    function test_aResidualOf1024Deltas() public {
        _residualOf(1024, _values(1024), "proveUpdate: a residual of 1024 deltas");
    }

    /// Of as many deltas as an aggregate can have.
    function test_aResidualOfTheMostDeltas() public {
        bytes memory added = PlainMean.postedParts(_values(8192), 0);
        _residualOf(8192, added, "proveUpdate: a residual of 8192 deltas");
    }

    function _values(uint256 count) private pure returns (bytes memory values) {
        values = new bytes(4 * count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 word = uint256(keccak256(abi.encode("delta", i)));
            DenseSample.put(values, i, (word & 0x80FEFEFE) | 0x3E010101);
        }
    }

    function _residualOf(uint32 deltas, bytes memory posted, string memory name) private {
        UpdateRun memory theirs = _right();
        (Cursor memory c, UpdateProof memory proof) = _atColumn(theirs, 0, ELEMENT);
        (proof.posted, proof.outer.deltas) = (posted, deltas);
        proof.op.step = keccak256(abi.encode(proof.outer));
        (c.leaves, c.frame) = (deltas, keccak256(abi.encode(proof.op)));
        c.twin = keccak256(posted);
        _proofs.proveUpdate(0, c, proof);
        _limit(name);
    }

    function test_anElementOfTheBase() public {
        UpdateRun memory theirs = _right();
        theirs.baseAfter[0].data[4 * ELEMENT] ^= 0x01;
        (Cursor memory c, UpdateProof memory proof) = _atBase(theirs, 0, ELEMENT);
        _proofs.proveUpdate(0, c, proof);
        _limit("proveUpdate: an element of the base");
    }

    function test_aByteOfTheHead() public {
        UpdateRun memory theirs = _right();
        theirs.outerAfter[UPDATE].data[9] ^= 0x01;
        (Cursor memory c, UpdateProof memory proof) = _atByte(theirs, 9);
        _proofs.proveUpdate(0, c, proof);
        _limit("proveUpdate: a byte of the head");
    }

    /// The last row of a full chunk, and what it leaves of 64 numbers: another row's.
    function _row(uint8 place, string memory name) private {
        bytes memory chunk = new bytes(1024);
        uint256[] memory x = new uint256[](64);
        for (uint256 i = 0; i < 64; ++i) {
            x[i] = (uint256(keccak256(abi.encode("row", i))) & 0x80030303) | 0x3E010101;
        }
        bytes memory row = DenseModel.encode(x);
        for (uint256 i = 0; i < 1023; ++i) {
            chunk[i] = i < 990 ? bytes1(0x3F) : row[i - 990];
        }
        Cursor memory c;
        (c.stage, c.answered, c.height) = (Stage.ROW, true, 30);
        bytes memory values = _left(row, x);
        (c.node, c.twin) = (DisputeTrees.chunkLeaves(chunk)[0], keccak256(values));
        vm.expectRevert(abi.encodeWithSignature("NoFault()"));
        _proofs.proveRow(0, c, place, chunk, values);
        chunk[990 + place] ^= 0x01;
        row[place] ^= 0x01;
        values = _left(row, x);
        (c.node, c.twin) = (DisputeTrees.chunkLeaves(chunk)[0], keccak256(values));
        _proofs.proveRow(0, c, place, chunk, values);
        _limit(name);
    }

    /// Residuals of numbers beside a row.
    function _left(bytes memory row, uint256[] memory x)
        private
        pure
        returns (bytes memory values)
    {
        values = new bytes(256);
        for (uint256 i = 0; i < 64; ++i) {
            DenseSample.put(values, i, Float32.sub(x[i], DenseModel.decode(row, i)));
        }
    }

    function _largest()
        private
        pure
        returns (Cursor memory c, OpFrame memory op, TensorProof memory proof)
    {
        proof.chunks = new Chunk[](1);
        bytes memory chunk = new bytes(1024);
        for (uint256 i = 0; i < 256; ++i) {
            DenseSample.put(chunk, i, 0x36010101 + i);
        }
        bytes32 usual = keccak256("another leaf");
        SparseTree memory t;
        (t.leaves, t.usual, t.places) = (CHUNKS, usual, [CHUNKS - 1, CHUNKS - 1]);
        t.others = [DisputeTrees.chunkLeaves(chunk)[0], DisputeTrees.chunkLeaves(chunk)[0]];
        proof.chunks[0] = Chunk(chunk, t.path(CHUNKS - 1, 0, 23));
        proof.treeRoot = t.root();
        bytes memory head = abi.encodePacked(uint8(2), uint8(1), uint8(1), uint64(ELEMENTS));
        bytes32 tensor = sha256(abi.encodePacked(head, proof.treeRoot));
        (t.leaves, t.places, t.others) = (TENSORS, [TENSORS - 2, TENSORS - 2], [tensor, tensor]);
        proof.path = t.path(TENSORS - 2, 0, 18);
        (op.primitive, op.shape) = (uint32(TENSORS - 2), DisputeTrees.shapeOf(1, ELEMENTS));
        (c.stage, c.index, c.leaves) = (Stage.ROW, ELEMENTS / 64 - 1, uint64(TENSORS));
        (c.twin, c.frame) = (t.root(), keccak256(abi.encode(op)));
    }

    function _limit(string memory name) private {
        assertLe(vm.snapshotGasLastCall("DisputeLeaf", name), LEAF_GAS_MAX, name);
    }
}
