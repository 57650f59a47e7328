// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DeltaRows} from "../src/dispute/DeltaRows.sol";
import {DenseRow} from "../src/numerics/DenseRow.sol";
import {DenseModel} from "./support/DenseModel.sol";
import {TestBase} from "./support/TestBase.sol";

/// Rows of codec 1: against a model of plain comparisons, and by hand.
contract DenseRowTest is TestBase {
    uint256 private constant ONE = 0x3F800000;
    uint256 private constant NAN = 0x7FC00000;
    uint256 private constant INF = 0x7F800000;
    uint256 private constant LARGEST = 0x7F7FFFFF;
    uint256 private constant MINUS = 0x80000000;

    // --- encoding ---

    /// Any bits at all, also NaN and infinities.
    /// forge-config: default.fuzz.runs = 64
    /// forge-config: check.fuzz.runs = 1000
    /// forge-config: soak.fuzz.runs = 3000
    function test_anyBits(bytes32[8] calldata words, uint256 count) public pure {
        uint256[] memory x = new uint256[](bound(count, 1, 64));
        for (uint256 i = 0; i < x.length; ++i) {
            x[i] = uint32(uint256(words[i / 8]) >> (32 * (i % 8)));
        }
        _expect(x);
    }

    /// Numbers of about one size, so that most levels are not 0, at every exponent.
    /// forge-config: default.fuzz.runs = 64
    /// forge-config: check.fuzz.runs = 1000
    /// forge-config: soak.fuzz.runs = 3000
    function test_numbersOfOneSize(uint256 seed, uint8 exponent, uint256 count) public pure {
        _expect(_numbers(seed, exponent, bound(count, 1, 64)));
    }

    /// Numbers with few bits, of which many lie in the middle of two levels.
    /// forge-config: default.fuzz.runs = 64
    /// forge-config: check.fuzz.runs = 1000
    /// forge-config: soak.fuzz.runs = 3000
    function test_ties(uint256 seed, uint256 exponent) public pure {
        uint256[] memory x = _numbers(seed, bound(exponent, 3, 250), 64);
        for (uint256 i = 0; i < 64; ++i) {
            x[i] &= 0xFFF00000;
        }
        _expect(x);
    }

    function test_everyExponentAlone() public pure {
        uint256[] memory one = new uint256[](1);
        uint256[] memory row = new uint256[](64);
        uint256[6] memory fractions = [uint256(0), 1, 0x400000, 0x6FFFFF, 0x700000, 0x7FFFFF];
        for (uint256 exponent = 0; exponent < 256; ++exponent) {
            for (uint256 f = 0; f < 6; ++f) {
                one[0] = (exponent << 23) | fractions[f];
                row[0] = one[0];
                bytes memory expected = DenseModel.encode(one);
                assertEq(DenseRow.encoded(row, 0), uint8(expected[0]), "scale");
                assertEq(DenseRow.encoded(row, 1), uint8(expected[1]), "levels");
            }
        }
    }

    /// s = E - 2 below 7.5 times its unit, from there on E - 1.
    function test_theScaleOfAMagnitude() public pure {
        assertEq(_scaleOf(ONE), 125, "1 = 4 * 2^-2");
        assertEq(_scaleOf(0x3FEFFFFF), 125, "the last below 1.875");
        assertEq(_scaleOf(0x3FF00000), 126, "1.875 = 7.5 * 2^-2");
        assertEq(_scaleOf(0xBFF00000), 126, "and below 0");
        assertEq(_scaleOf(0x3FFFFFFF), 126, "the last below 2");
        assertEq(_scaleOf(0x40000000), 126, "2");
    }

    function test_theScaleIsHeld() public pure {
        assertEq(_scaleOf(LARGEST), 252, "the largest number");
        assertEq(_scaleOf(INF), 252, "infinity");
        assertEq(_scaleOf(0x7F6FFFFF), 252, "the last that needs no more");
        assertEq(_scaleOf(0x7F000000), 252, "2^127 = 4 * 2^125");
        assertEq(_scaleOf(0x7EF00000), 252, "7.5 * 2^124");
        assertEq(_scaleOf(0x7EEFFFFF), 251, "the last below");
        assertEq(_scaleOf(0x01F00000), 2, "7.5 * 2^-126");
        assertEq(_scaleOf(0x01EFFFFF), 1, "the last below");
        assertEq(_scaleOf(0x00800000), 1, "the smallest normal number is 1 * 2^-126");
    }

    /// Half of 2^-126 rounds to 0, and then the scale is 0, too.
    function test_whatIsTooSmallForALevel() public pure {
        assertEq(_scaleOf(0), 0, "0");
        assertEq(_scaleOf(MINUS), 0, "-0");
        assertEq(_scaleOf(1), 0, "the smallest number");
        assertEq(_scaleOf(0x00400000), 0, "a tie");
        assertEq(_scaleOf(0x00400001), 1, "the next one");
        assertEq(_scaleOf(MINUS | 0x00400001), 1, "and below 0");
        assertEq(_scaleOf(NAN), 0, "NaN");
        assertEq(_scaleOf(0xFFFFFFFF), 0, "any NaN");
        assertEq(_rowOf(0x00400001, MINUS | 0x00400001), 0x01f1, "1 and -1");
    }

    /// Unit 2^-2: halves of it are ties.
    function test_levelsRoundToEven() public pure {
        assertEq(_rowOf(ONE, 0x3E000000), 0x7d04, "0.5");
        assertEq(_rowOf(ONE, 0x3E000001), 0x7d14, "above 0.5");
        assertEq(_rowOf(ONE, 0x3EC00000), 0x7d24, "1.5");
        assertEq(_rowOf(ONE, 0x3F200000), 0x7d24, "2.5");
        assertEq(_rowOf(ONE, 0x3F600000), 0x7d44, "3.5");
        assertEq(_rowOf(ONE, 0x3F900000), 0x7d44, "4.5");
        assertEq(_rowOf(ONE, 0x3FD00000), 0x7d64, "6.5");
        assertEq(_rowOf(ONE, 0x3FD00001), 0x7d74, "above 6.5");
        assertEq(_rowOf(ONE, 0x3FEFFFFF), 0x7d74, "below 7.5");
        assertEq(_rowOf(MINUS | ONE, 0xBEC00000), 0x7dec, "-4 and -1.5");
        assertEq(_rowOf(0xBFEFFFFF, 0xBE000000), 0x7d09, "-7 and -0.5");
    }

    function test_specialNumbersInARow() public pure {
        assertEq(_rowOf(NAN, ONE), 0x7d40, "a NaN is 0 and no magnitude");
        assertEq(_rowOf(INF, 0xFF800000), 0xfc97, "infinities are 7 and -7");
        assertEq(_rowOf(INF, LARGEST), 0xfc77, "the largest number is 8 and held to 7");
        assertEq(_rowOf(0xFF7FFFFF, 0x7F000000), 0xfc49, "-7 and 2^127");
        assertEq(_rowOf(INF, ONE), 0xfc07, "all else is small");
        assertEq(_rowOf(MINUS, ONE), 0x7d40, "-0");
    }

    /// A row of fewer elements is that of as many with zeros behind them.
    function test_theElementsOfAShortRow() public pure {
        uint256[] memory x = new uint256[](64);
        x[62] = MINUS | ONE;
        _expect(x);
        assertEq(DenseRow.encoded(x, 32), 0x0C, "the last byte");
        assertEq(DenseRow.encoded(x, 1), 0, "the first levels");
        x[63] = 0x3FD00000;
        assertEq(DenseRow.encoded(x, 32), 0x6C, "both levels");
    }

    // --- decoding ---

    function test_anyRowDecodes(bytes32 levels, uint8 s, uint256 i) public pure {
        bytes memory row = abi.encodePacked(s, levels);
        i = bound(i, 0, 63);
        assertEq(DenseRow.element(row, i), DenseModel.decode(row, i), "element");
    }

    function test_decodedNumbers() public pure {
        assertEq(_element(127, 0x01), ONE, "1");
        assertEq(_element(127, 0x0F), MINUS | ONE, "-1");
        assertEq(_element(127, 0x07), 0x40E00000, "7");
        assertEq(_element(127, 0x09), 0xC0E00000, "-7");
        assertEq(_element(1, 0x01), 0x00800000, "the smallest");
        assertEq(_element(252, 0x07), 0x7F600000, "7 * 2^125");
        assertEq(_element(127, 0x00), 0, "0");
        assertEq(_element(127, 0xF0), 0, "its neighbour is another element");
    }

    /// What no encoder writes is +0.
    function test_rowsThatNoEncoderWrites() public pure {
        assertEq(_element(127, 0x08), 0, "level -8");
        assertEq(_element(0, 0x07), 0, "scale 0");
        assertEq(_element(0, 0x0F), 0, "scale 0 and below 0");
        assertEq(_element(253, 0x07), 0, "scale 253");
        assertEq(_element(255, 0x09), 0, "scale 255");
        assertEq(_element(200, 0x01), 0x64000000, "a scale larger than needed decodes as it is");
    }

    /// What is decoded is within half a unit of what was encoded, and it is encoded as it was.
    /// forge-config: default.fuzz.runs = 64
    /// forge-config: check.fuzz.runs = 1000
    /// forge-config: soak.fuzz.runs = 3000
    function test_decodedRowsEncodeAlike(uint256 seed, uint256 exponent) public pure {
        uint256[] memory x = _numbers(seed, bound(exponent, 0, 253), 64);
        bytes memory row = DenseModel.encode(x);
        for (uint256 i = 0; i < 64; ++i) {
            x[i] = DenseRow.element(row, i);
        }
        for (uint256 place = 0; place < 33; ++place) {
            assertEq(DenseRow.encoded(x, place), uint8(row[place]), "byte");
        }
    }

    // --- layout ---

    function test_whereRowsBegin() public pure {
        uint256[2][6] memory rows = [
            [uint256(0), 0],
            [uint256(1), 33],
            [uint256(30), 990],
            [uint256(31), 1024],
            [uint256(62), 2048],
            [uint256(31 * 2 ** 30 - 1), 2 ** 40 - 34]
        ];
        for (uint256 i = 0; i < rows.length; ++i) {
            assertEq(DeltaRows.beginOf(rows[i][0]), rows[i][1], "begin");
            assertEq(DeltaRows.rowOf(rows[i][1]), rows[i][0], "row");
        }
        assertEq(DeltaRows.count(1), 1, "one element");
        assertEq(DeltaRows.count(64), 1, "64");
        assertEq(DeltaRows.count(65), 2, "65");
    }

    function test_everyByteIsPaddingOrOfItsRow(uint256 offset) public pure {
        offset = bound(offset, 0, 2 ** 40 - 1);
        bool padding = offset & 1023 == 1023;
        assertTrue(DeltaRows.isPadding(offset) == padding, "padding");
        if (padding) return;
        uint256 begin = DeltaRows.beginOf(DeltaRows.rowOf(offset));
        assertTrue(begin <= offset && offset < begin + 33, "inside");
        assertEq(begin >> 10, offset >> 10, "of one chunk");
    }

    // --- helpers ---

    /// All bytes of the row of these elements.
    function _expect(uint256[] memory x) private pure {
        bytes memory row = DenseModel.encode(x);
        uint256[] memory all = new uint256[](64);
        for (uint256 i = 0; i < x.length; ++i) {
            all[i] = x[i];
        }
        for (uint256 place = 0; place < 33; ++place) {
            assertEq(DenseRow.encoded(all, place), uint8(row[place]), "byte");
        }
    }

    function _scaleOf(uint256 bits) private pure returns (uint256) {
        uint256[] memory x = new uint256[](64);
        x[17] = bits;
        return DenseRow.scale(x);
    }

    /// The first two bytes of the row of two elements.
    function _rowOf(uint256 a, uint256 b) private pure returns (uint256) {
        uint256[] memory x = new uint256[](64);
        (x[0], x[1]) = (a, b);
        return (DenseRow.encoded(x, 0) << 8) | DenseRow.encoded(x, 1);
    }

    /// Element 6 of a row whose other levels are 5.
    function _element(uint256 s, uint256 levels) private pure returns (uint256) {
        bytes memory row = new bytes(33);
        for (uint256 i = 1; i < 33; ++i) {
            row[i] = 0x55;
        }
        (row[0], row[4]) = (bytes1(uint8(s)), bytes1(uint8(levels)));
        return DenseRow.element(row, 6);
    }

    /// @param exponent Of the largest ones.
    function _numbers(uint256 seed, uint256 exponent, uint256 count)
        private
        pure
        returns (uint256[] memory x)
    {
        x = new uint256[](count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 word = uint256(keccak256(abi.encode(seed, i)));
            uint256 below = (word >> 64) % 6;
            x[i] = (word & 0x807FFFFF) | ((exponent < below ? 0 : exponent - below) << 23);
        }
    }
}
