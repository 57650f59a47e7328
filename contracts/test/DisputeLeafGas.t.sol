// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Chunk, Cursor, ElementProof, Stage, TensorProof} from "../src/dispute/DisputeTypes.sol";
import {ElementRules} from "../src/dispute/ElementRules.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {IOneStep} from "../src/onestep/IOneStep.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {OneStepCases} from "./support/OneStepCases.sol";

/// What a dispute's last move costs for every primitive at its largest legal shapes: operands in trees of up to 2^24 chunks, under the
/// largest list of trace leaves, every byte of their chunks brought and not zero.
contract DisputeLeafGasTest is OneStepCases {
    /// A transaction may use this much (EIP-7825).
    uint256 private constant TRANSACTION_GAS_MAX = 2 ** 24;
    /// More than the game itself adds to its rules: a whole proof of a small element costs less (proveElement in snapshots/).
    uint256 private constant GAME_GAS = 300_000;
    uint256 private constant LEAF_GAS_MAX = 2_000_000;
    uint256 private constant LEAVES = 65_536;
    uint256 private constant LEAVES_DEPTH = 16;
    bytes32 private constant ELSEWHERE = keccak256("another node");

    ElementRules private _rules;

    function setUp() public {
        _deploy();
        _rules = new ElementRules(_oneStep);
    }

    function test_elementwise() public {
        _elementwise();
    }

    function test_movement() public {
        _movement();
    }

    function test_blocks() public {
        _blocks();
    }

    function test_quantised() public {
        _quantised();
    }

    function test_products() public {
        _products();
    }

    function _measure(
        string memory name,
        IOneStep.Descriptor memory d,
        bytes[] memory inputs,
        uint64 element
    ) internal override {
        (Cursor memory c, ElementProof memory proof) = _leaf(d, inputs, element);
        bytes memory call = abi.encodeCall(IDisputeMoves.proveElement, (0, c, proof));
        _rules.proveElement(0, c, proof);
        uint256 cost = vm.snapshotGasLastCall("DisputeLeaf", name) + 21_000 + GAME_GAS;
        uint256 floor = 21_000;
        for (uint256 i = 0; i < call.length; ++i) {
            cost += call[i] == 0 ? 4 : 16;
            floor += call[i] == 0 ? 10 : 40;
        }
        if (floor > cost) cost = floor;
        assertLe(cost, LEAF_GAS_MAX, name);
        assertLe(cost, TRANSACTION_GAS_MAX, name);
    }

    /// A cursor at the chunk of an element that is claimed to be something else, and the proof that it is not.
    function _leaf(IOneStep.Descriptor memory d, bytes[] memory inputs, uint64 element)
        private
        view
        returns (Cursor memory c, ElementProof memory proof)
    {
        proof.primitive = _record(d);
        proof.element = element;
        _operands(d, inputs, proof);
        bytes32[] memory roots = new bytes32[](inputs.length);
        for (uint256 k = 0; k < roots.length; ++k) {
            roots[k] = _tensorRoot(_packed(d.inputs[k]), proof.operands[k].treeRoot);
        }
        bytes32[][] memory paths;
        (proof.step.trace, paths) = _sparse(roots, 0, LEAVES_DEPTH);
        for (uint256 k = 0; k < roots.length; ++k) {
            if (proof.operands[k].chunks.length != 0) proof.operands[k].path = paths[k];
        }
        // Counts of a header that has nothing else: only leaves and state slots are read.
        proof.header =
            abi.encodePacked(uint64(1), uint32(LEAVES), uint32(1), uint32(1), new bytes(204 - 20));
        proof.op.program = sha256(abi.encodePacked("gym.trace_program.v1", proof.header));
        proof.op.step = keccak256(abi.encode(proof.step));
        proof.op.record = sha256(abi.encodePacked("gym.primitive.v1", proof.primitive));
        (proof.op.count, proof.op.shape) = (1, _packed(d.output));
        uint256 size = DisputeTrees.sizeOf(proof.op.shape);
        c.index = uint64(element * size / 1024);
        proof.chunk = _chunkOf(DisputeTrees.elements(proof.op.shape) * size, c.index);
        c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
        (c.stage, c.answered) = (Stage.CHUNKS, true);
        c.frame = keccak256(abi.encode(proof.op));
    }

    function _operands(
        IOneStep.Descriptor memory d,
        bytes[] memory inputs,
        ElementProof memory proof
    ) private view {
        proof.operands = new TensorProof[](inputs.length);
        uint32 where = 0;
        if (d.opcode == 34 || d.opcode == 35) {
            for (uint256 i = 4; i > 0; --i) {
                where = (where << 8) | uint8(inputs[1][i - 1]);
            }
        }
        for (uint256 k = 0; k < inputs.length; ++k) {
            (uint64 first, uint64 count) = _oneStep.reach(d, k, proof.element, where);
            if (count == 0) continue;
            uint256 shape = _packed(d.inputs[k]);
            uint256 size = DisputeTrees.sizeOf(shape);
            proof.operands[k] =
                _tensor(DisputeTrees.elements(shape) * size, first * size, inputs[k]);
        }
    }

    /// The chunks of `total` bytes that hold `content` from `begin` on.
    function _tensor(uint256 total, uint256 begin, bytes memory content)
        private
        pure
        returns (TensorProof memory proof)
    {
        uint256 first = begin / 1024;
        proof.chunks = new Chunk[]((begin + content.length - 1) / 1024 - first + 1);
        bytes32[] memory leaves = new bytes32[](proof.chunks.length);
        for (uint256 i = 0; i < leaves.length; ++i) {
            proof.chunks[i].content = _chunkOf(total, first + i);
        }
        for (uint256 i = 0; i < content.length; ++i) {
            uint256 place = begin % 1024 + i;
            proof.chunks[place / 1024].content[place % 1024] = content[i];
        }
        for (uint256 i = 0; i < leaves.length; ++i) {
            leaves[i] = DisputeTrees.chunkLeaves(proof.chunks[i].content)[0];
        }
        bytes32[][] memory paths;
        (proof.treeRoot, paths) =
            _sparse(leaves, first, DisputeTrees.depthOf((total + 1023) / 1024));
        for (uint256 i = 0; i < leaves.length; ++i) {
            proof.chunks[i].path = paths[i];
        }
    }

    /// Chunk `index` of a tensor of `total` bytes, none of them zero.
    function _chunkOf(uint256 total, uint256 index) private pure returns (bytes memory content) {
        uint256 rest = total - 1024 * index;
        content = new bytes(rest < 1024 ? rest : 1024);
        for (uint256 i = 0; i < content.length; ++i) {
            content[i] = 0x3f;
        }
    }

    /// A tree of which some leaves in a row are known, with their paths.
    function _sparse(bytes32[] memory row, uint256 first, uint256 depth)
        private
        pure
        returns (bytes32 root, bytes32[][] memory paths)
    {
        if (row.length == 0) return (ELSEWHERE, paths);
        paths = new bytes32[][](row.length);
        for (uint256 i = 0; i < paths.length; ++i) {
            paths[i] = new bytes32[](depth);
        }
        uint256 low = first;
        for (uint256 level = 0; level < depth; ++level) {
            // From an even node up to an odd one.
            uint256 even = low & ~uint256(1);
            uint256 count = ((low + row.length - even) + 1) / 2;
            bytes32[] memory nodes = new bytes32[](2 * count);
            for (uint256 i = 0; i < nodes.length; ++i) {
                bool known = even + i >= low && even + i < low + row.length;
                nodes[i] = known ? row[even + i - low] : ELSEWHERE;
            }
            for (uint256 i = 0; i < paths.length; ++i) {
                paths[i][level] = nodes[(((first + i) >> level) ^ 1) - even];
            }
            row = new bytes32[](count);
            for (uint256 i = 0; i < count; ++i) {
                row[i] = sha256(abi.encodePacked(uint8(1), nodes[2 * i], nodes[2 * i + 1]));
            }
            low = even / 2;
        }
        root = row[0];
    }

    function _record(IOneStep.Descriptor memory d) private pure returns (bytes memory data) {
        data = abi.encodePacked(d.opcode, _shapeBytes(d.output));
        for (uint256 k = 0; k < 8; ++k) {
            data = abi.encodePacked(data, d.attributes[k]);
        }
        data = abi.encodePacked(data, uint8(d.inputs.length));
        for (uint32 k = 0; k < d.inputs.length; ++k) {
            data = abi.encodePacked(data, uint8(2), k, _shapeBytes(d.inputs[k]));
        }
    }

    function _shapeBytes(IOneStep.Shape memory s) private pure returns (bytes memory data) {
        data = abi.encodePacked(s.dtype, s.rank);
        for (uint256 i = 0; i < s.rank; ++i) {
            data = abi.encodePacked(data, s.dims[i]);
        }
    }

    function _packed(IOneStep.Shape memory s) private pure returns (uint256 packed) {
        packed = (uint256(s.dtype) << 168) | (uint256(s.rank) << 160);
        for (uint256 i = 0; i < s.rank; ++i) {
            packed |= uint256(s.dims[i]) << (32 * (4 - i));
        }
    }

    function _tensorRoot(uint256 shape, bytes32 treeRoot) private pure returns (bytes32) {
        uint256 rank = uint8(shape >> 160);
        bytes memory head = abi.encodePacked(uint8(2), uint8(shape >> 168), uint8(rank));
        for (uint256 i = 0; i < rank; ++i) {
            head = abi.encodePacked(head, uint64(uint32(shape >> (32 * (4 - i)))));
        }
        return sha256(abi.encodePacked(head, treeRoot));
    }
}
