// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// Keeps one base unit of every transfer while its fee is on.
contract FeeToken is ERC20 {
    bool private _feeOn = true;

    constructor(address holder) ERC20("Fee", "FEE") {
        _mint(holder, 1e30);
    }

    function setFee(bool on) external {
        _feeOn = on;
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        if (_feeOn && from != address(0) && to != address(0)) super._update(to, address(0xfee), 1);
    }
}

/// Calls back into the contract under test while it transfers, as an ERC-777 token could.
contract ReentrantToken is ERC20 {
    address private _target;
    bytes private _call;
    bytes private _result;

    constructor(address holder) ERC20("Re", "RE") {
        _mint(holder, 1e30);
    }

    function arm(address target, bytes calldata call_) external {
        _target = target;
        _call = call_;
    }

    function result() external view returns (bytes memory) {
        return _result;
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        if (_target == address(0)) return;
        address target = _target;
        _target = address(0);
        (bool ok, bytes memory data) = target.call(_call);
        _result = ok ? bytes("entered") : data;
    }
}
