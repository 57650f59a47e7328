// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Cursor,
    Finding,
    IDisputeErrors,
    OuterProof,
    Stage,
    TensorProof,
    UpdateProof
} from "../src/dispute/DisputeTypes.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {Operands} from "../src/dispute/Operands.sol";
import {Float32} from "../src/numerics/Float32.sol";
import {DenseModel} from "./support/DenseModel.sol";
import {DenseSample} from "./support/DenseSample.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {UpdateFixture} from "./support/UpdateFixture.sol";
import {UpdateRun, UpdateSample} from "./support/UpdateSample.sol";

/// What is decided of a row, a residual, an element of the base and a byte that no row has.
contract DisputeUpdateProofsTest is UpdateFixture {
    bytes4 private constant WRONG_FRAME = IDisputeErrors.WrongFrame.selector;
    bytes4 private constant WRONG_STAGE = IDisputeErrors.WrongStage.selector;
    bytes4 private constant BAD_RECORD = IDisputeErrors.BadRecord.selector;
    bytes4 private constant NO_FAULT = IDisputeErrors.NoFault.selector;
    bytes4 private constant MISMATCH = MerkleSha256.RootMismatch.selector;
    bytes4 private constant OUTSIDE = Operands.ElementOutside.selector;
    bytes4 private constant WRONG_CHUNKS = Operands.WrongChunks.selector;

    uint256 private constant ROW = 29;
    uint256 private constant LAST = 30;
    uint256 private constant ELEMENT = 64 * ROW + 7;

    // --- rows ---

    function test_everyByteOfARightRowIsNoFault() public {
        UpdateRun memory right = _right();
        uint256[4] memory rows = [uint256(3), ROW, LAST, 0];
        for (uint256 k = 0; k < 4; ++k) {
            uint256 p = k == 3 ? 1 : 0;
            (Cursor memory c, bytes memory values) = _atPostedRow(right, p, rows[k]);
            bytes memory chunk = _chunkOfRow(right, p, rows[k]);
            for (uint8 place = 0; place < 33; ++place) {
                vm.expectRevert(NO_FAULT);
                _proofs.proveRow(0, c, place, chunk, values);
            }
        }
    }

    /// Another row is a fault where the residuals are what it leaves: it is not what they make together.
    /// forge-config: default.fuzz.runs = 64
    /// forge-config: check.fuzz.runs = 250
    /// forge-config: soak.fuzz.runs = 3000
    function test_anyByteOfARow(uint256 row, uint8 place, uint8 flip) public view {
        row = bound(row, 27, 31);
        uint256 p = row == 31 ? 1 : 0;
        if (p == 1) row = 0;
        UpdateRun memory theirs = _right();
        uint256 offset = UpdateSample.beginOf(p, row) + bound(place, 0, 32);
        theirs.outerAfter[UPDATE].data[offset] ^= bytes1(flip == 0 ? 1 : flip);
        _follow(theirs, p, row);
        (Cursor memory c, bytes memory values) = _atPostedRow(theirs, p, row);
        bytes memory chunk = _chunkOfRow(theirs, p, row);
        uint256 found = 0;
        for (uint8 i = 0; i < 33; ++i) {
            try _proofs.proveRow(0, c, i, chunk, values) returns (Finding memory f) {
                assertEq(f.element, i, "element");
                assertTrue(f.claimed != f.computed, "claimed");
                ++found;
            } catch (bytes memory reason) {
                assertEq(bytes32(bytes4(reason)), bytes32(NO_FAULT), "reason");
            }
        }
        assertTrue(found > 0, "found");
    }

    /// Levels behind the parameter's last element have no residuals.
    function test_levelsWithoutAnElement() public view {
        UpdateRun memory theirs = _right();
        theirs.outerAfter[UPDATE].data[UpdateSample.beginOf(1, 0) + 32] ^= 0x20;
        (Cursor memory c, bytes memory values) = _atPostedRow(theirs, 1, 0);
        Finding memory f = _proofs.proveRow(0, c, 32, _chunkOfRow(theirs, 1, 0), values);
        assertEq(f.computed, 0, "computed");
    }

    function test_aRowThatIsTooCoarseIsAFaultAlthoughTheResidualsFit() public view {
        UpdateRun memory theirs = _right();
        bytes memory row;
        (row,,) = UpdateSample.rowOf(theirs, 0, ROW);
        uint256 begin = UpdateSample.beginOf(0, ROW);
        // Half of each level at twice the scale, and what that leaves.
        theirs.outerAfter[UPDATE].data[begin] = bytes1(uint8(row[0]) + 1);
        for (uint256 i = 0; i < 64; ++i) {
            uint256 level = (uint8(row[1 + i / 2]) >> (4 * (i % 2))) & 15;
            level = level < 8 ? level / 2 : (16 - (16 - level) / 2) & 15;
            uint256 offset = begin + 1 + i / 2;
            uint256 mask = i % 2 == 0 ? 0xF0 : 0x0F;
            theirs.outerAfter[UPDATE].data[offset] = bytes1(
                uint8(
                    (uint8(theirs.outerAfter[UPDATE].data[offset]) & mask)
                        | (level << (4 * (i % 2)))
                )
            );
        }
        _follow(theirs, 0, ROW);
        (Cursor memory c, bytes memory values) = _atPostedRow(theirs, 0, ROW);
        Finding memory f = _proofs.proveRow(0, c, 0, _chunkOfRow(theirs, 0, ROW), values);
        assertEq(uint256(f.computed), uint8(row[0]), "the right scale");
    }

    function test_aRowIsThePostedOne() public {
        UpdateRun memory right = _right();
        (Cursor memory c, bytes memory values) = _atPostedRow(right, 0, ROW);
        bytes memory chunk = _chunkOfRow(right, 0, ROW);
        vm.expectRevert(abi.encodeWithSelector(OUTSIDE, 33));
        _proofs.proveRow(0, c, 33, chunk, values);
        bytes memory other = abi.encodePacked(values, uint32(0));
        vm.expectRevert(WRONG_FRAME);
        _proofs.proveRow(0, c, 0, chunk, other);
        values[0] ^= 0x01;
        vm.expectRevert(WRONG_FRAME);
        _proofs.proveRow(0, c, 0, chunk, values);
        values[0] ^= 0x01;
        chunk[1000] ^= 0x01;
        vm.expectPartialRevert(MISMATCH);
        _proofs.proveRow(0, c, 0, chunk, values);
        chunk[1000] ^= 0x01;
        c.answered = false;
        vm.expectRevert(abi.encodeWithSelector(WRONG_STAGE, Stage.ROW));
        _proofs.proveRow(0, c, 0, chunk, values);
        (c.answered, c.stage) = (true, Stage.COLUMN);
        vm.expectRevert(abi.encodeWithSelector(WRONG_STAGE, Stage.COLUMN));
        _proofs.proveRow(0, c, 0, chunk, values);
    }

    /// A chunk is padded with zeros before it is hashed: without its end there is no row.
    function test_aRowIsAllOfItsBytes() public {
        UpdateRun memory theirs = _right();
        uint256 begin = UpdateSample.beginOf(1, 0);
        for (uint256 i = 0; i < 33; ++i) {
            theirs.outerAfter[UPDATE].data[begin + i] = 0;
        }
        (Cursor memory c, bytes memory values) = _atPostedRow(theirs, 1, 0);
        bytes memory chunk = _chunkOfRow(theirs, 1, 0);
        Finding memory f = _proofs.proveRow(0, c, 0, chunk, values);
        assertEq(f.claimed, 0, "claimed");
        bytes memory cut = _part(chunk, 0, 40);
        vm.expectRevert(abi.encodeWithSelector(OUTSIDE, 0));
        _proofs.proveRow(0, c, 0, cut, values);
    }

    // --- residuals ---

    /// forge-config: default.fuzz.runs = 64
    /// forge-config: check.fuzz.runs = 250
    /// forge-config: soak.fuzz.runs = 3000
    function test_anyResidual(uint256 element, uint256 flip) public {
        UpdateRun memory right = _right();
        (uint256 p, uint256 i) = _element(element);
        (Cursor memory c, UpdateProof memory proof) = _atColumn(right, p, i);
        vm.expectRevert(NO_FAULT);
        _proofs.proveUpdate(0, c, proof);
        UpdateRun memory theirs = _right();
        uint256 bits = DenseSample.get(theirs.outerAfter[2 + p].data, i);
        DenseSample.put(theirs.outerAfter[2 + p].data, i, bits ^ _word(flip));
        (c, proof) = _atColumn(theirs, p, i);
        Finding memory f = _proofs.proveUpdate(0, c, proof);
        assertEq(f.element, i, "element");
        assertEq(uint256(f.claimed), bits ^ _word(flip), "claimed");
        assertEq(uint256(f.computed), bits, "computed");
    }

    /// The row is the claimed one: what is right beside another row is a fault.
    function test_aResidualIsWhatTheClaimedRowLeaves() public view {
        UpdateRun memory theirs = _right();
        uint256 i = 64 * ROW + 6;
        theirs.outerAfter[UPDATE].data[UpdateSample.beginOf(0, ROW) + 4] ^= 0x03;
        (Cursor memory c, UpdateProof memory proof) = _atColumn(theirs, 0, i);
        (bytes memory row,,) = UpdateSample.rowOf(theirs, 0, ROW);
        uint256 left = Float32.sub(UpdateSample.step(theirs, 0, i), DenseModel.decode(row, 6));
        assertEq(uint256(_proofs.proveUpdate(0, c, proof).computed), left, "computed");
    }

    function test_aResidualIsMadeFromWhatIsShown() public {
        UpdateRun memory right = _right();
        (Cursor memory c,) = _atColumn(right, 0, ELEMENT);
        UpdateProof memory proof = _residual(right);
        (proof.operands[0], proof.operands[1]) = (proof.operands[1], proof.operands[0]);
        _refused(c, proof, abi.encodePacked(MISMATCH));
        proof = _residual(right);
        proof.operands[2] = UpdateSample.proof(right.outer, UPDATE, UpdateSample.beginOf(0, ROW));
        _refused(c, proof, abi.encodePacked(MISMATCH));
        proof = _residual(right);
        proof.operands[2] = UpdateSample.proof(right.outerAfter, UPDATE, 1024);
        _refused(c, proof, abi.encodeWithSelector(MerkleSha256.BadChunk.selector, 66));
        proof = _residual(right);
        proof.operands[0].chunks[0].content[0] ^= 0x01;
        _refused(c, proof, abi.encodePacked(MISMATCH));
        proof = _residual(right);
        proof.operands = new TensorProof[](2);
        _refused(c, proof, abi.encodeWithSelector(WRONG_CHUNKS, 0, 2, 3));
        proof = _residual(right);
        proof.record = _slot(1).data;
        _refused(c, proof, abi.encodeWithSelector(BAD_RECORD, 2));
        proof = _residual(right);
        proof.element += 1;
        _refused(c, proof, abi.encodeWithSelector(BAD_RECORD, 2));
        proof = _residual(right);
        proof.posted[0] ^= 0x01;
        _refused(c, proof, abi.encodePacked(WRONG_FRAME));
        proof = _residual(right);
        proof.header[71] ^= 0x01;
        _refused(c, proof, abi.encodePacked(WRONG_FRAME));
        proof = _residual(right);
        proof.facts.momentumRoot ^= bytes32(uint256(1));
        _refused(c, proof, abi.encodePacked(WRONG_FRAME));
        proof = _residual(right);
        proof.outer.held = 1;
        _refused(c, proof, abi.encodePacked(WRONG_FRAME));
        proof = _residual(right);
        proof.op.shape += 1;
        _refused(c, proof, abi.encodePacked(WRONG_FRAME));
        c.answered = false;
        _refused(c, _residual(right), abi.encodeWithSelector(WRONG_STAGE, Stage.COLUMN));
        c.stage = Stage.ROW;
        _refused(c, _residual(right), abi.encodeWithSelector(WRONG_STAGE, Stage.ROW));
    }

    /// Momenta are proveOuter's, residuals and the base are not.
    function test_eachTensorHasItsProof() public {
        UpdateRun memory right = _right();
        uint256 i = 64 * ROW + 7;
        for (uint256 number = 0; number < UPDATE; ++number) {
            (Cursor memory c, OuterProof memory proof) = _outerProof(right, OUTER, number, i % 9);
            if (number < 2) vm.expectRevert(NO_FAULT);
            else vm.expectRevert(abi.encodeWithSelector(BAD_RECORD, number));
            _proofs.proveOuter(0, c, proof);
        }
        (Cursor memory b, OuterProof memory base) = _outerProof(right, BASE, 0, i);
        vm.expectRevert(abi.encodeWithSelector(BAD_RECORD, 0));
        _proofs.proveOuter(0, b, base);
        // And a momentum's column has no residual.
        UpdateProof memory none;
        (b, base) = _outerProof(right, OUTER, 1, 3);
        (none.op, none.outer, none.facts, none.header) =
        (base.op, base.outer, base.facts, base.header);
        (none.posted, none.element) = (base.values, 3);
        _refused(b, none, abi.encodeWithSelector(BAD_RECORD, 1));
    }

    // --- the base ---

    /// forge-config: default.fuzz.runs = 64
    /// forge-config: check.fuzz.runs = 250
    /// forge-config: soak.fuzz.runs = 3000
    function test_anyElementOfTheBase(uint256 element, uint256 flip) public {
        UpdateRun memory right = _right();
        (uint256 p, uint256 i) = _element(element);
        (Cursor memory c, UpdateProof memory proof) = _atBase(right, p, i);
        vm.expectRevert(NO_FAULT);
        _proofs.proveUpdate(0, c, proof);
        UpdateRun memory theirs = _right();
        uint256 bits = DenseSample.get(theirs.baseAfter[p].data, i);
        DenseSample.put(theirs.baseAfter[p].data, i, bits ^ _word(flip));
        (c, proof) = _atBase(theirs, p, i);
        Finding memory f = _proofs.proveUpdate(0, c, proof);
        assertEq(f.element, i, "element");
        assertEq(uint256(f.claimed), bits ^ _word(flip), "claimed");
        assertEq(uint256(f.computed), bits, "computed");
    }

    function test_anElementOfTheBaseIsTheOneBeforeAndTheRows() public {
        UpdateRun memory right = _right();
        (Cursor memory c,) = _atBase(right, 0, ELEMENT);
        UpdateProof memory proof = _base(right);
        proof.operands[0] = UpdateSample.proof(right.baseAfter, 0, 256 * ROW);
        _refused(c, proof, abi.encodePacked(MISMATCH));
        proof = _base(right);
        proof.operands[1] = UpdateSample.proof(right.outer, UPDATE, 0);
        _refused(c, proof, abi.encodePacked(MISMATCH));
        proof = _base(right);
        proof.operands = new TensorProof[](3);
        _refused(c, proof, abi.encodeWithSelector(WRONG_CHUNKS, 0, 3, 2));
        proof = _base(right);
        proof.record = _slot(1).data;
        _refused(c, proof, abi.encodeWithSelector(BAD_RECORD, 0));
        proof = _base(right);
        proof.element = 3;
        _refused(c, proof, abi.encodeWithSelector(OUTSIDE, 3));
        proof = _base(right);
        proof.posted[0] ^= 0x01;
        _refused(c, proof, abi.encodePacked(MISMATCH));
        c.height = 1;
        _refused(c, _base(right), abi.encodeWithSelector(WRONG_STAGE, Stage.CHUNKS));
    }

    /// A program without an update has a base that its column makes.
    function test_aBaseWithoutAnUpdateIsNotDecidedHere() public {
        UpdateRun memory right = _right();
        (Cursor memory c, UpdateProof memory proof) = _atBase(right, 0, 9);
        proof.header[205] = 0;
        bytes32 program = sha256(abi.encodePacked("gym.trace_program.v1", proof.header));
        proof.op.program = program;
        c.frame = keccak256(abi.encode(proof.op));
        _refused(c, proof, abi.encodeWithSelector(WRONG_CHUNKS, 0, 2, 0));
        (proof.operands, proof.record) = (new TensorProof[](0), bytes(""));
        _refused(c, proof, abi.encodeWithSelector(BAD_RECORD, 0));
    }

    // --- bytes that no row has ---

    function test_headAndPadding() public {
        UpdateRun memory theirs = _right();
        bytes memory update = theirs.outerAfter[UPDATE].data;
        uint256[8] memory offsets = [uint256(0), 7, 8, 11, 12, 15, 32, 1023];
        for (uint256 k = 0; k < offsets.length; ++k) {
            uint256 offset = offsets[k];
            (Cursor memory c, UpdateProof memory proof) = _atByte(theirs, offset);
            vm.expectRevert(NO_FAULT);
            _proofs.proveUpdate(0, c, proof);
            uint8 right = uint8(update[offset]);
            update[offset] ^= 0x40;
            (c, proof) = _atByte(theirs, offset);
            Finding memory f = _proofs.proveUpdate(0, c, proof);
            assertEq(f.element, offset, "element");
            assertEq(uint256(f.computed), right, "computed");
            update[offset] = bytes1(right);
        }
    }

    function test_bytesOfRowsAreNotDecidedAlone() public {
        UpdateRun memory right = _right();
        uint256[4] memory bytes_ = [uint256(33), 1022, 1024, 1089];
        for (uint256 k = 0; k < bytes_.length; ++k) {
            (Cursor memory c, UpdateProof memory proof) = _atByte(right, bytes_[k]);
            _refused(c, proof, abi.encodeWithSelector(OUTSIDE, bytes_[k]));
        }
        (Cursor memory d, UpdateProof memory other) = _atByte(right, 3);
        other.record = _slot(0).data;
        _refused(d, other, abi.encodeWithSelector(BAD_RECORD, UPDATE));
        other.record = "";
        other.operands = new TensorProof[](1);
        _refused(d, other, abi.encodeWithSelector(WRONG_CHUNKS, 0, 1, 0));
        // The first byte of a residual's tensor is none.
        (, UpdateProof memory proof2) = _atColumn(right, 0, 0);
        proof2.posted = DisputeTrees.chunk(right.outerAfter[2].data, 0);
        (proof2.operands, proof2.record) = (new TensorProof[](0), bytes(""));
        d = _atChunk(right.outerAfter[2], proof2.op, 0);
        _refused(d, proof2, abi.encodeWithSelector(BAD_RECORD, 2));
    }

    // --- helpers ---

    /// Makes the residuals of a row what it leaves of the step.
    function _follow(UpdateRun memory r, uint256 p, uint256 row) private pure {
        (bytes memory bytes_, uint256 first, uint256 count) = UpdateSample.rowOf(r, p, row);
        for (uint256 i = 0; i < count; ++i) {
            uint256 left =
                Float32.sub(UpdateSample.step(r, p, first + i), DenseModel.decode(bytes_, i));
            DenseSample.put(r.outerAfter[2 + p].data, first + i, left);
        }
    }

    /// Parameter and number of an element whose row is not all zero.
    function _element(uint256 n) private pure returns (uint256 p, uint256 i) {
        n = bound(n, 27 * 64, DenseSample.FIRST + DenseSample.SECOND - 1);
        return n < DenseSample.FIRST ? (0, n) : (1, n - DenseSample.FIRST);
    }

    function _word(uint256 flip) private pure returns (uint256) {
        uint256 word = flip % 2 ** 32;
        return word == 0 ? 1 : word;
    }

    /// A right proof of its own memory: what a test changes in one is right in the next.
    function _residual(UpdateRun memory r) private view returns (UpdateProof memory proof) {
        (, proof) = _atColumn(r, 0, ELEMENT);
    }

    function _base(UpdateRun memory r) private view returns (UpdateProof memory proof) {
        (, proof) = _atBase(r, 0, ELEMENT);
    }

    function _refused(Cursor memory c, UpdateProof memory proof, bytes memory reason) private {
        if (reason.length == 4) vm.expectPartialRevert(bytes4(reason));
        else vm.expectRevert(reason);
        _proofs.proveUpdate(0, c, proof);
    }

    /// At the column of an element of a momentum, a residual or the base.
    function _outerProof(UpdateRun memory r, uint256 tree, uint256 number, uint256 i)
        private
        view
        returns (Cursor memory c, OuterProof memory proof)
    {
        uint256 p = number % 2;
        proof.facts = _facts(r);
        proof.outer = _frame(proof.facts, tree);
        (proof.op, proof.header) = (_opOf(proof.outer, number), UpdateSample.header());
        proof.values = _part(r.column[p], 12 * i, 12);
        proof.base = UpdateSample.proof(r.base, p, 4 * i);
        proof.momentum = UpdateSample.proof(r.outer, p, 4 * i);
        bytes memory data = tree == BASE ? r.baseAfter[p].data : r.outerAfter[number].data;
        (c.stage, c.answered, c.index, c.leaves) = (Stage.COLUMN, true, uint64(i), 3);
        c.node = bytes32(DenseSample.get(data, i));
        (c.twin, c.frame) = (keccak256(proof.values), keccak256(abi.encode(proof.op)));
    }
}
