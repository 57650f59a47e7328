// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Cursor, Pick} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {OuterPlayer} from "./support/OuterPlayer.sol";

/// Whoever plays has to read the calls of all games about its unit, so what nobody looks at must be little.
contract DisputeBigCallsTest is OuterPlayer {
    function setUp() public {
        _deployOuter();
        _postOuter(_rightOuter());
    }

    function test_anOpeningBringsLittleThatNobodyLooksAt() public {
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        bytes memory opening =
            abi.encodeCall(IDisputeGame.open, (_commitment, _record, _slot, _index, _path, SALT));
        _refused(abi.encodePacked(opening, new bytes(4096)));
        _refused(abi.encodePacked(opening, new bytes(125_000)));
        vm.prank(CHALLENGER);
        (bool ok,) = address(_game).call{value: 1 ether}(abi.encodePacked(opening, new bytes(1024)));
        assertTrue(ok, "some bytes behind the arguments");
    }

    function test_aConflictBringsLittleThatNobodyLooksAt() public {
        bytes memory call =
            abi.encodeCall(IDisputeGame.openConflict, (_commitment, _record, _commitment, SALT));
        _refused(abi.encodePacked(call, new bytes(4096)));
    }

    /// A chain takes no larger contract (EIP-170), and forge does not say so.
    function test_theGameCanBeDeployed() public view {
        assertLe(address(_game).code.length, 24_576, "bytes");
    }

    /// Whose turn it is does not matter: this is looked at first.
    function test_aChallengersMoveIsShort() public {
        bytes32 id = _open(CHALLENGER, SALT);
        Cursor memory cursor;
        Pick memory to;
        bytes memory call = abi.encodeCall(IDisputeMoves.pick, (id, cursor, to));
        _refused(abi.encodePacked(call, new bytes(8192)));
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, id));
        vm.prank(CHALLENGER);
        _game.pick(id, cursor, to);
    }

    function _refused(bytes memory call) private {
        vm.prank(CHALLENGER);
        (bool ok, bytes memory why) = address(_game).call{value: 0}(call);
        assertTrue(!ok, "taken");
        assertEq(
            keccak256(why),
            keccak256(abi.encodeWithSelector(IDisputeGame.TooMuchData.selector, call.length)),
            "why"
        );
    }
}
