// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Chunk,
    Cursor,
    Facts,
    Finding,
    IDisputeErrors,
    Stage,
    TokenProof
} from "../src/dispute/DisputeTypes.sol";
import {ElementRules} from "../src/dispute/ElementRules.sol";
import {JobRandom} from "../src/dispute/JobRandom.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {IOneStep} from "../src/onestep/IOneStep.sol";
import {DisputeProgram} from "./support/DisputeProgram.sol";
import {DisputeTrees, Tensor} from "./support/DisputeTrees.sol";
import {TestBase} from "./support/TestBase.sol";

/// A token of a dataset of every format: 16 bits alone, 16 or 32 bits beside a head.
contract DisputeTokensTest is TestBase {
    uint256 private constant TOKENS = 1000;
    uint256 private constant U16 = 6;
    uint256 private constant U32 = 7;
    /// Beyond 16 bits.
    uint256 private constant WIDE = 70_000;
    bytes32 private constant HEAD = keccak256("the chunk leaf of a head");

    ElementRules private _rules = new ElementRules(IOneStep(address(0)));

    function test_anyTokenOfAnyFormat(uint256 format, uint256 step, uint256 element, uint256 flip)
        public
    {
        format = bound(format, 0, 2);
        (Tensor memory all, TokenProof memory proof) =
            _proof(format == 2 ? U32 : U16, format != 0, bound(step, 0, 2), _element(element));
        uint256 right = _right(all, proof);
        _claim(proof, right);
        _refused(proof, abi.encodeWithSelector(IDisputeErrors.NoFault.selector));
        uint256 wrong = right ^ (uint256(1) << bound(flip, 0, 31));
        _claim(proof, wrong);
        Finding memory found = _rules.proveToken(0, _cursor(proof), proof);
        assertEq(found.element, proof.element, "element");
        assertEq(found.claimed, bytes32(wrong), "claimed");
        assertEq(found.computed, bytes32(right), "computed");
    }

    /// Tokens of 32 bits have a root only with a head.
    function test_wideTokensWithoutAHeadAreNoDataset() public {
        (Tensor memory all, TokenProof memory proof) = _proof(U32, false, 1, 4);
        bytes32 root = proof.facts.datasetRoot;
        Tensor memory narrow = Tensor(DisputeTrees.shapeOf(U16, TOKENS), all.data);
        _refused(
            proof,
            abi.encodeWithSelector(
                MerkleSha256.RootMismatch.selector, DisputeTrees.tensorRoot(narrow), root
            )
        );
    }

    /// A head is part of the root, and nothing else is: no longer path, no other side.
    function test_onlyTheHeadOfTheRootIsTaken() public {
        for (uint256 dtype = U16; dtype <= U32; ++dtype) {
            (, TokenProof memory proof) = _proof(dtype, true, 1, 4);
            bytes32[] memory path = proof.dataset.path;
            proof.dataset.path = new bytes32[](2);
            _refused(proof, abi.encodeWithSelector(MerkleSha256.BadProofLength.selector, 2, 1));
            proof.dataset.path = path;
            path[0] ^= bytes32(uint256(1));
            _mismatch(proof);
            proof.dataset.path = new bytes32[](0);
            _mismatch(proof);
        }
        (, TokenProof memory plain) = _proof(U16, false, 1, 4);
        plain.dataset.path = new bytes32[](1);
        plain.dataset.path[0] = HEAD;
        _mismatch(plain);
    }

    /// Neither more nor fewer tokens than the root is over, whatever their width.
    function test_theNumberOfTokensIsPartOfTheRoot() public {
        for (uint256 dtype = U16; dtype <= U32; ++dtype) {
            (, TokenProof memory proof) = _proof(dtype, true, 1, 4);
            uint64[3] memory counts = [uint64(TOKENS - 1), uint64(TOKENS + 1), uint64(2 * TOKENS)];
            for (uint256 i = 0; i < counts.length; ++i) {
                proof.tokens = counts[i];
                _mismatch(proof);
            }
        }
    }

    function test_aChunkOfOtherTokensIsRefused() public {
        for (uint256 dtype = U16; dtype <= U32; ++dtype) {
            (, TokenProof memory proof) = _proof(dtype, true, 1, 4);
            bytes memory content = proof.dataset.chunks[0].content;
            content[content.length / 2] ^= 0x10;
            _mismatch(proof);
        }
    }

    /// External for its calldata.
    function windowStart(Facts calldata facts, uint256 step, uint256 window, uint256 starts)
        external
        pure
        returns (uint256)
    {
        return JobRandom.windowStart(facts, step, window, starts);
    }

    function _refused(TokenProof memory proof, bytes memory reason) private {
        Cursor memory c = _cursor(proof);
        vm.expectRevert(reason);
        _rules.proveToken(0, c, proof);
    }

    function _mismatch(TokenProof memory proof) private {
        Cursor memory c = _cursor(proof);
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        _rules.proveToken(0, c, proof);
    }

    function _element(uint256 any) private pure returns (uint64) {
        return uint64(bound(any, 0, 2 * (DisputeProgram.WINDOW_TOKENS + 1) - 1));
    }

    /// A proof of an element of the windows of a step, with a claim of zero.
    function _proof(uint256 dtype, bool head, uint256 step, uint64 element)
        private
        view
        returns (Tensor memory all, TokenProof memory proof)
    {
        all = _dataset(dtype);
        bytes32 root = DisputeTrees.tensorRoot(all);
        if (head) {
            root = sha256(abi.encodePacked(uint8(1), HEAD, root));
            proof.dataset.path = new bytes32[](1);
            proof.dataset.path[0] = HEAD;
        }
        (proof.facts.datasetRoot, proof.facts.jobSeed) = (root, keccak256("job seed"));
        (proof.facts.round, proof.facts.slot) = (3, 5);
        (proof.step.facts, proof.step.step) = (keccak256(abi.encode(proof.facts)), uint32(step));
        (proof.op.step, proof.op.program) =
        (keccak256(abi.encode(proof.step)), DisputeProgram.traceRoot());
        proof.op.shape = DisputeTrees.shapeOf(2, 2, DisputeProgram.WINDOW_TOKENS + 1);
        (proof.header, proof.element) = (DisputeProgram.header(), element);
        (proof.tokens, proof.chunk) =
        (uint64(TOKENS), new bytes(8 * (DisputeProgram.WINDOW_TOKENS + 1)));
        bytes32[] memory leaves = DisputeTrees.chunkLeaves(all.data);
        uint256 chunk = _position(proof) * DisputeTrees.sizeOf(all.shape) / 1024;
        proof.dataset.treeRoot = DisputeTrees.root(leaves);
        proof.dataset.chunks = new Chunk[](1);
        proof.dataset.chunks[0] =
            Chunk(DisputeTrees.chunk(all.data, chunk), DisputeTrees.path(leaves, chunk));
    }

    function _dataset(uint256 dtype) private pure returns (Tensor memory all) {
        all.shape = DisputeTrees.shapeOf(dtype, TOKENS);
        uint256 size = DisputeTrees.sizeOf(all.shape);
        all.data = new bytes(size * TOKENS);
        for (uint256 i = 0; i < TOKENS; ++i) {
            uint256 id = 7 * i + (dtype == U32 ? WIDE : 0);
            for (uint256 k = 0; k < size; ++k) {
                all.data[size * i + k] = bytes1(uint8(id >> (8 * k)));
            }
        }
    }

    function _position(TokenProof memory proof) private view returns (uint256) {
        uint256 length = DisputeProgram.WINDOW_TOKENS + 1;
        uint256 starts = (TOKENS - TOKENS / 10 - length) / DisputeProgram.STRIDE + 1;
        uint256 window = proof.element / length;
        return this.windowStart(proof.facts, proof.step.step, window, starts)
            * DisputeProgram.STRIDE + proof.element % length;
    }

    function _right(Tensor memory all, TokenProof memory proof) private view returns (uint256 id) {
        uint256 size = DisputeTrees.sizeOf(all.shape);
        uint256 first = size * _position(proof);
        for (uint256 k = size; k > 0; --k) {
            id = (id << 8) | uint8(all.data[first + k - 1]);
        }
    }

    function _claim(TokenProof memory proof, uint256 token) private pure {
        for (uint256 k = 0; k < 4; ++k) {
            proof.chunk[4 * proof.element + k] = bytes1(uint8(token >> (8 * k)));
        }
    }

    /// Where the asserter has posted the chunk.
    function _cursor(TokenProof memory proof) private pure returns (Cursor memory c) {
        (c.stage, c.answered) = (Stage.CHUNKS, true);
        c.frame = keccak256(abi.encode(proof.op));
        c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
    }
}
