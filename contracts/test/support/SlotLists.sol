// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// The slots of an aggregate's deltas as they are declared, and the sets that they are in, bit by bit.
library SlotLists {
    /// @param slots In the order of the deltas; of withdrawn ones with 2^16 times their age. @param held How many of the others, the last
    /// ones, are held; in its low 16 bits.
    function declared(uint32[] memory slots, uint32 held) internal pure returns (bytes memory all) {
        uint256 added = 0;
        uint256 last = 0;
        while (added < slots.length && slots[added] <= type(uint16).max) {
            if (slots[added] > last) last = slots[added];
            ++added;
        }
        uint256 behind = held & 0xFFFF;
        uint256 timely = behind < added ? added - behind : 0;
        bytes memory own = new bytes(last / 8 + 1);
        bytes memory others = new bytes(last / 8 + 1);
        for (uint256 i = 0; i < added; ++i) {
            put(i < timely ? own : others, slots[i]);
        }
        all = bytes.concat(own, others);
        for (uint256 i = added; i < slots.length; ++i) {
            all = bytes.concat(all, bytes4(slots[i]));
        }
    }

    function put(bytes memory set, uint256 slot) internal pure {
        set[slot / 8] |= bytes1(uint8(0x80 >> (slot % 8)));
    }

    function has(bytes memory set, uint256 slot) internal pure returns (bool) {
        return uint8(set[slot / 8]) & (0x80 >> (slot % 8)) != 0;
    }
}
