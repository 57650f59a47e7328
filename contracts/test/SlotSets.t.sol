// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeErrors} from "../src/dispute/DisputeTypes.sol";
import {SlotSets} from "../src/dispute/SlotSets.sol";
import {SlotLists} from "./support/SlotLists.sol";
import {TestBase} from "./support/TestBase.sol";

contract SlotSetsTest is TestBase {
    /// Any set, of any length, against one bit after the other.
    function test_anySet(bytes memory set) public view {
        uint256 ones = 0;
        for (uint256 slot = 0; slot < 8 * set.length; ++slot) {
            if (!SlotLists.has(set, slot)) continue;
            assertEq(this.slotAt(set, ones), slot, "slot");
            ++ones;
        }
        assertEq(this.count(set), ones, "count");
    }

    function test_theLargestSet() public {
        bytes memory set = new bytes(SlotSets.BYTES_MAX);
        assertEq(this.count(set), 0, "none");
        _refused(set, 0);
        SlotLists.put(set, 0);
        SlotLists.put(set, 8191);
        assertEq(this.count(set), 2, "two");
        assertEq(this.slotAt(set, 1), 8191, "the last");
        _refused(set, 2);
        for (uint256 i = 0; i < set.length; ++i) {
            set[i] = 0xff;
        }
        assertEq(this.count(set), 8192, "all");
        for (uint256 i = 0; i < 8192; i += 91) {
            assertEq(this.slotAt(set, i), i, "slot");
        }
        _refused(set, 8192);
    }

    function _refused(bytes memory set, uint256 position) private {
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, position));
        this.slotAt(set, position);
    }

    function count(bytes calldata set) external pure returns (uint256) {
        return SlotSets.count(set);
    }

    function slotAt(bytes calldata set, uint256 position) external pure returns (uint256) {
        return SlotSets.slotAt(set, position);
    }
}
