// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Pick, Stage} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {SlotLists} from "./support/SlotLists.sol";

/// Lists of deltas that are none. Nobody can open an inner node or an absent leaf as a delta, so who could include one could post any value
/// for it and win a game about any aggregate.
contract DisputeOuterListsTest is OuterPlayer {
    bytes4 private constant MISMATCH = MerkleSha256.RootMismatch.selector;

    bytes32[] private _deltas;

    function setUp() public {
        _deployOuter();
        _deltas = DisputeTrees.tensorRoots(_rightOuter().deltas);
        assertEq(_deltas.length, 3, "one absent leaf");
    }

    // --- with the tree of the committed one ---

    function test_anAbsentLeafIsNoDelta() public {
        bytes32[] memory list = new bytes32[](4);
        (list[0], list[1], list[2], list[3]) = (_deltas[0], _deltas[1], _deltas[2], _absent());
        _refusedList(list, hex"24500000");
    }

    function test_innerNodesAreNoDeltas() public {
        bytes32[] memory list = new bytes32[](2);
        list[0] = sha256(abi.encodePacked(uint8(1), _deltas[0], _deltas[1]));
        list[1] = sha256(abi.encodePacked(uint8(1), _deltas[2], _absent()));
        _refusedList(list, hex"2400");
    }

    function test_theRootIsNoDelta() public {
        bytes32[] memory list = new bytes32[](1);
        list[0] = DisputeTrees.root(_deltas);
        _refusedList(list, hex"2000");
    }

    function test_theCommittedListIsTaken() public {
        _postOuter(_rightOuter());
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _plan(p, _deltas, hex"24400000");
        this.sendPlanned();
    }

    // --- that were committed to ---

    /// The challenger names the place of a leaf that it does not know; without a commitment to that leaf there is no answer.
    function test_aLeafThatNobodyCanOpen() public {
        bytes32[3] memory leaves = [keccak256("no delta"), _absent(), bytes32(0)];
        leaves[2] = sha256(abi.encodePacked(uint8(1), _deltas[0], _deltas[1]));
        uint256 state = more.snapshotState();
        for (uint256 k = 0; k < 3; ++k) {
            bytes32[] memory list = DisputeTrees.tensorRoots(_rightOuter().deltas);
            list[1] = leaves[k];
            OuterPlay memory p = _declared(list, 0, SlotLists.declared(_rightOuter().slots, 0));
            _planIncluded(p, _rightOuter(), 1);
            _sendOuter(p);
            bytes32[] memory path = DisputeTrees.path(list, 1);
            bytes32[] memory inEpoch = DisputeTrees.path(_leaves, 1);
            vm.expectPartialRevert(MISMATCH);
            this.show(p, 1, _posted[5], inEpoch, path);
            _losesOnTheClock(p);
            more.revertToState(state);
        }
    }

    /// The game descends the tree of a long list as it does others: a challenger with another list finds the first leaf that differs.
    function test_aLongListIsGoneDown() public {
        bytes32[] memory list = new bytes32[](200);
        bytes memory slots = new bytes(250);
        for (uint256 i = 0; i < 200; ++i) {
            list[i] = keccak256(abi.encode(i));
            SlotLists.put(slots, 5 * i);
        }
        OuterPlay memory p = _declared(list, 0, slots);
        assertEq(p.c.height, 8, "height");
        (_mover, _ruler) = (CHALLENGER, address(_trees));
        Pick memory to;
        (to.index, to.node) = (9, DisputeTrees.nodes(list, 4)[9]);
        to.path = DisputeTrees.pathFrom(list, 9, 4, 8);
        _call = abi.encodeCall(IDisputeMoves.pick, (p.id, p.c, to));
        _sendOuter(p);
        assertTrue(!p.c.answered && p.c.height == 4 && p.c.index == 9, "picked");
        (_mover, _ruler) = (_asserter, address(_trees));
        bytes32[] memory children = DisputeTrees.children(list, 4, 9, 7);
        _call = abi.encodeCall(IDisputeMoves.answer, (p.id, p.c, children));
        _sendOuter(p);
        assertEq(children[3], list[147], "a leaf");
        (_mover, _ruler) = (CHALLENGER, address(_outer));
        _call = abi.encodeCall(IDisputeMoves.pickIncluded, (p.id, p.c, p.frame, slots, 147));
        _sendOuter(p);
        assertEq(p.c.stage, Stage.INCLUDED, "stage");
        assertEq(p.c.index, 147, "position");
        assertEq(p.c.leaves, 200, "leaves");
        assertEq(uint256(p.c.twin), 735, "slot");
        assertEq(p.c.node, DisputeTrees.root(list), "root");
    }

    // --- helpers ---

    function _absent() private pure returns (bytes32) {
        return DisputeTrees.root(new bytes32[](0));
    }

    function _plan(OuterPlay memory p, bytes32[] memory list, bytes memory slots) private {
        _mover = _asserter;
        _call = _declaration(p, _rightOuter().record, list, slots, 0);
    }

    function _refusedList(bytes32[] memory list, bytes memory slots) private {
        assertEq(DisputeTrees.root(list), DisputeTrees.root(_deltas), "the same tree");
        _postOuter(_rightOuter());
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _plan(p, list, slots);
        bytes32 computed = _outerRunner.batchRoot(list, 0);
        bytes32 expected = _outerRunner.batchRoot(_deltas, 0);
        vm.expectRevert(abi.encodeWithSelector(MISMATCH, computed, expected));
        this.sendPlanned();
    }

    /// A game in which the asserter has declared these deltas.
    function _declared(bytes32[] memory list, uint32 held, bytes memory slots)
        private
        returns (OuterPlay memory p)
    {
        OuterRun memory run = _rightOuter();
        bytes32 batch = _outerRunner.batchRoot(list, held);
        run.record = _outerRunner.recordWith(batch, DisputeTrees.root(run.state));
        _postOuter(run);
        p = _beginOuter(CHALLENGER, SALT);
        p.frame = _frameOf(run);
        (p.frame.deltasRoot, p.frame.deltas) = (DisputeTrees.root(list), uint32(list.length));
        p.frame.slots = keccak256(slots);
        (_mover, _ruler, _name) = (_asserter, address(_outer), "declareOuter");
        _call = _declaration(p, run.record, list, slots, held);
        _sendOuter(p);
    }

    function _losesOnTheClock(OuterPlay memory p) private {
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultByClock), "clock"
        );
    }
}
