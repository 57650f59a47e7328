// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DrandBeacon} from "../src/DrandBeacon.sol";
import {TestBase} from "./support/TestBase.sol";

/// Gas of whole transactions, compared with snapshots/DrandBeacon.json.
contract DrandGasTest is TestBase {
    function test_proofsOfBeacons() public {
        vm.setEvmVersion("prague");
        string memory vectors = vm.readFile("../tests/vectors/drand.json");
        DrandBeacon beacon = new DrandBeacon(
            vm.parseJsonBytes(vectors, ".chain.public_key_uncompressed"),
            1_900_000_000,
            3,
            180,
            1,
            vm.parseJsonBytes(vectors, ".chain.rounds[0].signature")
        );
        bytes memory signature = vm.parseJsonBytes(vectors, ".chain.rounds[1].signature");
        beacon.prove(2, signature);
        vm.snapshotGasLastCall("DrandBeacon", "prove");
        beacon.prove(2, signature);
        vm.snapshotGasLastCall("DrandBeacon", "prove, repeated");
    }
}
