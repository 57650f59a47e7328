// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Float32} from "../src/numerics/Float32.sol";
import {DeltaGroups, OuterStep} from "../src/numerics/OuterStep.sol";
import {OneStepFixture} from "./support/OneStepFixture.sol";
import {OuterRunner} from "./support/OuterRunner.sol";
import {PlainMean} from "./support/PlainMean.sol";

/// The exact mean of deltas is what the primitives of column_sum and div make of them.
contract OuterStepTest is OneStepFixture {
    OuterRunner private _runner;

    function setUp() public {
        _deploy();
        _runner = new OuterRunner(_oneStep);
    }

    function mean(bytes calldata values, uint256 held) external pure returns (uint256) {
        return OuterStep.mean(values, values.length / 4, held);
    }

    function plainMean(bytes calldata values, uint256 held) external pure returns (uint256) {
        return PlainMean.mean(values, held);
    }

    /// Any number of values of any bits, in words that end anywhere and begin anywhere in calldata.
    function test_theMeanIsThePlainOne(bytes calldata bits, uint256 held) public pure {
        uint256 count = bits.length / 4;
        if (count == 0) return;
        if (count > 256) count = 256;
        held = _groups(held, count);
        bytes calldata values = bits[bits.length - 4 * count:];
        assertEq(OuterStep.mean(values, count, held), PlainMean.mean(values, held), "bits");
    }

    /// Values whose exponents are near one another: ties, subnormals and zeros of both signs occur, also at the exponents where
    /// the largest is subnormal, normal but below the least exponent of a row, and nearly infinite.
    function test_theMeanOfNearNumbersIsThePlainOne(uint256 seed, uint256 count, uint256 held)
        public
        view
    {
        count = bound(count, 1, 200);
        held = _groups(held, count);
        uint256 least = [uint256(0), 20, 24, 28, 100, 220, 252][seed % 7];
        uint256 mask = [uint256(0x807FFFFF), 0x80700001, 0x80000000, 0x80400000][seed / 7 % 4];
        uint256 spread = [uint256(1), 3, 33][seed / 28 % 3];
        bytes memory values = new bytes(4 * count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 word = uint256(keccak256(abi.encode(seed, i)));
            uint256 exponent = least + (word >> 64) % spread;
            if ((word >> 100) % 8 == 0 || exponent > 254) exponent = 0;
            _put(values, i, (word & mask) | (exponent << 23));
        }
        assertEq(this.mean(values, held), this.plainMean(values, held), "numbers");
    }

    /// Any bits at all, also NaN and infinities.
    function test_theMeanOfAnyBits(bytes32[4] calldata words, uint256 count, uint256 held)
        public
        view
    {
        count = bound(count, 1, 32);
        bytes memory values = _cut(abi.encodePacked(words), count);
        _expect(values);
        _expectHeld(values, _groups(held, count));
    }

    /// Finite numbers of about one size, with zeros and subnormals now and then.
    function test_theMeanOfNumbers(uint256 seed, uint256 count, uint256 held) public view {
        count = bound(count, 1, 40);
        bytes memory values = new bytes(4 * count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 word = uint256(keccak256(abi.encode(seed, i)));
            uint256 exponent = (seed >> 128) % 250 + (word >> 64) % 5;
            if ((word >> 100) % 8 == 0) exponent = 0;
            _put(values, i, (word & 0x807FFFFF) | (exponent << 23));
        }
        _expect(values);
        _expectHeld(values, _groups(held, count));
    }

    /// The most deltas that an aggregate can have.
    function test_theMeanOf1024() public view {
        bytes memory values = new bytes(4096);
        for (uint256 i = 0; i < 1024; ++i) {
            _put(values, i, 0x3F000000 | (uint256(keccak256(abi.encode(i))) & 0x80FFFFFF));
        }
        _expect(values);
        _expectHeld(values, 1);
        _expectHeld(values, 500);
        _expectHeld(values, 1023);
        _expectHeld(values, 1024);
        _expectHeld(values, 500 | (16 << 16) | (7 << 24));
        _expectHeld(values, 1 << 16);
    }

    /// More values than are posted at once: what their parts add makes the same mean, and each part is what its values make.
    /// forge-config: default.fuzz.runs = 8
    /// forge-config: check.fuzz.runs = 16
    /// forge-config: soak.fuzz.runs = 64
    function test_theMeanOfPartsIsThePlainOne(uint256 seed, uint256 count, uint256 held)
        public
        view
    {
        count = bound(count, 1025, 2500);
        held = _groups(held, count);
        bytes memory values = new bytes(4 * count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 word = uint256(keccak256(abi.encode(seed, i)));
            _put(values, i, (word & 0x807FFFFF) | ((seed % 200 + (word >> 64) % 40) << 23));
        }
        bytes memory added = PlainMean.postedParts(values, held);
        assertEq(added.length, 9 * ((count + 1023) / 1024), "bytes");
        assertEq(this.meanOf(added, count, held), this.plainMean(values, held), "mean");
        for (uint256 part = 0; part < added.length / 9; ++part) {
            _expectSame(this.addedBy(values, added, part, held), this.slice(added, 9 * part, 9));
        }
    }

    function test_partsThatAreNotFinite() public view {
        bytes memory values = new bytes(4 * 1025);
        _put(values, 0, 0x3F800000);
        _put(values, 1024, Float32.INF);
        bytes memory added = PlainMean.postedParts(values, 0);
        _expectSame(added, hex"650000000000000000e50000000000000000");
        assertEq(this.meanOf(added, 1025, 0), Float32.NAN, "mean");
        _expectSame(this.addedBy(values, added, 0, 0), this.slice(added, 0, 9));
        _expectSame(this.addedBy(values, added, 1, 0), this.slice(added, 9, 9));
    }

    function test_sumsOfPartsWrap() public view {
        bytes memory added = hex"647fffffffffffffff640000000000000002";
        uint256 least = Float32.div(Float32.scale2(0xDF000000, -30), 0x44802000);
        assertEq(this.meanOf(added, 1025, 0), least, "-2^63 + 1, rounded");
    }

    function _expectSame(bytes memory part, bytes memory expected) private pure {
        assertEq(keccak256(part), keccak256(expected), "part");
    }

    function meanOf(bytes calldata posted, uint256 count, uint256 held)
        external
        pure
        returns (uint256)
    {
        return OuterStep.mean(posted, count, held);
    }

    function slice(bytes calldata data, uint256 begin, uint256 length)
        external
        pure
        returns (bytes memory)
    {
        return data[begin:begin + length];
    }

    function addedBy(bytes calldata values, bytes calldata added, uint256 part, uint256 held)
        external
        pure
        returns (bytes memory)
    {
        (DeltaGroups memory g,) = OuterStep.groups(values.length / 4, held);
        return _addedBy(
            values[4096 * part:Math.min(4096 * (part + 1), values.length)],
            1024 * part,
            g,
            OuterStep.largestExponent(added)
        );
    }

    function _addedBy(bytes calldata own, uint256 first, DeltaGroups memory g, int256 largest)
        private
        pure
        returns (bytes memory)
    {
        int256 exponent = OuterStep.partExponent(own, first, g);
        return abi.encodePacked(
            uint8(uint256(exponent + 100)), int64(OuterStep.partSum(own, first, g, largest))
        );
    }

    /// 3 and 6 count twice, 5 is taken away as it went in.
    function test_aWithdrawnDeltaIsSubtracted() public view {
        bytes memory values = new bytes(12);
        _put(values, 0, 0x40400000);
        _put(values, 1, 0x40C00000);
        _put(values, 2, 0x40A00000);
        assertEq(this.mean(values, 1 << 16), 0x40000000, "(6 + 12 - 10) / 4");
        assertEq(this.mean(values, (1 << 16) | (1 << 24)), 0x40500000, "(6 + 12 - 5) / 4");
        assertEq(this.mean(values, 1 | (1 << 16) | (1 << 24)), 0x40155555, "(6 + 6 - 5) / 3");
        assertEq(this.mean(values, 2 | (1 << 16)), 0xBF000000, "(3 + 6 - 10) / 2");
    }

    function test_whichGroupsThereAre() public pure {
        (, bool legal) = OuterStep.groups(3, 2 << 16);
        assertTrue(legal, "one is added");
        (, legal) = OuterStep.groups(3, 3 << 16);
        assertTrue(!legal, "nothing is added");
        (, legal) = OuterStep.groups(3, 2 | (2 << 16));
        assertTrue(!legal, "more are held than added");
        (, legal) = OuterStep.groups(3, (1 << 16) | (2 << 24));
        assertTrue(!legal, "more were held than are withdrawn");
        (, legal) = OuterStep.groups(20, 16 << 16);
        assertTrue(legal, "the most");
        (, legal) = OuterStep.groups(20, 17 << 16);
        assertTrue(!legal, "too many");
        (, legal) = OuterStep.groups(8193, 0);
        assertTrue(!legal, "too many deltas");
        (, legal) = OuterStep.groups(0, 0);
        assertTrue(!legal, "none");
    }

    /// 3 counts twice and 6 once; by themselves they count alike.
    function test_aHeldDeltaCountsHalf() public view {
        bytes memory values = new bytes(8);
        _put(values, 0, 0x40400000);
        _put(values, 1, 0x40C00000);
        assertEq(this.mean(values, 0), 0x40900000, "4.5");
        assertEq(this.mean(values, 1), 0x40800000, "(3 + 3 + 6) / 3");
        assertEq(this.mean(values, 2), 0x40900000, "only held ones");
    }

    function test_specialMeansWithHeldOnes() public view {
        bytes memory values = new bytes(8);
        uint256[12] memory bits = [
            uint256(0),
            0x80000000,
            1,
            0x807FFFFF,
            0x00800000,
            0x0D800000,
            0x7EFFFFFF,
            0x7F000000,
            0x7F7FFFFF,
            0xFF7FFFFF,
            0x7F800000,
            0x7FC00000
        ];
        for (uint256 i = 0; i < bits.length; ++i) {
            for (uint256 k = 0; k < bits.length; ++k) {
                _put(values, 0, bits[i]);
                _put(values, 1, bits[k]);
                _expectHeld(values, 1);
            }
        }
        _put(values, 0, 0x7F000000);
        _put(values, 1, 0);
        assertEq(this.mean(values, 1), Float32.NAN, "doubled it is infinite");
        assertEq(this.mean(values, 0), 0x7E800000, "and alone it is not");
    }

    function test_specialMeans() public view {
        bytes memory values = new bytes(8);
        assertEq(this.mean(values, 0), 0, "zeros");
        _put(values, 0, 0x80000000);
        _put(values, 1, 0x80000000);
        assertEq(this.mean(values, 0), 0, "an exact sum has no -0");
        _put(values, 0, 0x7F800000);
        assertEq(this.mean(values, 0), Float32.NAN, "infinity");
        _put(values, 0, 0xFFC12345);
        assertEq(this.mean(values, 0), Float32.NAN, "NaN");
        _put(values, 0, 0x7F7FFFFF);
        _put(values, 1, 0x7F7FFFFF);
        assertEq(this.mean(values, 0), Float32.INF, "the sum overflows before it is divided");
        _put(values, 1, 0xFF7FFFFF);
        assertEq(this.mean(values, 0), 0, "the largest cancel");
        _put(values, 0, 0x3F800000);
        _put(values, 1, 0x40000000);
        assertEq(this.mean(values, 0), 0x3FC00000, "1.5");
    }

    /// m' = m mu + mean; p' = p + rate (m' mu + mean), each rounded once: by hand with mu 0.5, rate 0.25.
    function test_theStep() public pure {
        uint256 after_ = OuterStep.momentum(0x40000000, 0x3F000000, 0x40400000);
        assertEq(after_, 0x40800000, "2 * 0.5 + 3");
        uint256 parameter =
            OuterStep.parameter(0x3F800000, 0x3E800000, 0x3F000000, after_, 0x40400000);
        assertEq(parameter, 0x40100000, "(4 * 0.5 + 3) * 0.25 + 1");
    }

    /// Groups that so many deltas can have.
    function _groups(uint256 seed, uint256 count) private pure returns (uint256) {
        uint256 withdrawn = (seed >> 32) % (count < 17 ? count : 17);
        uint256 single = (seed >> 64) % (withdrawn + 1);
        uint256 held = (seed & 0xFFFFFFFF) % (count - withdrawn + 1);
        return held | (withdrawn << 16) | (single << 24);
    }

    function _expect(bytes memory values) private view {
        uint256 count = Float32.fromInt64(int256(values.length / 4));
        assertEq(this.mean(values, 0), Float32.div(_runner.sum(values), count), "mean");
    }

    function _expectHeld(bytes memory values, uint256 held) private view {
        assertEq(this.mean(values, held), _runner.mean(values, held), "mean with held ones");
    }

    function _cut(bytes memory data, uint256 count) private pure returns (bytes memory) {
        assembly {
            mstore(data, mul(4, count))
        }
        return data;
    }

    function _put(bytes memory data, uint256 i, uint256 bits) private pure {
        for (uint256 b = 0; b < 4; ++b) {
            data[4 * i + b] = bytes1(uint8(bits >> (8 * b)));
        }
    }
}
