// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IJobEscrow} from "../../src/interfaces/IJobEscrow.sol";

/// What a wallet signs for an order, made anew from docs/PROTOCOL.md ("Orders").
library Orders {
    function digest(address escrow, IJobEscrow.JobOrder memory order)
        internal
        view
        returns (bytes32)
    {
        bytes32 typeHash = keccak256(
            "JobOrder(address owner,bytes32 spec,bytes32[] datasets,uint256 budget,uint256 pricePerPflop,uint256 maxDataPrice,bytes32 nonce,uint64 expiry)"
        );
        return _digest(
            escrow,
            keccak256(
                abi.encode(
                    typeHash,
                    order.owner,
                    order.spec,
                    order.datasetsHash,
                    order.budget,
                    order.pricePerPflop,
                    order.maxDataPrice,
                    order.nonce,
                    order.expiry
                )
            )
        );
    }

    function digest(address escrow, IJobEscrow.JobFunding memory funding)
        internal
        view
        returns (bytes32)
    {
        bytes32 typeHash = keccak256(
            "JobFunding(address owner,bytes32 job,uint256 amount,bytes32 nonce,uint64 expiry)"
        );
        return _digest(
            escrow,
            keccak256(
                abi.encode(
                    typeHash,
                    funding.owner,
                    funding.job,
                    funding.amount,
                    funding.nonce,
                    funding.expiry
                )
            )
        );
    }

    function _digest(address escrow, bytes32 structHash) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256("Gym JobEscrow"),
                keccak256("1"),
                block.chainid,
                escrow
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }
}
