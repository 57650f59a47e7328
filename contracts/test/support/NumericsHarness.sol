// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Float32} from "../../src/numerics/Float32.sol";
import {Float32Programs} from "../../src/numerics/Float32Programs.sol";
import {LittleEndian} from "../../src/numerics/LittleEndian.sol";

/// Many cases in one call: what tests/integration/onestep compares with the C++ scalars.
contract NumericsHarness {
    struct Answer {
        bool ok;
        uint256 gasUsed;
        bytes data;
    }

    error UnknownFunction(uint256 number);

    uint256 private constant CASE_BYTES = 12;
    uint256 private constant BINARY_FIRST = 10;
    uint256 private constant PROGRAM_FIRST = 30;

    /// @param cases a, b, c as big-endian u32, one case after the other.
    /// @return results One big-endian u64 a case.
    function run(uint256 number, bytes calldata cases)
        external
        pure
        returns (bytes memory results)
    {
        uint256 count = cases.length / CASE_BYTES;
        results = new bytes(count * 8);
        for (uint256 i = 0; i < count; ++i) {
            uint256 packed;
            assembly ("memory-safe") {
                packed := shr(160, calldataload(add(cases.offset, mul(i, 12))))
            }
            uint256 result =
                one(number, packed >> 64, (packed >> 32) & 0xFFFFFFFF, packed & 0xFFFFFFFF);
            assembly ("memory-safe") {
                let place := add(add(results, 32), mul(i, 8))
                // The words behind a result are written by the ones that follow, or lie unused.
                mstore(place, or(shl(192, result), and(mload(place), shr(64, not(0)))))
            }
        }
    }

    /// Each of the calls, with what it cost.
    function many(address target, bytes[] calldata calls)
        external
        view
        returns (Answer[] memory answers)
    {
        answers = new Answer[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            bytes memory data = calls[i];
            uint256 before = gasleft();
            (answers[i].ok, answers[i].data) = target.staticcall(data);
            answers[i].gasUsed = before - gasleft();
        }
    }

    function one(uint256 number, uint256 a, uint256 b, uint256 c) public pure returns (uint256) {
        if (number >= PROGRAM_FIRST) return _program(number, a);
        if (number >= BINARY_FIRST) return _binary(number, a, b, c);
        if (number == 0) return Float32.sqrt(a);
        if (number == 1) return Float32.rint(a);
        if (number == 2) return uint256(Float32.toInt32(a)) & type(uint32).max;
        if (number == 3) return uint256(Float32.toInt64(a)) & type(uint64).max;
        if (number == 4) return Float32.fromInt64(LittleEndian.int64Of((a << 32) | b));
        if (number == 5) return Float32.neg(a);
        if (number == 6) return Float32.abs(a);
        revert UnknownFunction(number);
    }

    function _binary(uint256 number, uint256 a, uint256 b, uint256 c)
        private
        pure
        returns (uint256)
    {
        if (number == 10) return Float32.add(a, b);
        if (number == 11) return Float32.sub(a, b);
        if (number == 12) return Float32.mul(a, b);
        if (number == 13) return Float32.div(a, b);
        if (number == 14) return Float32.fma(a, b, c);
        if (number == 15) return Float32.min(a, b);
        if (number == 16) return Float32.max(a, b);
        if (number == 17) return Float32.lt(a, b) ? 1 : 0;
        if (number == 18) return Float32.le(a, b) ? 1 : 0;
        if (number == 19) return Float32.eq(a, b) ? 1 : 0;
        if (number == 20) return Float32.scale2(a, LittleEndian.int32Of(b));
        revert UnknownFunction(number);
    }

    function _program(uint256 number, uint256 x) private pure returns (uint256) {
        if (number == 30) return Float32Programs.exp(x);
        if (number == 31) return Float32Programs.log(x);
        if (number == 32) return Float32Programs.tanh(x);
        if (number == 33) return Float32Programs.sigmoid(x);
        if (number == 34) return Float32Programs.silu(x);
        if (number == 35) return Float32Programs.gelu(x);
        if (number == 36) return Float32Programs.rsqrt(x);
        revert UnknownFunction(number);
    }
}
