// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";

/// Lists of deltas that have the tree of the committed one. Nobody can open an inner node or an absent leaf as a delta, so who could
/// declare one, with a commitment of an accomplice to it, could post any value for it and win a game about any aggregate.
contract DisputeOuterListsTest is OuterPlayer {
    OuterPlay private _play;
    bytes32[] private _deltas;

    function setUp() public {
        _deployOuter();
        _postOuter(_rightOuter());
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _play.id = p.id;
        _play.c = p.c;
        _deltas = DisputeTrees.tensorRoots(_rightOuter().deltas);
        assertEq(_deltas.length, 3, "one absent leaf");
    }

    function test_anAbsentLeafIsNoDelta() public {
        bytes32[] memory list = new bytes32[](4);
        (list[0], list[1], list[2], list[3]) = (_deltas[0], _deltas[1], _deltas[2], _absent());
        _refused(list, abi.encodePacked(uint32(2), uint32(5), uint32(9), uint32(11)));
    }

    function test_innerNodesAreNoDeltas() public {
        bytes32[] memory list = new bytes32[](2);
        list[0] = sha256(abi.encodePacked(uint8(1), _deltas[0], _deltas[1]));
        list[1] = sha256(abi.encodePacked(uint8(1), _deltas[2], _absent()));
        _refused(list, abi.encodePacked(uint32(2), uint32(5)));
    }

    function test_theRootIsNoDelta() public {
        bytes32[] memory list = new bytes32[](1);
        list[0] = DisputeTrees.root(_deltas);
        _refused(list, abi.encodePacked(uint32(2)));
    }

    function test_theCommittedListIsTaken() public {
        _plan(_deltas, abi.encodePacked(uint32(2), uint32(5), uint32(9)));
        this.sendPlanned();
    }

    function _absent() private pure returns (bytes32) {
        return DisputeTrees.root(new bytes32[](0));
    }

    function _plan(bytes32[] memory list, bytes memory slots) private {
        OuterRun memory right = _rightOuter();
        _mover = _asserter;
        _call = abi.encodeCall(
            IDisputeMoves.declareOuter,
            (_play.id, _play.c, _outerFacts, right.record, list, slots, right.held)
        );
    }

    function _refused(bytes32[] memory list, bytes memory slots) private {
        assertEq(DisputeTrees.root(list), DisputeTrees.root(_deltas), "the same tree");
        _plan(list, slots);
        bytes32 computed = _outerRunner.batchRoot(list, 0);
        bytes32 expected = _outerRunner.batchRoot(_deltas, 0);
        vm.expectRevert(
            abi.encodeWithSelector(MerkleSha256.RootMismatch.selector, computed, expected)
        );
        this.sendPlanned();
    }
}
