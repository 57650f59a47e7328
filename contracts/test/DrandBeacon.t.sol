// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {AdminTimelock} from "../src/AdminTimelock.sol";
import {CommitmentLog} from "../src/CommitmentLog.sol";
import {DrandBeacon} from "../src/DrandBeacon.sol";
import {IDrandBeacon} from "../src/interfaces/IDrandBeacon.sol";
import {Heads} from "./support/Heads.sol";
import {TestBase} from "./support/TestBase.sol";

/// Beacons in tests/vectors/drand.json: those of a chain of our own, broken ones, and one of quicknet.
contract DrandBeaconTest is TestBase {
    uint64 private constant GENESIS_S = 1_900_000_000;
    uint64 private constant PERIOD_S = 3;
    uint64 private constant DELAY_S = 30;
    bytes32 private constant JOB = keccak256("job");

    string private _vectors;
    bytes private _key;
    DrandBeacon private _beacon;

    function setUp() public {
        // The contracts are compiled for the hard fork before the one with EIP-2537.
        vm.setEvmVersion("prague");
        _vectors = vm.readFile("../tests/vectors/drand.json");
        _key = vm.parseJsonBytes(_vectors, ".chain.public_key_uncompressed");
        _beacon = _deploy(_key, 1, _signature(1));
    }

    function test_aBeaconOfTheLeagueOfEntropyIsProven() public {
        bytes memory signature = vm.parseJsonBytes(_vectors, ".quicknet.signature");
        bytes memory key = vm.parseJsonBytes(_vectors, ".quicknet.public_key_uncompressed");
        DrandBeacon quicknet = _deploy(key, 1000, signature);
        assertEq(
            quicknet.randomnessOf(1000),
            vm.parseJsonBytes32(_vectors, ".quicknet.randomness"),
            "quicknet"
        );
        assertEq(keccak256(quicknet.publicKey()), keccak256(key), "key");
    }

    function test_everyRoundIsProvenByItsSignatureAlone() public {
        for (uint64 round = 1; round <= 64; ++round) {
            bytes32 randomness = _randomness(round);
            (bool ok, bytes memory verified) = _verify(round, _signature(round));
            assertTrue(ok, "right");
            assertEq(abi.decode(verified, (bytes32)), randomness, "verified");
            // The constructor has proven the first.
            if (round == 1) continue;
            assertEq(_beacon.randomnessOf(round), 0, "nobody has proven it");
            bytes memory signature = _signature(round);
            vm.expectEmit(address(_beacon));
            emit IDrandBeacon.BeaconProven(round, randomness);
            vm.prank(address(uint160(round)));
            _beacon.prove(round, signature);
            assertEq(_beacon.randomnessOf(round), randomness, "proven");
        }
    }

    function test_noOtherBytesAreARoundsSignature() public {
        _refuse("another_key", IDrandBeacon.WrongSignature.selector);
        _refuse("another_round", IDrandBeacon.WrongSignature.selector);
        _refuse("negated", IDrandBeacon.WrongSignature.selector);
        _refuse("off_the_curve", IDrandBeacon.WrongSignature.selector);
        _refuse("off_the_subgroup", IDrandBeacon.WrongSignature.selector);
        _refuse("not_below_p", IDrandBeacon.WrongSignature.selector);
        _refuse("infinity", IDrandBeacon.NotASignature.selector);
        _refuse("uncompressed", IDrandBeacon.NotASignature.selector);
        _refuse("truncated", IDrandBeacon.NotASignature.selector);
        _refuse("longer", IDrandBeacon.NotASignature.selector);
        _refuse("empty", IDrandBeacon.NotASignature.selector);
    }

    function test_noFlippedBitIsARoundsSignature(uint256 bit) public {
        bytes memory signature = _signature(7);
        bit = bound(bit, 0, 8 * signature.length - 1);
        signature[bit / 8] ^= bytes1(uint8(1 << (bit % 8)));
        try _beacon.prove(7, signature) {
            revert Untrue("a flipped bit is taken");
        } catch {}
        assertEq(_beacon.randomnessOf(7), 0, "nothing is proven");
    }

    function test_provingAgainChangesNothing() public {
        _beacon.prove(7, _signature(7));
        assertEq(_beacon.prove(7, _signature(7)), _randomness(7), "again");
        assertEq(_beacon.randomnessOf(7), _randomness(7), "the same");
    }

    function test_theRoundThatDrawsBeginsTheDelayLaterOrAfter(uint64 timestamp) public view {
        timestamp = uint64(bound(timestamp, 0, GENESIS_S * 2));
        uint64 round = _beacon.roundAfter(timestamp);
        uint256 begins = uint256(GENESIS_S) + (uint256(round) - 1) * PERIOD_S;
        assertTrue(begins >= uint256(timestamp) + DELAY_S, "not too early");
        assertTrue(round == 1 || begins < uint256(timestamp) + DELAY_S + PERIOD_S, "the first");
    }

    function test_theRoundOfATimeIsExact() public view {
        assertEq(_beacon.roundAfter(0), 1, "before the chain");
        assertEq(_beacon.roundAfter(GENESIS_S - DELAY_S), 1, "just in time");
        assertEq(_beacon.roundAfter(GENESIS_S - DELAY_S + 1), 2, "a second later");
        assertEq(_beacon.roundAfter(GENESIS_S), 11, "30 s after the beginning");
    }

    function test_aDeploymentShowsThatKeyAndPrecompilesAreRight() public {
        bytes memory first = _signature(1);
        vm.expectRevert(abi.encodeWithSelector(IDrandBeacon.WrongSignature.selector, uint64(2)));
        _deploy(_key, 2, first);
        bytes memory other = vm.parseJsonBytes(_vectors, ".quicknet.public_key_uncompressed");
        vm.expectRevert(abi.encodeWithSelector(IDrandBeacon.WrongSignature.selector, uint64(1)));
        _deploy(other, 1, first);
        vm.expectRevert(IDrandBeacon.BadPublicKey.selector);
        _deploy(new bytes(192), 1, first);
        vm.expectRevert(IDrandBeacon.BadPublicKey.selector);
        _deploy(new bytes(191), 1, first);
        vm.expectRevert(IDrandBeacon.BadSchedule.selector);
        new DrandBeacon(_key, GENESIS_S, 0, DELAY_S, 1, first);
    }

    function test_aChainWithoutThePrecompilesIsRefused() public {
        bytes memory first = _signature(1);
        vm.setEvmVersion("cancun");
        vm.expectPartialRevert(IDrandBeacon.PrecompileMissing.selector);
        _deploy(_key, 1, first);
    }

    function test_theRoundThatDrawsAnEpochFollowsFromItsBlock() public {
        CommitmentLog log = new CommitmentLog(
            new AdminTimelock(1 days, address(0xad), address(0x9a)),
            address(this),
            address(0x9a),
            _beacon
        );
        assertEq(address(log.beacon()), address(_beacon), "beacon");
        (uint64 round, bytes32 randomness) = log.drawOf(1);
        assertEq(round, 0, "an epoch that is not there");
        log.postRound(Heads.first(JOB), "");
        vm.warp(GENESIS_S + 4);
        log.postEpoch(1, JOB, 1, bytes32(uint256(1)), 1);
        vm.warp(GENESIS_S + 10_000);
        (round, randomness) = log.drawOf(1);
        // 34 s after the genesis: round 13 begins at 36 s.
        assertEq(round, 13, "round");
        assertEq(randomness, 0, "nobody has proven it");
        _beacon.prove(12, _signature(12));
        _beacon.prove(14, _signature(14));
        (, randomness) = log.drawOf(1);
        assertEq(randomness, 0, "another round draws nothing");
        vm.prank(address(0xbad));
        _beacon.prove(13, _signature(13));
        (, randomness) = log.drawOf(1);
        assertEq(randomness, _randomness(13), "proven by anybody");
    }

    function test_withoutADrandChainNoRoundDraws() public {
        CommitmentLog log = new CommitmentLog(
            new AdminTimelock(1 days, address(0xad), address(0x9a)),
            address(this),
            address(0x9a),
            IDrandBeacon(address(0))
        );
        log.postRound(Heads.first(JOB), "");
        log.postEpoch(1, JOB, 1, bytes32(uint256(1)), 1);
        (uint64 round, bytes32 randomness) = log.drawOf(1);
        assertEq(round, 0, "round");
        assertEq(randomness, 0, "randomness");
    }

    function _refuse(string memory name, bytes4 reason) private {
        string memory entry = string.concat(".broken.", name);
        bytes memory signature = vm.parseJsonBytes(_vectors, string.concat(entry, ".signature"));
        uint64 round = uint64(vm.parseJsonUint(_vectors, string.concat(entry, ".round")));
        (bool ok, bytes memory answer) = _verify(round, signature);
        assertTrue(!ok && bytes4(answer) == reason, name);
        vm.expectPartialRevert(reason);
        _beacon.prove(round, signature);
        assertEq(_beacon.randomnessOf(round), 0, name);
    }

    /// Not a static call: forge runs those in the hard fork that the tests are compiled for.
    function _verify(uint64 round, bytes memory signature) private returns (bool, bytes memory) {
        return address(_beacon).call(abi.encodeCall(IDrandBeacon.verify, (round, signature)));
    }

    function _deploy(bytes memory key, uint64 round, bytes memory signature)
        private
        returns (DrandBeacon)
    {
        return new DrandBeacon(key, GENESIS_S, PERIOD_S, DELAY_S, round, signature);
    }

    function _at(uint64 round, string memory field) private pure returns (string memory) {
        return string.concat(".chain.rounds[", vm.toString(uint256(round) - 1), "].", field);
    }

    function _signature(uint64 round) private view returns (bytes memory) {
        return vm.parseJsonBytes(_vectors, _at(round, "signature"));
    }

    function _randomness(uint64 round) private view returns (bytes32) {
        return vm.parseJsonBytes32(_vectors, _at(round, "randomness"));
    }
}
