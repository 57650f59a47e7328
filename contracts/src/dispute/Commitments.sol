// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

import {BigEndian} from "./BigEndian.sol";
import {IDisputeErrors} from "./DisputeTypes.sol";

/// @notice A signed commitment, read: the members of the EIP-712 struct, in its order.
struct Commitment {
    uint256 kind;
    bytes32 roundRecord;
    uint256 slot;
    uint256 attempt;
    bytes32 recordsRoot;
    bytes32 finalStateRoot;
    uint256 deltaCodec;
    bytes32 deltaRoot;
    uint256 steps;
    uint256 tokens;
    uint256 flops;
}

/// @title Signed commitments
/// @notice docs/PROTOCOL.md, "Signed commitment".
library Commitments {
    uint256 internal constant BYTES = 226;
    uint256 internal constant TRAIN = 1;
    uint256 internal constant AGGREGATE = 2;
    /// @notice Slots below are workers'.
    uint256 internal constant WORKERS_SLOTS = 65_536;
    uint256 internal constant AGGREGATE_SLOT = 0xFFFFFFFF;
    uint256 private constant FORMAT = 1;
    uint256 private constant SIGNATURE = 161;
    bytes32 private constant DOMAIN_TYPE = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant COMMITMENT_TYPE = keccak256(
        "UnitCommitment(uint8 kind,bytes32 roundRecord,uint32 slot,uint32 attempt,bytes32 recordsRoot,bytes32 finalStateRoot,uint16 deltaCodec,bytes32 deltaRoot,uint32 steps,uint64 tokens,uint64 flops)"
    );

    function read(bytes calldata data) internal pure returns (Commitment memory c) {
        if (data.length != BYTES || BigEndian.number(data, 0, 2) != FORMAT) {
            revert IDisputeErrors.Malformed(data.length);
        }
        c.kind = BigEndian.number(data, 2, 1);
        c.roundRecord = bytes32(BigEndian.number(data, 3, 32));
        c.slot = BigEndian.number(data, 35, 4);
        c.attempt = BigEndian.number(data, 39, 4);
        c.recordsRoot = bytes32(BigEndian.number(data, 43, 32));
        c.finalStateRoot = bytes32(BigEndian.number(data, 75, 32));
        c.deltaCodec = BigEndian.number(data, 107, 2);
        c.deltaRoot = bytes32(BigEndian.number(data, 109, 32));
        c.steps = BigEndian.number(data, 141, 4);
        c.tokens = BigEndian.number(data, 145, 8);
        c.flops = BigEndian.number(data, 153, 8);
    }

    /// @notice Its leaf in the tree of its epoch.
    function leaf(bytes calldata data) internal pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.commitment.v1", data));
    }

    /// @notice The signed digest (EIP-712). @param log CommitmentLog, whose network it is for.
    function digest(Commitment memory c, address log) internal view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(DOMAIN_TYPE, keccak256("Gym"), keccak256("1"), block.chainid, log)
        );
        bytes32 what = keccak256(abi.encode(COMMITMENT_TYPE, c));
        return keccak256(abi.encodePacked(hex"1901", domain, what));
    }

    /// @notice The signer; reverts if there is none.
    function signer(bytes calldata data, bytes32 digest_) internal pure returns (address) {
        return ECDSA.recover(digest_, data[SIGNATURE:BYTES]);
    }

    /// @notice The signer; 0 if there is none.
    function signerOrNone(bytes calldata data, bytes32 digest_)
        internal
        pure
        returns (address who)
    {
        (who,,) = ECDSA.tryRecover(digest_, data[SIGNATURE:BYTES]);
    }
}
