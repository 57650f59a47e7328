// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IOneStep} from "../src/onestep/IOneStep.sol";
import {OneStep} from "../src/onestep/OneStep.sol";
import {OneStepFixture} from "./support/OneStepFixture.sol";

/// The word-at-a-time parts against plain loops, the dispatcher, and what is refused. What proves
/// every primitive is tests/integration/onestep, which compares them with the engine's reference.
contract OneStepTest is OneStepFixture {
    uint16 private constant ADD = 2;
    uint16 private constant STRIDED_COPY = 32;
    uint16 private constant GATHER_ROWS = 34;
    uint16 private constant BLOCK_MAX = 64;
    uint16 private constant BLOCK_SUM = 69;
    uint16 private constant SELECT_SUM = 70;
    uint16 private constant BLOCK_DOT = 72;
    uint256 private constant BLOCK = 1024;

    function setUp() public {
        _deploy();
    }

    /// forge-config: default.fuzz.runs = 48
    /// forge-config: check.fuzz.runs = 250
    /// forge-config: soak.fuzz.runs = 10000
    function testFuzz_blockDotIsTheSumOfProducts(uint256 seed, uint256 anyLength) public view {
        uint32 n = _length(anyLength);
        bytes memory a = _noise(seed, 2 * uint256(n));
        bytes memory b = _noise(~seed, 2 * uint256(n));
        IOneStep.Descriptor memory d = _op(BLOCK_DOT, _shape(I64, 1, 1, 1), 2);
        (d.inputs[0], d.inputs[1]) = (_shape(I16, 1, n), _shape(I16, 1, n));
        int256 expected;
        for (uint256 k = 0; k < n; ++k) {
            expected += _element(a, k, 2) * _element(b, k, 2);
        }
        assertEq(_oneStep.evaluate(d, _two(a, b), 0), _bits(expected), "dot");
    }

    /// forge-config: default.fuzz.runs = 48
    /// forge-config: check.fuzz.runs = 250
    /// forge-config: soak.fuzz.runs = 10000
    function testFuzz_blockSumIsTheSum(uint256 seed, uint256 anyLength, bool wide) public view {
        uint32 n = _length(anyLength);
        uint256 size = wide ? 8 : 4;
        bytes memory x = _noise(seed, size * n);
        IOneStep.Descriptor memory d = _op(BLOCK_SUM, _shape(I64, 1), 1);
        d.inputs[0] = _shape(wide ? I64 : I32, n);
        int256 expected;
        for (uint256 k = 0; k < n; ++k) {
            expected += _element(x, k, size);
        }
        assertEq(_oneStep.evaluate(d, _one(x), 0), _bits(expected), "sum");
    }

    /// forge-config: default.fuzz.runs = 48
    /// forge-config: check.fuzz.runs = 250
    /// forge-config: soak.fuzz.runs = 10000
    function testFuzz_blockMaxIsTheLargest(uint256 seed, uint256 anyLength) public view {
        uint32 n = _length(anyLength);
        bytes memory x = _noise(seed, 4 * uint256(n));
        IOneStep.Descriptor memory d = _op(BLOCK_MAX, _shape(I32, 1), 1);
        d.inputs[0] = _shape(I32, n);
        int256 expected = type(int32).min;
        for (uint256 k = 0; k < n; ++k) {
            int256 candidate = _element(x, k, 4);
            if (candidate > expected) expected = candidate;
        }
        assertEq(_oneStep.evaluate(d, _one(x), 0), uint256(expected) & type(uint32).max, "max");
    }

    /// forge-config: default.fuzz.runs = 48
    /// forge-config: check.fuzz.runs = 250
    /// forge-config: soak.fuzz.runs = 10000
    function testFuzz_selectSumTakesWhatIsNamed(uint256 seed, uint256 anyLength, uint8 which)
        public
        view
    {
        uint32 n = _length(anyLength);
        uint32 v = uint32(which) % 3;
        bytes memory q = _noise(seed, 4 * uint256(n));
        bytes memory indices = new bytes(4 * uint256(n));
        int256 expected;
        for (uint256 k = 0; k < n; ++k) {
            // -1 to 3 in a table of three: clamped to 0, 0, 1, 2, 2.
            uint256 index = uint256(keccak256(abi.encode(seed, k))) % 5;
            _putI32(indices, k, index == 0 ? type(uint32).max : index - 1);
            uint256 clamped = index == 0 ? 0 : index > 3 ? 2 : index - 1;
            if (clamped == v) expected += _element(q, k, 4);
        }
        IOneStep.Descriptor memory d = _op(SELECT_SUM, _shape(I64, 3, 1, 1), 2);
        (d.inputs[0], d.inputs[1]) = (_shape(I32, 1, n), _shape(I32, n));
        assertEq(_oneStep.evaluate(d, _two(q, indices), v), _bits(expected), "selected sum");
    }

    function test_reachFollowsStridesAndIndices() public view {
        IOneStep.Descriptor memory transpose = _op(STRIDED_COPY, _shape(F32, 3, 2), 1);
        transpose.inputs[0] = _shape(F32, 2, 3);
        (transpose.attributes[1], transpose.attributes[2]) = (1, 3);
        (uint64 first, uint64 count) = _oneStep.reach(transpose, 0, 3, 0);
        assertEq(first, 4, "[1][1] of the transpose");
        assertEq(count, 1, "one");

        IOneStep.Descriptor memory gather = _op(GATHER_ROWS, _shape(F32, 2, 3), 2);
        (gather.inputs[0], gather.inputs[1]) = (_shape(F32, 5, 3), _shape(I32, 2));
        (first,) = _oneStep.reach(gather, 0, 4, 2);
        assertEq(first, 7, "column 1 of row 2");
        (first,) = _oneStep.reach(gather, 0, 4, type(uint32).max);
        assertEq(first, 1, "-1 is clamped to row 0");
        (first,) = _oneStep.reach(gather, 0, 4, 1000);
        assertEq(first, 13, "1000 to row 4");
    }

    function test_aFamilyMustHaveCode() public {
        address here = address(this);
        vm.expectRevert(abi.encodeWithSelector(OneStep.NoContract.selector, address(1)));
        new OneStep(here, here, address(1), here);
    }

    function test_refusesDimsBehindTheRankAndUnknownDtypes() public {
        IOneStep.Descriptor memory d = _sum();
        d.inputs[1].dims[3] = 1;
        _refuses(d, abi.encodeWithSelector(IOneStep.BadShape.selector, 2));
        d = _sum();
        d.output.rank = 0;
        _refuses(d, abi.encodeWithSelector(IOneStep.BadShape.selector, 0));
        d = _sum();
        d.inputs[0].rank = 6;
        _refuses(d, abi.encodeWithSelector(IOneStep.BadShape.selector, 1));
        d = _sum();
        d.output.dtype = 8;
        _refuses(d, abi.encodeWithSelector(IOneStep.BadDtype.selector, 0));
        d = _sum();
        d.inputs[0].dtype = 0;
        _refuses(d, abi.encodeWithSelector(IOneStep.BadDtype.selector, 1));
        d = _sum();
        d.attributes[7] = 1;
        _refuses(d, abi.encodeWithSelector(IOneStep.BadAttribute.selector, 7));
        d = _sum();
        d.opcode = 17;
        _refuses(d, abi.encodeWithSelector(IOneStep.UnknownOpcode.selector, 17));
    }

    function test_refusesTruncatedCalldata() public view {
        bytes memory whole = abi.encodeCall(IOneStep.evaluate, (_sum(), _two("1234", "5678"), 0));
        for (uint256 length = 4; length < whole.length; length += 7) {
            bytes memory cut = new bytes(length);
            for (uint256 i = 0; i < length; ++i) {
                cut[i] = whole[i];
            }
            (bool ok,) = address(_oneStep).staticcall(cut);
            // Behind the last operand's four bytes is padding, which is not read.
            assertTrue(!ok || length >= whole.length - 28, "accepted");
        }
        (bool accepted,) = address(_oneStep).staticcall(whole);
        assertTrue(accepted, "the whole is refused");
    }

    /// EIP-170: why there are families at all.
    function test_everyFamilyHasItsOpcodesAndFitsAContract() public view {
        uint16[8] memory ends = [uint16(1), 16, 32, 38, 64, 71, 72, 74];
        for (uint256 i = 0; i < ends.length; i += 2) {
            address family = _oneStep.familyOf(ends[i]);
            assertEq(family, _oneStep.familyOf(ends[i + 1]), "one family");
            assertLe(family.code.length, 24_576, "bytes of code");
        }
    }

    /// A legal sum of two tensors.
    function _sum() private pure returns (IOneStep.Descriptor memory d) {
        d = _op(ADD, _shape(F32, 2, 3), 2);
        (d.inputs[0], d.inputs[1]) = (_shape(F32, 2, 3), _shape(F32, 3));
    }

    function _refuses(IOneStep.Descriptor memory d, bytes memory reason) private {
        vm.expectRevert(reason);
        _oneStep.evaluate(d, _two("1234", "5678"), 0);
    }

    function _putI32(bytes memory data, uint256 index, uint256 bits) private pure {
        for (uint256 i = 0; i < 4; ++i) {
            data[4 * index + i] = bytes1(uint8((bits >> (8 * i)) & 0xFF));
        }
    }

    /// Around words and blocks often.
    function _length(uint256 seed) private pure returns (uint32) {
        uint256 n = seed % 4 == 0 ? BLOCK : seed % 4 == 1 ? 1 + seed / 4 % 40 : 1 + seed / 4 % BLOCK;
        return uint32(n);
    }

    function _bits(int256 value) private pure returns (uint256) {
        return uint256(value) & type(uint64).max;
    }
}
