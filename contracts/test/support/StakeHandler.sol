// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {GymToken} from "../../src/GymToken.sol";
import {Stake} from "../../src/Stake.sol";
import {TestBase} from "./TestBase.sol";

/// Stakers and a game with random arguments; counts what must add up.
contract StakeHandler is TestBase {
    uint256 public constant OWNERS = 3;
    uint64 public constant PERIOD = 1 days;
    address public constant FINDER = address(0xf1);
    address public constant PROVER = address(0x9e);
    uint256 private constant SUPPLY = 1e40;

    GymToken public token;
    Stake public stakes;
    uint256 public staked;
    uint256 public withdrawn;
    uint256 public slashed;
    uint256 public withdrawnWhileLocked;
    /// Won games, numbered from 1, and what slashes left to their provers.
    uint256 public proofs;
    uint256 public compensation;

    uint256 private _now = 1_000_000;

    constructor() {
        vm.warp(_now);
        token = new GymToken(address(this), SUPPLY);
        stakes = new Stake(IERC20(address(token)), address(this), PERIOD, 500_000, 100_000);
        token.approve(address(stakes), type(uint256).max);
    }

    function owner(uint256 index) public pure returns (address) {
        return address(uint160(0x30000 + index % OWNERS));
    }

    function burned() external view returns (uint256) {
        return SUPPLY - token.totalSupply();
    }

    // --- what forge calls ---

    function wait(uint256 seconds_) external {
        _now += bound(seconds_, 1, 2 days);
        vm.warp(_now);
    }

    function stake(uint256 who, uint256 amount) external {
        amount = bound(amount, 1, 1e24);
        stakes.stake(owner(who), amount);
        staked += amount;
    }

    function thaw(uint256 who, uint256 amount) external {
        vm.warp(_now);
        (uint256 active,,) = stakes.stakeOf(owner(who));
        if (active == 0 || stakes.thawCount(owner(who)) == stakes.THAWS_MAX()) return;
        vm.prank(owner(who));
        stakes.thaw(bound(amount, 1, active));
    }

    function withdraw(uint256 who) external {
        vm.warp(_now);
        (,, uint256 locks) = stakes.stakeOf(owner(who));
        vm.prank(owner(who));
        try stakes.withdraw() returns (uint256 amount) {
            withdrawn += amount;
            if (locks != 0) withdrawnWhileLocked += 1;
        } catch {} // nothing has thawed, or a game is open
    }

    function lock(uint256 who) external {
        stakes.lock(owner(who));
    }

    function unlock(uint256 who) external {
        (,, uint256 locks) = stakes.stakeOf(owner(who));
        if (locks != 0) stakes.unlock(owner(who));
    }

    function recordProof(uint256 who, uint32 moves) external {
        // forge-lint: disable-next-line(unsafe-typecast)
        stakes.recordProof(owner(who), ++proofs, PROVER, uint32(bound(moves, 1, 1e6)));
    }

    /// @param finder Number of a game, or none.
    function slash(uint256 who, uint256 share, bool all, uint256 finder) external {
        uint256 before = token.balanceOf(address(stakes));
        uint256 paid = token.balanceOf(FINDER) + this.burned();
        uint256 taken = stakes.slash(
            owner(who),
            // forge-lint: disable-next-line(unsafe-typecast)
            all ? 1e6 : uint32(bound(share, 0, 1e6)),
            FINDER,
            bound(finder, 0, proofs)
        );
        slashed += taken;
        compensation += taken - (token.balanceOf(FINDER) + this.burned() - paid);
        assertEq(
            before - token.balanceOf(address(stakes)),
            token.balanceOf(FINDER) + this.burned() - paid,
            "what went out"
        );
    }

    function compensate(uint256 number) public {
        try stakes.compensate(bound(number, 0, proofs)) {} catch {} // not slashed, or paid
    }

    /// All that can be paid.
    function everybodyIsPaid() external {
        for (uint256 i = 1; i <= proofs; ++i) {
            compensate(i);
        }
    }

    /// Everybody thaws, waits and withdraws.
    function everybodyLeaves() external {
        for (uint256 i = 0; i < OWNERS; ++i) {
            (uint256 active,, uint256 locks) = stakes.stakeOf(owner(i));
            for (; locks != 0; --locks) {
                stakes.unlock(owner(i));
            }
            _now += PERIOD;
            vm.warp(_now);
            if (stakes.thawCount(owner(i)) != 0) _leave(i);
            if (active == 0) continue;
            vm.prank(owner(i));
            stakes.thaw(active);
            _now += PERIOD;
            vm.warp(_now);
            _leave(i);
        }
    }

    function _leave(uint256 i) private {
        vm.prank(owner(i));
        withdrawn += stakes.withdraw();
    }
}
