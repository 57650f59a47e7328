// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {GymToken} from "../src/GymToken.sol";
import {Stake} from "../src/Stake.sol";
import {IStake} from "../src/interfaces/IStake.sol";
import {TestBase} from "./support/TestBase.sol";

/// Who may do what with the stake of a worker whose key is on a machine of the network.
contract StakeKeysTest is TestBase {
    address private constant GAME = address(0x6a3e);
    address private constant HOT = address(0x30);
    address private constant COLD = address(0xc01d);
    address private constant DEFENDER = address(0xdef);
    address private constant THIEF = address(0x7e1f);
    uint64 private constant PERIOD = 7 days;
    uint64 private constant START = 1_000_000;

    GymToken private _token;
    Stake private _stake;

    function setUp() public {
        vm.warp(START);
        _token = new GymToken(address(this), 1e30);
        _stake = new Stake(IERC20(address(_token)), GAME, PERIOD, 500_000, 100_000);
        _token.approve(address(_stake), type(uint256).max);
        _stake.stake(HOT, 100);
    }

    function test_theFirstRecipientIsSetAtOnce() public {
        assertEq(_stake.recipientOf(HOT), HOT, "at first the owner");
        vm.expectEmit(address(_stake));
        emit IStake.RecipientChanged(HOT, COLD, START);
        vm.prank(HOT);
        _stake.setRecipient(HOT, COLD);
        assertEq(_stake.recipientOf(HOT), COLD, "recipient");
        vm.prank(HOT);
        _stake.thaw(100);
        vm.warp(START + PERIOD);
        vm.prank(HOT);
        assertEq(_stake.withdraw(), 100, "withdrawn");
        assertEq(_token.balanceOf(COLD), 100, "where it goes");
        assertEq(_token.balanceOf(HOT), 0, "and where not");
    }

    /// A thief of the working key has the whole thaw period against it.
    function test_aStolenKeyDoesNotTakeTheStake() public {
        _coldIsSet();
        vm.prank(HOT);
        _stake.thaw(100);
        vm.expectEmit(address(_stake));
        emit IStake.RecipientChanged(HOT, THIEF, START + PERIOD);
        vm.prank(HOT);
        _stake.setRecipient(HOT, THIEF);
        assertEq(_stake.recipientOf(HOT), COLD, "not yet");
        (address next, uint256 since) = _stake.nextRecipientOf(HOT);
        assertEq(next, THIEF, "next");
        assertEq(since, START + PERIOD, "since");
        vm.warp(START + PERIOD - 1);
        // Asking again begins anew, and the recipient says no.
        vm.prank(HOT);
        _stake.setRecipient(HOT, THIEF);
        vm.warp(START + PERIOD);
        assertEq(_stake.recipientOf(HOT), COLD, "still not");
        vm.prank(COLD);
        _stake.setRecipient(HOT, COLD);
        (next, since) = _stake.nextRecipientOf(HOT);
        assertEq(next, address(0), "refused");
        assertEq(since, 0, "refused");
        vm.prank(HOT);
        _stake.withdraw();
        assertEq(_token.balanceOf(COLD), 100, "whoever withdraws");
    }

    /// A recipient whose key is lost is replaced by the owner, later.
    function test_theOwnersRequestTakesEffectAfterAThawPeriod() public {
        _coldIsSet();
        vm.prank(HOT);
        _stake.setRecipient(HOT, THIEF);
        vm.warp(START + PERIOD - 1);
        assertEq(_stake.recipientOf(HOT), COLD, "before");
        vm.warp(START + PERIOD);
        assertEq(_stake.recipientOf(HOT), THIEF, "after");
        (address next,) = _stake.nextRecipientOf(HOT);
        assertEq(next, address(0), "nothing waits");
        vm.prank(COLD);
        vm.expectRevert(abi.encodeWithSelector(IStake.NotTheStaker.selector, HOT, COLD));
        _stake.setRecipient(HOT, COLD);
        vm.prank(THIEF);
        _stake.setRecipient(HOT, DEFENDER);
        assertEq(_stake.recipientOf(HOT), DEFENDER, "at once");
    }

    /// With the working key lost, the recipient takes everything out.
    function test_theRecipientTakesTheStakeOutByItself() public {
        _coldIsSet();
        vm.prank(COLD);
        assertEq(_stake.thaw(HOT, 100), START + PERIOD, "available at");
        vm.warp(START + PERIOD);
        vm.prank(COLD);
        assertEq(_stake.withdraw(HOT), 100, "withdrawn");
        assertEq(_token.balanceOf(COLD), 100, "received");
    }

    function test_aDefenderTakesNothing() public {
        _coldIsSet();
        vm.prank(COLD);
        _stake.setDefender(HOT, DEFENDER);
        assertEq(_stake.defenderOf(HOT), DEFENDER, "defender");
        bytes memory refused = abi.encodeWithSelector(IStake.NotTheStaker.selector, HOT, DEFENDER);
        vm.prank(DEFENDER);
        vm.expectRevert(refused);
        _stake.thaw(HOT, 1);
        vm.prank(DEFENDER);
        vm.expectRevert(refused);
        _stake.withdraw(HOT);
        vm.prank(DEFENDER);
        vm.expectRevert(refused);
        _stake.setRecipient(HOT, DEFENDER);
        vm.prank(DEFENDER);
        vm.expectRevert(refused);
        _stake.setDefender(HOT, THIEF);
        vm.prank(HOT);
        _stake.setDefender(HOT, address(0));
        assertEq(_stake.defenderOf(HOT), address(0), "taken away");
    }

    function test_zeroIsNoRecipient() public {
        vm.prank(HOT);
        vm.expectRevert(IStake.ZeroAddress.selector);
        _stake.setRecipient(HOT, address(0));
    }

    function _coldIsSet() private {
        vm.prank(HOT);
        _stake.setRecipient(HOT, COLD);
    }
}
