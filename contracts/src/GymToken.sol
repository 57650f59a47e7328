// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title The token that jobs are paid in: ERC-20 with EIP-2612 permits
/// @notice The whole supply exists from the start; no one can mint, pause or freeze. Holders can burn their own tokens.
contract GymToken is ERC20, ERC20Burnable, ERC20Permit {
    /// @notice Creates the whole supply.
    /// @param holder Receiver of the whole supply.
    /// @param supply In base units, 18 decimals.
    constructor(address holder, uint256 supply) ERC20("Gym", "GYM") ERC20Permit("Gym") {
        _mint(holder, supply);
    }
}
