// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {GymToken} from "../src/GymToken.sol";
import {TestBase} from "./support/TestBase.sol";

contract GymTokenTest is TestBase {
    function test_theWholeSupplyGoesToTheHolder(address holder, uint256 supply) public {
        vm.assume(holder != address(0));
        GymToken token = new GymToken(holder, supply);
        assertEq(token.totalSupply(), supply, "supply");
        assertEq(token.balanceOf(holder), supply, "balance");
        assertEq(token.decimals(), 18, "decimals");
    }
}
