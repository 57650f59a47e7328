// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {GymToken} from "../src/GymToken.sol";
import {Stake} from "../src/Stake.sol";
import {IStake} from "../src/interfaces/IStake.sol";
import {TestBase} from "./support/TestBase.sol";
import {FeeToken} from "./support/Tokens.sol";

contract StakeTest is TestBase {
    address private constant GAME = address(0x6a3e);
    address private constant WORKER = address(0x30);
    address private constant FINDER = address(0xf1);
    address private constant PROVER = address(0x9e);
    address private constant OTHER = address(0x07e4);
    uint64 private constant PERIOD = 7 days;
    uint256 private constant SUPPLY = 1e30;
    uint32 private constant ALL = 1_000_000;

    GymToken private _token;
    Stake private _stake;

    function setUp() public {
        vm.warp(1_000_000);
        _token = new GymToken(address(this), SUPPLY);
        _stake = new Stake(IERC20(address(_token)), GAME, PERIOD, 500_000, 200_000);
        _token.approve(address(_stake), type(uint256).max);
    }

    function test_constructorRefusesWhatCannotWork() public {
        IERC20 token = IERC20(address(_token));
        vm.expectRevert(IStake.ZeroAddress.selector);
        new Stake(IERC20(address(0)), GAME, 1, 500_000, 0);
        vm.expectRevert(IStake.ZeroAddress.selector);
        new Stake(token, address(0), 1, 500_000, 0);
        vm.expectRevert(abi.encodeWithSelector(IStake.PeriodTooLong.selector, 91 days, 90 days));
        new Stake(token, GAME, 91 days, 500_000, 0);
        vm.expectRevert(abi.encodeWithSelector(IStake.BadShares.selector, 499_999, 0));
        new Stake(token, GAME, 1, 499_999, 0);
        vm.expectRevert(abi.encodeWithSelector(IStake.BadShares.selector, 600_000, 400_001));
        new Stake(token, GAME, 1, 600_000, 400_001);
    }

    function test_stakeThawsAndComesBack() public {
        _stake.stake(WORKER, 100);
        _expectStake(100, 0);
        vm.prank(WORKER);
        assertEq(_stake.thaw(40), 1_000_000 + PERIOD, "available at");
        _expectStake(60, 40);
        vm.warp(1_000_000 + PERIOD - 1);
        vm.prank(WORKER);
        vm.expectRevert(abi.encodeWithSelector(IStake.NothingThawed.selector, WORKER));
        _stake.withdraw();
        vm.warp(1_000_000 + PERIOD);
        vm.prank(WORKER);
        assertEq(_stake.withdraw(), 40, "withdrawn");
        assertEq(_token.balanceOf(WORKER), 40, "received");
        _expectStake(60, 0);
    }

    function test_refusesZerosAndMoreThanThereIs() public {
        vm.expectRevert(IStake.ZeroAmount.selector);
        _stake.stake(WORKER, 0);
        vm.expectRevert(IStake.ZeroAddress.selector);
        _stake.stake(address(0), 1);
        _stake.stake(WORKER, 5);
        vm.prank(WORKER);
        vm.expectRevert(IStake.ZeroAmount.selector);
        _stake.thaw(0);
        vm.prank(WORKER);
        vm.expectRevert(abi.encodeWithSelector(IStake.InsufficientStake.selector, WORKER, 5, 6));
        _stake.thaw(6);
    }

    function test_anOpenGameKeepsEverythingIn() public {
        _stake.stake(WORKER, 100);
        vm.prank(WORKER);
        _stake.thaw(100);
        vm.warp(block.timestamp + PERIOD);
        vm.prank(GAME);
        _stake.lock(WORKER);
        vm.prank(GAME);
        _stake.lock(WORKER);
        vm.prank(GAME);
        _stake.unlock(WORKER);
        vm.prank(WORKER);
        vm.expectRevert(abi.encodeWithSelector(IStake.StakeLocked.selector, WORKER, 1));
        _stake.withdraw();
        vm.prank(GAME);
        _stake.unlock(WORKER);
        vm.prank(GAME);
        vm.expectRevert(abi.encodeWithSelector(IStake.NotLocked.selector, WORKER));
        _stake.unlock(WORKER);
        vm.prank(WORKER);
        assertEq(_stake.withdraw(), 100, "withdrawn");
    }

    function test_aFaultTakesActiveAndThawingStakeAlike() public {
        _stake.stake(WORKER, 1000);
        vm.prank(WORKER);
        _stake.thaw(400);
        vm.prank(GAME);
        assertEq(_stake.slash(WORKER, ALL, FINDER, 1), 1000, "taken");
        _expectStake(0, 0);
        assertEq(_token.balanceOf(FINDER), 300, "reward");
        assertEq(_token.totalSupply(), SUPPLY - 700, "burned");
        assertEq(_token.balanceOf(address(_stake)), 0, "nothing left");
        // Shares of before are worth nothing, also when there is new stake.
        _stake.stake(WORKER, 50);
        vm.prank(WORKER);
        _stake.thaw(50);
        vm.warp(block.timestamp + PERIOD);
        vm.prank(WORKER);
        assertEq(_stake.withdraw(), 50, "only the new stake");
    }

    function test_otherProversShareTheCompensationByMoves() public {
        _stake.stake(WORKER, 1000);
        _record(1, FINDER, 9);
        _record(2, PROVER, 10);
        _record(3, OTHER, 30);
        _refusesToPay(2); // nothing is slashed yet
        vm.prank(GAME);
        _stake.slash(WORKER, ALL, FINDER, 1);
        assertEq(_token.balanceOf(FINDER), 300, "reward");
        assertEq(_token.totalSupply(), SUPPLY - 500, "burned");
        _refusesToPay(1); // it has the reward
        assertEq(_stake.compensate(2), 50, "a quarter");
        (address prover, uint256 amount) = _stake.compensationOf(3);
        assertEq(prover, OTHER, "prover");
        assertEq(amount, 150, "due");
        assertEq(_stake.compensate(3), 150, "the rest");
        _refusesToPay(3);
        _refusesToPay(4);
        assertEq(_token.balanceOf(PROVER), 50, "prover's");
        assertEq(_token.balanceOf(OTHER), 150, "other's");
        assertEq(_token.balanceOf(address(_stake)), 0, "nothing left");
    }

    function test_withoutOtherProversMoreIsBurned() public {
        _stake.stake(WORKER, 1000);
        _record(1, FINDER, 9);
        vm.prank(GAME);
        _stake.slash(WORKER, ALL, FINDER, 1);
        assertEq(_token.totalSupply(), SUPPLY - 700, "burned");
    }

    /// The finder of one unit is another prover of the next one's slash, and the other way round.
    function test_aSlashPaysForAllGamesThatWereWonByThen() public {
        _stake.stake(WORKER, 1000);
        _record(1, FINDER, 10);
        _record(2, PROVER, 10);
        vm.prank(GAME);
        _stake.slash(WORKER, ALL, FINDER, 1);
        _record(3, OTHER, 10);
        // What is slashed of nothing closes nothing.
        vm.prank(GAME);
        _stake.slash(WORKER, ALL, PROVER, 2);
        assertEq(_stake.compensate(2), 200, "of the first slash");
        _refusesToPay(3);
        _stake.stake(WORKER, 100);
        vm.prank(GAME);
        _stake.slash(WORKER, ALL, PROVER, 2);
        assertEq(_stake.compensate(3), 20, "of the second one");
    }

    /// However its accomplices win their games, half of the stake is gone.
    function test_halfIsAlwaysBurned(uint96 amount, uint8 games, uint256 seed) public {
        uint256 stake = uint256(amount) + 1;
        _stake.stake(WORKER, stake);
        uint256 supply = _token.totalSupply();
        for (uint256 i = 1; i <= games; ++i) {
            // forge-lint: disable-next-line(unsafe-typecast)
            _record(i, PROVER, 1 + uint32(uint256(keccak256(abi.encode(seed, i))) % 1e6));
        }
        vm.prank(GAME);
        _stake.slash(WORKER, ALL, PROVER, bound(seed, 0, games));
        for (uint256 i = 1; i <= games; ++i) {
            (, uint256 due) = _stake.compensationOf(i);
            if (due != 0) _stake.compensate(i);
        }
        assertLe(_token.balanceOf(PROVER), stake / 2, "what comes back");
        assertLe(stake - stake / 2, supply - _token.totalSupply(), "burned");
        assertLe(_token.balanceOf(address(_stake)), games, "dust");
    }

    function test_aPartialSlashIsSharedByAllThaws() public {
        _stake.stake(WORKER, 300);
        vm.prank(WORKER);
        _stake.thaw(100);
        vm.prank(WORKER);
        _stake.thaw(200);
        vm.prank(GAME);
        assertEq(_stake.slash(WORKER, 500_000, FINDER, 0), 150, "taken");
        _stake.stake(WORKER, 75);
        vm.prank(WORKER);
        _stake.thaw(75); // half of the 150 that the 300 shares are worth: 150 shares
        vm.warp(block.timestamp + PERIOD);
        vm.prank(WORKER);
        assertEq(_stake.withdraw(), 225, "150 left of the old ones, 75 new");
    }

    function test_onlyTheGameLocksAndSlashes() public {
        bytes memory refused = abi.encodeWithSelector(IStake.NotTheGame.selector, address(this));
        vm.expectRevert(refused);
        _stake.lock(WORKER);
        vm.expectRevert(refused);
        _stake.unlock(WORKER);
        vm.expectRevert(refused);
        _stake.slash(WORKER, 1, FINDER, 0);
        vm.expectRevert(refused);
        _stake.recordProof(WORKER, 1, FINDER, 1);
        vm.prank(GAME);
        vm.expectRevert(IStake.ZeroAddress.selector);
        _stake.slash(WORKER, 1, address(0), 0);
    }

    function test_thawsAreBoundedAndFreeWhenWithdrawn() public {
        uint256 max = _stake.THAWS_MAX();
        _stake.stake(WORKER, max + 1);
        for (uint256 i = 0; i < max; ++i) {
            vm.prank(WORKER);
            _stake.thaw(1);
        }
        assertEq(_stake.thawCount(WORKER), max, "thaws");
        vm.prank(WORKER);
        vm.expectRevert(abi.encodeWithSelector(IStake.TooManyThaws.selector, max));
        _stake.thaw(1);
        vm.warp(block.timestamp + PERIOD);
        vm.prank(WORKER);
        assertEq(_stake.withdraw(), max, "withdrawn");
        vm.prank(WORKER);
        _stake.thaw(1);
        assertEq(_stake.thawCount(WORKER), 1, "thaws");
    }

    function test_aTokenWithAFeeIsRefused() public {
        FeeToken token = new FeeToken(address(this));
        Stake other = new Stake(IERC20(address(token)), GAME, PERIOD, 500_000, 0);
        token.approve(address(other), 1000);
        vm.expectPartialRevert(IStake.TransferAmountMismatch.selector);
        other.stake(WORKER, 1000);
    }

    function test_permitStakesWithoutAnAllowance(uint256 key, uint256 amount) public {
        key = bound(key, 1, type(uint128).max);
        amount = bound(amount, 1, SUPPLY);
        address owner = vm.addr(key);
        _token.transfer(owner, amount);
        bytes32 message = keccak256(
            abi.encode(
                keccak256(
                    "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
                ),
                owner,
                address(_stake),
                amount,
                0,
                block.timestamp
            )
        );
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", _token.DOMAIN_SEPARATOR(), message));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        vm.prank(owner);
        _stake.stakeWithPermit(WORKER, amount, block.timestamp, v, r, s);
        _expectStake(amount, 0);
    }

    /// Whatever is thawed and slashed in whatever amounts: nobody gets more out than is left.
    function test_sharesNeverPayMoreThanThereIs(uint96[4] memory amounts, uint32 slashed) public {
        uint256 total = 0;
        for (uint256 i = 0; i < 4; ++i) {
            uint256 amount = uint256(amounts[i]) + 1;
            total += amount;
            _stake.stake(WORKER, amount);
            vm.prank(WORKER);
            _stake.thaw(amount);
            if (i == 1) {
                vm.prank(GAME);
                // forge-lint: disable-next-line(unsafe-typecast)
                total -= _stake.slash(WORKER, uint32(bound(slashed, 0, ALL)), FINDER, 0);
            }
        }
        vm.warp(block.timestamp + PERIOD);
        vm.prank(WORKER);
        assertEq(_stake.withdraw(), total, "all that is left, to the last unit");
        assertEq(_token.balanceOf(address(_stake)), 0, "nothing is stuck");
    }

    function _record(uint256 number, address prover, uint32 moves) private {
        vm.prank(GAME);
        _stake.recordProof(WORKER, number, prover, moves);
    }

    function _refusesToPay(uint256 number) private {
        vm.expectRevert(abi.encodeWithSelector(IStake.NothingDue.selector, number));
        _stake.compensate(number);
    }

    function _expectStake(uint256 active, uint256 thawing) private view {
        (uint256 has, uint256 thaws,) = _stake.stakeOf(WORKER);
        assertEq(has, active, "active");
        assertEq(thaws, thawing, "thawing");
    }
}
