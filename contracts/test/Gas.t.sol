// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {CommitmentLog} from "../src/CommitmentLog.sol";
import {IJobEscrow} from "../src/interfaces/IJobEscrow.sol";
import {IDrandBeacon} from "../src/interfaces/IDrandBeacon.sol";
import {JobEscrow} from "../src/JobEscrow.sol";
import {IRewardsDistributor} from "../src/interfaces/IRewardsDistributor.sol";
import {DistributorFixture} from "./support/DistributorFixture.sol";
import {Heads, Made} from "./support/Heads.sol";
import {Orders} from "./support/Orders.sol";

/// Gas of whole transactions (forge runs each call as its own, foundry.toml: isolate), compared with
/// snapshots/Gas.json and held below the bounds of docs/REWARDS.md.
contract GasTest is DistributorFixture {
    uint256 private constant EARNERS = 1000;
    uint256 private constant COORDINATOR_KEY = 0xc0;

    function setUp() public {
        _deploy();
        for (uint256 i = 0; i < EARNERS; ++i) {
            _earn(i, 1e18 + i);
        }
    }

    function test_postsAndClaimsStayBelowTheirBounds() public {
        _submit(1);
        assertLe(_snapshot("submitRoot, first"), 100_000, "first root");
        vm.warp(block.timestamp + DELAY);
        _claim(3);
        _snapshot("claim, first of all");
        _claim(7);
        assertLe(_snapshot("claim, first of an earner, 1000 earners"), 120_000, "first claim");
        _earn(7, 5e18);
        _submit(2);
        assertLe(_snapshot("submitRoot, second"), 100_000, "second root");
        vm.warp(block.timestamp + DELAY);
        _earn(7, 5e18);
        _submit(3);
        assertLe(_snapshot("submitRoot"), 100_000, "root");
        vm.warp(block.timestamp + DELAY);
        _claim(7);
        assertLe(_snapshot("claim, repeated, 1000 earners"), 80_000, "repeated claim");
        IRewardsDistributor.Claim memory active = _leaf(7);
        _earn(7, 5e18);
        _submit(4);
        _distributor.demandLeaf{value: _distributor.demandBond()}(4, active);
        _snapshot("demandLeaf, 1000 earners");
        IRewardsDistributor.Claim memory pending = _leaf(7);
        vm.prank(SETTLER);
        _distributor.showLeaf(4, pending);
        _snapshot("showLeaf, 1000 earners");
    }

    function test_escrowAndLog() public {
        JobEscrow escrow = new JobEscrow(
            IERC20(address(_token)),
            address(_distributor),
            _timelock,
            address(this),
            GUARDIAN,
            0,
            0,
            FUNDS
        );
        _token.approve(address(escrow), FUNDS);
        escrow.deposit(address(this), 100);
        _snapshot("deposit, first of an owner");
        escrow.deposit(address(this), 100);
        _snapshot("deposit, repeated");
        _lockAndSnapshot(escrow);
        escrow.lockOwn(160);
        _snapshot("lockOwn");
        address[] memory owners = new address[](1);
        uint256[] memory amounts = new uint256[](1);
        (owners[0], amounts[0]) = (address(this), 50);
        escrow.release(1, owners, amounts);
        _snapshot("release, first, one owner");
        escrow.release(2, owners, amounts);
        _snapshot("release, one owner");
        amounts[0] = 60;
        escrow.unlock(owners, amounts);
        _snapshot("unlock, first, one owner");

        escrow.requestWithdrawal(50);
        _snapshot("requestWithdrawal");
        escrow.withdraw();
        assertLe(_snapshot("withdraw"), 60_000, "withdrawal of a part");
        escrow.requestWithdrawal(escrow.balanceOf(address(this)));
        escrow.withdraw();
        _snapshot("withdraw, all");
        escrow.deposit(address(this), 100);
        escrow.requestExit();
        _snapshot("requestExit");
        vm.warp(block.timestamp + escrow.EXIT_DELAY());
        escrow.exit();
        _snapshot("exit");

        CommitmentLog log = new CommitmentLog(
            _timelock, vm.addr(COORDINATOR_KEY), GUARDIAN, IDrandBeacon(address(0))
        );
        bytes memory head = Heads.first(FILE_ROOT);
        vm.prank(vm.addr(COORDINATOR_KEY));
        log.postRound(head, "");
        _snapshot("postRound, first");
        _closed(log, 1);
        _snapshot("postEpoch");
        _roundsAndSnapshot(log, head);
    }

    /// Heads are as long for any number of slots and deltas.
    function _roundsAndSnapshot(CommitmentLog log, bytes memory first) private {
        Made memory same = Heads.made(0, Heads.BASE, Heads.MOMENTUM);
        bytes memory second = Heads.next(FILE_ROOT, 2, first, same, 0);
        vm.prank(vm.addr(COORDINATOR_KEY));
        log.postRound(second, first);
        assertLe(_snapshot("postRound, without deltas"), 150_000, "round without deltas");
        _closed(log, 2);
        Made memory made = Heads.made(Heads.hash(second), keccak256("base"), keccak256("momentum"));
        bytes memory third = Heads.next(FILE_ROOT, 3, second, made, type(uint32).max);
        bytes memory signed = Heads.sign(address(log), made, COORDINATOR_KEY);
        vm.prank(vm.addr(COORDINATOR_KEY));
        log.postRound(third, signed);
        assertLe(_snapshot("postRound"), 150_000, "round");
        made.roundRecord = Heads.hash(third);
        signed = Heads.sign(address(log), made, COORDINATOR_KEY);
        // Before the epoch, as where rounds overlap: more is written for the first time.
        bytes memory fourth = Heads.next(FILE_ROOT, 4, third, made, type(uint32).max);
        vm.prank(vm.addr(COORDINATOR_KEY));
        log.postRound(fourth, signed);
        assertLe(_snapshot("postRound, rounds overlap"), 150_000, "round before the epoch");
        made.roundRecord = Heads.hash(fourth);
        signed = Heads.sign(address(log), made, COORDINATOR_KEY);
        _closed(log, 4);
        vm.prank(vm.addr(COORDINATOR_KEY));
        log.postAggregate(FILE_ROOT, 4, signed);
        _snapshot("postAggregate");
    }

    function _closed(CommitmentLog log, uint64 round) private {
        vm.prank(vm.addr(COORDINATOR_KEY));
        log.postEpoch(round, FILE_ROOT, round, FILE_ROOT, 3);
    }

    function _lockAndSnapshot(JobEscrow escrow) private {
        address owner = vm.addr(0xf000);
        escrow.deposit(owner, 100);
        IJobEscrow.JobOrder memory order;
        order.owner = owner;
        order.spec = FILE_ROOT;
        order.budget = 40;
        order.expiry = uint64(block.timestamp);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(0xf000, Orders.digest(address(escrow), order));
        escrow.lock(order, abi.encodePacked(r, s, v));
        assertLe(_snapshot("lock"), 110_000, "lock");
        IJobEscrow.JobFunding memory funding =
            IJobEscrow.JobFunding(owner, FILE_ROOT, 40, 0, uint64(block.timestamp));
        (v, r, s) = vm.sign(0xf000, Orders.digest(address(escrow), funding));
        escrow.lockFunding(funding, abi.encodePacked(r, s, v));
        _snapshot("lockFunding");
    }

    function _snapshot(string memory name) private returns (uint256) {
        return vm.snapshotGasLastCall("Gas", name);
    }
}
