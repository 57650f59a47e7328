// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {AdminTimelock} from "../../src/AdminTimelock.sol";
import {CommitmentLog} from "../../src/CommitmentLog.sol";
import {IDrandBeacon} from "../../src/interfaces/IDrandBeacon.sol";

/// A log into which tests put the records of any rounds, without those before them: what the log refuses, games have to decide.
contract BareLog is CommitmentLog {
    /// Of the mapping of rounds in CommitmentLog (`forge inspect CommitmentLog storageLayout`).
    uint256 private constant ROUNDS_SLOT = 1;

    constructor(AdminTimelock timelock, address coordinator, address guardian)
        CommitmentLog(timelock, coordinator, guardian, IDrandBeacon(address(0)))
    {}

    /// Lets an account sign aggregates, at once.
    function grantAtOnce(address coordinator) external {
        _grantRole(COORDINATOR_ROLE, coordinator);
    }

    function postRound(bytes32 job, uint64 round, bytes32 hash) external {
        bytes32 slot =
            keccak256(abi.encode(uint256(round), keccak256(abi.encode(job, ROUNDS_SLOT))));
        // A test's own log: no rule of the contract is asked.
        // forge-lint: disable-next-line(unsafe-typecast)
        assembly {
            sstore(slot, hash)
        }
    }
}
