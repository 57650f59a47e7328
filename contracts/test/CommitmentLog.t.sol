// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";

import {AdminTimelock} from "../src/AdminTimelock.sol";
import {CommitmentLog} from "../src/CommitmentLog.sol";
import {IDrandBeacon} from "../src/interfaces/IDrandBeacon.sol";
import {IDisputeErrors} from "../src/dispute/DisputeTypes.sol";
import {ICommitmentLog} from "../src/interfaces/ICommitmentLog.sol";
import {Heads, Made} from "./support/Heads.sol";
import {TestBase} from "./support/TestBase.sol";

contract CommitmentLogTest is TestBase {
    address private constant ADMIN_KEY = address(0xad);
    address private constant GUARDIAN = address(0x9a);
    /// The coordinator's.
    uint256 private constant KEY = 0xc0;
    bytes32 private constant JOB = keccak256("job");

    CommitmentLog private _log;

    function setUp() public {
        _log = new CommitmentLog(
            new AdminTimelock(1 days, ADMIN_KEY, GUARDIAN),
            vm.addr(KEY),
            GUARDIAN,
            IDrandBeacon(address(0))
        );
    }

    function test_aRoundIsFixedOnce(bytes32 job) public {
        bytes memory record = Heads.first(job);
        vm.expectEmit(address(_log));
        emit ICommitmentLog.RoundPosted(job, 1, Heads.hash(record));
        _post(record, "");
        record[465 - 32] ^= 0x01;
        _refuse(_error(ICommitmentLog.RoundExists.selector, job, 1), record, "");
        (bytes32 stored, uint64 epoch) = _log.roundOf(job, 1);
        assertEq(stored, Heads.hash(Heads.first(job)), "hash");
        assertEq(epoch, 0, "epoch of an open round");
    }

    // --- the base of the next round ---

    /// The record begins with the result of the aggregate that is posted with it.
    function test_aRoundNamesTheAggregateThatMadeItsBase() public {
        (bytes memory first, Made memory made) = _firstRound();
        bytes memory signed = Heads.sign(address(_log), made, KEY);
        bytes32 unit = keccak256(abi.encode(Heads.digest(address(_log), made), vm.addr(KEY)));
        (bytes32 before,) = _log.aggregateOf(JOB, 1);
        assertEq(before, 0, "not on chain yet");
        vm.roll(99);
        vm.expectEmit(address(_log));
        emit ICommitmentLog.AggregatePosted(JOB, 1, vm.addr(KEY), unit, signed);
        _post(Heads.next(JOB, 2, first, made, 3), signed);
        (bytes32 named, uint64 blockNumber) = _log.aggregateOf(JOB, 1);
        assertEq(named, unit, "unit");
        assertEq(blockNumber, 99, "block");
    }

    function test_aRoundWithAnotherBaseThanItsAggregateMadeIsRefused() public {
        (bytes memory first, Made memory made) = _firstRound();
        bytes memory signed = Heads.sign(address(_log), made, KEY);
        Made memory other = Heads.made(0, keccak256("another"), made.momentum);
        bytes memory wrong = abi.encodeWithSelector(ICommitmentLog.WrongBase.selector);
        _refuse(wrong, Heads.next(JOB, 2, first, other, 3), signed);
        other = Heads.made(0, made.base, keccak256("another"));
        _refuse(wrong, Heads.next(JOB, 2, first, other, 3), signed);
        _post(Heads.next(JOB, 2, first, made, 3), signed);
    }

    /// Nothing went in: the base stays as it is.
    function test_aRoundWithoutDeltasBindsItsBase() public {
        (bytes memory first, Made memory made) = _firstRound();
        Made memory same = Heads.made(0, Heads.BASE, Heads.MOMENTUM);
        bytes memory wrong = abi.encodeWithSelector(ICommitmentLog.WrongBase.selector);
        Made memory other = Heads.made(0, made.base, Heads.MOMENTUM);
        _refuse(wrong, Heads.next(JOB, 2, first, other, 0), first);
        other = Heads.made(0, Heads.BASE, made.momentum);
        _refuse(wrong, Heads.next(JOB, 2, first, other, 0), first);
        // Nor does the head of another record say what the base was.
        bytes memory another = Heads.head(JOB, 1, 0, made, 0);
        bytes memory origin = abi.encodeWithSelector(ICommitmentLog.BadOrigin.selector, 464);
        _refuse(origin, Heads.next(JOB, 2, first, made, 0), another);
        _post(Heads.next(JOB, 2, first, same, 0), first);
        (bytes32 unit, uint64 blockNumber) = _log.aggregateOf(JOB, 1);
        assertEq(unit, 0, "aggregate");
        assertEq(blockNumber, 0, "block");
    }

    function test_deltasAreThereWithAnAggregateAndOnlyWithOne() public {
        (bytes memory first, Made memory made) = _firstRound();
        bytes memory signed = Heads.sign(address(_log), made, KEY);
        bytes4 wrong = ICommitmentLog.WrongDeltas.selector;
        Made memory same = Heads.made(0, Heads.BASE, Heads.MOMENTUM);
        _refuse(abi.encodeWithSelector(wrong, 0), Heads.next(JOB, 2, first, made, 0), signed);
        _refuse(abi.encodeWithSelector(wrong, 3), Heads.next(JOB, 2, first, same, 3), first);
        _refuse(abi.encodeWithSelector(wrong, 3), Heads.next(JOB, 2, first, same, 3), "");
        // Round 1 begins with what the job begins with.
        bytes memory record = Heads.head(keccak256("another job"), 1, 0, same, 1);
        _refuse(abi.encodeWithSelector(wrong, 1), record, signed);
        record = Heads.first(keccak256("another job"));
        _refuse(abi.encodeWithSelector(ICommitmentLog.BadOrigin.selector, 464), record, first);
        _refuse(abi.encodeWithSelector(wrong, 0), Heads.next(JOB, 2, first, same, 0), signed);
        _refuse(
            abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 0),
            Heads.next(JOB, 2, first, same, 0),
            ""
        );
    }

    function test_aRoundFollowsTheRecordThatIsPosted() public {
        (bytes memory first, Made memory made) = _firstRound();
        bytes memory signed = Heads.sign(address(_log), made, KEY);
        bytes memory record = Heads.head(JOB, 2, keccak256("garbage"), made, 3);
        bytes memory refused = abi.encodeWithSelector(
            ICommitmentLog.NotTheRecordBefore.selector, keccak256("garbage"), Heads.hash(first)
        );
        _refuse(refused, record, signed);
        record = Heads.next(JOB, 3, first, made, 3);
        _refuse(_error(ICommitmentLog.RoundUnknown.selector, JOB, 2), record, signed);
        record = Heads.head(JOB, 0, 0, made, 0);
        _refuse(abi.encodeWithSelector(ICommitmentLog.RoundZero.selector), record, "");
        record = Heads.head(keccak256("another job"), 1, keccak256("garbage"), made, 0);
        refused = abi.encodeWithSelector(
            ICommitmentLog.NotTheRecordBefore.selector, keccak256("garbage"), bytes32(0)
        );
        _refuse(refused, record, "");
    }

    function test_anAggregateIsOfItsRoundAndSignedByACoordinator() public {
        (bytes memory first, Made memory made) = _firstRound();
        bytes memory record = Heads.next(JOB, 2, first, made, 3);
        bytes memory stranger =
            abi.encodeWithSelector(ICommitmentLog.NotACoordinator.selector, vm.addr(KEY + 1));
        _refuse(stranger, record, Heads.sign(address(_log), made, KEY + 1));
        bytes32 own = made.roundRecord;
        made.roundRecord = keccak256("another round");
        _refuse(_notIts(made), record, Heads.sign(address(_log), made, KEY));
        made.roundRecord = own;
        made.kind = 1;
        _refuse(_notIts(made), record, Heads.sign(address(_log), made, KEY));
        (made.kind, made.slot) = (2, 7);
        _refuse(_notIts(made), record, Heads.sign(address(_log), made, KEY));
    }

    /// Of a round that no other one follows yet. A record that follows must name it.
    function test_anAggregateIsPostedOnceWhereverItIsFirst() public {
        (bytes memory first, Made memory made) = _firstRound();
        bytes memory signed = Heads.sign(address(_log), made, KEY);
        vm.roll(50);
        _postAggregate(1, signed);
        vm.roll(60);
        _postAggregate(1, signed);
        (bytes32 unit, uint64 blockNumber) = _log.aggregateOf(JOB, 1);
        assertEq(blockNumber, 50, "the first post counts");
        Made memory other = Heads.made(made.roundRecord, keccak256("another"), made.momentum);
        bytes memory exists =
            abi.encodeWithSelector(ICommitmentLog.AggregateExists.selector, JOB, uint64(1), unit);
        bytes memory second = Heads.sign(address(_log), other, KEY);
        _refuse(exists, Heads.next(JOB, 2, first, other, 3), second);
        Made memory same = Heads.made(0, Heads.BASE, Heads.MOMENTUM);
        _refuse(exists, Heads.next(JOB, 2, first, same, 0), first);
        _post(Heads.next(JOB, 2, first, made, 3), signed);
        // Two transactions that cross: the later one changes nothing.
        _postAggregate(1, signed);
        (, blockNumber) = _log.aggregateOf(JOB, 1);
        assertEq(blockNumber, 50, "block");
    }

    function test_anAggregateIsNotPostedBehindTheNextRound() public {
        (bytes memory first, Made memory made) = _firstRound();
        bytes memory signed = Heads.sign(address(_log), made, KEY);
        _post(Heads.next(JOB, 2, first, Heads.made(0, Heads.BASE, Heads.MOMENTUM), 0), first);
        vm.expectRevert(_error(ICommitmentLog.RoundExists.selector, JOB, 2));
        _postAggregate(1, signed);
        vm.expectRevert(_error(ICommitmentLog.RoundUnknown.selector, JOB, 3));
        _postAggregate(3, signed);
    }

    // --- epochs and commitments ---

    function test_anEpochClosesARoundOnce() public {
        (bytes memory first, Made memory made) = _firstRound();
        _post(Heads.next(JOB, 2, first, made, 3), Heads.sign(address(_log), made, KEY));
        vm.roll(77);
        vm.expectEmit(address(_log));
        emit ICommitmentLog.EpochPosted(9, JOB, 1, bytes32(uint256(5)), 3);
        _postEpoch(9, 1, bytes32(uint256(5)));
        (bytes32 root, uint32 count, uint64 blockNumber) = _log.epochOf(9);
        assertEq(root, bytes32(uint256(5)), "root");
        assertEq(count, 3, "count");
        assertEq(blockNumber, 77, "block");
        (, uint64 epoch) = _log.roundOf(JOB, 1);
        assertEq(epoch, 9, "epoch");
        (bytes32 unit,) = _log.aggregateOf(JOB, 1);
        assertTrue(unit != 0, "the aggregate stays");

        vm.expectRevert(abi.encodeWithSelector(ICommitmentLog.EpochExists.selector, uint64(9)));
        _postEpoch(9, 2, bytes32(uint256(6)));
        vm.expectRevert(
            abi.encodeWithSelector(ICommitmentLog.RoundClosed.selector, JOB, uint64(1), uint64(9))
        );
        _postEpoch(10, 1, bytes32(uint256(6)));
    }

    function test_zerosAndUnknownRoundsAreRejected() public {
        _post(Heads.first(JOB), "");
        vm.expectRevert(ICommitmentLog.ZeroRoot.selector);
        _postEpoch(1, 1, 0);
        vm.expectRevert(abi.encodeWithSelector(ICommitmentLog.EpochExists.selector, uint64(0)));
        _postEpoch(0, 1, bytes32(uint256(1)));
        vm.expectRevert(_error(ICommitmentLog.RoundUnknown.selector, JOB, 2));
        _postEpoch(1, 2, bytes32(uint256(1)));
    }

    /// Once: the first block counts. Nothing of it is checked but the round that it names.
    function test_anyoneMayPublishACommitment(address sender) public {
        (, Made memory made) = _firstRound();
        (made.kind, made.slot) = (1, 3);
        bytes memory commitment = Heads.sign(address(_log), made, KEY + 1);
        bytes32 leaf = sha256(abi.encodePacked("gym.commitment.v1", commitment));
        assertEq(_log.publishedAt(leaf), 0, "before");
        vm.roll(40);
        vm.expectEmit(address(_log));
        emit ICommitmentLog.CommitmentPosted(JOB, 1, sender, commitment);
        vm.prank(sender);
        _log.postCommitment(JOB, 1, commitment);
        vm.roll(50);
        _log.postCommitment(JOB, 1, commitment);
        assertEq(_log.publishedAt(leaf), 40, "block");
    }

    function test_commitmentsToOtherRoundsAreRejected() public {
        (, Made memory made) = _firstRound();
        made.roundRecord = keccak256("another round");
        bytes memory commitment = Heads.sign(address(_log), made, KEY);
        vm.expectRevert(
            abi.encodeWithSelector(ICommitmentLog.NotOfTheRound.selector, made.roundRecord)
        );
        _log.postCommitment(JOB, 1, commitment);
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 225));
        _log.postCommitment(JOB, 1, new bytes(225));
        vm.expectRevert(_error(ICommitmentLog.RoundUnknown.selector, JOB, 5));
        _log.postCommitment(JOB, 5, commitment);
    }

    function test_anEpochNamesItsPoster() public {
        _post(Heads.first(JOB), "");
        _postEpoch(9, 1, bytes32(uint256(5)));
        assertEq(_log.posterOf(9), vm.addr(KEY), "poster");
        assertEq(_log.posterOf(8), address(0), "of no epoch");
        _post(Heads.first(keccak256("another job")), "");
        vm.expectRevert(abi.encodeWithSelector(ICommitmentLog.TooManyCommitments.selector, 1 << 24));
        vm.prank(vm.addr(KEY));
        _log.postEpoch(10, keccak256("another job"), 1, bytes32(uint256(1)), 1 << 24);
    }

    function test_onlyTheCoordinatorPosts(address stranger) public {
        vm.assume(stranger != vm.addr(KEY));
        bytes memory refused = abi.encodeWithSelector(
            IAccessControl.AccessControlUnauthorizedAccount.selector,
            stranger,
            _log.COORDINATOR_ROLE()
        );
        vm.expectRevert(refused);
        vm.prank(stranger);
        _log.postRound(Heads.first(JOB), "");
        vm.expectRevert(refused);
        vm.prank(stranger);
        _log.postAggregate(JOB, 1, new bytes(226));
        vm.expectRevert(refused);
        vm.prank(stranger);
        _log.postEpoch(1, JOB, 0, bytes32(uint256(1)), 1);
    }

    /// Round 1, and what its aggregate makes.
    function _firstRound() private returns (bytes memory record, Made memory made) {
        record = Heads.first(JOB);
        _post(record, "");
        made = Heads.made(Heads.hash(record), keccak256("base"), keccak256("momentum"));
    }

    function _post(bytes memory record, bytes memory origin) private {
        vm.prank(vm.addr(KEY));
        _log.postRound(record, origin);
    }

    function _refuse(bytes memory reason, bytes memory record, bytes memory origin) private {
        vm.expectRevert(reason);
        _post(record, origin);
    }

    function _postAggregate(uint64 round, bytes memory signed) private {
        vm.prank(vm.addr(KEY));
        _log.postAggregate(JOB, round, signed);
    }

    function _error(bytes4 selector, bytes32 job, uint64 round)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(selector, job, round);
    }

    function _notIts(Made memory made) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ICommitmentLog.NotTheAggregate.selector, made.roundRecord);
    }

    function _postEpoch(uint64 epoch, uint64 round, bytes32 root) private {
        vm.prank(vm.addr(KEY));
        _log.postEpoch(epoch, JOB, round, root, 3);
    }
}
