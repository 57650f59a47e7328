// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Cursor, Stage} from "../src/dispute/DisputeTypes.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";

/// Gas of every move of a whole game, as a transaction.
contract DisputeGasTest is DisputePlayer {
    uint256 private constant GAME_GAS_MAX = 2_200_000;
    uint256 private _total;
    uint256 private _transactions;
    string private _prefix;
    bytes32 private _id;
    uint256 private _asserterGas;

    function setUp() public {
        _deployGame();
        _runs.keep("wrong", _runner.run(Fault(Wrong.Primitive, 1, 2, 270)));
    }

    function test_aWholeGame() public {
        StepRun[] memory wrong = _runs.get("wrong");
        StepRun[] memory right = _right();
        _post(wrong);
        bytes32 id = _game.announcementOf(CHALLENGER, _unit, SALT);
        vm.prank(CHALLENGER);
        _game.announce(id);
        _count("announce", abi.encodeCall(_game.announce, (id)));
        _wait(0, ANNOUNCE_BLOCKS);
        _openNow(CHALLENGER, SALT);
        _count(
            "open", abi.encodeCall(_game.open, (_commitment, _record, _slot, _index, _path, SALT))
        );
        Play memory p;
        (p.id, p.challenger, _id) = (id, CHALLENGER, id);
        _start(p);
        _play(p, wrong, right, 20);
        assertTrue(!_isOpen(id), "over");
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        _count("settle", abi.encodeCall(_game.settle, (_unit)));
        assertLe(_total, GAME_GAS_MAX, "gas of both sides");
        assertLe(_transactions, 14, "transactions");
    }

    function test_aGameAboutTheDelta() public {
        StepRun[] memory right = _right();
        Posted memory posted = _honest(right);
        Play memory p;
        p.delta = _delta(right);
        p.delta.data[701] ^= 0x01;
        posted.deltaRoot = DisputeTrees.tensorRoot(p.delta);
        _post(posted);
        _id = _open(CHALLENGER, SALT);
        (p.id, p.challenger) = (_id, CHALLENGER);
        _start(p);
        _prefix = "delta: ";
        _play(p, right, right, 20);
        assertTrue(!_isOpen(p.id), "over");
    }

    /// The opening brings the path of its slot, however many a round has.
    function test_anOpeningOfALargeRound() public {
        _slots = 5000;
        _post(_right());
        _open(CHALLENGER, SALT);
        bytes memory call =
            abi.encodeCall(_game.open, (_commitment, _record, _slot, _index, _path, SALT));
        assertLe(_count("open, 5,000 slots", call), 300_000, "gas");
        assertLe(call.length, 4096, "bytes");
    }

    function test_theLargestAnswer() public {
        bytes32[] memory leaves = new bytes32[](128);
        for (uint256 i = 0; i < 128; ++i) {
            leaves[i] = keccak256(abi.encode(i));
        }
        Cursor memory c;
        (c.stage, c.height, c.leaves) = (Stage.TRACE, 7, 128);
        c.node = DisputeTrees.root(leaves);
        _trees.answer(0, c, leaves);
        vm.snapshotGasLastCall("DisputeGame", "TreeRules.answer of 128 children");
    }

    function _afterMove() internal override {
        uint256 total = _count(string.concat(_prefix, _name), _call);
        if (_mover != _asserter) return;
        uint256 counted = _game.gameOf(_id).asserterGas - _asserterGas;
        _asserterGas += counted;
        // What the escrow pays for: the whole transaction and not much more.
        assertLe(total, counted, _name);
        assertLe(counted, total + total / 4 + 17_100, _name);
    }

    /// The move was the last call, a transaction of its own: forge counts its 21,000 and its calldata, but not EIP-7623's floor.
    function _count(string memory name, bytes memory data) private returns (uint256 total) {
        total = vm.snapshotGasLastCall("DisputeGame", name);
        uint256 floor = 21_000;
        for (uint256 i = 0; i < data.length; ++i) {
            floor += data[i] == 0 ? 10 : 40;
        }
        if (floor > total) total = floor;
        _total += total;
        ++_transactions;
    }
}
