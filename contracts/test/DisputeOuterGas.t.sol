// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Cursor, OuterProof, Pick, Stage} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {DisputeProgram} from "./support/DisputeProgram.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";

/// Gas of every move of games about aggregates, as a transaction.
contract DisputeOuterGasTest is OuterPlayer {
    uint32 private constant DELTAS = 1024;
    uint32 private constant HELD = 512;
    uint256 private constant MOVE_GAS_MAX = 500_000;
    string private _prefix;
    bytes32 private _id;
    uint256 private _asserterGas;

    function setUp() public {
        _deployOuter();
    }

    function test_anElementOfTheBase() public {
        _whole(_flipped(0, 0, 270), "outer: ");
    }

    function test_anOpening() public {
        _postOuter(_rightOuter());
        _open(CHALLENGER, SALT);
        vm.snapshotGasLastCall("DisputeGame", "outer: open");
    }

    function test_aStateThatIsNotTheCommittedOne() public {
        OuterRun memory wrong = _rightOuter();
        wrong.state[3] = keccak256("another tensor");
        wrong.record = _outerRunner.recordOf(wrong);
        _whole(wrong, "outer state: ");
    }

    function test_aColumnThatIsNotTheDeltas() public {
        OuterRun memory wrong = _flipped(1, 1, 4);
        OuterPlay memory p = _opened(wrong, "column: ");
        while (p.c.stage != Stage.COLUMN) {
            _playOuter(p, wrong, _rightOuter(), 1);
        }
        p.values = _columnOf(p, wrong);
        p.values[1] ^= 0x40;
        _playOuter(p, wrong, _rightOuter(), 20);
        assertTrue(!_isOpen(p.id), "over");
    }

    function test_anIncludedDelta() public {
        _signUnits();
        Posted memory unit = _unitOf(5, DisputeTrees.tensorRoot(_rightOuter().deltas[1]));
        unit.steps += 1;
        _keep(5, 1, _signedBy(unit, _hashFor(5), _workerKey(5)));
        _postRoundAndEpoch();
        _sign(_aggregateOf(_rightOuter()));
        OuterPlay memory p = _begun("included: ");
        _playOuter(p, _rightOuter(), _rightOuter(), 20);
        assertTrue(!_isOpen(p.id), "over");
    }

    function test_aConflict() public {
        _postOuter(_flipped(0, 0, 0));
        (bytes32 unit, bytes memory other) = (_unit, _commitment);
        bytes32 hash = _hashOf(_record);
        bytes32 digest = _digest(_aggregateOf(_flipped(0, 0, 0)), hash);
        _sign(_aggregateOf(_rightOuter()));
        if (digest < _digest(_aggregateOf(_rightOuter()), hash)) _unit = unit;
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.prank(CHALLENGER);
        _game.openConflict{value: 1 ether}(_commitment, _record, other, SALT);
        vm.snapshotGasLastCall("DisputeGame", "openConflict");
    }

    /// As many deltas as an aggregate can have.
    function test_theLargestList() public {
        _largest(0, "1024 deltas: ");
    }

    function test_theLargestListWithHeldDeltas() public {
        _largest(HELD, "1024 deltas, 512 held: ");
    }

    /// Down the tree to a delta of slot 5, which the asserter shows.
    function _largest(uint32 held, string memory prefix) private {
        bytes32[] memory deltas = new bytes32[](DELTAS);
        bytes memory slots;
        // The first of its group but one.
        uint32 place = 1;
        for (uint32 i = 0; i < DELTAS; ++i) {
            deltas[i] = keccak256(abi.encode(i));
            slots = abi.encodePacked(slots, uint16(i == place ? 5 : 60 * i + 1));
        }
        OuterRun memory run = _rightOuter();
        deltas[place] = DisputeTrees.tensorRoot(run.deltas[1]);
        run.record = _outerRunner.recordWith(
            _outerRunner.batchRoot(deltas, held), DisputeTrees.root(run.state)
        );
        OuterPlay memory p = _opened(run, prefix);
        p.frame = _frameOf(run);
        (p.frame.deltasRoot, p.frame.deltas) = (DisputeTrees.root(deltas), DELTAS);
        (p.frame.held, p.frame.slots) = (held, keccak256(slots));
        (_mover, _ruler, _name) = (_asserter, address(_outer), "declareOuter");
        _call = _declaration(p, run.record, deltas, slots, held);
        _sendOuter(p);
        Pick memory to;
        to.node = DisputeTrees.nodes(deltas, 5)[0];
        to.path = DisputeTrees.pathFrom(deltas, 0, 5, 10);
        (_mover, _ruler, _name) = (CHALLENGER, address(_trees), "pick");
        _call = abi.encodeCall(IDisputeMoves.pick, (p.id, p.c, to));
        _sendOuter(p);
        (_mover, _ruler, _name) = (_asserter, address(_trees), "answer");
        bytes32[] memory children = DisputeTrees.children(deltas, 5, 0, 7);
        _call = abi.encodeCall(IDisputeMoves.answer, (p.id, p.c, children));
        _sendOuter(p);
        (_mover, _ruler, _name) = (CHALLENGER, address(_outer), "pickIncluded");
        _call = abi.encodeCall(IDisputeMoves.pickIncluded, (p.id, p.c, p.frame, slots, place));
        _sendOuter(p);
        (_mover, _ruler, _name) = (_asserter, address(_outer), "showIncluded");
        bytes32[] memory path = DisputeTrees.path(_leaves, _placeOf[5]);
        bytes32[] memory included = DisputeTrees.path(deltas, place);
        _call = abi.encodeCall(
            IDisputeMoves.showIncluded,
            (p.id, p.c, _outerFacts, _placeOf[5], _posted[5], path, included, false)
        );
        _sendOuter(p);
    }

    /// The most values that a column can have.
    function test_theLargestColumn() public {
        _column(0, "OuterProofs.proveOuter of 1024 values");
    }

    function test_theLargestColumnWithHeldDeltas() public {
        _column(HELD, "OuterProofs.proveOuter of 1024 values, 512 held");
    }

    function test_theLargestColumnWithWithdrawnDeltas() public {
        uint32 groups = HELD | (16 << 16) | (8 << 24);
        _column(groups, "OuterProofs.proveOuter of 1024 values, 512 held, 16 withdrawn");
    }

    function _column(uint32 held, string memory name) private {
        OuterRun memory run = _rightOuter();
        Cursor memory c;
        OuterProof memory proof;
        proof.values = new bytes(4096);
        for (uint256 i = 0; i < 4096; ++i) {
            // Small enough to be doubled.
            uint256 mask = i % 4 == 3 ? 0x3e : 0x7e;
            proof.values[i] = bytes1(uint8(uint256(keccak256(abi.encode(i))) & mask | 0x01));
        }
        (proof.facts.baseRoot, proof.facts.momentumRoot) =
        (
            DisputeTrees.root(DisputeTrees.tensorRoots(run.base)),
            DisputeTrees.root(DisputeTrees.tensorRoots(run.momentum))
        );
        proof.header = DisputeProgram.header();
        (proof.outer.facts, proof.outer.tree) = (keccak256(abi.encode(proof.facts)), 1);
        proof.outer.held = held;
        (proof.op.step, proof.op.program) =
        (keccak256(abi.encode(proof.outer)), DisputeProgram.traceRoot());
        proof.op.shape = DisputeProgram.slotShapes()[0];
        proof.base = _tensorProof(run.base[0], 270, 1);
        proof.base.path = DisputeTrees.path(DisputeTrees.tensorRoots(run.base), 0);
        proof.momentum = _tensorProof(run.momentum[0], 270, 1);
        proof.momentum.path = DisputeTrees.path(DisputeTrees.tensorRoots(run.momentum), 0);
        (c.stage, c.answered, c.index, c.leaves) = (Stage.COLUMN, true, 270, 1024);
        (c.twin, c.frame) = (keccak256(proof.values), keccak256(abi.encode(proof.op)));
        _outerProofs.proveOuter(0, c, proof);
        vm.snapshotGasLastCall("DisputeGame", name);
    }

    function _whole(OuterRun memory wrong, string memory prefix) private {
        OuterPlay memory p = _opened(wrong, prefix);
        _playOuter(p, wrong, _rightOuter(), 20);
        assertTrue(!_isOpen(p.id), "over");
    }

    function _opened(OuterRun memory wrong, string memory prefix)
        private
        returns (OuterPlay memory)
    {
        _postOuter(wrong);
        return _begun(prefix);
    }

    function _begun(string memory prefix) private returns (OuterPlay memory p) {
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        p.id = _game.announcementOf(CHALLENGER, _unit, SALT);
        _openNow(CHALLENGER, SALT);
        (_id, _prefix) = (p.id, prefix);
        _startOuter(p, CHALLENGER);
    }

    function _afterMove() internal override {
        uint256 total = vm.snapshotGasLastCall("DisputeGame", string.concat(_prefix, _name));
        uint256 floor = 21_000;
        for (uint256 i = 0; i < _call.length; ++i) {
            floor += _call[i] == 0 ? 10 : 40;
        }
        if (floor > total) total = floor;
        assertLe(total, MOVE_GAS_MAX, _name);
        if (_mover != _asserter) return;
        uint256 counted = _game.gameOf(_id).asserterGas - _asserterGas;
        _asserterGas += counted;
        // What the escrow pays for: the whole transaction and not much more.
        assertLe(total, counted, _name);
        assertLe(counted, total + total / 4 + 17_100, _name);
    }
}
