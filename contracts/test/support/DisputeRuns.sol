// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {StepRun} from "./DisputeRunner.sol";

/// Bytes as the code of a contract.
contract Blob {
    constructor(bytes memory data) {
        bytes memory code = abi.encodePacked(bytes1(0), data);
        assembly {
            return(add(code, 32), mload(code))
        }
    }
}

/// Keeps a run: to compute it again for every test would take longer than all else.
contract DisputeRuns {
    uint256 private constant PIECE = 24_000;
    mapping(bytes32 name => address[]) private _pieces;

    function keep(bytes32 name, StepRun[] calldata run) external {
        bytes memory all = abi.encode(run);
        for (uint256 from = 0; from < all.length; from += PIECE) {
            uint256 size = all.length - from < PIECE ? all.length - from : PIECE;
            bytes memory part = new bytes(size);
            assembly {
                mcopy(add(part, 32), add(add(all, 32), from), size)
            }
            _pieces[name].push(address(new Blob(part)));
        }
    }

    function get(bytes32 name) external view returns (StepRun[] memory) {
        bytes memory all;
        for (uint256 i = 0; i < _pieces[name].length; ++i) {
            bytes memory code = _pieces[name][i].code;
            bytes memory part = new bytes(code.length - 1);
            assembly {
                mcopy(add(part, 32), add(code, 33), mload(part))
            }
            all = abi.encodePacked(all, part);
        }
        return abi.decode(all, (StepRun[]));
    }
}
