// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Float32 as F} from "../src/numerics/Float32.sol";
import {Float32Programs as P} from "../src/numerics/Float32Programs.sol";
import {NumericsHarness} from "./support/NumericsHarness.sol";
import {TestBase} from "./support/TestBase.sol";

/// Laws of binary32 for any bits, and the committed vectors. What proves the functions is
/// tests/integration/onestep, which compares them with the C++ kernels.
contract Float32Test is TestBase {
    uint256 private constant CASE_BYTES = 12;
    uint256 private constant RESULT_BYTES = 8;
    string private constant VECTORS = "../tests/vectors/onestep.txt";

    uint256 private constant MINUS_ZERO = 0x80000000;
    uint256 private constant SMALLEST = 1;
    uint256 private constant LARGEST = 0x7F7FFFFF;
    uint256 private constant TWO = 0x40000000;

    NumericsHarness private _harness = new NumericsHarness();

    /// Lines of tests/vectors/onestep.txt: number, then a, b, c and the result of each case.
    function test_givesTheCommittedVectors() public view {
        uint256 lines;
        for (string memory line = vm.readLine(VECTORS); bytes(line).length > 0; ++lines) {
            bytes memory data = vm.parseBytes(line);
            (bytes memory cases, bytes memory results) = _split(data);
            bytes memory actual = _harness.run(uint8(data[0]), cases);
            assertEq(keccak256(actual), keccak256(results), line);
            line = vm.readLine(VECTORS);
        }
        assertEq(lines, 25, "functions");
    }

    function test_roundsToNearestAndTiesToEven() public pure {
        assertEq(F.add(F.ONE, 0x33800000), F.ONE, "1 + half an ulp: even");
        assertEq(F.add(F.ONE, 0x33800001), 0x3F800001, "and a bit more");
        assertEq(F.add(0x3F800001, 0x33800000), 0x3F800002, "odd: up");
        assertEq(F.mul(LARGEST, TWO), F.INF, "overflow");
        assertEq(F.mul(SMALLEST, 0x3F000000), 0, "half of the smallest: even");
        assertEq(F.mul(3, 0x3F000000), 2, "subnormal tie");
        assertEq(F.div(F.ONE, 0x40400000), 0x3EAAAAAB, "1 / 3");
        assertEq(F.sqrt(TWO), 0x3FB504F3, "sqrt(2)");
        assertEq(F.fma(0x3F800001, 0x3F800001, 0xBF800002), 0x28800000, "only the lost bits");
        assertEq(F.rint(0x3FC00000), TWO, "1.5");
        assertEq(F.rint(0x40200000), TWO, "2.5");
        assertEq(F.fromInt64(16_777_217), 0x4B800000, "2^24 + 1");
        assertEq(F.scale2(3, -1), 2, "scaled tie");
    }

    function test_zerosInfinitiesAndNaN() public pure {
        assertEq(F.add(MINUS_ZERO, MINUS_ZERO), MINUS_ZERO, "-0 + -0");
        assertEq(F.sub(F.ONE, F.ONE), 0, "1 - 1");
        assertEq(F.mul(MINUS_ZERO, TWO), MINUS_ZERO, "-0 * 2");
        assertEq(F.div(F.ONE, MINUS_ZERO), F.SIGN | F.INF, "1 / -0");
        assertEq(F.div(0, 0), F.NAN, "0 / 0");
        assertEq(F.sub(F.INF, F.INF), F.NAN, "inf - inf");
        assertEq(F.fma(F.INF, 0, F.ONE), F.NAN, "inf * 0 + 1");
        assertEq(F.sqrt(MINUS_ZERO), MINUS_ZERO, "sqrt(-0)");
        assertEq(F.sqrt(0xBF800000), F.NAN, "sqrt(-1)");
        assertEq(F.min(0, MINUS_ZERO), MINUS_ZERO, "-0 below 0");
        assertEq(uint256(F.toInt32(F.NAN)), uint256(int256(type(int32).min)), "NaN to i32");
        assertEq(uint256(F.toInt64(0x5F000000)), uint256(int256(type(int64).min)), "2^63 to i64");
        assertEq(P.exp(F.SIGN | F.INF), 0, "exp(-inf)");
        assertEq(P.log(0), F.SIGN | F.INF, "log(0)");
        assertEq(P.gelu(F.SIGN | F.INF), MINUS_ZERO, "gelu(-inf)");
        assertEq(P.rsqrt(0x40800000), 0x3F000000, "rsqrt(4)");
    }

    function testFuzz_sumsAndProductsCommute(uint32 a, uint32 b) public pure {
        assertEq(F.add(a, b), F.add(b, a), "sum");
        assertEq(F.mul(a, b), F.mul(b, a), "product");
        assertEq(F.min(a, b), F.min(b, a), "min");
        assertEq(F.max(a, b), F.max(b, a), "max");
    }

    function testFuzz_aFusedProductOfOneOrPlusMinusZeroIsThePlainOperation(uint32 a, uint32 b)
        public
        pure
    {
        assertEq(F.fma(a, F.ONE, b), F.add(a, b), "a * 1 + b");
        // -0 is the neutral element of sums.
        assertEq(F.fma(a, b, F.mul(a, b) & F.SIGN), F.mul(a, b), "a * b + 0");
    }

    function testFuzz_everyResultIsABinary32WithOneNaN(uint32 a, uint32 b, uint32 c) public view {
        for (uint256 number = 0; number <= 36; ++number) {
            try _harness.one(number, a, b, c) returns (uint256 result) {
                // toInt64 gives 64 bits, toInt32 any 32.
                if (number == 2 || number == 3) continue;
                assertLe(result, type(uint32).max, "32 bits");
                assertTrue(!F.isNaN(result) || result == F.NAN, "one NaN");
            } catch (bytes memory reason) {
                assertTrue(bytes4(reason) == NumericsHarness.UnknownFunction.selector, "revert");
            }
        }
    }

    function testFuzz_powersOfTwoScaleBackAndForth(uint32 a, int8 n) public pure {
        uint256 field = (uint256(a) >> 23) & 0xFF;
        int256 shifted = int256(field) + n;
        if (field == 0 || field == 255 || shifted <= 0 || shifted >= 255) return;
        assertEq(F.scale2(F.scale2(a, n), -int256(n)), a, "there and back");
    }

    function testFuzz_integersOf24BitsAreExact(int24 value) public pure {
        uint256 x = F.fromInt64(value);
        assertEq(uint256(F.toInt64(x)), uint256(int256(value)), "i64");
        assertEq(uint256(F.toInt32(x)), uint256(int256(value)), "i32");
        assertEq(F.rint(x), x, "rint");
    }

    function testFuzz_squareRootsBracketTheirSquare(uint32 a) public pure {
        uint256 x = bound(a, 0x00800000, LARGEST);
        uint256 root = F.sqrt(x);
        // The neighbours' exact squares lie on both sides: what is left has their sign.
        assertTrue(F.fma(root - 1, root - 1, x ^ F.SIGN) & F.SIGN != 0, "below");
        assertTrue(F.fma(root + 1, root + 1, x ^ F.SIGN) & F.SIGN == 0, "above");
    }

    function testFuzz_comparisonsAgreeWithDifferences(uint32 a, uint32 b) public pure {
        uint256 difference = F.sub(a, b);
        bool finite = a & F.INF != F.INF && b & F.INF != F.INF;
        if (!finite) return;
        assertTrue(F.eq(a, b) == (difference & 0x7FFFFFFF == 0), "equal");
        assertTrue(F.lt(a, b) == (difference > F.SIGN), "less");
        assertTrue(F.le(a, b) == (F.lt(a, b) || F.eq(a, b)), "less or equal");
        assertTrue(F.eq(F.max(a, b), F.lt(a, b) ? b : a), "largest");
    }

    /// @return cases a, b, c of each. @return results of each.
    function _split(bytes memory data)
        private
        pure
        returns (bytes memory cases, bytes memory results)
    {
        uint256 count = (data.length - 1) / (CASE_BYTES + RESULT_BYTES);
        cases = new bytes(count * CASE_BYTES);
        results = new bytes(count * RESULT_BYTES);
        for (uint256 i = 0; i < count; ++i) {
            uint256 from = 1 + i * (CASE_BYTES + RESULT_BYTES);
            for (uint256 k = 0; k < CASE_BYTES; ++k) {
                cases[i * CASE_BYTES + k] = data[from + k];
            }
            for (uint256 k = 0; k < RESULT_BYTES; ++k) {
                results[i * RESULT_BYTES + k] = data[from + CASE_BYTES + k];
            }
        }
    }
}
