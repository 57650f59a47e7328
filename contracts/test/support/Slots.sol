// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {SlotProof} from "../../src/dispute/DisputeTypes.sol";
import {DisputeTrees} from "./DisputeTrees.sol";

/// What a round fixes for its slots, which all have the same number of steps and are always drawn.
library Slots {
    function terms(address worker, uint32 steps) internal pure returns (bytes memory) {
        return abi.encodePacked(worker, uint32(1_000_000), steps);
    }

    function root(address[] memory workers, uint32 steps) internal pure returns (bytes32) {
        return DisputeTrees.root(_leaves(workers, steps));
    }

    /// Empty for a slot that the round does not have.
    function prove(address[] memory workers, uint32 steps, uint256 slot)
        internal
        pure
        returns (SlotProof memory proof)
    {
        if (slot >= workers.length) return proof;
        proof.terms = terms(workers[slot], steps);
        proof.path = DisputeTrees.path(_leaves(workers, steps), slot);
    }

    function _leaves(address[] memory workers, uint32 steps)
        private
        pure
        returns (bytes32[] memory leaves)
    {
        leaves = new bytes32[](workers.length);
        for (uint32 i = 0; i < workers.length; ++i) {
            bytes memory leaf = abi.encodePacked("gym.slot_terms.v1", i, terms(workers[i], steps));
            leaves[i] = sha256(leaf);
        }
    }
}
