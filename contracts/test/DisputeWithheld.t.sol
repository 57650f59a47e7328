// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Cursor,
    DataRequest,
    IDisputeErrors,
    SlotProof,
    Stage,
    Wanted
} from "../src/dispute/DisputeTypes.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {WithheldRules} from "../src/dispute/WithheldRules.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {DisputeFixture, Posted} from "./support/DisputeFixture.sol";
import {DisputeTrees, Tensor} from "./support/DisputeTrees.sol";
import {Slots} from "./support/Slots.sol";

/// Games about data that somebody stands for and does not give.
contract DisputeWithheldTest is DisputeFixture {
    /// Posts epochs: this contract has the coordinator's role in the fixture.
    address private _coordinator;

    bytes private _request;
    SlotProof private _noSlot;
    bytes32[] private _noPath;
    DataRequest private _wanted;
    bytes32 private _id;

    function setUp() public {
        _deployGame();
        _coordinator = address(this);
        _fund(_coordinator);
        _token.approve(address(_stake), type(uint256).max);
        _stake.stake(_coordinator, STAKE);
    }

    // --- a published commitment that is in no epoch ---

    /// The attack: a coordinator takes no notice of a commitment. Its worker publishes it, and takes the coordinator's stake.
    function test_aCoordinatorThatLeavesOutAPublishedCommitmentLosesItsStake() public {
        _publishedAndLeftOut(NOTICE_BLOCKS);
        this.openNow();
        _wait(CLOCK + 1, 1);
        _game.timeout(_id);
        assertEq(
            uint256(_game.gameOf(_id).status), uint256(IDisputeGame.Status.FaultByClock), "status"
        );
        _wait(SETTLING + 1, 1);
        (uint256 before,,) = _stake.stakeOf(_coordinator);
        _game.settle(_unit);
        (uint256 left,,) = _stake.stakeOf(_coordinator);
        assertEq(left, before - before * MISSED_PPM / 1e6, "stake");
        assertEq(_game.unitOf(_unit).finder, CHALLENGER, "finder");
    }

    function test_oneThatIsInTheEpochIsShown() public {
        (bytes32[] memory leaves, uint32 index) = _publishedAndTaken();
        this.openNow();
        Cursor memory cursor = _start();
        _show(
            cursor, abi.encodePacked(uint8(0), index), _commitment, DisputeTrees.path(leaves, index)
        );
        _expectUpheld();
    }

    /// Another epoch's root, another place, another unit's commitment: none answers.
    function test_nothingElseAnswersForACommitment() public {
        (bytes32[] memory leaves, uint32 index) = _publishedAndTaken();
        this.openNow();
        Cursor memory cursor = _start();
        bytes32[] memory path = DisputeTrees.path(leaves, index);
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.showAs(cursor, abi.encodePacked(uint8(0), index - 1), _commitment, path, _noPath);
        vm.expectPartialRevert(MerkleSha256.ZeroRoot.selector);
        this.showAs(cursor, abi.encodePacked(uint8(1), index), _commitment, path, _noPath);
        vm.expectPartialRevert(IDisputeErrors.Malformed.selector);
        this.showAs(cursor, abi.encodePacked(index), _commitment, path, _noPath);
        bytes memory other = _commitment;
        other[60] ^= 0x01;
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.showAs(cursor, abi.encodePacked(uint8(0), index), other, path, _noPath);
        vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        this.showAs(cursor, abi.encodePacked(uint8(0), index), _commitment, path, path);
        DataRequest memory wanted = _wanted;
        _wanted.slot += 1;
        vm.expectPartialRevert(IDisputeErrors.WrongFrame.selector);
        this.showAs(cursor, abi.encodePacked(uint8(0), index), _commitment, path, _noPath);
        _wanted = wanted;
        _show(cursor, abi.encodePacked(uint8(0), index), _commitment, path);
    }

    /// A worker that signs twice and publishes one of them gains nothing.
    function test_anotherCommitmentOfTheWorkerAnswersForIt() public {
        Posted memory p = _honest(_right());
        _prepare(p);
        bytes memory published = _commitment;
        p.deltaRoot = keccak256("another");
        bytes memory taken = _signed(p, _hash());
        (bytes32[] memory leaves, uint32 index) = _epochWith(taken, NOTICE_BLOCKS, published);
        _askForCommitment(published);
        this.openNow();
        _show(_start(), abi.encodePacked(uint8(0), index), taken, DisputeTrees.path(leaves, index));
        _expectUpheld();
    }

    function test_andNoOtherWorkersDoes() public {
        Posted memory p = _honest(_right());
        _prepare(p);
        bytes memory published = _commitment;
        bytes memory taken = _signedBy(p, _hash(), KEY + 1);
        (bytes32[] memory leaves, uint32 index) = _epochWith(taken, NOTICE_BLOCKS, published);
        _askForCommitment(published);
        this.openNow();
        Cursor memory cursor = _start();
        bytes32[] memory path = DisputeTrees.path(leaves, index);
        vm.expectPartialRevert(IDisputeErrors.WrongFrame.selector);
        this.showAs(cursor, abi.encodePacked(uint8(0), index), taken, path, _noPath);
    }

    /// A coordinator has to have the time to read the chain.
    function test_oneThatWasPublishedTooLateIsNotAskedFor() public {
        _publishedAndLeftOut(NOTICE_BLOCKS - 1);
        vm.expectPartialRevert(WithheldRules.NotPublishedInTime.selector);
        this.openNow();
    }

    function test_oneThatWasNotPublishedIsNotAskedFor() public {
        _prepare(_honest(_right()));
        _epochWith("", NOTICE_BLOCKS, "");
        _askForCommitment(_commitment);
        vm.expectPartialRevert(WithheldRules.NotPublishedInTime.selector);
        this.openNow();
    }

    /// What contradicts the round need not be taken.
    function test_oneThatTheRoundDoesNotFixIsNotAskedFor() public {
        for (uint256 i = 1; i < 6; ++i) {
            uint256 state = more.snapshotState();
            Posted memory p = _honest(_right());
            if (i == 1) p.worker = address(0xbad);
            if (i == 2) p.codec = 9;
            if (i == 3) p.steps += 1;
            if (i == 4) p.tokens += 1;
            if (i == 5) p.flops += 1;
            _prepare(p);
            _epochWith("", NOTICE_BLOCKS, _commitment);
            _askForCommitment(_commitment);
            vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, i));
            this.openNow();
            more.revertToState(state);
        }
    }

    /// A coordinator takes attempt 0 alone.
    function test_noOtherAttemptIsAskedFor() public {
        Posted memory p = _honest(_right());
        _prepare(p);
        bytes memory other = _signedOf(p, _hash(), KEY, 1);
        _epochWith("", NOTICE_BLOCKS, other);
        _askForCommitment(other);
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, 7));
        this.openNow();
    }

    /// Where late ones are taken the next round's epoch may have it, too, and is waited for.
    function test_aRoundThatTakesLateOnesAnswersInTheNextEpoch() public {
        _format = 4;
        Posted memory p = _honest(_right());
        _prepare(p);
        _epochWith("", NOTICE_BLOCKS, _commitment);
        _askForCommitment(_commitment);
        vm.expectRevert(WithheldRules.NotPosted.selector);
        this.openNow();
        uint64 next = _runner.ROUND() + 1;
        _log.postRound(JOB, next, keccak256("next"));
        bytes32[] memory leaves = _leavesWith(_commitment, 1);
        _log.postEpoch(_epoch + 1, JOB, next, DisputeTrees.root(leaves), 3);
        (_wanted.nextRoot, _wanted.nextLeaves) = (DisputeTrees.root(leaves), 3);
        _announceRequest();
        _wait(0, ANNOUNCE_BLOCKS);
        this.openNow();
        _show(
            _start(),
            abi.encodePacked(uint8(1), uint32(1)),
            _commitment,
            DisputeTrees.path(leaves, 1)
        );
        _expectUpheld();
    }

    // --- chunks ---

    /// The attack: a worker commits to a delta and gives it to nobody.
    function test_aWorkerThatWithholdsItsDeltaLosesItsStake() public {
        _askForDelta(0);
        this.openNow();
        assertEq(_game.unitOf(_unit).asserter, _asserter, "asserter");
        _wait(CLOCK + 1, 1);
        _game.timeout(_id);
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        (uint256 left,,) = _stake.stakeOf(_asserter);
        assertEq(left, STAKE - STAKE * MISSED_PPM / 1e6, "stake");
    }

    function test_aChunkOfADeltaIsShown() public {
        Tensor memory delta = _askForDelta(0);
        this.openNow();
        _showAs(_asserter, _start(), _head(delta), _chunk(delta, 0), _pathOf(delta, 0), _noPath);
        _expectUpheld();
    }

    /// Nobody asks for what is not there for long.
    function test_aChunkThatADeltaDoesNotHave() public {
        Tensor memory delta = _askForDelta(1 << 40);
        this.openNow();
        bytes32[] memory root = new bytes32[](1);
        root[0] = DisputeTrees.treeRoot(delta.data);
        _showAs(_asserter, _start(), _head(delta), "", root, _noPath);
        _expectUpheld();
    }

    function test_noAlteredChunkAnswers(uint256 seed) public {
        Tensor memory delta = _askForDelta(0);
        this.openNow();
        bytes memory chunk = _chunk(delta, 0);
        bytes memory head = _head(delta);
        uint256 bit = bound(seed, 0, 8 * (chunk.length + head.length) - 1);
        if (bit / 8 < chunk.length) chunk[bit / 8] ^= bytes1(uint8(1 << (bit % 8)));
        else head[bit / 8 - chunk.length] ^= bytes1(uint8(1 << (bit % 8)));
        _refuse(_asserter, _start(), head, chunk, _pathOf(delta, 0), _noPath);
    }

    /// The base state of a round, its outer state, its dataset: the coordinator that closed the round stands for them.
    function test_whatARoundBeginsWithIsShownByItsCoordinator() public {
        Tensor[] memory state = _final(_right());
        bytes32[] memory roots = DisputeTrees.tensorRoots(state);
        _begins(DisputeTrees.root(roots), keccak256("outer"), keccak256("dataset"));
        for (uint32 i = 0; i < state.length; ++i) {
            uint256 snapshot = more.snapshotState();
            _ask(Wanted.BASE, DisputeTrees.root(roots), i, 0);
            this.openNow();
            assertEq(_game.unitOf(_unit).asserter, _coordinator, "asserter");
            bytes32[] memory above = DisputeTrees.path(roots, i);
            Tensor memory other = state[(i + 1) % state.length];
            Cursor memory cursor = _start();
            _refuse(_coordinator, cursor, _head(other), _chunk(other, 0), _pathOf(other, 0), above);
            _showAs(
                _coordinator,
                cursor,
                _head(state[i]),
                _chunk(state[i], 0),
                _pathOf(state[i], 0),
                above
            );
            _expectUpheld();
            more.revertToState(snapshot);
        }
        // Three tensors: the fourth leaf is absent.
        _ask(Wanted.BASE, DisputeTrees.root(roots), 3, 0);
        this.openNow();
        _showAs(_coordinator, _start(), "", "", _noPath, DisputeTrees.path(roots, 3));
        _expectUpheld();
    }

    /// A dataset with a head has it beside its tokens.
    function test_datasetsOfBothFormats() public {
        Tensor memory tokens = _runner.dataset();
        bytes32 plain = DisputeTrees.tensorRoot(tokens);
        bytes memory head = "GYMDATA2";
        bytes32 headLeaf = DisputeTrees.chunkLeaf(head);
        bytes32 both = sha256(abi.encodePacked(uint8(1), headLeaf, plain));
        _begins(keccak256("base"), keccak256("outer"), both);
        bytes32[] memory above = new bytes32[](1);
        uint256 snapshot = more.snapshotState();
        _ask(Wanted.DATASET, both, 1, 0);
        this.openNow();
        above[0] = headLeaf;
        _showAs(_coordinator, _start(), _head(tokens), _chunk(tokens, 0), _pathOf(tokens, 0), above);
        _expectUpheld();
        more.revertToState(snapshot);
        _ask(Wanted.DATASET, both, 0, 0);
        this.openNow();
        above[0] = plain;
        _showAs(_coordinator, _start(), "", head, _noPath, above);
        _expectUpheld();
    }

    function test_aDatasetWithoutAHead() public {
        Tensor memory tokens = _runner.dataset();
        _begins(keccak256("base"), keccak256("outer"), DisputeTrees.tensorRoot(tokens));
        _ask(Wanted.DATASET, DisputeTrees.tensorRoot(tokens), 0, 0);
        this.openNow();
        _showAs(
            _coordinator, _start(), _head(tokens), _chunk(tokens, 0), _pathOf(tokens, 0), _noPath
        );
        _expectUpheld();
    }

    // --- what cannot be asked for, and when ---

    function test_requestsThatMeanNothingAreRefused() public {
        _prepare(_honest(_right()));
        _epochWith(_commitment, NOTICE_BLOCKS, "");
        _slot = _noSlot;
        _path = _noPath;
        _request = "";
        vm.expectPartialRevert(IDisputeErrors.Malformed.selector);
        this.openNow();
        for (uint8 what = 0; what < 9; what += 7) {
            _request = abi.encodePacked(what, uint32(0), uint64(0));
            vm.expectRevert(abi.encodeWithSelector(WithheldRules.NotWanted.selector, what));
            this.openNow();
        }
        _request = abi.encodePacked(Wanted.BASE, uint32(0), uint64(0), _commitment);
        vm.expectPartialRevert(IDisputeErrors.Malformed.selector);
        this.openNow();
        _request = abi.encodePacked(Wanted.LATE_DELTA, uint32(0), uint64(0), _commitment);
        vm.expectRevert(WithheldRules.TakesNoLate.selector);
        this.openNow();
        _request = abi.encodePacked(Wanted.BASE, uint32(0), uint64(0));
        _path.push(0);
        vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        this.openNow();
    }

    function test_nothingIsAskedForBehindTheWindow() public {
        _askForDelta(0);
        _wait(0, WINDOW_BLOCKS + 1);
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.openNow();
    }

    function test_nothingIsAskedForBeforeTheEpoch() public {
        _prepare(_honest(_right()));
        _request = abi.encodePacked(Wanted.BASE, uint32(0), uint64(0));
        _slot = _noSlot;
        _path = _noPath;
        vm.expectRevert(WithheldRules.NotPosted.selector);
        this.openNow();
    }

    // --- helpers ---

    function openNow() external {
        vm.prank(CHALLENGER);
        _game.openWithheld{value: 1 ether}(_request, _record, _slot, _index, _path, SALT);
    }

    function showAs(
        Cursor calldata cursor,
        bytes calldata head,
        bytes calldata content,
        bytes32[] calldata path,
        bytes32[] calldata above
    ) external {
        _showAs(_coordinator, cursor, head, content, path, above);
    }

    function showBy(
        address who,
        Cursor calldata cursor,
        bytes calldata head,
        bytes calldata content,
        bytes32[] calldata path,
        bytes32[] calldata above
    ) external {
        _showAs(who, cursor, head, content, path, above);
    }

    /// For whatever reason.
    function _refuse(
        address who,
        Cursor memory cursor,
        bytes memory head,
        bytes memory content,
        bytes32[] memory path,
        bytes32[] memory above
    ) private {
        try this.showBy(who, cursor, head, content, path, above) {
            revert Untrue("accepted");
        } catch (bytes memory reason) {
            assertTrue(bytes4(reason) != Untrue.selector && reason.length != 0, "a reason");
        }
    }

    function _show(
        Cursor memory cursor,
        bytes memory head,
        bytes memory content,
        bytes32[] memory path
    ) private {
        _showAs(_coordinator, cursor, head, content, path, _noPath);
    }

    function _showAs(
        address who,
        Cursor memory cursor,
        bytes memory head,
        bytes memory content,
        bytes32[] memory path,
        bytes32[] memory above
    ) private {
        vm.prank(who);
        _game.showWithheld(_id, cursor, _wanted, head, content, path, above);
    }

    /// Nothing is left for the challenger: its clock runs out.
    function _expectUpheld() private {
        _wait(CLOCK + 1, 1);
        _game.timeout(_id);
        assertEq(uint256(_game.gameOf(_id).status), uint256(IDisputeGame.Status.Upheld), "status");
    }

    function _start() private view returns (Cursor memory cursor) {
        (cursor.stage, cursor.node, cursor.frame) = (Stage.UNIT, _unit, _hashOfWanted());
    }

    function _hashOfWanted() private view returns (bytes32) {
        return keccak256(abi.encodePacked("gym.data_request.v1", abi.encode(_wanted)));
    }

    function _hash() private view returns (bytes32) {
        return sha256(abi.encodePacked("gym.round.v1", _record));
    }

    /// Record, slot and commitment of the unit, without an epoch.
    function _prepare(Posted memory p) private {
        uint256 state = more.snapshotState();
        _post(p);
        (bytes memory record, bytes memory commitment) = (_record, _commitment);
        SlotProof memory slot = _slot;
        more.revertToState(state);
        (_record, _commitment, _slot) = (record, commitment, slot);
        (_index, _path) = (0, _noPath);
        _log.postRound(JOB, _runner.ROUND(), _hash());
    }

    function _leavesWith(bytes memory commitment, uint256 index)
        private
        pure
        returns (bytes32[] memory leaves)
    {
        leaves = new bytes32[](3);
        for (uint256 i = 0; i < 3; ++i) {
            leaves[i] = keccak256(abi.encode("another commitment", i));
        }
        if (commitment.length != 0) {
            leaves[index] = sha256(abi.encodePacked("gym.commitment.v1", commitment));
        }
    }

    /// Posts the round's epoch `blocks` behind the block in which a commitment is published.
    function _epochWith(bytes memory taken, uint256 blocks, bytes memory published)
        private
        returns (bytes32[] memory leaves, uint32 index)
    {
        if (published.length != 0) _log.postCommitment(JOB, _runner.ROUND(), published);
        _wait(0, blocks);
        index = 2;
        leaves = _leavesWith(taken, index);
        _log.postEpoch(_epoch, JOB, _runner.ROUND(), DisputeTrees.root(leaves), 3);
    }

    function _publishedAndLeftOut(uint256 blocks) private {
        _prepare(_honest(_right()));
        _epochWith("", blocks, _commitment);
        _askForCommitment(_commitment);
    }

    function _publishedAndTaken() private returns (bytes32[] memory leaves, uint32 index) {
        _prepare(_honest(_right()));
        (leaves, index) = _epochWith(_commitment, NOTICE_BLOCKS, _commitment);
        _askForCommitment(_commitment);
    }

    function _askForCommitment(bytes memory commitment) private {
        _request = abi.encodePacked(Wanted.COMMITMENT, uint32(0), uint64(0), commitment);
        DataRequest memory none;
        _wanted = none;
        _wanted.what = Wanted.COMMITMENT;
        (_wanted.root, _wanted.leaves,) = _log.epochOf(_epoch);
        _wanted.leaf = sha256(abi.encodePacked("gym.commitment.v1", commitment));
        (_wanted.roundRecord, _wanted.slot) = (_hash(), _runner.SLOT());
        _wanted.worker = _asserter;
        _unit = keccak256(abi.encode(_hashOfWanted(), _coordinator));
        _announceRequest();
        _wait(0, ANNOUNCE_BLOCKS);
    }

    function _announceRequest() private {
        _unit = keccak256(abi.encode(_hashOfWanted(), _coordinator));
        _id = _announce(CHALLENGER, SALT);
    }

    /// The unit's delta, which is committed to.
    function _askForDelta(uint64 chunk) private returns (Tensor memory delta) {
        _post(_right());
        delta = _delta(_right());
        _request = abi.encodePacked(Wanted.DELTA, uint32(0), chunk, _commitment);
        _slot = _noSlot;
        (_wanted.what, _wanted.root, _wanted.chunk) =
        (Wanted.DELTA, DisputeTrees.tensorRoot(delta), chunk);
        _unit = keccak256(abi.encode(_hashOfWanted(), _asserter));
        _id = _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
    }

    /// A round that begins with these.
    function _begins(bytes32 base, bytes32 outer, bytes32 dataset) private {
        _prepare(_honest(_right()));
        bytes memory record = _record;
        for (uint256 i = 0; i < 32; ++i) {
            (record[74 + i], record[106 + i], record[234 + i]) = (base[i], outer[i], dataset[i]);
        }
        _record = record;
        _log.postRound(JOB, _runner.ROUND(), _hash());
        _epochWith("", 1, "");
        _slot = _noSlot;
    }

    function _ask(uint8 what, bytes32 root, uint32 tensor, uint64 chunk) private {
        _request = abi.encodePacked(what, tensor, chunk);
        DataRequest memory none;
        _wanted = none;
        (_wanted.what, _wanted.root, _wanted.tensor, _wanted.chunk) = (what, root, tensor, chunk);
        _announceRequest();
        _wait(0, ANNOUNCE_BLOCKS);
    }

    function _head(Tensor memory t) private pure returns (bytes memory) {
        return DisputeTrees.descriptor(t);
    }

    function _chunk(Tensor memory t, uint256 index) private pure returns (bytes memory) {
        return DisputeTrees.chunk(t.data, index);
    }

    function _pathOf(Tensor memory t, uint256 index) private pure returns (bytes32[] memory) {
        return DisputeTrees.path(DisputeTrees.chunkLeaves(t.data), index);
    }
}
