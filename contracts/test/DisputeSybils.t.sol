// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";

/// Very many challengers at once against one honest unit.
contract DisputeSybilsTest is DisputePlayer {
    uint256 private constant SYBILS = 1000;
    uint256 private constant BATCH = 50;
    uint256 private constant BASE_FEE = 10 gwei;
    uint256 private constant GAS_PRICE = 12 gwei;

    function setUp() public {
        _deployGame();
        _post(_right());
    }

    /// All games are open before the first answer, so each needs one; its escrow pays for it, and the bonds are the asserter's.
    function test_aThousandSybilGamesDoNotDrainADefender() public {
        // In a call of its own: forge's isolated transactions have no base fee.
        this.sybils();
    }

    function sybils() external {
        more.fee(BASE_FEE);
        more.txGasPrice(GAS_PRICE);
        for (uint256 i = 0; i < SYBILS; i += BATCH) {
            this.announceSome(i);
        }
        _wait(0, ANNOUNCE_BLOCKS);
        for (uint256 i = 0; i < SYBILS; i += BATCH) {
            this.openSome(i);
        }
        assertEq(_game.unitOf(_unit).games, SYBILS, "games");
        uint256 spent = 0;
        for (uint256 i = 0; i < SYBILS; i += BATCH) {
            spent += this.answerSome(i);
        }
        assertLe(spent * GAS_PRICE, _game.etherOf(_asserter), "the escrows paid for all");
        // Who comes later finds the answer already given.
        _fund(CHALLENGER);
        bytes32 late = _announce(CHALLENGER, SALT);
        _wait(CLOCK - 1, ANNOUNCE_BLOCKS);
        _openNow(CHALLENGER, SALT);
        assertEq(_game.gameOf(late).asserterGas, 0, "no answer is due");
        _wait(2, 1);
        uint256 tokens = _token.balanceOf(_asserter);
        for (uint256 i = 0; i < SYBILS; i += BATCH) {
            this.endSome(i);
        }
        _wait(CLOCK, 1);
        _game.timeout(late);
        assertEq(
            _token.balanceOf(_asserter), tokens + (SYBILS + 1) * (BOND / 2), "half of every bond"
        );
        (uint256 active,, uint256 locks) = _stake.stakeOf(_asserter);
        assertEq(active, STAKE, "stake");
        assertEq(locks, 0, "lock");
        assertEq(_token.balanceOf(address(_game)), 0, "bonds");
    }

    function announceSome(uint256 from) external {
        for (uint256 i = from; i < from + BATCH; ++i) {
            _fund(_sybil(i));
            _announce(_sybil(i), SALT);
        }
    }

    function openSome(uint256 from) external {
        for (uint256 i = from; i < from + BATCH; ++i) {
            _openNow(_sybil(i), SALT);
        }
    }

    /// @return spent Gas of the asserter's transactions.
    function answerSome(uint256 from) external returns (uint256 spent) {
        Play memory p;
        (p.c.stage, p.c.node, p.c.frame) = (1, _unit, keccak256(abi.encode(_facts)));
        p.id = _idOf(from);
        _plan(p, _right(), _right());
        bytes memory answer = _call;
        for (uint256 i = from; i < from + BATCH; ++i) {
            bytes32 id = _idOf(i);
            assembly {
                mstore(add(answer, 36), id)
            }
            vm.prank(_asserter);
            uint256 before = gasleft();
            (bool ok,) = address(_game).call(answer);
            uint256 used = before - gasleft();
            used += 21_000 + _calldataGas(answer);
            assertTrue(ok, "answered");
            assertLe(used, _game.gameOf(id).asserterGas, "counted");
            spent += used;
        }
    }

    function endSome(uint256 from) external {
        for (uint256 i = from; i < from + BATCH; ++i) {
            _game.timeout(_idOf(i));
            bool upheld = _game.gameOf(_idOf(i)).status == IDisputeGame.Status.Upheld;
            assertTrue(upheld, "upheld");
        }
    }

    function _sybil(uint256 i) private pure returns (address) {
        return address(uint160(0x5b11 << 32 | i));
    }

    function _idOf(uint256 i) private view returns (bytes32) {
        return _game.announcementOf(_sybil(i), _unit, SALT);
    }

    function _calldataGas(bytes memory data) private pure returns (uint256 total) {
        for (uint256 i = 0; i < data.length; ++i) {
            total += data[i] == 0 ? 4 : 16;
        }
    }
}
